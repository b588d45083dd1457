"""Verdicts: which claims are correct, and which chunks entail which claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import to_builtins
from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, model_validator

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import Cell, VerdictsBase, VerdictsForm, check_positions
from noisesense.verdicts.sample import Chunk, ChunkLike, Model, Sample


def _table(table: Any, name: str) -> dict[str, list[Cell]]:
    """Return the rows, each by its place as errors name it: ``name, row 0``."""
    rows: dict[str, list[Cell]] = {}
    for i, row in enumerate(_items(table, name)):
        place = f"{name}, row {i}"
        rows[place] = _cells(row, place)
    return rows


def _cells(row: Any, name: str) -> list[Cell]:
    cells = _items(row, name)
    for j, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, bool):
            raise InputError("true, false or None", describe(cell), where=f"{name}, cell {j}")
    return cells


def _items(value: Any, name: str) -> list[Any]:
    value = _plain(value)
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InputError("a list", describe(value), where=name)
    items = cast(Sequence[object], value)
    return [_plain(item) for item in items]


def _plain(value: Any) -> Any:
    """Return numpy arrays and scalars as Python's own objects, without importing numpy."""
    return value.tolist() if hasattr(value, "tolist") else value


def _check_size(items: Sequence[Any], count: int, of: str, where: str, hint: str = "") -> None:
    if len(items) != count:
        raise InputError(f"{count} {of}", str(len(items)), where=where, hint=hint)


Positions = Annotated[
    tuple[Annotated[StrictInt, Field(ge=0)], ...],
    AfterValidator(lambda positions: tuple(sorted(positions))),
    Field(json_schema_extra={"uniqueItems": True}),
]


class ResponseClaim(Model):
    """One claim of the response.

    Attributes:
        text: the claim, self-contained; may be empty where only verdicts are known.
        correct: does the reference entail it? ``None`` is undetermined.
        entailed_by: zero-based positions of the chunks that entail it.
        undetermined: positions of the chunks that may or may not entail it. A chunk in neither
            list does not entail the claim. Both lists are sorted when read.
    """

    text: StrictStr
    correct: StrictBool | None
    entailed_by: Positions
    undetermined: Positions = ()


class ReferenceClaim(Model):
    """One claim of the reference, with the chunks that entail it (as in `ResponseClaim`)."""

    text: StrictStr
    entailed_by: Positions
    undetermined: Positions = ()


def _merged(j: int, own: Chunk, context: Chunk) -> Chunk:
    """Return a chunk of the verdicts with the sample's at its position, whose label and id win."""
    if own.text not in ("", context.text):
        raise InputError(
            "the text of the sample's context at that position",
            "another text",
            where=f"chunk {j}",
            hint="the verdicts seem to belong to another sample or another chunk order",
        )
    label = own.relevant if context.relevant is None else context.relevant
    return Chunk(text=context.text, relevant=label, id=context.id or own.id)


def _claims(
    texts: Sequence[str] | None, rows: dict[str, list[Cell]], name: str
) -> list[dict[str, Any]]:
    claims: list[dict[str, Any]] = []
    for text, row in zip(_texts(texts, len(rows), name), rows.values(), strict=True):
        entailed_by: list[int] = []
        undetermined: list[int] = []
        for j, cell in enumerate(row):
            if cell:
                entailed_by.append(j)
            elif cell is None:
                undetermined.append(j)
        claims.append({"text": text, "entailed_by": entailed_by, "undetermined": undetermined})
    return claims


def _texts(texts: Sequence[str] | None, count: int, name: str) -> Sequence[str]:
    if texts is None:
        return [""] * count
    _check_size(texts, count, "texts", name)
    return texts


