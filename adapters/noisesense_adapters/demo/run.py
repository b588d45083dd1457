"""The demo's run: every place in turn, with Promptfoo in a process of its own meanwhile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import noisesense
from noisesense import RecordedJudge, score
from noisesense.errors import MissingExtraError, NoiseSenseError
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense.verdicts.recording import write_recording
from noisesense_adapters.demo import compare
from noisesense_adapters.demo.compare import ExampleRun, Framework, Pair, Place, Report, Results
from noisesense_adapters.demo.deepeval import DEEPEVAL, run_deepeval
from noisesense_adapters.demo.evaluators import (
    LANGFUSE,
    LANGSMITH,
    MLFLOW,
    PYDANTIC_EVALS,
    run_langfuse,
    run_langsmith,
    run_mlflow,
    run_pydantic_evals,
)
from noisesense_adapters.demo.promptfoo import PROMPTFOO, PromptfooEval, find_promptfoo
from noisesense_adapters.demo.quiet import quiet
from noisesense_adapters.demo.ragas import ASCORE, EVALUATE, OWN, run_ragas

_CORE = "core"


def _run_core(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """``score()`` of the recorded verdicts."""
    judge = RecordedJudge(recording)
    figures: dict[str, Pair] = {}
    for run in runs:
        result = score(judge.lookup(run.example.sample), definition=run.definition)
        figures[run.key] = Pair(result.relevant, result.irrelevant)
    return Results(noisesense.__version__, {_CORE: figures})


_IN_PROCESS: dict[str, tuple[Framework, tuple[str, ...]]] = {
    "": (_run_core, (_CORE,)),
    "ragas": (run_ragas, (EVALUATE, ASCORE, OWN)),
    "deepeval": (run_deepeval, (DEEPEVAL,)),
    "langsmith": (run_langsmith, (LANGSMITH,)),
    "langfuse": (run_langfuse, (LANGFUSE,)),
    "pydantic-evals": (run_pydantic_evals, (PYDANTIC_EVALS,)),
    "mlflow": (run_mlflow, (MLFLOW,)),
}


FRAMEWORKS = (*filter(None, _IN_PROCESS), "promptfoo")


def run_demo(
    *,
    examples: Sequence[ReferenceExample] | None = None,
    promptfoo: Path | None = None,
    require: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Compute every reference example in every framework that is installed. No key, no network.

    Args:
        examples: the examples to compute instead of the documented ones.
        promptfoo: the command, if it is neither on PATH nor in ./node_modules/.bin.
        require: frameworks of `FRAMEWORKS` whose absence is a failure.
        progress: called with the name of what is computed next.

    Raises:
        InputError: ``promptfoo`` is not a command.
    """
    runs = compare.example_runs(reference_examples() if examples is None else examples)
    command = find_promptfoo(promptfoo)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="noisesense-")))
        recording = folder / "verdicts.jsonl"
        write_recording(recording, ((run.example.sample, run.example.verdicts) for run in runs))
        stack.enter_context(quiet())
        # Promptfoo is a process of its own: it runs while Python imports the frameworks.
        evaluation = command and stack.enter_context(
            PromptfooEval(command, runs, recording, folder)
        )
        places: list[Place] = []
        for framework, (compute, names) in _IN_PROCESS.items():
            progress(framework or _CORE)
            places += _places(framework, names, partial(compute, runs, recording))
        progress("promptfoo")
        if evaluation:
            places += _places("promptfoo", (PROMPTFOO,), evaluation.results)
        else:
            hint = "no promptfoo on PATH nor in ./node_modules/.bin (npm install promptfoo)"
            places.append(Place(PROMPTFOO, "promptfoo", "not installed", hint))
    absent = {place.framework for place in places if place.state == "not installed"}
    return compare.compare(runs, places, [name for name in require if name in absent])


def _places(framework: str, names: tuple[str, ...], compute: Callable[[], Results]) -> list[Place]:
    try:
        results = compute()
    except MissingExtraError:
        detail = f"pip install 'noisesense[{framework}]'"
        return [Place(name, framework, "not installed", detail) for name in names]
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is its result here
        kind = "" if isinstance(error, NoiseSenseError) else f"{type(error).__name__}: "
        detail = " ".join(f"{kind}{error}".split())
        if len(detail) > 400:  # tracebacks say most at their end
            detail = f"{detail[:150]} ... {detail[-250:]}"
        return [Place(name, framework, "failed", detail) for name in names]
    return [
        Place(name, framework, "compared", results.version, results.places[name]) for name in names
    ]
