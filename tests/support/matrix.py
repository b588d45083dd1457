"""The versions of hosts that are supported, what passed with each, and where that is shown."""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
VERSIONS_PAGE = ROOT / ".github" / "VERSIONS.md"
# .ci/run keeps its own elsewhere.
_RECORD = Path(os.environ.get("NOISESENSE_MATRIX", ROOT / "tests" / "matrix.json"))


@dataclass(frozen=True)
class Planned:
    """One session.

    Attributes:
        host: as the table of tested versions names it.
        label: of the version: "0.4.0", "latest", or none.
        tests: folders and files.
        extras: of ours that are installed.
        needs: what else is installed, with the version in question.
        shown: the packages whose versions are recorded, the host's first.
        python: "3.10"; None for the one that runs the matrix.
        only: pytest's ``-k``, where one folder holds several versions' tests.
        wheel: is the built wheel tested, from elsewhere?
        npm: is npm needed?
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
    lowest: bool = False

    @property
    def name(self) -> str:
        """Of the session."""
        return self.title.lower().replace(" ", "-")

    @property
    def title(self) -> str:
        return f"{self.host} {self.label}".strip()


def _planned() -> Iterator[Planned]:
    tables = tomllib.loads((ROOT / "tests" / "versions.toml").read_text("utf-8"))
    for row in tables["hosts"]:
        package = row.pop("package")
        needs = row.pop("needs")
        for version in row.pop("versions"):
            pin = package if version == "latest" else f"{package}=={version}"
            yield _session(row, version, needs=[pin, *needs], shown=[package])
    for row in tables["sessions"]:
        for version in row.pop("versions"):
            yield _session(row, version)


def _session(row: dict[str, Any], version: str, **more: list[str]) -> Planned:
    """With the version in place of ``{version}``, and tuples in place of lists."""
    fields: dict[str, Any] = {"label": version}
    for name, value in {**row, **more}.items():
        if isinstance(value, str):
            fields[name] = value.format(version=version)
        else:
            fields[name] = tuple(value) if isinstance(value, list) else value
    return Planned(**fields)


PLANNED = tuple(_planned())


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
    """By host: the versions that passed, as the page on versions shows them."""
    passed: dict[str, list[str]] = {}
    for planned in PLANNED:
        entry = record.of(planned)
        if entry["result"] == "passed":
            named = planned.shown or (("python",) if planned.host == "Python" else ())
            version = entry["versions"].get(named[0], planned.label) if named else planned.label
            passed.setdefault(planned.host, []).append(version)
    return {host: ", ".join(dict.fromkeys(versions)) for host, versions in passed.items()}
