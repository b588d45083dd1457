"""Lines of recordings and of results, read into flat arrays without an object a field.

What is plainly valid is read here. Any other line goes the way of `read_rows`, whose models alone
decide whether it is wrong, and say so; a property test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import chain, compress
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, cast

from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.scoring import Empty, Status, Undetermined
from noisesense.verdicts.form import merged_chunk
from noisesense_adapters.datasets.files import jsonl_row
from noisesense_adapters.datasets.read import read_result_line, row_of
from noisesense_adapters.datasets.rows import Raw
from noisesense_adapters.table.kernel import FALSE, OPEN, TRUE, Array, Cells, Columns
from noisesense_adapters.toolbox.extras import needs_extra

with needs_extra("table", "numpy", "msgspec"):
    import msgspec

    np: Any = import_module("numpy")

_Position = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class _Form(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    pass


class _Chunk(_Form, kw_only=True):
    text: str
    relevant: bool | None = None
    id: str | None = None


class _Claim(_Form, kw_only=True):
    text: str
    entailed_by: list[_Position]
    undetermined: list[_Position] | None = None


class _ResponseClaim(_Claim, kw_only=True):
    correct: bool | None


class _Verdicts(_Form, kw_only=True):
    response_claims: list[_ResponseClaim]
    reference_claims: list[_Claim] | None = None
    chunks: list[str | _Chunk] | None = None


class _Sample(_Form, kw_only=True):
    user_input: str | None = None
    response: str
    reference: str
    retrieved_contexts: list[str | _Chunk]


class Spent(_Form, kw_only=True):
    """As `noisesense.Usage`; its costs add up exactly, as those of a tally."""

    calls: _Count = 0
    cached_calls: _Count = 0
    reasks: _Count = 0
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cost: float | None = None


class Line(_Form, kw_only=True):
    """As `noisesense.scoring.results.ResultLine`, of a sample that has not failed."""

    id: str | None = None
    cluster: str | None = None
    judge: str | None = None
    definition: DefinitionName | None = None
    empty: Empty | None = None
    undetermined: Undetermined | None = None
    relevant: float | None = None
    irrelevant: float | None = None
    status: dict[str, Status | None] | None = None
    bounds: dict[str, tuple[float, float] | None] | None = None
    partition: dict[str, int | None] | None = None
    unanswered: _Count | None = None
    usage: Spent | None = None
    error: None = None
    sample: _Sample | None = None
    verdicts: _Verdicts


_decode = msgspec.json.Decoder(Line).decode


def read_line(line: bytes) -> Line | None:
    """The line, if it is plainly valid; None: the models must read it."""
    try:
        return _decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


_CODE = {True: TRUE, False: FALSE, None: OPEN}


def _as_chunk(chunk: str | _Chunk) -> _Chunk:
    return _Chunk(text=chunk) if isinstance(chunk, str) else chunk


def _merged(own: _Listed, contexts: _Listed) -> _Listed | None:
    """The verdicts' chunks beside the sample's contexts; None: the models must read them."""
    if len(own) != len(contexts):
        return None
    chunks: _Listed = []
    for both in zip(map(_as_chunk, own), map(_as_chunk, contexts), strict=True):
        if (merged := merged_chunk(*both)) is None:
            return None
        text, relevant, *_ = merged
        chunks.append(_Chunk(text=text, relevant=relevant))
    return chunks


_Listed = list["str | _Chunk"]


def columns_of(lines: Sequence[Line]) -> tuple[list[int], Columns]:
    """Those of the lines that the models need not read, and their verdicts as arrays."""
    kept: list[int] = []
    numbers: list[int] = []
    every: _Listed = []
    for i, line in enumerate(lines):
        chunks, sample = line.verdicts.chunks, line.sample
        if sample is not None:
            if not sample.response or sample.response.isspace():
                continue
            if not sample.reference or sample.reference.isspace():
                continue
            contexts = sample.retrieved_contexts
            chunks = contexts if chunks is None else _merged(chunks, contexts)
            if chunks is None:
                continue
        elif line.id is None:
            continue
        # Nothing retrieved: what that means is the models' to say.
        if not any(
            (each if isinstance(each, str) else each.text).strip() for each in chunks or ()
        ):
            continue
        kept.append(i)
        numbers.append(-1 if chunks is None else len(chunks))
        every += chunks or ()
    verdicts = [line.verdicts for line in lines]
    if len(kept) < len(lines):
        verdicts = [verdicts[i] for i in kept]
    response = [each.response_claims for each in verdicts]
    reference = [each.reference_claims or () for each in verdicts]
    claims = list(chain.from_iterable(response))
    of_reference = list(chain.from_iterable(reference))
    return kept, Columns(
        responses=_whole(map(len, response)),
        correct=_codes([claim.correct for claim in claims]),
        entailed=_cells(list(map(_entailed, claims))),
        undetermined=_cells(list(map(_undetermined, claims))),
        references=_whole(map(len, reference)),
        reference_entailed=_cells(list(map(_entailed, of_reference))),
        reference_undetermined=_cells(list(map(_undetermined, of_reference))),
        chunks=_whole(numbers),
        labels=_codes([None if isinstance(each, str) else each.relevant for each in every]),
    )


_entailed, _undetermined = attrgetter("entailed_by"), attrgetter("undetermined")


def _codes(verdicts: list[bool | None]) -> Any:
    return np.fromiter(map(_CODE.__getitem__, verdicts), np.int8, len(verdicts))


def _whole(numbers: Iterable[int]) -> Any:
    return np.fromiter(numbers, np.int64)


def _cells(listed: Sequence[Sequence[int] | None]) -> Cells:
    """The positions that each claim lists; for most claims of most files there are none."""
    filled = list(filter(None, listed))
    claims = _whole(compress(range(len(listed)), listed) if filled else ())
    return Cells(np.repeat(claims, _whole(map(len, filled))), _whole(chain.from_iterable(filled)))


class Lines:
    """A column of text, a line of a recording or of results in each row."""

    def __init__(self, texts: Any, first: int) -> None:
        self.size, self._first = len(texts), first
        self._raw = [(each or "").encode("utf-8", "surrogatepass") for each in texts.to_pylist()]
        self._read = [read_line(line) for line in self._raw]

    def columns(self, which: Array) -> tuple[Array, Columns]:
        rows = cast("list[int]", which.tolist())
        some = [(i, line) for i in rows if (line := self._read[i]) is not None]
        kept, columns = columns_of([line for _, line in some])
        return np.array([some[i][0] for i in kept], np.int64), columns

    def named(self) -> tuple[list[Any], list[Any], list[int]]:
        """Ids, clusters, and how many verdicts were not answered."""
        every = self._read
        return (
            [line and line.id for line in every],
            [line and line.cluster for line in every],
            [(line.unanswered or 0) if line else 0 for line in every],
        )

    def row(self, i: int) -> Any:
        raw = jsonl_row(_NOWHERE, self._first + i + 1, self._raw[i])
        place = f"row {self._first + i}"
        return row_of(Raw(place, raw.data), read_result_line, {}, verdicts=True)


_NOWHERE = Path("table")
