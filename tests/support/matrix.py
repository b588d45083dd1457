"""The versions of hosts that are supported, what passed with each, and where that is shown."""

from __future__ import annotations

import datetime
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
# .ci/run keeps its own elsewhere.
_RECORD = Path(os.environ.get("NOISESENSE_MATRIX", ROOT / "tests" / "matrix.json"))


@dataclass(frozen=True)
class Planned:
    """One session.

    Attributes:
        host: as the README's table names it.
        label: of the version: "0.4.0", "latest", or none.
        tests: folders and files.
        extras: of ours that are installed.
        needs: what else is installed, with the version in question.
        shown: the packages whose versions are recorded, the host's first.
        python: "3.10"; None for the one that runs the matrix.
        only: pytest's ``-k``, where one folder holds several versions' tests.
        wheel: is the built wheel tested, from elsewhere?
        npm: is npm needed?
        pip: are packages installed by pip, and not by uv? Its settings may name an index with
            PyTorch's builds without CUDA.
        lowest: is the lowest version of everything that we name installed?
    """

    host: str
    label: str
    tests: tuple[str, ...]
    extras: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    python: str | None = None
    only: str = ""
    wheel: bool = False
    npm: bool = False
    pip: bool = False
    lowest: bool = False

    @property
    def name(self) -> str:
        """Of the session."""
        return self.title.lower().replace(" ", "-")

    @property
    def title(self) -> str:
        return f"{self.host} {self.label}".strip()


# Host, package, versions, extras, what else is installed, folder of tests.
_HOSTS = (
    ("ragas", "ragas", "0.4.0 0.4.1 latest", "ragas openai", "langchain-openai", "ragas"),
    (
        *("DeepEval", "deepeval", "4.1.4 latest", "deepeval openai langchain cli report"),
        *("langchain-openai datasets", "deepeval"),
    ),
    ("MLflow", "mlflow", "3.17.0 latest", "mlflow ragas", "ragas", "mlflow"),
    ("LangSmith", "langsmith", "0.10.0 latest", "langsmith", "langchain-core", "langsmith"),
    ("Langfuse", "langfuse", "5.0.1 latest", "langfuse", "langchain-core", "langfuse"),
    (
        *("pydantic-evals", "pydantic-evals", "2.0.0 latest", "pydantic-evals"),
        *("langchain-core", "pydantic_evals"),
    ),
    (
        *("Phoenix", "arize-phoenix-evals", "3.0.0 latest", "phoenix", "langchain-core"),
        "phoenix",
    ),
    ("Opik", "opik", "2.0.0 latest", "opik", "langchain-core", "opik"),
    ("Inspect", "inspect-ai", "0.3.250 latest", "inspect-ai", "langchain-core", "inspect_ai"),
)
_BARE = tuple(
    f"tests/{folder}"
    for folder in ("core", "verdicts", "scoring", "judging", "stats", "testing", "ragchecker")
)


def _of_hosts() -> Iterator[Planned]:
    for host, package, versions, extras, needs, tests in _HOSTS:
        for version in versions.split():
            pin = package if version == "latest" else f"{package}=={version}"
            yield Planned(
                *(host, version, (f"tests/{tests}",), tuple(extras.split())),
                needs=(pin, *needs.split()),
                shown=(package,),
            )


def _promptfoo(version: str) -> Planned:
    # httpx: the scripted server's clients.
    options: dict[str, Any] = {"needs": ("httpx",), "only": f"v{version}", "npm": True}
    return Planned("Promptfoo", version, ("tests/promptfoo",), ("openai", "cli"), **options)


def _langchain(label: str, bound: str) -> Planned:
    packages = ("langchain-core", "langchain", "langchain-openai")
    tests = ("tests/langchain", "tests/models/test_faults.py")
    needs = tuple(f"{package}{bound}" for package in packages)
    return Planned("LangChain", label, tests, ("langchain", "openai"), needs, packages[::2])


