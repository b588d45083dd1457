"""Promptfoo's results: their names, the choice of a provider, their samples and verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from noisesense import RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError
from noisesense.scoring.results import Choices, ResultLine
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import Row
from noisesense_adapters.promptfoo.sample import Inputs
from noisesense_adapters.reading.paths import named
from noisesense_adapters.reading.row import read_verdicts
from noisesense_adapters.reading.values import as_list, as_object, without_nulls

_KEYS = {"testCase", "testIdx", "promptIdx", "vars"}


class _System(NamedTuple):
    """A provider with one of its prompts, by Promptfoo's number."""

    provider: str
    prompt: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _System:
        provider = as_object(row.get("provider"))
        name = provider.get("label") or provider.get("id") or "provider"
        return cls(str(name), str(row["promptIdx"]))


def is_result(row: object) -> bool:
    """Tell whether it is one of Promptfoo's results."""
    return as_object(row).keys() >= _KEYS


def result_name(row: Mapping[str, Any]) -> str:
    """Return the name of a result, the same for a test, prompt and provider in every run."""
    provider, prompt = _System.of(row)
    return f"test {row['testIdx']}, prompt {prompt}, {provider}"


def of_one_system(rows: Iterable[Raw], provider: str | None) -> list[Raw]:
    """Return the results of one provider and prompt, as those of several have no common mean.

    Args:
        rows: all rows of a file.
        provider: the name of the provider; None if there is only one. With several prompts it is
            followed by the number of one: ``"A, prompt 1"``.

    Raises:
        InputError: no such provider, or several and none chosen.
    """
    results: list[Raw] = []
    others: list[Raw] = []
    for raw in rows:
        if is_result(raw.data):
            results.append(raw)
        else:
            others.append(raw)
    names = _names(_System.of(raw.data) for raw in results)
    _check_provider(provider, list(names.values()))
    if provider is not None:
        results = [raw for raw in results if names[_System.of(raw.data)] == provider]
    return [*results, *others]


def _check_provider(provider: str | None, names: list[str]) -> None:
    if provider is None and len(names) > 1:
        hint = (
            "choose one, in Python by provider=: noisesense score FILE --provider NAME --out OUT;"
            " other commands read OUT"
        )
        raise InputError(
            "results of one provider and prompt", named(names), where="provider", hint=hint
        )
    if provider is not None and provider not in names:
        raise InputError(f"one of {named(names)}", repr(provider), where="provider")


def _names(systems: Iterable[_System]) -> dict[_System, str]:
    """Return the name of each provider, with the number of its prompt if it has several."""
    different = dict.fromkeys(systems)
    prompts = Counter(system.provider for system in different)
    names: dict[_System, str] = {}
    for system in different:
        names[system] = system.provider
        if prompts[system.provider] > 1:
            names[system] += f", prompt {system.prompt}"
    return names


class PromptfooReader:
    """Reads Promptfoo's results, with texts, labels and verdicts where our assertion has them.

    The verdicts are those of the test, or those of the assertion's judge, which the assertion
    leaves in its metadata. They are scored as the first of our assertions says.

    Args:
        folder: the folder of the file; paths of recordings may be relative to it.
        verdicts: whether to read the verdicts.
    """

    def __init__(self, folder: Path, *, verdicts: bool) -> None:
        self._folder = folder
        self._verdicts = verdicts
        self._recordings: dict[str, RecordedJudge] = {}

    def __call__(self, row: Mapping[str, Any], place: str) -> Row:
        """Read one result. Raises `InputError`."""
        response = as_object(row.get("response"))
        if response.get("output") is None:
            hint = "the provider failed; see the result's error"
            raise InputError("the provider's output", "none", hint=hint)
        ours = _our_assertions(row)
        context = {"vars": row.get("vars"), "providerResponse": response}
        inputs = Inputs(response["output"], context, _config(row, ours))
        judged_texts = _in_metadata(ours, "sample")
        sample = None
        if judged_texts is not None:  # what the test holds is as before files and transforms
            sample = Sample.model_validate(without_nulls(judged_texts))
        return Row(
            place,
            id=result_name(row),
            cluster=row.get("cluster"),
            sample=sample or inputs.sample,
            verdicts=self._read_verdicts(inputs, sample or inputs.sample, ours)
            if self._verdicts
            else None,
            line=_line(ours),
        )

    def _read_verdicts(
        self, inputs: Inputs, sample: Sample, ours: list[dict[str, Any]]
    ) -> Verdicts | None:
        inputs.reading.check("verdicts")
        value = inputs.given_verdicts
        where = inputs.reading.places.get("verdicts", "metadata.verdicts")
        if value is None:
            value = _in_metadata(ours, "verdicts")
        if isinstance(value, str):
            return self._recording(value.removeprefix("file://")).lookup(sample)
        return None if value is None else read_verdicts(value, sample, where)

    def _recording(self, path: str) -> RecordedJudge:
        if path not in self._recordings:
            beside = self._folder / path
            self._recordings[path] = RecordedJudge(beside if beside.exists() else path)
        return self._recordings[path]


def _our_assertions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results of our assertions in a result of Promptfoo."""
    grading = as_object(row.get("gradingResult"))
    ours: list[dict[str, Any]] = []
    for component in as_list(grading.get("componentResults")):
        assertion = as_object(component)
        if "noiseSensitivity" in as_object(assertion.get("metadata")):
            ours.append(assertion)
    return ours


def _in_metadata(ours: list[dict[str, Any]], field: str) -> object:
    """The field of the first of our assertions that has it in its metadata; None if none has."""
    for assertion in ours:
        value: object = assertion["metadata"].get(field)
        if value is not None:
            return value
    return None


def _config(row: Mapping[str, Any], ours: list[dict[str, Any]]) -> dict[str, Any]:
    """The config of our assertion; if it gave no score, of the first Python one with a config."""
    assertions = [as_object(result.get("assertion")) for result in ours]
    test = as_object(row.get("testCase"))
    for tested in as_list(test.get("assert")):
        assertion = as_object(tested)
        if assertion.get("type") == "python":
            assertions.append(assertion)
    for assertion in assertions:
        if config := as_object(assertion.get("config")):
            return config
    return {}


def _line(ours: list[dict[str, Any]]) -> ResultLine:
    """Return how the first of our assertions scored."""
    if not ours:
        return ResultLine()
    assertion = as_object(ours[0].get("assertion"))
    config = as_object(assertion.get("config"))
    settings = {**ours[0]["metadata"], **config}
    choices = {name: settings.get(name) for name in Choices.__annotations__}
    return ResultLine.model_validate(without_nulls(choices))
