"""Our assertion in a real ``promptfoo eval``, in a temporary folder, without the network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisesense.errors import MissingExtraError, NoiseSenseError
from noisesense.scoring.definitions import MODES
from noisesense_adapters.demo.compare import Pair, Run

_TIMEOUT_SECONDS = 300
_SHIM = "from noisesense_adapters.promptfoo import get_assert\n\n__all__ = ['get_assert']\n"
# No TCP connections: with telemetry disabled, Promptfoo still reports that it is.
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


def evaluate(runs: Sequence[Run], recording: Path, folder: Path) -> tuple[str, list[Pair]]:
    """Promptfoo's version, and the values of each run.

    The command is that on PATH, or in ./node_modules/.bin; nothing is downloaded.

    Raises:
        MissingExtraError: there is no such command.
        NoiseSenseError: it gave no values.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), str(Path("node_modules/.bin").absolute())])
    command = shutil.which("promptfoo", path=path)
    if command is None:
        raise MissingExtraError("there is no promptfoo on PATH. Hint: npm install promptfoo")
    config = folder / "config.json"
    output = folder / "output.json"
    preload = folder / "offline.cjs"
    tests = [_test(str(number), run, recording) for number, run in enumerate(runs)]
    settings = {"prompts": ["{{response}}"], "providers": ["echo"], "tests": tests}
    config.write_text(json.dumps(settings), encoding="utf-8")
    preload.write_text(_NO_NETWORK, encoding="utf-8")
    (folder / "noise.py").write_text(_SHIM, encoding="utf-8")
    # Node.js takes a quoted path, with JSON's escapes.
    options = f"{os.environ.get('NODE_OPTIONS', '')} --require {json.dumps(str(preload))}"
    environment = {
        **os.environ,
        "PROMPTFOO_CONFIG_DIR": str(folder),
        "PROMPTFOO_PYTHON": sys.executable,
        "NODE_OPTIONS": options,
        # Promptfoo needs the Node.js that was installed beside it.
        "PATH": os.pathsep.join([str(Path(command).parent), path]),
    }
    process = subprocess.run(
        [command, "eval", "-c", config, "-o", output, "--no-cache", "--no-table", "--no-write"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=_TIMEOUT_SECONDS,
    )
    if not output.exists():
        message = process.stdout.strip() or "no output"
        raise NoiseSenseError(f"promptfoo eval ended with status {process.returncode}: {message}")
    document: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    rows = {row["testCase"]["description"]: row for row in document["results"]["results"]}
    figures = [_pair(run, rows[str(number)]) for number, run in enumerate(runs)]
    return str(document["metadata"]["promptfooVersion"]), figures


def _test(name: str, run: Run, recording: Path) -> dict[str, Any]:
    sample = run.example.sample
    variables = {
        "query": sample.user_input,
        "response": sample.response,
        "reference": sample.reference,
        "contextChunks": [
            chunk.model_dump(include={"text", "relevant"}, exclude_none=True)
            for chunk in sample.retrieved_contexts
        ],
    }
    config = {"verdicts": str(recording), "definition": run.definition, "maxNoise": 1}
    assertion = {"type": "python", "value": "file://noise.py", "config": config}
    return {"description": name, "vars": variables, "assert": [assertion]}


def _pair(run: Run, row: dict[str, Any]) -> Pair:
    suffix = "" if run.definition == "ragas" else f"_{run.definition}"
    names = (f"noise_sensitivity_{mode}{suffix}" for mode in MODES)
    relevant, irrelevant = (row["namedScores"].get(name) for name in names)
    return relevant, irrelevant
