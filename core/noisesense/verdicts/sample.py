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
from noisesense.verdicts.form import key_of

M = TypeVar("M", bound="Model")

_PLACES = {
    "response_claims": "response claim",
    "reference_claims": "reference claim",
    "chunks": "chunk",
    "retrieved_contexts": "chunk",
}
_OTHER_NAMES = {
    "question": "user_input",
    "answer": "response",
    "ground_truth": "reference",
    "contexts": "retrieved_contexts",
    "input": "user_input",
    "actual_output": "response",
    "expected_output": "reference",
    "retrieval_context": "retrieved_contexts",
}
"""Of ragas before 0.2 and of DeepEval; the adapters read them, the models only recognize them."""
_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "a string",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "greater_than_equal": "a position of 0 or more",
    "too_short": "at least one item",
    "json_invalid": "valid JSON",
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


@contextmanager
def _our_errors(model: type[BaseModel]) -> Generator[None, None, None]:
    try:
        yield
    except ValidationError as error:
        raise as_input_error(model, error) from None


def as_input_error(model: type[BaseModel], error: ValidationError) -> InputError:
    """The first problem pydantic found, in our template, with a count of the others."""
    problems = _distinct(error.errors(include_url=False))
    first = _one(model, problems[0])
    more = len(problems) - 1
    if not more:
        return first
    others = f"{more} more problem{'s' if more > 1 else ''} in the same {model.__name__}"
    hint = f"{first.hint}; {others}" if first.hint else others
    return InputError(first.expected, first.got, where=first.where, hint=hint)


def _distinct(problems: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without "too short" of a list that is so only because its items are wrong."""
    return [
        problem
        for problem in problems
        if problem["type"] != "too_short"
        or all(len(other["loc"]) <= len(problem["loc"]) for other in problems)
    ]


def _one(model: type[BaseModel], problem: ErrorDetails) -> InputError:
    where = place(problem["loc"])
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return cause.within(where) if where else cause
    kind, got = problem["type"], cast("object", problem["input"])
    if kind == "missing":
        name = str(problem["loc"][-1])
        there = cast("dict[str, object]", got)
        keys = ", ".join(map(repr, there))
        hint = "write null where it is undetermined" if name == "correct" else ""
        if name == "entailed_by":
            hint = "write [] if no chunk entails the claim"
        for other in there:
            if _OTHER_NAMES.get(other) == name:
                hint = f"rename {other!r} to {name!r}"
        return InputError(
            f"the field {name!r}",
            f"only {keys}" if keys else "no fields",
            where=place(problem["loc"][:-1]) or model.__name__,
            hint=hint,
        )
    if kind == "extra_forbidden":
        outer = place(problem["loc"][:-1]) or model.__name__
        name = str(problem["loc"][-1])
        hint = f"remove or rename {name!r}"
        return InputError("only known fields", f"the field {name!r}", where=outer, hint=hint)
    expected = _EXPECTED.get(kind) or problem["msg"]
    if kind == "model_type" and problem["loc"][-2:-1] in (("chunks",), ("retrieved_contexts",)):
        expected = "a text or an object"
    if kind == "json_invalid":
        detail = str(problem.get("ctx", {}).get("error", ""))
        return InputError(expected, detail or "something else", where=where or model.__name__)
    return InputError(expected, describe(got), where=where or model.__name__)


def place(loc: tuple[int | str, ...]) -> str:
    """A pydantic location in words: ``response claim 3, entailed_by[1]``."""
    parts: list[str] = []
    for item in loc:
        if isinstance(item, int) and parts and parts[-1] in _PLACES:
            parts[-1] = f"{_PLACES[parts[-1]]} {item}"
        elif isinstance(item, int) and parts:
            parts[-1] += f"[{item}]"
        else:
            parts.append(str(item))
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
