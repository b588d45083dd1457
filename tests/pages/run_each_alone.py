"""Each page from top to bottom in a new folder, with nothing installed but what it installs.

    python tests/pages/run_each_alone.py [name ...]

An environment is made for each different install line (by uv where it is there); a scripted model
stands in OpenAI's place. Prints a line a page, and ends with 1 if one does not run or print what
it says. Left out are pages that install what no other does at 1 GB or more (ValidMind's, which has
an environment of its own in the matrix, and the local judge's), and the one on batch files, whose
answers come from a provider between its blocks.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / name) for name in ("core", "adapters", "tests")]

from support.local_index import environment_with, local_index  # noqa: E402
from support.pages import PAGES, ROOT, check_page, has_snippets, model_environment  # noqa: E402

LEFT_OUT = ("validmind", "local", "batch")


def installed_by(page: Path) -> tuple[str, ...]:
    """What the page's first install line names."""
    line = re.search(r"pip install ((?:(?!&&).)*\[.*)", page.read_text("utf-8"))
    if line is None:
        return ("noisesense",)
    words = list(takewhile(lambda word: word != "&&", shlex.split(line[1], comments=True)))
    if "--group" in words:
        del words[words.index("--group") :]
    # In a clone: the README's, and those of who develops.
    names = [re.sub(r"^\.(?=\[)", "noisesense", word) for word in words]
    return tuple(name for name in names if not name.startswith("-"))


def main() -> int:
    failed = 0
    pages = [page for page in PAGES if page.parent.name not in LEFT_OUT and has_snippets(page)]
    pages = [page for page in pages if not sys.argv[1:] or page.parent.name in sys.argv[1:]]
    with TemporaryDirectory(prefix="pages-") as scratch, model_environment() as env:
        made: dict[tuple[str, ...], Path] = {}
        index = local_index(Path(scratch) / "index")
        for number, page in enumerate(pages):
            start = time.monotonic()
            wanted = installed_by(page)
            if wanted not in made:
                made[wanted] = environment_with(wanted, Path(scratch) / f"env{len(made)}", index)
            python = made[wanted]
            folder = Path(scratch) / f"page{number}"
            folder.mkdir()
            alone = {key: value for key, value in env.items() if key != "PYTHONPATH"}
            alone["PATH"] = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
            try:
                check_page(page, folder, alone, str(python))
            except AssertionError as error:
                failed += 1
                print(f"FAILED {page.relative_to(ROOT)}: {error}")
            else:
                named = " ".join(wanted)
                seconds = time.monotonic() - start
                print(f"{page.relative_to(ROOT)}, after {named}: {seconds:.0f} s", flush=True)
    print(f"{len(pages) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
