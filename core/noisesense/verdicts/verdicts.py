"""Verdicts: which claims are correct, and which chunks entail which claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import (
    MOST_UNLISTED,
    Cell,
    VerdictsBase,
    VerdictsForm,
    merged_chunk,
    positions,
)
from noisesense.verdicts.sample import Chunk, ChunkLike, Model, Sample


def _columns(
    response: list[list[Cell]], reference: list[list[Cell]], labels: list[Cell] | None
) -> int:
    """The one number of chunks that all tables agree on."""
    columns, source = (None, "") if labels is None else (len(labels), "relevant")
    for name, table in (("chunks_to_response", response), ("chunks_to_reference", reference)):
        for i, row in enumerate(table):
            if columns is None:
                columns, source = len(row), f"{name}, row {i}"
            if len(row) != columns:
                raise InputError(
                    f"{columns} cells, one for each chunk as in {source}",
                    str(len(row)),
                    where=f"{name}, row {i}",
                    hint="rows are claims, columns are chunks",
                )
    return columns or 0


def _table(table: Any, name: str) -> list[list[Cell]]:
    return [_cells(row, f"{name}, row {i}") for i, row in enumerate(_listed(table, name))]


def _cells(row: Any, name: str) -> list[Cell]:
    cells = _listed(row, name)
    for j, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, bool):
            raise InputError("true, false or None", describe(cell), where=f"{name}, cell {j}")
    return cells


def _listed(value: Any, name: str) -> list[Any]:
    value = _plain(value)
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InputError("a list", describe(value), where=name)
    items = cast(Sequence[object], value)
    return [_plain(item) for item in items]


def _plain(value: Any) -> Any:
    """numpy arrays and scalars as Python's own objects, without importing numpy."""
    return value.tolist() if hasattr(value, "tolist") else value


def _texts(texts: Sequence[str] | None, count: int, name: str) -> Sequence[str]:
    if texts is None:
        return [""] * count
    if len(texts) != count:
        raise InputError(f"{count} texts", str(len(texts)), where=name)
    return texts


def _each_once(positions: tuple[int, ...]) -> tuple[int, ...]:
    ordered = tuple(sorted(positions))
    for left, right in pairwise(ordered):
        if left == right:
            raise InputError("each chunk position once", f"{describe(left)} twice")
    return ordered


Positions = Annotated[
    tuple[Annotated[StrictInt, Field(ge=0)], ...],
    AfterValidator(_each_once),
    Field(json_schema_extra={"uniqueItems": True}),
]


