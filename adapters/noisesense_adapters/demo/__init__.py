"""The reference examples in every installed framework, side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from noisesense import RecordedJudge, __version__
from noisesense.errors import MissingExtraError, check_choice
from noisesense.fixtures import reference_examples
from noisesense.verdicts.recording import write_recording
from noisesense_adapters.demo import promptfoo
from noisesense_adapters.demo.compare import Pair, Place, Report, Run, compare, runs_of
from noisesense_adapters.demo.hosts import HOSTS, Host, quiet
from noisesense_adapters.extras import needs_extra

__all__ = ["run_demo"]

_FRAMEWORKS = (*(host.package for host in HOSTS[1:]), "promptfoo")
_Computed = tuple[str, Sequence[Pair]]
"""The version of a framework, and its values."""


def run_demo(*, require: Sequence[str] = ()) -> Report:
    """Score the reference examples in all installed frameworks, without API key and network.

    Args:
        require: frameworks that must be installed, e.g. ``["ragas", "promptfoo"]``.

    Raises:
        InputError: an unknown framework.
    """
    for name in require:
        check_choice(name, _FRAMEWORKS, "--require")
    runs = runs_of(reference_examples())
    with tempfile.TemporaryDirectory(prefix="noisesense-") as name, quiet():
        folder = Path(name)
        recording = folder / "verdicts.jsonl"
        write_recording(recording, [(run.example.sample, run.example.verdicts) for run in runs])
        judge = RecordedJudge(recording)
        places: list[Place] = []
        for host in HOSTS:
            compute = partial(_compute, host, runs, judge)
            places.append(_place(host.name, host.package in require, compute))
        evaluate = partial(promptfoo.evaluate, runs, recording, folder)
        places.append(_place("Promptfoo", "promptfoo" in require, evaluate))
    return compare(runs, places)


def _compute(host: Host, runs: Sequence[Run], judge: RecordedJudge) -> _Computed:
    """The values of all runs in a host.

    Raises:
        MissingExtraError: the host is not installed.
    """
    figures: list[Pair] = []
    module = host.package.replace("-", "_")
    with needs_extra(host.package, module):
        import_module(module)
        for definition, group in groupby(runs, lambda run: run.definition):
            samples = [run.example.sample for run in group]
            values = host.evaluate(samples, judge=judge, definition=definition)
            for relevant, irrelevant in values:
                figures.append((relevant, irrelevant))
    return __version__ if module == "noisesense" else version(host.package), figures


def _place(name: str, required: bool, compute: Callable[[], _Computed]) -> Place:
    """The place with its values, or with the reason why it has none."""
    try:
        framework_version, figures = compute()
        return Place(name, "compared", framework_version, figures)
    except MissingExtraError as error:
        return Place(name, "failed" if required else "not installed", str(error))
    except Exception as error:  # noqa: BLE001 - a framework may raise anything
        message = " ".join(str(error).split())
        # The end of a traceback says most.
        return Place(name, "failed", f"{type(error).__name__}: {message[-300:]}")
