"""The real Promptfoo: installed once by its lock file, run in a folder, its results read back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.command import environment
from support.npm import installed
from support.request_log import Request

LOCKS = Path(__file__).parents[1] / "promptfoo"
LATEST = "v0.123"
"""Its lock file brings the Node.js 22 that it needs; the older one runs on the machine's own."""

VERSIONS = (
    pytest.param("v0.118", marks=pytest.mark.broad),  # compiles SQLite where it is installed
    pytest.param("v0.121", marks=pytest.mark.broad),
    LATEST,
)


def install(version: str, cache: Path) -> Path:
    """The folder of that Promptfoo's commands, see `installed`."""
    return installed(LOCKS / version, cache) / ".bin"


@dataclass(frozen=True)
class Graded:
    """What one assertion gave."""

    result: dict[str, Any]

    @property
    def reason(self) -> str:
        return str(self.result["reason"])

    @property
    def figures(self) -> tuple[float | None, float | None]:
        """Both raw values, as namedScores has them; of any definition but ragas' with its name."""
        named = self.result.get("namedScores") or {}
        definition = self.result["metadata"].get("definition", "ragas")
        end = "" if definition == "ragas" else f"_{definition}"
        relevant, irrelevant = (
            named.get(f"noise_sensitivity_{mode}{end}") for mode in ("relevant", "irrelevant")
        )
        return relevant, irrelevant


@dataclass(frozen=True)
class Evaluation:
    """One ``promptfoo eval``.

    Attributes:
        version: as Promptfoo says itself.
        status: 100 if a test failed.
        rows: the results, by the test's description.
        written: everything Promptfoo printed and wrote: streams, JSON, HTML.
    """

    version: str
    status: int
    rows: dict[str, dict[str, Any]]
    written: dict[str, str]

    def assertions(self, test: str) -> list[Graded]:
        """The test's assertions in the order of the config."""
        return [Graded(each) for each in self.rows[test]["gradingResult"]["componentResults"]]

    @property
    def returned(self) -> list[dict[str, Any]]:
        """What the assertions gave, without their configuration."""
        graded = [row.get("gradingResult") or {} for row in self.rows.values()]
        parts = [part for each in graded for part in each.get("componentResults") or ()]
        return [{key: part[key] for key in part if key != "assertion"} for part in parts]

    @property
    def is_0_118(self) -> bool:
        """It inverts no result that is an object (``not-python``), and writes keys of its
        configuration: its page here says so."""
        return self.version.startswith("0.118.")

    def only(self, test: str) -> Graded:
        """The test's one assertion."""
        (graded,) = self.assertions(test)
        return graded


@dataclass(frozen=True)
class Run:
    """The suite, run by one version.

    Attributes:
        requests: what the judge's server saw.
        config: the text of the config that was run.
    """

    evaluation: Evaluation
    requests: list[Request]
    config: str


def promptfoo_environment(commands: Path, folder: Path) -> dict[str, str]:
    """Without keys, telemetry or look-ups; a Node.js installed beside Promptfoo comes first."""
    return {
        **environment(),
        "PATH": os.pathsep.join([str(commands), os.environ.get("PATH", os.defpath)]),
        # Reading its own code is most of what a short run of Promptfoo takes.
        "NODE_COMPILE_CACHE": str(commands.parents[1] / "compile-cache"),
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "NO_COLOR": "1",
    }


def evaluate(
    commands: Path,
    folder: Path,
    *,
    env: dict[str, str] | None = None,
    seconds: float = 300,
) -> Evaluation:
    """``promptfoo eval`` of the config in ``folder``, everything it writes kept."""
    outputs = [folder / "out.json", folder / "out.html"]
    done = subprocess.run(
        [
            str(commands / "promptfoo"),
            *("eval", "--no-cache", "--no-progress-bar", "--verbose"),
            *(argument for path in outputs for argument in ("-o", str(path))),
        ],
        cwd=folder,
        env={**promptfoo_environment(commands, folder), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=seconds,
    )
    streams = {"stdout": done.stdout, "stderr": done.stderr}
    assert all(path.exists() for path in outputs), f"Promptfoo wrote no results: {streams}"
    written = {**streams, **{path.name: path.read_text("utf-8") for path in outputs}}
    document = json.loads(written["out.json"])
    rows = document["results"]["results"]
    by_test = {row["testCase"].get("description", ""): row for row in rows}
    assert len(by_test) == len(rows), "descriptions are not unique, or a variable was expanded"
    version = str(document["metadata"]["promptfooVersion"])
    return Evaluation(version, done.returncode, by_test, written)
