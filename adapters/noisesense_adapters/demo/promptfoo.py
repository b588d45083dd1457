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
from noisesense_adapters.demo.compare import Pair, Run
from noisesense_adapters.evaluate.evaluator import score_name

_TIMEOUT_SECONDS = 300
_SHIM = "from noisesense_adapters.promptfoo import get_assert\n\n__all__ = ['get_assert']\n"
# No TCP connections: Promptfoo reports even that its telemetry is disabled.
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

    The command is looked for on the PATH and in ./node_modules/.bin; nothing is downloaded.

    Raises:
        MissingExtraError: there is no such command.
        NoiseSenseError: it gave no values.
    """
    local_commands = str(Path("node_modules/.bin").absolute())
    path = os.pathsep.join([os.environ.get("PATH", ""), local_commands])
    command = shutil.which("promptfoo", path=path)
    if command is None:
        raise MissingExtraError("there is no promptfoo on PATH. Hint: npm install promptfoo")
    tests = [_test(str(number), run, recording) for number, run in enumerate(runs)]
    settings = {"prompts": ["{{response}}"], "providers": ["echo"], "tests": tests}
    config = folder / "config.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    preload = folder / "offline.cjs"
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
    output = folder / "output.json"
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
    scores: dict[str, dict[str, float]] = {}
    for row in document["results"]["results"]:
        scores[row["testCase"]["description"]] = row["namedScores"]
    figures = [_pair(run, scores[str(number)]) for number, run in enumerate(runs)]
    return str(document["metadata"]["promptfooVersion"]), figures


def _test(name: str, run: Run, recording: Path) -> dict[str, Any]:
    """The test case of a run in Promptfoo's configuration."""
    sample = run.example.sample
    chunks: list[dict[str, Any]] = []
    for chunk in sample.retrieved_contexts:
        chunks.append(chunk.model_dump(include={"text", "relevant"}, exclude_none=True))
    variables = {
        "query": sample.user_input,
        "response": sample.response,
        "reference": sample.reference,
        "contextChunks": chunks,
    }
    config = {"verdicts": str(recording), "definition": run.definition, "maxNoise": 1}
    assertion = {"type": "python", "value": "file://noise.py", "config": config}
    return {"description": name, "vars": variables, "assert": [assertion]}


def _pair(run: Run, scores: dict[str, float]) -> Pair:
    relevant = scores.get(score_name("relevant", run.definition))
    irrelevant = scores.get(score_name("irrelevant", run.definition))
    return relevant, irrelevant