class _Claim(Model):
    @field_validator("undetermined", check_fields=False)
    @classmethod
    def _not_both(cls, undetermined: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        both = set(undetermined).intersection(info.data.get("entailed_by", ()))
        if both:
            raise InputError(
                "a chunk in entailed_by or in undetermined",
                f"chunk {min(both)} in both",
                hint="a verdict is either given or undetermined",
            )
        return undetermined


class ResponseClaim(_Claim):
    """One claim of the response.

    Attributes:
        text: the claim, self-contained; may be empty where only verdicts are known.
        correct: is it entailed by the reference? ``None`` is undetermined.
        entailed_by: zero-based positions of the chunks that entail it.
        undetermined: positions of the chunks of which this is not known. A chunk in neither
            list does not entail the claim.
    """

    text: StrictStr
    correct: StrictBool | None
    entailed_by: Positions
    undetermined: Positions = ()

    if TYPE_CHECKING:  # the fields' own types are what is kept, not all that is read

        def __init__(
            self,
            *,
            text: str,
            correct: bool | None,
            entailed_by: Sequence[int],
            undetermined: Sequence[int] = (),
        ) -> None: ...


class ReferenceClaim(_Claim):
    """One claim of the reference, with the chunks that entail it (as in `ResponseClaim`)."""

    text: StrictStr
    entailed_by: Positions
    undetermined: Positions = ()

    if TYPE_CHECKING:

        def __init__(
            self, *, text: str, entailed_by: Sequence[int], undetermined: Sequence[int] = ()
        ) -> None: ...


class Verdicts(Model, VerdictsBase):
    """Everything a judge says about one sample; what `score` needs and nothing else.

    Attributes:
        response_claims: the claims of the response.
        reference_claims: the claims of the reference; they decide which chunks are relevant.
            May be left out if every chunk carries a label.
        chunks: the retrieved chunks with their labels. ``None`` (left out) beside a sample
            means the sample's own; see `beside`.

    Raises:
        InputError: a field is missing, unknown or of the wrong type, or a position is out of
            range (0 to 99,999 where chunks are left out), listed twice, or both entailed and
            undetermined.
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
        if self.chunks is None:
            count, hint = MOST_UNLISTED, "list the chunks if there are more; counted from 0"
        else:
            count = len(self.chunks)
            hint = f"there are {count} chunks, counted from 0"
        groups: dict[str, Sequence[ResponseClaim | ReferenceClaim]] = {
            "response claim": self.response_claims,
            "reference claim": self.reference_claims,
        }
        for kind, claims in groups.items():
            for i, claim in enumerate(claims):
                for name in ("entailed_by", "undetermined"):
                    listed: tuple[int, ...] = getattr(claim, name)
                    if listed and listed[-1] >= count:
                        raise InputError(
                            f"chunk positions below {count}",
                            f"chunk {describe(listed[-1])}",
                            where=f"{kind} {i}, {name}",
                            hint=hint,
                        )
        return self

    def beside(self, sample: Sample) -> Verdicts:
        """These verdicts with the sample's chunks; the sample's labels win where it has them.

        Raises:
            InputError: the chunks are of another number or text than the sample's.
        """
        contexts = sample.retrieved_contexts
        if self.chunks is None:
            return self._with_chunks(contexts)
        if not contexts and not any(chunk.text.strip() for chunk in self.chunks):
            return self._without_chunks()
        if len(self.chunks) != len(contexts):
            raise InputError(
                f"{len(contexts)} chunks, as in the sample's retrieved_contexts",
                str(len(self.chunks)),
                where="chunks",
                hint="leave chunks out to use the sample's",
            )
        merged: list[Chunk] = []
        for j, (own, context) in enumerate(zip(self.chunks, contexts, strict=True)):
            chunk = merged_chunk(own, context)
            if chunk is None:
                raise InputError(
                    "the text of the sample's context at that position",
                    "another text",
                    where=f"chunk {j}",
                    hint="the verdicts seem to belong to another sample or another chunk order",
                )
            text, relevant, name = chunk
            merged.append(Chunk(text=text, relevant=relevant, id=name))
        return self._with_chunks(tuple(merged))

    def _without_chunks(self) -> Verdicts:
        """Nothing was retrieved: what is said of blank chunks is said of nothing."""
        none: dict[str, Any] = {"entailed_by": (), "undetermined": ()}
        return Verdicts(
            response_claims=[claim.model_copy(update=none) for claim in self.response_claims],
            reference_claims=[claim.model_copy(update=none) for claim in self.reference_claims],
            chunks=(),
        )

    def _with_chunks(self, chunks: tuple[Chunk, ...]) -> Verdicts:
        return Verdicts(
            response_claims=self.response_claims,
            reference_claims=self.reference_claims,
            chunks=chunks,
        )

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
        """Verdicts from tables. Rows are claims, columns are chunks; cells are true/false/None.

        Args:
            reference_to_response: ``[R]``, does the reference entail response claim *i*?
            chunks_to_response: ``[R][C]``, does chunk *j* entail response claim *i*?
            chunks_to_reference: ``[G][C]``, does chunk *j* entail reference claim *g*?
                ``None`` if there are no reference claims (the chunks are labeled).
            relevant: ``[C]``, the chunks' labels; ``None`` in a cell means no label.
            response_claims: ``[R]`` texts, for reasons and reports.
            reference_claims: ``[G]`` texts.
            chunks: ``[C]`` texts.

        Lists and numpy arrays are both accepted.

        Raises:
            InputError: ragged or mismatched tables, or a cell that is not true, false or None.
        """
        correct = _cells(reference_to_response, "reference_to_response")
        response = _table(chunks_to_response, "chunks_to_response")
        reference = _table(
            () if chunks_to_reference is None else chunks_to_reference, "chunks_to_reference"
        )
        labels = None if relevant is None else _cells(relevant, "relevant")
        if len(correct) != len(response):
            raise InputError(
                f"{len(response)} cells, one for each row of chunks_to_response",
                str(len(correct)),
                where="reference_to_response",
            )
        columns = _columns(response, reference, labels)
        response_texts = _texts(response_claims, len(response), "response_claims")
        reference_texts = _texts(reference_claims, len(reference), "reference_claims")
        chunk_texts = _texts(chunks, columns, "chunks")
        fields = {
            "response_claims": [
                {"text": text, "correct": cell, **positions(row)}
                for text, cell, row in zip(response_texts, correct, response, strict=True)
            ],
            "reference_claims": [
                {"text": text, **positions(row)}
                for text, row in zip(reference_texts, reference, strict=True)
            ],
            "chunks": [
                {"text": text, "relevant": label}
                for text, label in zip(chunk_texts, labels or [None] * columns, strict=True)
            ],
        }
        return cls.model_validate(fields)


def as_model(verdicts: VerdictsForm) -> Verdicts:
    """The same verdicts as the model, which can be written and changed."""
    if isinstance(verdicts, Verdicts):
        return verdicts
    return Verdicts.model_validate(verdicts, from_attributes=True)
