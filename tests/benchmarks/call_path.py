"""The way of one call, from a host's entry to the core and back, as a list of functions.

``python tests/benchmarks/call_path.py`` runs one sample through ragas' ``evaluate()`` and
``ascore()``, DeepEval's ``a_measure()``, Promptfoo's ``get_assert()``, MLflow's scorer, the
command line, and the core's ``score()`` and ``LLMJudge.judge()``. It prints every function of ours
that is entered, with its file, and then the same five steps of each host. It ends with status 1 if
a way has more files of its package than it should, if a host's (but for the command line's) leads
from one of them to another and back, or if a step is missing.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from itertools import groupby
from pathlib import Path
from types import FrameType

import ground  # noqa: F401

import noisesense
import noisesense_adapters
from noisesense import LLMJudge, RecordedJudge, score, write_recording
from support.mind import Mind
from support.scripted_llm import scripted
from support.server import ScriptedServer
from support.tables import Shape, random_pair

SAMPLE, VERDICTS = random_pair(3, shape=Shape(response_claims=(2, 3), chunks=(2, 2)))
"""One sample whose verdicts are known."""

_ROOTS = [
    (str(Path(str(package.__file__)).parent) + os.sep, package.__name__)
    for package in (noisesense, noisesense_adapters)
]


@contextmanager
def _traced() -> Iterator[list[tuple[int, str, str]]]:
    """Depth, file and name of each function of ours that is entered meanwhile, in any thread."""
    entered: list[tuple[int, str, str]] = []
    seen: list[FrameType] = []  # a coroutine that goes on is "called" again; kept, so no id twice
    depths: dict[int, int] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_name
        place = _place(frame.f_code.co_filename)
        if event != "call" or place is None or id(frame) in depths:
            return
        back = frame.f_back
        while back is not None and id(back) not in depths:
            back = back.f_back
        depths[id(frame)] = 0 if back is None else depths[id(back)] + 1
        seen.append(frame)
        if not name.startswith("<"):
            entered.append((depths[id(frame)], place, getattr(frame.f_code, "co_qualname", name)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _place(filename: str) -> str | None:
    for root, package in _ROOTS:
        if filename.startswith(root):
            return f"{package}/{filename.removeprefix(root)}"
    return None


def _recording(folder: Path) -> RecordedJudge:
    write_recording(folder / "verdicts.jsonl", [(SAMPLE, VERDICTS)])
    return RecordedJudge(folder / "verdicts.jsonl")


def ragas(folder: Path, _: ExitStack) -> Callable[[], object]:
    from noisesense_adapters.ragas import NoiseSensitivity
    from support.ragas_runs import evaluated

    metric = NoiseSensitivity(judge=_recording(folder))
    return lambda: evaluated([SAMPLE], [metric])


def ragas_collections(folder: Path, _: ExitStack) -> Callable[[], object]:
    from noisesense_adapters.ragas import NoiseSensitivity

    metric = NoiseSensitivity(judge=_recording(folder))
    texts = [chunk.text for chunk in SAMPLE.retrieved_contexts]
    row = {"response": SAMPLE.response, "reference": SAMPLE.reference}
    return lambda: asyncio.run(metric.ascore(SAMPLE.user_input, **row, retrieved_contexts=texts))


def deepeval(folder: Path, _: ExitStack) -> Callable[[], object]:
    from noisesense_adapters.deepeval import NoiseSensitivityMetric
    from support.deepeval_run import case_of

    metric = NoiseSensitivityMetric(judge=_recording(folder))
    return lambda: asyncio.run(metric.a_measure(case_of(SAMPLE), _show_indicator=False))


def promptfoo(_: Path, stack: ExitStack) -> Callable[[], object]:
    from noisesense_adapters.promptfoo import get_assert

    given = {
        "query": SAMPLE.user_input,
        "reference": SAMPLE.reference,
        "contextChunks": [{"text": chunk.text} for chunk in SAMPLE.retrieved_contexts],
    }
    os.environ["NOISESENSE_CALL_PATH_KEY"] = "none"
    server = stack.enter_context(ScriptedServer(Mind([(SAMPLE, VERDICTS)])))
    address = server.base_url
    judge = {"model": "scripted", "baseUrl": address, "apiKeyEnv": "NOISESENSE_CALL_PATH_KEY"}
    return lambda: get_assert(SAMPLE.response, {"vars": given, "config": {"judge": judge}})


def mlflow(folder: Path, _: ExitStack) -> Callable[[], object]:
    from noisesense_adapters.mlflow import NoiseSensitivity

    scorer = NoiseSensitivity(judge=_recording(folder))
    contexts = [chunk.text for chunk in SAMPLE.retrieved_contexts]
    row = {
        "inputs": {"question": SAMPLE.user_input},
        "outputs": {"response": SAMPLE.response, "contexts": contexts},
        "expectations": {"expected_response": SAMPLE.reference},
    }
    return lambda: scorer(**row)


def scored_file(folder: Path, _: ExitStack) -> Callable[[], object]:
    from noisesense_adapters.datasets import score_dataset

    _recording(folder)
    dataset = folder / "data.jsonl"
    dataset.write_text(SAMPLE.model_dump_json(), "utf-8")
    return lambda: score_dataset(dataset, verdicts=folder / "verdicts.jsonl")


def core_score(_: Path, __: ExitStack) -> Callable[[], object]:
    return lambda: score(VERDICTS)


def core_judge(_: Path, __: ExitStack) -> Callable[[], object]:
    judge = LLMJudge(scripted((SAMPLE, VERDICTS)))
    return lambda: asyncio.run(judge.judge(SAMPLE))


# Of each: what to call, the package whose files are its way, and how many there may be.
WAYS = {
    "ragas: evaluate()": (ragas, "noisesense_adapters/ragas/", 3),
    "ragas: ascore()": (ragas_collections, "noisesense_adapters/ragas/", 3),
    "DeepEval: a_measure()": (deepeval, "noisesense_adapters/deepeval/", 3),
    "Promptfoo: get_assert()": (promptfoo, "noisesense_adapters/promptfoo/", 4),
    "MLflow: scorer()": (mlflow, "noisesense_adapters/mlflow/", 1),
    "score_dataset()": (scored_file, "noisesense_adapters/datasets/", 6),
    "score()": (core_score, "noisesense/", 4),
    "LLMJudge.judge()": (core_judge, "noisesense/judging/", 12),
}


STEPS = {
    "Evaluator.evaluate": "evaluate a row",
    "Evaluator.evaluate_blocking": "evaluate a row",
    "Evaluator._without_judge": "verdicts given, or nothing to judge?",
    "Evaluator._by_judge": "make the judge",
    "ask_judge": "ask it",
    "Settings.score": "score its verdicts",
}
"""The five of every host, by the functions of ours."""


def _steps(entered: list[tuple[int, str, str]]) -> list[str]:
    """Those that a call went through, in order."""
    names = (name.rpartition("<locals>.")[2] for _, _, name in entered)
    return [STEPS[name] for name in names if name in STEPS]


def _again(entered: list[tuple[int, str, str]], package: str) -> list[str]:
    """The package's files that are come into a second time on the way down to a function."""
    found: set[str] = set()
    way: list[tuple[int, str]] = []
    for depth, place, _ in entered:
        way = [*((above, file) for above, file in way if above < depth), (depth, place)]
        files = [file for file, _ in groupby(file for _, file in way if file.startswith(package))]
        found |= {file for file in files if files.count(file) > 1}
    return sorted(found)


def main() -> int:
    wrong = 0
    ways: dict[str, list[str]] = {}
    for title, (prepare, package, most) in WAYS.items():
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            call = prepare(Path(folder), stack)
            with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
                call()  # what is loaded or made once is not the way of a call
                with _traced() as entered:
                    call()
        files = {place for _, place, _ in entered if place.startswith(package)}
        is_host = package.startswith("noisesense_adapters/")
        again = _again(entered, package) if is_host and prepare is not scored_file else []
        twice = f"; come into twice: {', '.join(again)}" if again else ""
        print(f"{title}: {len(files)} files of {package}, at most {most}{twice}")
        for depth, place, name in entered:
            print(f"  {'  ' * depth}{name}  {place}")
        wrong += len(files) > most or bool(again)
        if is_host:
            ways[title] = _steps(entered)
    steps = list(dict.fromkeys(STEPS.values()))
    print("\nThe steps of a host's call:", ", ".join(steps))
    for title, way in ways.items():
        print(f"  {title}: {'all five, in this order' if way == steps else ', '.join(way)}")
        wrong += way != steps
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
