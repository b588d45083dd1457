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


def _sample(name: str, *names: str, drop: str = "", **changes: Any) -> BadInput:
    data = {key: value for key, value in {**GOOD_SAMPLE, **changes}.items() if key != drop}
    return BadInput(f"sample: {name}", "sample", data, names)


def _verdicts(name: str, *names: str, **changes: Any) -> BadInput:
    return BadInput(f"verdicts: {name}", "verdicts", {**GOOD_VERDICTS, **changes}, names)


def _claim(name: str, *names: str, drop: str = "", **changes: Any) -> BadInput:
    """The second response claim is the bad one."""
    good, other = GOOD_VERDICTS["response_claims"]
    bad = {key: value for key, value in {**other, **changes}.items() if key != drop}
    return _verdicts(name, *names, response_claims=[good, bad])


def _recording(
    name: str,
    data: bytes | None,
    *names: str,
    error: type[NoiseSenseError] = RecordingError,
    ask: dict[str, Any] = GOOD_SAMPLE,
) -> BadInput:
    return BadInput(f"recording: {name}", "recording", data, names, error, ask)


def _matrices(name: str, *names: str, **changes: Any) -> BadInput:
    good: dict[str, Any] = {
        "reference_to_response": [True, False],
        "chunks_to_response": [[True, False], [False, True]],
        "chunks_to_reference": [[True, False]],
    }
    return BadInput(f"matrices: {name}", "matrices", {**good, **changes}, names)


def _score(name: str, *names: str, **data: Any) -> BadInput:
    return BadInput(f"score: {name}", "score", data, names)


_OTHER_SAMPLE = {**GOOD_SAMPLE, "response": "Lyon is the capital of France."}
_TEXTS: list[str] = GOOD_SAMPLE["retrieved_contexts"]

BAD_INPUTS: tuple[BadInput, ...] = (
    _sample("response is missing", "'response'", "Sample", drop="response"),
    _sample("response is empty", "response", "non-empty", response=""),
    _sample("response is blank", "response", "non-empty", response=" \n"),
    _sample("response is a number", "response", "a string", "42", response=42),
    _sample("response is null", "response", "a string", "None", response=None),
    _sample("reference is missing", "'reference'", "Sample", drop="reference"),
    _sample("reference is empty", "reference", "non-empty", reference=""),
    _sample("contexts are missing", "'retrieved_contexts'", "Sample", drop="retrieved_contexts"),
    _sample("contexts are null", "retrieved_contexts", "a list", retrieved_contexts=None),
    _sample("contexts are one string", "retrieved_contexts", "a list", retrieved_contexts="a b"),
    _sample(
        "a context is a number", "chunk 1", "a text or an object", "7", retrieved_contexts=["a", 7]
    ),
    _sample(
        "a label is not a bool",
        "chunk 0, relevant",
        "true or false",
        "'perhaps'",
        retrieved_contexts=[{"text": "a", "relevant": "perhaps"}],
    ),
    _sample("an unknown field", "'contexts'", "known", contexts=["a"]),
    _claim("correct is missing", "response claim 1", "'correct'", "write null", drop="correct"),
    _claim("correct is a string", "response claim 1, correct", "'no'", correct="no"),
    _claim("correct is 1", "response claim 1, correct", "true or false", "1", correct=1),
    _claim(
        "entailed_by is missing",
        "response claim 1",
        "'entailed_by'",
        "write []",
        drop="entailed_by",
    ),
    _claim("entailed_by is null", "response claim 1, entailed_by", "a list", entailed_by=None),
    _claim("entailed_by is a number", "response claim 1, entailed_by", "a list", entailed_by=1),
    _claim("the text is missing", "response claim 1", "'text'", drop="text"),
    _claim("position out of range", "response claim 1", "chunk 2", "below 2", entailed_by=[2]),
    _claim("undetermined out of range", "response claim 1", "chunk 9", undetermined=[9]),
    _claim("position is negative", "response claim 1", "0 or more", "-1", entailed_by=[-1]),
    _claim("position is a float", "response claim 1", "whole number", "1.0", entailed_by=[1.0]),
    _claim("position is a bool", "response claim 1", "whole number", "True", entailed_by=[True]),
    _claim("position is a string", "response claim 1", "whole number", "'1'", entailed_by=["1"]),
    _claim("position is there twice", "response claim 1", "1 twice", entailed_by=[1, 0, 1]),
    _claim("entailed and undetermined", "response claim 1", "chunk 1 twice", undetermined=[1, 0]),
    _claim("an unknown field", "response claim 1", "'verdict'", verdict=True),
    _verdicts(
        "reference position out of range",
        "reference claim 0",
        "chunk 5",
        reference_claims=[{"text": "a", "entailed_by": [5]}],
    ),
    _verdicts(
        "a reference claim is a string",
        "reference claim 0",
        "expected an object",
        "'a'",
        reference_claims=["a"],
    ),
    _verdicts("claims are an object", "response_claims", "a list", response_claims={"0": "a"}),
    _verdicts("claims are null", "response_claims", "a list", response_claims=None),
    _verdicts("an unknown field", "'claims'", "Verdicts", claims=[]),
    BadInput(
        "verdicts: claims are missing",
        "verdicts",
        {"reference_claims": []},
        ("'response_claims'", "Verdicts"),
    ),
    BadInput("verdicts: a list", "verdicts", [GOOD_VERDICTS], ("Verdicts", "an object")),
    BadInput("verdicts: null", "verdicts", None, ("Verdicts", "an object", "None")),
    _verdicts("fewer chunks than positions", "response claim 1", "below 1", chunks=[_TEXTS[0]]),
    _verdicts("too many chunks", "chunks", "2 chunks", "3", chunks=[*_TEXTS, "more"]),
    _verdicts("chunks in another order", "chunk 0", "another text", chunks=_TEXTS[::-1]),
    _verdicts(
        "a chunk's label is not a bool",
        "chunk 1, relevant",
        "true or false",
        "0",
        chunks=[_TEXTS[0], {"text": _TEXTS[1], "relevant": 0}],
    ),
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
        "line 1 differs only in response",
        error=SampleNotRecordedError,
    ),
    _recording(
        "empty file",
        b"",
        "What is the capital of France?",
        "an empty recording",
        error=SampleNotRecordedError,
    ),
    _matrices(
        "ragged",
        "chunks_to_response, row 1",
        "2 cells",
        "3",
        chunks_to_response=[[True, False], [True, False, True]],
    ),
    _matrices("too few rows", "reference_to_response", "2", "1", reference_to_response=[True]),
    _matrices("other columns", "chunks_to_reference, row 0", "2", chunks_to_reference=[[True]]),
    _matrices("labels for other chunks", "chunks_to_response, row 0", "3", relevant=[None] * 3),
    _matrices(
        "a cell is 1", "cell 1", "true, false or None", "1", reference_to_response=[True, 1]
    ),
    _matrices(
        "a cell is a string",
        "chunks_to_response, row 0, cell 1",
        "'Neutral'",
        chunks_to_response=[[True, "Neutral"], [False, True]],
    ),
    _matrices("flat", "chunks_to_response, row 0", "a list", chunks_to_response=[True, False]),
    _matrices("a table is a string", "chunks_to_response", "a list", chunks_to_response="ab"),
    _matrices("no table", "chunks_to_response", "a list", "None", chunks_to_response=None),
    _matrices("other texts", "response_claims", "2 texts", "1", response_claims=["one"]),
    _matrices("a text is a number", "response claim 0", "a string", response_claims=[1, 2]),
    _score("unknown definition", "definition", "'ragas'", "'ragsa'", definition="ragsa"),
    _score("definition is a number", "definition", "'paper'", "3", definition=3),
    _score("unknown mode", "mode", "'irrelevant'", "'both'", mode="both"),
    _score("unknown empty", "empty", "'zero'", "'nan'", empty="nan"),
    _score("empty is a list", "empty", "'zero'", "[]", empty=[]),
)
