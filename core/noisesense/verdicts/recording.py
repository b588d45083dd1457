"""Recordings: verdicts as JSON lines, found by the content of the sample; the JSON Schemas."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from noisesense.errors import (
    InputError,
    RecordingError,
    SampleNotRecordedError,
    check_choice,
    describe,
)
from noisesense.jsonl import as_path, parse_line, read_lines, to_json, write_whole
from noisesense.verdicts.sample import Line, Sample
from noisesense.verdicts.verdicts import Verdicts


class RecordingLine(Line):
    """One line of a recording: a sample and the verdicts on it."""

    sample: Sample
    verdicts: Verdicts


class Recorded(NamedTuple):
    """One line of a recording."""

    sample: Sample
    verdicts: Verdicts


_HOW_FOUND = "samples are found by their exact texts; record this one"


class RecordedJudge:
    """A judge that takes its verdicts from a recording: offline, exact, free.

    A sample is found by its texts (user_input, response, reference, retrieved_contexts); its own
    labels win over recorded ones.

    Args:
        path: a UTF-8 JSONL file, one ``{"sample": …, "verdicts": …}`` per line, or a file of
            results with samples. Results without verdicts are left out.

    Raises:
        RecordingError: the file cannot be read, a line is broken, or a sample occurs twice.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path, RecordingError)
        self._by_key = {recorded.sample.key: recorded for recorded in read_recording(path)}

    def __repr__(self) -> str:
        return f"RecordedJudge({str(self.path)!r}, {len(self._by_key)} samples)"

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The recorded samples, in the order of the file."""
        return tuple(recorded.sample for recorded in self._by_key.values())

    async def judge(self, sample: Sample) -> Verdicts:
        """Return the recorded verdicts with the given sample's chunks; its labels and ids win.

        Raises `SampleNotRecordedError`.
        """
        return self.lookup(sample)

    def lookup(self, sample: Sample) -> Verdicts:
        """Same as `judge`, but synchronous."""
        recorded = self._by_key.get(sample.key)
        if recorded is None:
            expected = f"a recording of the sample {_title(sample)}"
            got = f"none among {len(self)} recorded" if self._by_key else "an empty recording"
            raise SampleNotRecordedError(expected, got, where=str(self.path), hint=_HOW_FOUND)
        return recorded.verdicts.with_sample(sample)


def _title(sample: Sample) -> str:
    """Return the question, or the response without one, for an error."""
    return describe(sample.user_input or sample.response)


def read_recording(path: str | os.PathLike[str]) -> Iterator[Recorded]:
    """Read a recording line by line; the verdicts have their sample's chunks.

    Blank lines, and results without verdicts, are left out.

    Raises:
        RecordingError: when the lines are read, not before; names the file and the line:
            unreadable, not UTF-8, not JSON, a field missing or wrong, or a sample that an earlier
            line already has.
    """
    lines: dict[str, int] = {}
    for number, recorded in read_lines(path, _recorded):
        if recorded is None:
            continue
        first = lines.setdefault(recorded.sample.key, number)
        if first != number:
            raise RecordingError(
                "each sample once",
                f"the sample of line {first} again",
                where=f"{path}, line {number}",
                hint=f"remove line {first} or {number}",
            )
        yield recorded


def _recorded(text: str) -> Recorded | None:
    """Return what a line holds; None for a result without verdicts."""
    fields: dict[str, Any] = parse_line(text)
    if isinstance(cast("object", fields), dict) and "id" in fields:  # a line of results
        if fields.get("verdicts") is None:
            return None
        fields = {name: fields.get(name) for name in RecordingLine.model_fields}
    line = RecordingLine.model_validate(fields)
    return Recorded(line.sample, line.verdicts.with_sample(line.sample))


def write_recording(
    path: str | os.PathLike[str], pairs: Iterable[tuple[Sample, Verdicts]]
) -> None:
    """Write a recording that `RecordedJudge` reads, completely or not at all.

    Chunks that are the sample's own are left out of the verdicts; a pair that is repeated with
    the same verdicts is written once. A sample is the same if its texts are.

    Raises:
        InputError: verdicts that do not fit their sample, other verdicts, labels or ids on a
            sample that was written already, or a file that cannot be written.
    """
    write_whole(as_path(path), _json_lines(pairs))


def _json_lines(pairs: Iterable[tuple[Sample, Verdicts]]) -> Iterator[str]:
    written: dict[str, Verdicts] = {}
    for number, (sample, verdicts) in enumerate(pairs):
        verdicts = verdicts.with_sample(sample)
        if sample.key not in written:
            written[sample.key] = verdicts
            yield to_json(recording_fields(sample, verdicts))
        elif written[sample.key] != verdicts:
            raise InputError(
                "one set of verdicts for each sample",
                "others on one already written",
                where=f"pair {number}",
                hint=f"the sample is {_title(sample)}",
            )


def recording_fields(sample: Sample | None, verdicts: Verdicts | None) -> dict[str, Any]:
    """Return the fields of a line, JSON-ready: those of ``sample`` and ``verdicts`` not None.

    Left out are values that are the default, and chunks that are the sample's own.
    """
    fields: dict[str, Any] = {}
    if sample is not None:
        fields["sample"] = sample.model_dump(mode="json", exclude_defaults=True)
    if verdicts is not None:
        fields["verdicts"] = verdicts.model_dump(mode="json", exclude_defaults=True)
        if sample is not None and verdicts.chunks == sample.retrieved_contexts:
            fields["verdicts"].pop("chunks", None)
    return fields


SCHEMA_VERSION = 1
"""Increased when a file that was valid no longer is."""

SchemaName = Literal["verdicts", "sample", "recording"]


def json_schema(name: SchemaName = "verdicts") -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of verdicts, of a sample or of a recording's line.

    What a schema cannot express (positions in range, no chunk both entailed and undetermined) is
    checked on reading.

    Raises:
        InputError: an unknown name.
    """
    check_choice(name, get_args(SchemaName), "schema")
    path = Path(__file__).parent / "schemas" / f"{name}.v{SCHEMA_VERSION}.json"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema
