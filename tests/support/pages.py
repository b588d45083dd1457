"""The pages for people: their code blocks, links and install lines, and how a snippet is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from noisesense.fixtures import reference_examples
from support.command import environment
from support.mind import Mind
from support.server import ScriptedServer

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(
        path
        for folder in ("core", "adapters", ".github")
        for path in (ROOT / folder).rglob("*.md")
    ),
    ROOT / "README.md",
]

_BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A code block, and the ``text`` block after it that shows its output (or nothing)."""

    page: Path
    number: int
    language: str
    title: str | None
    text: str
    output: str

    @property
    def name(self) -> str:
        """For test ids."""
        return f"{self.page.parent.name}/{self.page.name}-{self.number}"


def page_named(folder: str) -> Path:
    """The page of a folder."""
    return next(page for page in PAGES if page.parent.name == folder)


def blocks_of(page: Path) -> list[Block]:
    """The page's blocks in their order."""
    matches = [match.groups() for match in _BLOCK.finditer(page.read_text("utf-8"))]
    following = [*matches[1:], ("", None, "")][: len(matches)]
    return [
        Block(page, i, language, title, text, after[2] if after[0] == "text" else "")
        for i, ((language, title, text), after) in enumerate(zip(matches, following, strict=True))
    ]


@contextmanager
def model_environment() -> Iterator[dict[str, str]]:
    """An environment in which OpenAI's endpoint is a scripted model that knows those samples."""
    mind = Mind([(each.sample, each.verdicts) for each in reference_examples()])
    with ScriptedServer(mind) as server:
        commands = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        yield {
            **environment(),
            "PATH": commands,
            "COLUMNS": "80",  # as a reader's terminal shows it
            "OPENAI_API_KEY": "no-key-is-needed-on-loopback",
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_BASE": server.base_url,
            "RAGAS_DO_NOT_TRACK": "true",
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "DEEPEVAL_DISABLE_DOTENV": "1",
        }


_INSTALLED = re.compile(r"^python3.*pip install .*&& (?=noisesense )", re.MULTILINE)
_SET_UP = re.compile(
    r"^(pip|uv|npm|npx|git|cd|export|python[0-9.]* -m|source|\.|docker)\b.*\n?", re.MULTILINE
)
"""What makes a machine ready: the tests' environment is."""


def commands_in(block: Block) -> str:
    """The commands of ours in a block of a shell; empty if there are none."""
    text = _INSTALLED.sub("", block.text.replace("\\\n", " "))
    text = _SET_UP.sub("", text)
    return text if re.search(r"^noisesense ", text, re.MULTILINE) else ""


HOST_PRINTS_FIRST = ("langsmith", "mlflow")  # the name it has made up for the run


def has_snippets(page: Path) -> bool:
    """Is there anything to run on it?"""
    return any(block.language == "python" or commands_in(block) for block in blocks_of(page))


def check_page(
    page: Path, folder: Path, env: dict[str, str], python: str = sys.executable
) -> None:
    """Run a page in a new folder: it prints what it says, and nothing is there but what it makes.

    A block with a title becomes the file of that name; Python and our commands are run.

    Raises:
        AssertionError: it does not.
    """
    for block in blocks_of(page):
        if block.title is not None:
            (folder / block.title).write_text(block.text, "utf-8")
            continue
        command = ["bash", "-e", "-c", commands_in(block)]
        if block.language == "python":
            (folder / "snippet.py").write_text(block.text, "utf-8")
            command = [python, "snippet.py"]
        elif block.language != "bash" or not command[-1]:
            continue
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=600
        )
        assert done.returncode == 0, f"{block.name} failed:\n{done.stdout}{done.stderr}"
        printed = done.stdout
        if page.parent.name in HOST_PRINTS_FIRST:
            printed = printed[-len(block.output) :]
        assert not block.output or printed == block.output, f"{block.name} printed:\n{printed}"
        for path in _written_by(block.text):
            assert (folder / path).stat().st_size > 0


def _written_by(commands: str) -> list[str]:
    """The files that commands say they write; a dry run writes none."""
    if "--dry-run" in commands:
        return []
    return re.findall(r"--(?:out|report) (\S+)", commands)
