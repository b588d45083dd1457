"""Verdicts that were given: as data, or in a recording. No judge is asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from noisesense._plain import plain_recorded, plain_verdicts
from noisesense.errors import InputError, describe
from noisesense_adapters.promptfoo._inputs import Inputs

if TYPE_CHECKING:
    from noisesense.verdicts import Verdicts

__all__ = ["given_verdicts"]


def given_verdicts(inputs: Inputs) -> Verdicts | None:
    """The verdicts the assertion was given; None if it was given none.

    Raises:
        InputError: they are not valid, or do not fit the chunks.
        RecordingError: the recording cannot be read or does not hold the sample.
    """
    found = inputs.verdicts
    if found is None:
        return None
    where, value = found
    if not isinstance(value, str):
        return _from_data(value, inputs.contexts, where)
    if value.lstrip().startswith("{"):
        raise InputError("valid JSON", describe(value), where=where)
    return _from_recording(_located(value), inputs.sample)


def _from_data(data: Any, contexts: list[Any] | None, where: str) -> Verdicts:
    plain = plain_verdicts(data, contexts)
    if plain is not None:
        return cast("Verdicts", plain)
    from noisesense.sample import Sample
    from noisesense.verdicts import Verdicts

    sample: Sample | None = None
    if contexts is not None:
        # Only its chunks matter here: who gives verdicts need not give the texts.
        fields = {"response": "-", "reference": "-", "retrieved_contexts": contexts}
        sample = Sample.model_validate(fields)
    try:
        verdicts = Verdicts.model_validate(data)
        return verdicts.beside(sample) if sample else verdicts
    except InputError as error:
        raise error.within(where) from None


def _from_recording(path: Path, sample: dict[str, Any]) -> Verdicts:
    try:
        content = path.read_bytes()
    except (OSError, ValueError):  # RecordedJudge says what is wrong
        content = b""
    plain = plain_recorded(content, sample)
    if plain is not None:
        return cast("Verdicts", plain)
    from noisesense.recording import RecordedJudge
    from noisesense.sample import Sample

    return RecordedJudge(path).lookup(Sample.model_validate(sample))


def _located(text: str) -> Path:
    """Relative to the working directory or to the folder of the file that Promptfoo runs."""
    path = Path(text.removeprefix("file://"))
    beside = Path(sys.path[0], path)
    try:
        return beside if not path.exists() and beside.exists() else path
    except (OSError, ValueError):  # no file can have that name, which reading it says
        return path
