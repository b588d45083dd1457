"""Bad inputs as a user would pass them, and what the one error about each must name.

The same table drives the core and every adapter:

- ``kind="sample"``: ``data`` is a sample as a dict, good but for one thing;
- ``kind="verdicts"``: ``data`` is a verdicts dict, to be used beside ``GOOD_SAMPLE``;
- ``kind="recording"``: ``data`` is the bytes of a recording (None: there is no such file);
- ``kind="matrices"``: ``data`` holds the arguments of ``Verdicts.from_matrices``;
- ``kind="score"``: ``data`` holds ``definition``, ``mode`` or ``empty``, the rest being good.

`recording_of` writes the file to hand to ``RecordedJudge``, whatever the kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from noisesense.errors import InputError, NoiseSenseError, RecordingError, SampleNotRecordedError

Kind = Literal["sample", "verdicts", "recording", "matrices", "score"]

GOOD_SAMPLE: dict[str, Any] = {
    "user_input": "What is the capital of France?",
    "response": "Paris is the capital of France. It has ten million inhabitants.",
    "reference": "The capital of France is Paris.",
    "retrieved_contexts": ["Paris is the capital of France.", "Ten million people live there."],
}
GOOD_VERDICTS: dict[str, Any] = {
    "response_claims": [
        {"text": "Paris is the capital of France", "correct": True, "entailed_by": [0]},
        {"text": "Paris has ten million inhabitants", "correct": False, "entailed_by": [1]},
    ],
    "reference_claims": [{"text": "The capital of France is Paris", "entailed_by": [0]}],
}


@dataclass(frozen=True)
class BadInput:
    """One bad input.

    Attributes:
        name: a short name, used as the test's id.
        kind: see the module.
        data: see the module.
        names: what the message must contain: the place, what was expected or what came.
        error: the error's class.
        ask: the sample that is looked up, where it is not ``GOOD_SAMPLE``.
    """

    name: str
    kind: Kind
    data: Any
    names: tuple[str, ...]
    error: type[NoiseSenseError] = InputError
    ask: dict[str, Any] = field(default_factory=lambda: GOOD_SAMPLE)


def good_line(sample: dict[str, Any] = GOOD_SAMPLE) -> bytes:
    """A line of a recording, without its newline."""
    return _line(sample, GOOD_VERDICTS)


def recording_of(bad: BadInput, folder: Path) -> Path:
    """A recording in ``folder`` that holds the bad input, or a good one if it lies elsewhere."""
    path = folder / "recording.jsonl"
    if bad.kind == "verdicts":
        content: bytes | None = _line(GOOD_SAMPLE, bad.data)
    elif bad.kind == "recording":
        content = bad.data
    else:
        content = good_line()
    if content is not None:
        path.write_bytes(content + b"\n")
    return path


def _line(sample: Any, verdicts: Any) -> bytes:
    return json.dumps({"sample": sample, "verdicts": verdicts}, ensure_ascii=False).encode()


def _recording(
    name: str,
    data: bytes | None,
    *names: str,
    error: type[NoiseSenseError] = RecordingError,
    ask: dict[str, Any] = GOOD_SAMPLE,
) -> BadInput:
    return BadInput(f"recording: {name}", "recording", data, names, error, ask)


_OTHER_SAMPLE = {**GOOD_SAMPLE, "response": "Lyon is the capital of France."}
_GOOD_MATRICES: dict[str, Any] = {
    "reference_to_response": [True, False],
    "chunks_to_response": [[True, False], [False, True]],
    "chunks_to_reference": [[True, False]],
}


def _changed(good: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """With the row's other values, and without what it drops."""
    changed = {**good, **row.get("with", {})}
    changed.pop(row.get("drop"), None)
    return changed


def _read() -> Iterator[BadInput]:
    """From the file beside this one; of "claim" the second response claim is the bad one."""
    first, second = GOOD_VERDICTS["response_claims"]
    kinds = json.loads((Path(__file__).parent / "data" / "bad_inputs.json").read_text("utf-8"))
    good = {"sample": GOOD_SAMPLE, "verdicts": GOOD_VERDICTS, "matrices": _GOOD_MATRICES}
    for kind, rows in kinds.items():
        for row in rows:
            if kind == "claim":
                claims = [first, _changed(second, row)]
                data = {**GOOD_VERDICTS, "response_claims": claims}
            else:
                data = _changed(good.get(kind, {}), row)
            shown: Any = "verdicts" if kind == "claim" else kind
            yield BadInput(f"{shown}: {row['name']}", shown, data, tuple(row["names"]))


BAD_INPUTS: tuple[BadInput, ...] = (
    *_read(),
    BadInput(
        "verdicts: claims are missing",
        "verdicts",
        {"reference_claims": []},
        ("'response_claims'", "Verdicts"),
    ),
    BadInput("verdicts: a list", "verdicts", [GOOD_VERDICTS], ("Verdicts", "an object")),
    BadInput("verdicts: null", "verdicts", None, ("Verdicts", "an object", "None")),
    _recording("missing file", None, "recording.jsonl", "readable file", "No such file"),
    _recording("cut off", good_line()[:-20], "line 1", "one JSON object a line", "column"),
    _recording("cut off later", good_line() + b'\n{"sam', "line 2", "one JSON object a line"),
    _recording("not UTF-8", good_line().replace(b"ten", b"\xe4\xf6"), "line 1", "UTF-8", "0xe4"),
    _recording("UTF-16", good_line().decode().encode("utf-16"), "line 1", "UTF-8"),
    _recording("a JSON array", b"[" + good_line() + b"]", "line 1", "an object"),
    _recording("one JSON document", good_line().replace(b"{", b"{\n", 1), "line 1", "JSONL"),
    _recording("a bare number", b"17", "line 1", "an object", "17"),
    _recording("NaN", good_line().replace(b"false", b"NaN"), "line 1", "response claim 1", "nan"),
    _recording(
        "no verdicts", json.dumps({"sample": GOOD_SAMPLE}).encode(), "line 1", "'verdicts'"
    ),
    _recording("an unknown field", good_line()[:-1] + b', "score": 1}', "line 1", "'score'"),
    _recording(
        "the sample twice", good_line() + b"\n\n" + good_line(), "line 3", "the sample of line 1"
    ),
    _recording(
        "another sample",
        good_line(_OTHER_SAMPLE),
        "What is the capital of France?",
        "found by their exact texts",
        error=SampleNotRecordedError,
    ),
    _recording(
        "empty file",
        b"",
        "What is the capital of France?",
        "an empty recording",
        error=SampleNotRecordedError,
    ),
)
