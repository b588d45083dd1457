"""The reference examples in every installed framework, side by side.

Every place in turn, with Promptfoo in a process of its own meanwhile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from noisesense.errors import MissingExtraError, NoiseSenseError
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense.verdicts.recording import write_recording
from noisesense_adapters.demo import compare
from noisesense_adapters.demo.compare import Place, Report, Results
from noisesense_adapters.demo.hosts import HOSTS, quiet
from noisesense_adapters.demo.promptfoo import PROMPTFOO, PromptfooEval, find_promptfoo

__all__ = ["FRAMEWORKS", "run_demo"]

FRAMEWORKS = (*dict.fromkeys(host.package for host in HOSTS if host.package), "promptfoo")


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
        for host in HOSTS:
            progress(host.name)
            places.append(_place(host.name, host.package, partial(host.results, runs, recording)))
        progress("promptfoo")
        if evaluation:
            places.append(_place(PROMPTFOO, "promptfoo", evaluation.results))
        else:
            hint = "no promptfoo on PATH nor in ./node_modules/.bin (npm install promptfoo)"
            places.append(Place(PROMPTFOO, "promptfoo", "not installed", hint))
    absent = {place.framework for place in places if place.state == "not installed"}
    return compare.compare(runs, places, [name for name in require if name in absent])


def _place(name: str, framework: str, compute: Callable[[], Results]) -> Place:
    try:
        results = compute()
    except MissingExtraError:
        return Place(name, framework, "not installed", f"pip install 'noisesense[{framework}]'")
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is its result here
        kind = "" if isinstance(error, NoiseSenseError) else f"{type(error).__name__}: "
        detail = " ".join(f"{kind}{error}".split())
        if len(detail) > 400:  # tracebacks say most at their end
            detail = f"{detail[:150]} ... {detail[-250:]}"
        return Place(name, framework, "failed", detail)
    return Place(name, framework, "compared", *results)
