"""The demo's run: every place asked in turn, Promptfoo meanwhile in a process of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import noisesense
from noisesense import RecordedJudge, score
from noisesense.errors import MissingExtraError, NoiseSenseError
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense.verdicts.recording import write_recording
from noisesense_adapters.demo.compare import (
    Case,
    Pair,
    Place,
    Report,
    Results,
    Run,
    cases,
    compare,
)
from noisesense_adapters.demo.deepeval import DEEPEVAL, run_deepeval
from noisesense_adapters.demo.promptfoo import PROMPTFOO, PromptfooEval, find_promptfoo
from noisesense_adapters.demo.quiet import quiet
from noisesense_adapters.demo.ragas import ASCORE, EVALUATE, OWN, run_ragas

__all__ = ["CORE", "FRAMEWORKS", "run_core", "run_demo"]

CORE = "core"


def run_core(wanted: Sequence[Case], recording: Path) -> Results:
    """``score()`` of the recorded verdicts."""
    judge = RecordedJudge(recording)
    figures: dict[str, Pair] = {}
    for case in wanted:
        found = score(judge.lookup(case.example.sample), definition=case.definition)
        figures[case.key] = Pair(found.relevant, found.irrelevant)
    return Results(noisesense.__version__, {CORE: figures})


FRAMEWORKS = ("ragas", "deepeval", "promptfoo")

_IN_PROCESS: dict[str, tuple[Run, tuple[str, ...]]] = {
    "": (run_core, (CORE,)),
    "ragas": (run_ragas, (EVALUATE, ASCORE, OWN)),
    "deepeval": (run_deepeval, (DEEPEVAL,)),
}


def run_demo(
    *,
    examples: Sequence[ReferenceExample] | None = None,
    promptfoo: Path | None = None,
    require: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Compute every reference example in every framework that is installed. No key, no network.

    Args:
        examples: instead of the documented ones.
        promptfoo: the command, if it is neither on PATH nor in ./node_modules/.bin.
        require: frameworks whose absence is a failure, of `FRAMEWORKS`.
        progress: told what is being done.

    Raises:
        InputError: ``promptfoo`` is not a command.
    """
    wanted = cases(reference_examples() if examples is None else examples)
    command = find_promptfoo(promptfoo)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="noisesense-")))
        recording = folder / "verdicts.jsonl"
        write_recording(recording, ((c.example.sample, c.example.verdicts) for c in wanted))
        stack.enter_context(quiet())
        # Promptfoo is a process of its own: it runs while Python imports the frameworks.
        running = command and stack.enter_context(
            PromptfooEval(command, wanted, recording, folder)
        )
        places: list[Place] = []
        for framework, (run, names) in _IN_PROCESS.items():
            progress(framework or CORE)
            places += _ask(framework, names, run, wanted, recording)
        progress("promptfoo")
        places += _promptfoo(running or None, wanted, recording)
    absent = {place.framework for place in places if place.state == "not installed"}
    return compare(wanted, places, [name for name in require if name in absent])


def _ask(
    framework: str, names: tuple[str, ...], run: Run, wanted: Sequence[Case], recording: Path
) -> list[Place]:
    try:
        results = run(wanted, recording)
    except MissingExtraError:
        detail = f"pip install 'noisesense[{framework}]'"
        return [Place(name, framework, "not installed", detail) for name in names]
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is its result here
        kind = "" if isinstance(error, NoiseSenseError) else f"{type(error).__name__}: "
        detail = _one_line(f"{kind}{error}")
        return [Place(name, framework, "failed", detail) for name in names]
    return [
        Place(name, framework, "compared", results.version, results.places[name]) for name in names
    ]


def _one_line(text: str) -> str:
    """Tracebacks say most at their end."""
    text = " ".join(text.split())
    return text if len(text) <= 400 else f"{text[:150]} ... {text[-250:]}"


def _promptfoo(
    running: PromptfooEval | None, wanted: Sequence[Case], recording: Path
) -> list[Place]:
    if running is None:
        detail = "no promptfoo on PATH nor in ./node_modules/.bin (npm install promptfoo)"
        return [Place(PROMPTFOO, "promptfoo", "not installed", detail)]

    def results(_wanted: Sequence[Case], _recording: Path) -> Results:
        return running.results()

    return _ask("promptfoo", (PROMPTFOO,), results, wanted, recording)