def _python(version: str) -> Planned:
    tests = ("tests/core", "tests/verdicts", "tests/scoring")
    return Planned("Python", version, tests, ("cli",), python=version, wheel=True)


_VALIDMIND = "tests/validmind/own_environment"
_LOCAL = "tests/local/own_environment"
# PyTorch in one version: each is up to a gigabyte. The workflow is that of the page on gates, in a
# repository that is not this one.
_CHECKED = {"needs": ("torch==2.13.0",), "shown": ("transformers", "torch"), "pip": True}
_WORKFLOW = {"extras": ("cli", "report", "openai"), "needs": ("pyyaml",), "only": "test_the"}
_FLOORS = ("tests/cli/test_demo.py", "tests/report/test_write.py", "tests/cli/test_dry_run.py")
PLANNED: tuple[Planned, ...] = (
    *_of_hosts(),
    *map(_promptfoo, ("0.118", "0.121", "0.123")),
    Planned(
        *("ValidMind", "latest", (_VALIDMIND,)),
        extras=("validmind", "langchain"),
        shown=("validmind",),
        wheel=True,
    ),
    _langchain("0.3", "<0.4"),
    _langchain("latest", ""),
    *map(_python, ("3.10", "3.11", "3.12", "3.13", "3.14")),
    Planned("Local", "judge", (_LOCAL,), extras=("local",), **_CHECKED),
    Planned("Workflow", "", ("tests/pages/test_flaky_gate.py",), wheel=True, **_WORKFLOW),
    Planned("Floors", "", _FLOORS, extras=("all",), shown=("openai", "pyarrow"), lowest=True),
    Planned("No framework", "", _BARE, extras=("cli",), needs=("scipy", "scikit-learn")),
)


@dataclass
class Record:
    """What each session gave, by its name; a session that is not run again keeps its result."""

    sessions: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @classmethod
    def read(cls) -> Record:
        return cls(json.loads(_RECORD.read_text("utf-8"))) if _RECORD.exists() else cls()

    @classmethod
    def add(cls, planned: Planned, result: str, versions: dict[str, str] | None = None) -> None:
        """``result``: "passed", "failed" or "not found"."""
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        entry = {"result": result, "date": date, "versions": versions or {}}
        with _RECORD.with_suffix(".lock").open("w") as lock:  # sessions may run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = {**cls.read().sessions, planned.name: entry}
            kept = {each.name: known[each.name] for each in PLANNED if each.name in known}
            _RECORD.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")

    def of(self, planned: Planned) -> dict[str, Any]:
        return self.sessions.get(planned.name, {"result": "not run", "date": "", "versions": {}})


def table_of(record: Record) -> str:
    """For people: one line a session."""
    lines = [f"{'version':22}{'result':11}{'date':12}installed"]
    for planned in PLANNED:
        entry = record.of(planned)
        installed = ", ".join(f"{name} {number}" for name, number in entry["versions"].items())
        lines.append(f"{planned.title:22}{entry['result']:11}{entry['date']:12}{installed}")
    return "\n".join(lines)


def check(record: Record) -> list[str]:
    """Which versions failed, or were never run. What is not found here is no failure."""
    results = {planned.title: record.of(planned)["result"] for planned in PLANNED}
    return [f"{title}: {got}" for title, got in results.items() if got in ("failed", "not run")]


def cells(record: Record) -> dict[str, str]:
    """By host: the versions that passed, as the README shows them."""
    passed: dict[str, list[str]] = {}
    for planned in PLANNED:
        entry = record.of(planned)
        if entry["result"] == "passed":
            named = planned.shown or (("python",) if planned.host == "Python" else ())
            version = entry["versions"].get(named[0], planned.label) if named else planned.label
            passed.setdefault(planned.host, []).append(version)
    return {host: ", ".join(dict.fromkeys(versions)) for host, versions in passed.items()}
