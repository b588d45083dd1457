"""Our assertion in a real ``promptfoo eval``, in a temporary folder, without the network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import noisesense
import noisesense_adapters
from noisesense.errors import InputError, NoiseSenseError
from noisesense.scoring.definitions import MODES
from noisesense_adapters.demo.compare import ExampleRun, Pair, Results
from noisesense_adapters.demo.hosts import OFFLINE

PROMPTFOO = "Promptfoo eval"
_TIMEOUT_SECONDS = 300
_SHIM = "from noisesense_adapters.promptfoo import get_assert\n\n__all__ = ['get_assert']\n"
# With telemetry disabled Promptfoo still reports that it is disabled: so no TCP connection at all.
_NO_NETWORK = """
const net = require("node:net");
const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  const target = Array.isArray(args[0]) ? args[0][0] : args[0];
  if (target && target.path) return connect.apply(this, args);
  process.nextTick(() => this.destroy(new Error("the demo uses no network")));
  return this;
};
"""


def find_promptfoo(given: Path | None = None) -> Path | None:
    """The ``promptfoo`` command: the given one, on PATH, or in ./node_modules/.bin.

    Nothing is downloaded.

    Raises:
        InputError: the given one is not an executable file.
    """
    if given is not None:
        if shutil.which(given) is None:
            got = "no such file" if not given.exists() else "something that cannot be executed"
            hint = "for example node_modules/.bin/promptfoo"
            raise InputError("the promptfoo command", got, where=str(given), hint=hint)
        return given.absolute()
    local = Path("node_modules", ".bin").absolute()
    command = shutil.which("promptfoo") or shutil.which("promptfoo", path=str(local))
    return Path(command).absolute() if command else None


class PromptfooEval:
    """An evaluation in the background: start it, then ask for `results`.

    A context manager; leaving it ends whatever still runs.
    """

    def __init__(
        self, command: Path, runs: Sequence[ExampleRun], recording: Path, folder: Path
    ) -> None:
        self._folder, self._output, self._log = folder, folder / "out.json", folder / "log.txt"
        (folder / "noise.py").write_text(_SHIM, encoding="utf-8")
        (folder / "no_network.cjs").write_text(_NO_NETWORK, encoding="utf-8")
        config = folder / "promptfooconfig.json"
        tests = [_test(run, recording) for run in runs]
        settings = {"prompts": ["{{response}}"], "providers": ["echo"], "tests": tests}
        config.write_text(json.dumps(settings), encoding="utf-8")
        arguments = ["eval", "-c", str(config), "-o", str(self._output)]
        arguments += ["--no-cache", "--no-progress-bar", "--no-table", "--no-write"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(command), *arguments],
                cwd=folder,
                env=_environment(command, folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of its own: Promptfoo starts Python workers, and they end with it.
                start_new_session=True,
            )

    def __enter__(self) -> PromptfooEval:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def results(self) -> Results:
        """Wait for the figures. Raises `NoiseSenseError` if Promptfoo gave none."""
        try:
            status = self._process.wait(_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise NoiseSenseError(
                f"promptfoo eval did not end within {_TIMEOUT_SECONDS} s"
            ) from None
        if not self._output.exists():
            lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise NoiseSenseError(
                f"promptfoo eval ended with status {status}: {lines[-1] if lines else 'no output'}"
            )
        document: dict[str, Any] = json.loads(self._output.read_text(encoding="utf-8"))
        rows = document["results"]["results"]
        figures = {row["testCase"]["description"]: _pair(row) for row in rows}
        version = str(document.get("metadata", {}).get("promptfooVersion", "unknown version"))
        return Results(version, figures)


def _test(run: ExampleRun, recording: Path) -> dict[str, Any]:
    sample = run.example.sample
    chunks = [
        chunk.model_dump(include={"text", "relevant"}, exclude_none=True)
        for chunk in sample.retrieved_contexts
    ]
    config = {"verdicts": str(recording), "definition": run.definition, "maxNoise": 1}
    return {
        "description": run.key,
        "vars": {
            "query": sample.user_input,
            "response": sample.response,
            "reference": sample.reference,
            "contextChunks": chunks,
        },
        "assert": [{"type": "python", "value": "file://noise.py", "config": config}],
    }


def _pair(row: dict[str, Any]) -> Pair:
    scores: dict[str, Any] = row.get("namedScores") or {}
    # Of another definition than the default with its name at the end.
    values = [
        next(
            (scores[name] for name in scores if name.startswith(f"noise_sensitivity_{mode}")), None
        )
        for mode in MODES
    ]
    if values == [None, None]:
        # Not undefined but failed: Promptfoo turns an exception into a reason.
        grading: dict[str, Any] = row.get("gradingResult") or {}
        reason = grading.get("reason") or row.get("error")
        raise NoiseSenseError(f"promptfoo eval gave no figures: {reason}")
    return Pair(*values)


def _environment(command: Path, folder: Path) -> dict[str, str]:
    ours = {str(Path(m.__path__[0]).parent) for m in (noisesense, noisesense_adapters)}
    # Node.js takes a quoted path here, with JSON's escapes.
    preload = f"--require {json.dumps(str(folder / 'no_network.cjs'))}"
    return {
        **os.environ,
        **OFFLINE,
        "PROMPTFOO_CONFIG_DIR": str(folder),
        "PROMPTFOO_PYTHON": sys.executable,
        "PYTHONPATH": _joined(os.pathsep, *sorted(ours), os.environ.get("PYTHONPATH")),
        "NODE_OPTIONS": _joined(" ", os.environ.get("NODE_OPTIONS"), preload),
        # A Node.js that was installed beside promptfoo is the one it needs.
        "PATH": _joined(os.pathsep, str(command.parent), os.environ.get("PATH")),
        "NO_COLOR": "1",
    }


def _joined(separator: str, *parts: str | None) -> str:
    return separator.join(part for part in parts if part)
