"""What is judged: one response, its reference and the chunks; and the strict model of all data."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import ErrorDetails

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import SampleBase

M = TypeVar("M", bound="Model")

PLACES = {
    "response_claims": "response claim",
    "reference_claims": "reference claim",
    "chunks": "chunk",
    "retrieved_contexts": "chunk",
}
"""Lists of the data, and what an error calls one of their items."""
_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "a string",
    "tuple_type": "a list",
    "model_type": "an object",
    "dict_type": "an object",
    "greater_than_equal": "a position of 0 or more",
    "json_invalid": "valid JSON",
    "extra_forbidden": "only known fields",
}
_IF_MISSING: dict[int | str, str] = {
    "correct": "write null where it is undetermined",
    "entailed_by": "write [] if no chunk entails the claim",
}


class Model(BaseModel):
    """Frozen; forbids unknown fields; raises `InputError` instead of pydantic's own error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        with _our_errors(type(self)):
            super().__init__(**data)

    # pydantic calls a custom __init__ for nested models too, which would lose the outer place.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls: type[M], obj: Any, **kwargs: Any) -> M:
        """Build from a dict (or an instance). Raises `InputError`."""
        with _our_errors(cls):
            return super().model_validate(obj, **kwargs)

    @classmethod
    def model_validate_json(cls: type[M], json_data: str | bytes | bytearray, **kwargs: Any) -> M:
        """Build from JSON text. Raises `InputError`."""
        with _our_errors(cls):
            return super().model_validate_json(json_data, **kwargs)


class Line(Model):
    """A line of a file: the place of the line, which whoever reads it adds, says enough."""


@contextmanager
def _our_errors(model: type[BaseModel]) -> Generator[None, None, None]:
    try:
        yield
    except ValidationError as error:
        raise _as_input_error(model, error.errors(include_url=False)[0]) from None


def _as_input_error(model: type[BaseModel], problem: ErrorDetails) -> InputError:
    kind, loc, got = problem["type"], problem["loc"], describe(problem["input"])
    where, hint, expected = _place(loc), "", _EXPECTED.get(kind) or problem["msg"]
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return cause.within(where) if where else cause
    if kind == "missing":
        keys = ", ".join(map(repr, cast("dict[str, object]", problem["input"])))
        where, expected = _place(loc[:-1]), f"the field {loc[-1]!r}"
        got, hint = f"only {keys}" if keys else "no fields", _IF_MISSING.get(loc[-1], "")
    elif kind == "extra_forbidden":
        where, got = _place(loc[:-1]), f"the field {loc[-1]!r}"
        hint = f"remove or rename {loc[-1]!r}"
    elif kind == "model_type" and where.startswith("chunk"):
        expected = "a text or an object"
    elif kind == "json_invalid":
        got = str(cause)
    name = "" if issubclass(model, Line) else model.__name__
    return InputError(expected, got, where=where or name, hint=hint)


def _place(loc: tuple[int | str, ...]) -> str:
    """A pydantic location in words: ``response claim 3, entailed_by[1]``."""
    parts: list[str] = []
    for item in loc:
        if isinstance(item, str):
            parts.append(item)
        elif parts[-1] in PLACES:
            parts[-1] = f"{PLACES[parts[-1]]} {item}"
        else:
            parts[-1] += f"[{item}]"
    return ", ".join(parts)


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


def _said(text: str, info: ValidationInfo) -> str:
    if not text.strip():
        hint = f"the {info.field_name} is empty"
        raise InputError("a non-empty text", describe(text), hint=hint)
    return text


def _retrieved(chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    return chunks if any(chunk.text.strip() for chunk in chunks) else ()


ChunkLike = Annotated[Chunk, BeforeValidator(_text_as_chunk)]
_Text = Annotated[StrictStr, AfterValidator(_said), Field(json_schema_extra={"pattern": r"\S"})]


class Sample(Model, SampleBase):
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
