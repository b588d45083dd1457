"""What a Promptfoo assertion's process costs.

    python tests/benchmarks/core_cost.py [--runs 15]

Prints its processor time against that of one that returns a constant, with the aim beside it: at
most 6 times on given verdicts, 12 where a model is asked. Asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ground import PATHS

from noisesense import write_recording
from support.faults import TRUTH, mind, pairs
from support.server import ScriptedServer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="rounds of everything measured")
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    assertion_costs(given.runs)


BARE = """
def get_assert(output, context):
    return {"pass": True, "score": 1.0, "reason": "constant"}
"""
OURS = "from noisesense_adapters.promptfoo import get_assert\n"

# What Promptfoo does for an assertion: a new process loads the script by its path, reads the
# arguments from a JSON file and writes the result to another.
WRAPPER = """
import asyncio, importlib.util, inspect, json, os, sys
script, function, arguments, result = sys.argv[1:]
sys.path.insert(0, os.path.dirname(script))
spec = importlib.util.spec_from_file_location("script", script)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
call = getattr(module, function)
with open(arguments, encoding="utf-8") as file:
    given = json.load(file)
found = asyncio.run(call(*given)) if inspect.iscoroutinefunction(call) else call(*given)
with open(result, "w", encoding="utf-8") as file:
    json.dump({"type": "final_result", "data": found}, file, ensure_ascii=False)
"""


def assertion_costs(runs: int) -> None:
    """Processor time of a process, from its start to its end: median, the contenders in turn."""
    print(f"\nOne Promptfoo assertion's process (CPU ms, median of {runs}; against the constant)")
    sample, verdicts = pairs()[0]
    texts: dict[str, Any] = {
        "query": sample.user_input,
        "reference": sample.reference,
        "contextChunks": [{"text": chunk.text} for chunk in sample.retrieved_contexts],
    }
    given = {**texts, "verdicts": verdicts.model_dump(mode="json", exclude_defaults=True)}
    with tempfile.TemporaryDirectory() as name, ScriptedServer(mind()) as server:
        folder = Path(name)
        recording = str(folder / "verdicts.jsonl")
        store = str(folder / "noise.db")
        write_recording(recording, [(sample, verdicts)])
        (folder / "wrapper.py").write_text(WRAPPER, encoding="utf-8")
        judge = {"model": "scripted", "baseUrl": server.base_url}
        kept = {**judge, "store": store}
        # The script, the variables, the config, the aim.
        cases: dict[str, tuple[str, dict[str, Any], dict[str, Any], float]] = {
            "a constant": (BARE, texts, {}, 1),
            "ours, verdicts in a recording": (OURS, texts, {"verdicts": recording}, 6),
            "ours, verdicts in vars": (OURS, given, {}, 6),
            "ours, judged, all in the store": (OURS, texts, {"judge": kept}, 12),
            "ours, judged, 6 calls": (OURS, texts, {"judge": judge}, 12),
            "a constant, importing pydantic": ("import pydantic.main\n" + BARE, texts, {}, 0),
            "a constant, importing openai": ("import openai\n" + BARE, texts, {}, 0),
        }
        commands: dict[str, tuple[list[str], Path]] = {}
        for i, (case, (script, variables, config, _)) in enumerate(cases.items()):
            context = {"vars": variables, "config": config, "provider": {"id": "echo"}}
            commands[case] = _command(folder / f"case{i}", script, [sample.response, context])
        _python(*commands["ours, judged, all in the store"][0])  # fills the store
        times: dict[str, list[float]] = {case: [] for case in cases}
        for _ in range(runs):
            for case, (command, result) in commands.items():
                before = _processor_time()
                _python(*command)
                times[case].append((_processor_time() - before) * 1e3)
                graded = json.loads(result.read_text(encoding="utf-8"))["data"]
                if "ours" in case and {*graded.get("namedScores", {}).values()} != {TRUTH}:
                    raise SystemExit(f"not scored: {graded}")
    bare = statistics.median(times["a constant"])
    for case, measured in times.items():
        middle = statistics.median(measured)
        aim = cases[case][-1]
        print(
            f"{case:38}{middle:6.0f} ({middle / bare:5.2f}×)"
            + (f"   aim: at most {aim:g}×" if aim > 1 else "")
        )


def _processor_time() -> float:
    """Seconds that finished child processes have taken, in user and system mode."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _command(own: Path, script: str, arguments: list[Any]) -> tuple[list[str], Path]:
    # A folder of its own, as the script's folder becomes the first place to import from.
    own.mkdir()
    (own / "noise_sensitivity.py").write_text(script, encoding="utf-8")
    (own / "arguments.json").write_text(json.dumps(arguments), encoding="utf-8")
    files = [str(own / file) for file in ("noise_sensitivity.py", "arguments.json", "result.json")]
    return [str(own.parent / "wrapper.py"), files[0], "get_assert", *files[1:]], Path(files[2])


def _python(*arguments: str) -> str:
    environment = {**os.environ, "OPENAI_API_KEY": "any", "PYTHONPATH": os.pathsep.join(PATHS[:2])}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
