"""What the core costs: a score, an assertion's process.

    python tests/benchmarks/core_cost.py [--runs 15] [--only assertions]

Prints, with the aims beside them: the time of one ``score`` against RAGChecker's formula in numpy
on the same tables (aim: 5 times faster than the formula as RAGChecker computes it, from its
label lists); the processor time of one Promptfoo assertion's
process against one that returns a constant (aim: at most 6 times on given verdicts, 12 where a
model is asked). Needs numpy; asserts nothing.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from timeit import timeit
from typing import Any

ROOT = Path(__file__).parents[2]
PATHS = [str(ROOT / "core"), str(ROOT / "adapters"), str(ROOT / "tests")]
sys.path[:0] = PATHS

# The source roots are found above: a clean checkout runs without an install.
import numpy as np  # noqa: E402

from noisesense import Verdicts, score, write_recording  # noqa: E402
from support.faults import TRUTH, mind, pairs  # noqa: E402
from support.published import ragchecker_examples  # noqa: E402
from support.ragchecker_formula import (  # noqa: E402
    as_arrays,
    as_labels,
    noise_sensitivity,
    noise_sensitivity_of_labels,
)
from support.server import ScriptedServer  # noqa: E402
from support.tables import random_pairs  # noqa: E402


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="rounds of everything measured")
    parser.add_argument("--only", choices=("scores", "assertions"), help="one part")
    given = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "scores": lambda: score_times(given.runs),
        "assertions": lambda: assertion_costs(given.runs),
    }
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores")
    for name, print_part in parts.items():
        if given.only in (None, name):
            print_part()


def score_times(runs: int) -> None:
    """Both modes of one sample, in microseconds: best of many rounds, the contenders in turn."""
    print("\nOne score, both modes (µs; in brackets: times faster than RAGChecker's formula)")
    print(f"{'':34}{'score':>8}{'from labels':>20}{'from ready arrays':>20}")
    examples = [example.verdicts for example in ragchecker_examples()]
    random_tables = [verdicts for _, verdicts in random_pairs(300) if verdicts.response_claims]
    for name, tables in (
        ("RAGChecker's example 0 (11×4, 22×4)", examples[:1]),
        ("RAGChecker's example 1 (5×3, 8×3)", examples[1:]),
        (f"{len(random_tables)} random tables", random_tables),
    ):
        ours, labels, arrays = _best(
            runs,
            len(tables),
            _scores(tables),
            _formula(noise_sensitivity_of_labels, [(as_labels(v.to_matrices()),) for v in tables]),
            _formula(noise_sensitivity, [_arrays(v) for v in tables]),
        )
        print(
            f"{name:36}{ours:6.1f}"
            f"{labels:12.1f} ({labels / ours:4.1f}×){arrays:12.1f} ({arrays / ours:4.1f}×)"
        )
    print("aim: 5× from labels, which is how RAGChecker computes it")


def _scores(tables: Sequence[Verdicts]) -> Callable[[], Any]:
    def run() -> None:
        for verdicts in tables:
            found = score(verdicts)
            _ = found.relevant, found.irrelevant

    return run


def _formula(formula: Callable[..., Any], inputs: Sequence[tuple[Any, ...]]) -> Callable[[], Any]:
    def run() -> None:
        for arguments in inputs:
            formula(*arguments)

    return run


def _arrays(verdicts: Verdicts) -> tuple[Any, ...]:
    return tuple(as_arrays(labels) for labels in as_labels(verdicts.to_matrices()))


def _best(runs: int, count: int, *contenders: Callable[[], Any]) -> list[float]:
    """Microseconds an item. In turn, so that a noisy moment hits them alike."""
    number = max(1, 600 // count)
    rounds = [[timeit(run, number=number) for run in contenders] for _ in range(runs)]
    return [min(times) / number / count * 1e6 for times in zip(*rounds, strict=True)]


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
        recording, store = str(folder / "verdicts.jsonl"), str(folder / "noise.db")
        write_recording(recording, [(sample, verdicts)])
        (folder / "wrapper.py").write_text(WRAPPER, encoding="utf-8")
        judge = {"model": "scripted", "baseUrl": server.base_url}
        # The script, the variables, the config, the aim.
        cases: dict[str, tuple[str, dict[str, Any], dict[str, Any], float]] = {
            "a constant": (BARE, texts, {}, 1),
            "ours, verdicts in a recording": (OURS, texts, {"verdicts": recording}, 6),
            "ours, verdicts in vars": (OURS, given, {}, 6),
            "ours, judged, all in the store": (
                OURS,
                texts,
                {"judge": {**judge, "store": store}},
                12,
            ),
            "ours, judged, 6 calls": (OURS, texts, {"judge": judge}, 12),
            "a constant, importing pydantic": ("import pydantic.main\n" + BARE, texts, {}, 0),
            "a constant, importing openai": ("import openai\n" + BARE, texts, {}, 0),
        }
        commands = {
            case: _command(folder, f"case{i}", script, sample.response, variables, config)
            for i, (case, (script, variables, config, _)) in enumerate(cases.items())
        }
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
        middle, aim = statistics.median(measured), cases[case][-1]
        print(
            f"{case:38}{middle:6.0f} ({middle / bare:5.2f}×)"
            + (f"   aim: at most {aim:g}×" if aim > 1 else "")
        )


def _processor_time() -> float:
    """Seconds that finished child processes have taken, in user and system mode."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _command(
    folder: Path,
    name: str,
    script: str,
    output: str,
    variables: dict[str, Any],
    config: dict[str, Any],
) -> tuple[list[str], Path]:
    # A folder of its own, as the script's folder becomes the first place to import from.
    own = folder / name
    own.mkdir()
    (own / "noise_sensitivity.py").write_text(script, encoding="utf-8")
    context = {
        "prompt": variables["query"],
        "vars": variables,
        "test": {"vars": variables},
        "provider": {"id": "echo"},
        "providerResponse": {"output": output},
        "config": config,
    }
    (own / "arguments.json").write_text(json.dumps([output, context]), encoding="utf-8")
    files = [str(own / file) for file in ("noise_sensitivity.py", "arguments.json", "result.json")]
    command = [str(folder / "wrapper.py"), files[0], "get_assert", *files[1:]]
    return command, own / "result.json"


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
