"""Promptfoo's results, read with texts, labels and verdicts where our assertion looks for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from noisesense import RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError
from noisesense_adapters.datasets.rows import Read, Row
from noisesense_adapters.promptfoo.sample import Inputs
from noisesense_adapters.toolbox.given import as_list, as_object, read_verdicts


def is_promptfoo(row: Mapping[str, Any]) -> bool:
    """Is it one of Promptfoo's results?"""
    return {"testCase", "testIdx", "promptIdx", "vars"} <= row.keys()


def promptfoo_reader(folder: Path, *, verdicts: bool) -> Read:
    """A reader of results.

    The verdicts are those given to the test, or else those that the assertion's judge gave; the
    assertion leaves these in its metadata.

    Args:
        folder: the results' folder; paths of recordings may be relative to it.
        verdicts: whether to read the verdicts as well.
    """

    @cache
    def recording(path: str) -> RecordedJudge:
        beside = folder / path
        return RecordedJudge(beside if beside.exists() else path)

    def given(inputs: Inputs, sample: Sample, ours: list[dict[str, Any]]) -> Verdicts | None:
        found = inputs.first("verdicts")
        if found is None:
            judged = [each["metadata"].get("verdicts") for each in ours]
            where = "metadata.verdicts"
            value = next((verdicts for verdicts in judged if verdicts is not None), None)
        else:
            where, value = found
        if isinstance(value, str):
            return recording(value.removeprefix("file://")).lookup(sample)
        return None if value is None else read_verdicts(value, sample, where)

    def read(row: Mapping[str, Any], place: str) -> Row:
        response = as_object(row.get("response"))
        if response.get("output") is None:
            hint = "the provider failed; see the result's error"
            raise InputError("the provider's output", "none", hint=hint)
        graded = map(as_object, as_list(as_object(row.get("gradingResult")).get(_COMPONENTS)))
        ours = [each for each in graded if "noiseSensitivity" in as_object(each.get("metadata"))]
        context = {"vars": row.get("vars"), "providerResponse": response}
        inputs = Inputs(response["output"], context, _config(row, ours))
        sample = inputs.sample
        provider = as_object(row.get("provider"))
        by = provider.get("label") or provider.get("id") or "provider"
        # The same for the same test, prompt and provider in every run.
        name = f"test {row['testIdx']}, prompt {row['promptIdx']}, {by}"
        return Row(place, name, None, sample, given(inputs, sample, ours) if verdicts else None)

    return read


_COMPONENTS = "componentResults"


def _config(row: Mapping[str, Any], ours: list[dict[str, Any]]) -> dict[str, Any]:
    """The config of our assertion; if it gave no score, of the first Python one with a config."""
    asserted = map(as_object, as_list(as_object(row.get("testCase")).get("assert")))
    python = (each for each in asserted if each.get("type") == "python")
    candidates = [*(as_object(each.get("assertion")) for each in ours), *python]
    configs = [as_object(each.get("config")) for each in candidates]
    return next((config for config in configs if config), as_object(None))
