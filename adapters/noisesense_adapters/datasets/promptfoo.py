"""Promptfoo's results: their names, the choice of a provider, their samples and verdicts."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from noisesense import RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError, check_choice
from noisesense.scoring.results import Choices, ResultLine
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import Row
from noisesense_adapters.promptfoo.result import failure_in
from noisesense_adapters.promptfoo.sample import Inputs
from noisesense_adapters.reading.paths import named
from noisesense_adapters.reading.row import read_verdicts
from noisesense_adapters.reading.values import as_list, as_object, without_nulls

_KEYS = {"testCase", "testIdx", "promptIdx", "vars"}


def is_result(row: object) -> bool:
    """Tell whether it is a dict with the fields of Promptfoo's results."""
    return as_object(row).keys() >= _KEYS


def _system_of(row: Mapping[str, Any]) -> str:
    """Return the name of a result's provider, with the number of its prompt."""
    provider = as_object(row.get("provider"))
    name = provider.get("label") or provider.get("id") or "provider"
    return f"{name}, prompt {row['promptIdx']}"


def result_name(row: Mapping[str, Any]) -> str:
    """Return the name of a result, the same for a test, prompt and provider in every run."""
    return f"test {row['testIdx']}, {_system_of(row)}"


def of_one_system(rows: Iterable[Raw], provider: str | None) -> list[Raw]:
    """Return the results of one provider and prompt, as those of several have no common mean.

    Rows that are no results, such as broken ones, stay.

    Args:
        rows: all rows of a file, parsed, with a result among them.
        provider: its name and the number of the prompt, ``"A, prompt 1"``, or the name alone if
            it has one prompt; None if there is only one.

    Raises:
        InputError: no such provider, or several and none chosen.
    """
    every = list(rows)
    names = dict.fromkeys(_system_of(raw.data) for raw in every if is_result(raw.data))
    if provider is not None:
        of_provider = [name for name in names if name.startswith(f"{provider}, prompt ")]
        system = of_provider[0] if len(of_provider) == 1 else provider
        check_choice(system, tuple(names), "provider")
        return [raw for raw in every if not is_result(raw.data) or _system_of(raw.data) == system]
    if len(names) > 1:
        hint = "noisesense score FILE --provider NAME --out OUT; other commands read OUT"
        expected = "results of one provider and prompt"
        raise InputError(expected, named(names), where="provider", hint=hint)
    return every


def result_reader(folder: Path, *, verdicts: bool) -> Callable[[Mapping[str, Any], str], Row]:
    """Return a function that reads a result of Promptfoo, as our assertion read it.

    The verdicts are those of the test, or those of the assertion's judge, which the assertion
    leaves in its metadata beside the texts. They are scored as the first of our assertions says.

    Args:
        folder: the folder of the file; paths of recordings may be relative to it.
        verdicts: whether to read the verdicts.
    """
    recorded = cache(RecordedJudge)

    def read_result(row: Mapping[str, Any], place: str) -> Row:
        """Read one result. Raises `InputError`."""
        response = as_object(row.get("response"))
        if response.get("output") is None:
            hint = "the provider failed; see the result's error"
            raise InputError("the provider's output", "none", hint=hint)
        ours = _our_assertions(row)
        metadata = ChainMap(*(each["metadata"] for each in ours))
        config = _config(row, ours)
        context = {"vars": row.get("vars"), "providerResponse": response}
        inputs = Inputs(response["output"], context, config)
        line = ResultLine(error=_failure(row))
        if ours:
            line = _line({**metadata, **config}, ours)
        sample: Sample | None = None
        given: Verdicts | None = None
        try:
            if metadata.get("sample") is not None:  # the test's are as before files and transforms
                sample = Sample.model_validate(without_nulls(metadata["sample"]))
            else:
                sample = inputs.sample
            if verdicts:
                given = read_given(inputs, sample, metadata)
        except InputError:
            if line.error is None:
                raise
        return Row(place, result_name(row), row.get("cluster"), sample, given, line)

    def read_given(inputs: Inputs, sample: Sample, metadata: Mapping[str, Any]) -> Verdicts | None:
        inputs.reading.check("verdicts")
        value = inputs.reading.values["verdicts"]
        where = inputs.reading.places.get("verdicts", "metadata.verdicts")
        if value is None:
            value = metadata.get("verdicts")
        if isinstance(value, str):
            path = value.removeprefix("file://")
            beside = folder / path
            return recorded(beside if beside.exists() else path).lookup(sample)
        return None if value is None else read_verdicts(value, sample, where)

    return read_result


def _our_assertions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results of our assertions that gave a score."""
    results = _assertions(row)
    return [each for each in results if "noiseSensitivity" in as_object(each.get("metadata"))]


def _failure(row: Mapping[str, Any]) -> str | None:
    """Return which result has no score of our assertion, and why; None if it does not say."""
    why = next(filter(None, map(failure_in, _assertions(row))), None)
    return why and f"{result_name(row)}: {why}"


def _assertions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results of all assertions in a result of Promptfoo."""
    grading = as_object(row.get("gradingResult"))
    return [*map(as_object, as_list(grading.get("componentResults")))]


def _config(row: Mapping[str, Any], ours: list[dict[str, Any]]) -> dict[str, Any]:
    """The config of our assertion; if it gave no score, of the first Python one with a config."""
    tested = as_list(as_object(row.get("testCase")).get("assert"))
    python = [each for each in map(as_object, tested) if each.get("type") == "python"]
    assertions = [as_object(result.get("assertion")) for result in ours]
    for assertion in (*assertions, *python):
        config = as_object(assertion.get("config"))
        if config:
            return config
    return {}


def _line(settings: Mapping[str, Any], ours: list[dict[str, Any]]) -> ResultLine:
    """Return how an assertion with these settings scores, and what all have asked of the judge."""
    line: dict[str, Any] = {name: settings.get(name) for name in Choices.__annotations__}
    asked = [as_object(each["metadata"].get("judge")) for each in ours]
    usage = {
        "calls": sum(each.get("calls", 0) for each in asked),
        "cached_calls": sum(each.get("cachedCalls", 0) for each in asked),
    }
    return ResultLine.model_validate(without_nulls({**line, "usage": usage}))
