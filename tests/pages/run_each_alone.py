"""Each page from top to bottom in a new folder, with nothing installed but what it installs.

    python tests/pages/run_each_alone.py [name ...]

An environment is made for each different install line, by uv; a scripted model
stands in OpenAI's place. Prints a line a page, and ends with 1 if one does not run or print what
it says. Left out are pages that install what no other does at 1 GB or more (ValidMind's, which has
an environment of its own in the matrix).
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / name) for name in ("core", "adapters", "tests")]

from support.local_index import environment_with, local_index  # noqa: E402
from support.pages import PAGES, ROOT, check_page, has_snippets, model_environment  # noqa: E402

LEFT_OUT = ("validmind",)


def installed_by(page: Path) -> tuple[str, ...]:
    """What the page's first install line names."""
    line = re.search(r"pip install ((?:(?!&&)[^`\n])*\[[^`\n]*)", page.read_text("utf-8"))
    if line is None:
        return ("noisesense",)
    words = list(takewhile(lambda word: word != "&&", shlex.split(line[1], comments=True)))
    if "--group" in words:
        del words[words.index("--group") :]
    # In a clone: the README's, and those of who develops.
    names = [re.sub(r"^\.(?=\[)", "noisesense", word) for word in words]
    return tuple(name for name in names if not name.startswith("-"))


class Environments:
    """One for each different install line."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.index = local_index(scratch / "index")
        self.made: dict[tuple[str, ...], Path] = {}

    def python_with(self, wanted: tuple[str, ...]) -> Path:
        if wanted not in self.made:
            folder = self.scratch / f"env{len(self.made)}"
            self.made[wanted] = environment_with(wanted, folder, self.index)
        return self.made[wanted]


def run_page(page: Path, environments: Environments, env: Mapping[str, str]) -> bool:
    start = time.monotonic()
    wanted = installed_by(page)
    python = environments.python_with(wanted)
    folder = Path(tempfile.mkdtemp(dir=environments.scratch))
    alone = {**env, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    alone.pop("PYTHONPATH", None)
    name = page.relative_to(ROOT)
    try:
        check_page(page, folder, alone, str(python))
    except AssertionError as error:
        print(f"FAILED {name}: {error}")
        return False
    seconds = time.monotonic() - start
    print(f"{name}, after {' '.join(wanted)}: {seconds:.0f} s", flush=True)
    return True


def main() -> int:
    pages: list[Path] = []
    for page in PAGES:
        folder = page.parent.name
        asked = sys.argv[1:] or [folder]
        if folder not in LEFT_OUT and folder in asked and has_snippets(page):
            pages.append(page)
    with tempfile.TemporaryDirectory(prefix="pages-") as scratch, model_environment() as env:
        environments = Environments(Path(scratch))
        passed = sum(run_page(page, environments, env) for page in pages)
    print(f"{passed} passed, {len(pages) - passed} failed")
    return 0 if passed == len(pages) else 1


if __name__ == "__main__":
    sys.exit(main())
