"""What is judged: one response, its reference and the chunks that were retrieved for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictStr, ValidationInfo

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import key_of
from noisesense.verdicts.model import Model


class Chunk(Model):
    """One retrieved chunk. A plain string is read as its text.

    Attributes:
        text: the chunk as retrieved; may be empty where only verdicts are known.
        relevant: a label, if somebody gave one. A label wins over the derived relevance
            (a chunk is relevant iff it entails at least one claim of the reference).
        id: the name of the document it comes from, if known.
    """

    text: StrictStr
    relevant: StrictBool | None = None
    id: StrictStr | None = None


def _text_as_chunk(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _said(value: str, info: ValidationInfo) -> str:
    if not value.strip():
        raise InputError(
            "a non-empty text", describe(value), hint=f"the {info.field_name} is empty"
        )
    return value


def _retrieved(chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    return chunks if any(chunk.text.strip() for chunk in chunks) else ()


ChunkLike = Annotated[Chunk, BeforeValidator(_text_as_chunk)]
_Text = Annotated[StrictStr, AfterValidator(_said), Field(json_schema_extra={"pattern": r"\S"})]


class Sample(Model):
    """One sample of a RAG system, with ragas' field names.

    Attributes:
        user_input: the question; may be empty.
        response: what the system answered. Not empty.
        reference: the correct answer. Not empty.
        retrieved_contexts: the chunks, strings or `Chunk` objects, in rank order. Only blank ones
            are none: nothing was retrieved.

    Raises:
        InputError: a field is missing, unknown, empty or of the wrong type.
    """

    user_input: StrictStr = ""
    response: _Text
    reference: _Text
    retrieved_contexts: Annotated[tuple[ChunkLike, ...], AfterValidator(_retrieved)]

    if TYPE_CHECKING:  # the fields' own types are what is kept, not all that is read

        def __init__(
            self,
            *,
            user_input: str = "",
            response: str,
            reference: str,
            retrieved_contexts: Sequence[str | Chunk | Mapping[str, Any]],
        ) -> None: ...

    # A plain property: pydantic's model_copy would carry a cached value over to other content.
    @property
    def key(self) -> str:
        """SHA-256 of the texts. Labels and ids do not enter: some hosts cannot carry them."""
        texts = [chunk.text for chunk in self.retrieved_contexts]
        return key_of([self.user_input, self.response, self.reference, texts])
