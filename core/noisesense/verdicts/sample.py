"""A sample: a response, its reference and the retrieved chunks; and the base of all models."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

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
"""The lists in the data, and how an error names one of their items."""
_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "a string",
    "tuple_type": "a list",
    "model_type": "an object",
    "dict_type": "an object",
    "json_invalid": "valid JSON",
    "extra_forbidden": "only known fields",
}
_IF_MISSING: dict[int | str, str] = {
    "correct": "write null where it is undetermined",
    "entailed_by": "write [] if no chunk entails the claim",
}


class Model(BaseModel):
    """Frozen, without unknown fields; raises `InputError` instead of pydantic's error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        with _our_errors(type(self)):
            super().__init__(**data)

    # Or else pydantic calls this __init__ for nested models too, and the outer place is lost.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls: type[M], obj: Any, **kwargs: Any) -> M:
        """Build from a dict; an instance is returned as it is. Raises `InputError`."""
        with _our_errors(cls):
            return super().model_validate(obj, **kwargs)

    @classmethod
    def model_validate_json(cls: type[M], json_data: str | bytes | bytearray, **kwargs: Any) -> M:
        """Build from JSON text. Raises `InputError`."""
        with _our_errors(cls):
            return super().model_validate_json(json_data, **kwargs)


class Line(Model):
    """A line of a file. Its errors name no model, as the reader adds file and line."""


@contextmanager
def _our_errors(model: type[BaseModel]) -> Generator[None, None, None]:
    """Raise the first of pydantic's errors inside as an `InputError`."""
    try:
        yield
    except ValidationError as error:
        raise _as_input_error(model, error.errors(include_url=False)[0]) from None


def _as_input_error(model: type[BaseModel], problem: ErrorDetails) -> InputError:
    kind = problem["type"]
    location = problem["loc"]
    context = problem.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, InputError):
        return cause.within(_place(location)) if location else cause
    expected = _expected(problem)
    got = describe(problem["input"])
    hint = ""
    if kind == "missing":
        name = location[-1]
        location = location[:-1]
        expected = f"the field {name!r}"
        hint = _IF_MISSING.get(name, "")
    elif kind == "extra_forbidden":
        name = location[-1]
        location = location[:-1]
        got = f"the field {name!r}"
        hint = f"remove or rename {name!r}"
        if not location:
            known = [field.alias or name for name, field in model.model_fields.items()]
            hint += f"; known are {', '.join(known)}"
    where = _place(location)
    if not where and not issubclass(model, Line):
        where = model.__name__
    return InputError(expected, got, where=where, hint=hint)


def _expected(problem: ErrorDetails) -> str:
    """Return what should be there, in words."""
    kind = problem["type"]
    location = problem["loc"]
    if kind == "model_type" and _place(location).startswith("chunk"):
        return "a text or an object"
    if kind == "greater_than_equal":
        return f"a number of {problem.get('ctx', {})['ge']:g} or more"
    return _EXPECTED.get(kind) or problem["msg"].removeprefix("Input should be ")


def _place(loc: tuple[int | str, ...]) -> str:
    """Return a pydantic location in words, e.g. ``response claim 3, entailed_by[1]``."""
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
    """One retrieved chunk. In a list of chunks, a plain string is read as the text of one.

    Attributes:
        text: the chunk as retrieved; may be empty where only verdicts are known.
        relevant: a label, if there is one. Without a label, a chunk is relevant iff it entails
            at least one claim of the reference.
        id: the name of the document it comes from, if known.
    """

    text: StrictStr
    relevant: StrictBool | None = None
    id: StrictStr | None = None


def _text_as_chunk(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _not_blank(text: str, info: ValidationInfo) -> str:
    if not text.strip():
        hint = f"the {info.field_name} is empty"
        raise InputError("a non-empty text", describe(text), hint=hint)
    return text


def _retrieved(chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    """Return the chunks; none if all are blank."""
    return chunks if any(chunk.text.strip() for chunk in chunks) else ()


ChunkLike = Annotated[Chunk, BeforeValidator(_text_as_chunk)]
_Text = Annotated[
    StrictStr, AfterValidator(_not_blank), Field(json_schema_extra={"pattern": r"\S"})
]


class Sample(Model, SampleBase):
    """One sample of a RAG system, with ragas' field names.

    Attributes:
        user_input: the question; may be empty.
        response: the system's answer. Not empty.
        reference: the correct answer. Not empty.
        retrieved_contexts: the chunks, strings or `Chunk` objects, in rank order. If all are
            blank, nothing was retrieved, and none is kept.

    Raises:
        InputError: a field is missing, unknown, empty or of the wrong type.
    """

    user_input: StrictStr = ""
    response: _Text
    reference: _Text
    retrieved_contexts: Annotated[tuple[ChunkLike, ...], AfterValidator(_retrieved)]

    if TYPE_CHECKING:  # the fields' types say what is kept; more is accepted

        def __init__(
            self,
            *,
            user_input: str = "",
            response: str,
            reference: str,
            retrieved_contexts: Sequence[str | Chunk | Mapping[str, Any]],
        ) -> None: ...