class Verdicts(Model, VerdictsBase):
    """A judge's verdicts on one sample: all that `score` needs.

    Attributes:
        response_claims: the claims of the response.
        reference_claims: the claims of the reference; they decide which chunks are relevant.
            May be left out if every chunk has a label.
        chunks: the retrieved chunks with their labels. If left out (``None``), the chunks of the
            sample; see `with_sample`.

    Raises:
        InputError: a field is missing, unknown or of the wrong type; or a position is out of
            range (0 to 99,999 where chunks are left out) or listed twice.
    """

    response_claims: tuple[ResponseClaim, ...]
    reference_claims: tuple[ReferenceClaim, ...] = ()
    chunks: tuple[ChunkLike, ...] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            response_claims: Sequence[ResponseClaim | Mapping[str, Any]],
            reference_claims: Sequence[ReferenceClaim | Mapping[str, Any]] = (),
            chunks: Sequence[str | Chunk | Mapping[str, Any]] | None = None,
        ) -> None: ...

    @model_validator(mode="after")
    def _positions_in_range(self) -> Verdicts:
        check_positions(self)
        return self

    def with_sample(self, sample: Sample) -> Verdicts:
        """Return these verdicts with the sample's chunks.

        Where both give a chunk a label or an id, the sample's wins. A chunk of these verdicts with
        the text "" fits any text; if all of theirs are blank, the sample may also have none.

        Raises:
            InputError: the sample has other chunks, by number or by text; or, where these
                verdicts list none, a claim names a chunk that the sample does not have.
        """
        own = self.chunks
        contexts = sample.retrieved_contexts
        chunks: Sequence[Chunk] = contexts
        if own is not None and (contexts or any(chunk.text.strip() for chunk in own)):
            of = "chunks, as in the sample's retrieved_contexts"
            _check_size(own, len(contexts), of, "chunks", "leave chunks out to use the sample's")
            chunks = [_merged(j, own[j], context) for j, context in enumerate(contexts)]
        return Verdicts.model_validate({**dict(self), "chunks": chunks})

    @classmethod
    def from_matrices(
        cls,
        reference_to_response: Sequence[Cell],
        chunks_to_response: Sequence[Sequence[Cell]],
        chunks_to_reference: Sequence[Sequence[Cell]] | None = None,
        relevant: Sequence[Cell] | None = None,
        *,
        response_claims: Sequence[str] | None = None,
        reference_claims: Sequence[str] | None = None,
        chunks: Sequence[str] | None = None,
    ) -> Verdicts:
        """Make verdicts from tables: lists or numpy arrays of true, false and None.

        Rows are claims, columns are chunks.

        Args:
            reference_to_response: ``[R]``, does the reference entail response claim *i*?
            chunks_to_response: ``[R][C]``, does chunk *j* entail response claim *i*?
            chunks_to_reference: ``[G][C]``, does chunk *j* entail reference claim *g*?
                ``None`` if there are no reference claims (the chunks are labeled).
            relevant: ``[C]``, the labels of the chunks; ``None`` in a cell means no label. Needed
                if there are chunks and no claims: its length is the number of chunks then.
            response_claims: ``[R]`` texts, for reasons and reports.
            reference_claims: ``[G]`` texts.
            chunks: ``[C]`` texts. Give them where claims have texts: a chunk without text that
                entails nothing counts as not retrieved then.

        Raises:
            InputError: tables or texts that do not fit each other, or a cell that is not true,
                false or None.
        """
        correct = _cells(reference_to_response, "reference_to_response")
        response = _table(chunks_to_response, "chunks_to_response")
        reference: dict[str, list[Cell]] = {}
        if chunks_to_reference is not None:
            reference = _table(chunks_to_reference, "chunks_to_reference")
        rows: dict[str, list[Cell]] = {}
        if relevant is not None:
            rows["relevant"] = _cells(relevant, "relevant")
        of = "cells, one for each row of chunks_to_response"
        _check_size(correct, len(response), of, "reference_to_response")
        rows |= response
        rows |= reference
        first = next(iter(rows), "")
        count = len(rows.get(first, ()))
        of = f"cells, one for each chunk as in {first}"
        for place, row in rows.items():
            _check_size(row, count, of, place, "rows are claims, columns chunks")
        claims = _claims(response_claims, response, "response_claims")
        for claim, cell in zip(claims, correct, strict=True):
            claim["correct"] = cell
        texts = _texts(chunks, count, "chunks")
        labels = rows.get("relevant", [None] * count)
        labeled = zip(texts, labels, strict=True)
        return cls.model_validate(
            {
                "response_claims": claims,
                "reference_claims": _claims(reference_claims, reference, "reference_claims"),
                "chunks": [{"text": text, "relevant": label} for text, label in labeled],
            }
        )


def as_model(verdicts: VerdictsForm) -> Verdicts:
    """Return the verdicts as the pydantic model: as they are, if they are one.

    Raises:
        InputError: light verdicts that are not valid.
    """
    if isinstance(verdicts, Verdicts):
        return verdicts
    return Verdicts.model_validate(to_builtins(verdicts))
