"""Any model of pydantic-ai as the judge's model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from noisesense.judging.protocol import Choice, Usage
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.failures import RequestRefusedError, call_model, made
from noisesense_adapters.toolbox.identity import identity
from noisesense_adapters.toolbox.replies import (
    check_complete,
    json_form,
    read_reply,
    spelled_out,
    usage_of,
)
from noisesense_adapters.toolbox.words import choice_in

with needs_extra("pydantic-evals", "pydantic_ai"):
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters, infer_model
    from pydantic_ai.output import OutputObjectDefinition

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

S = TypeVar("S", bound=BaseModel)


class PydanticAILLM:
    """A `noisesense.StructuredLLM` over a model of pydantic-ai.

    It sends single requests and no agent, which would read a reply more leniently than a judge
    may and pay for retries of its own.

    Args:
        model: the model, or its name, e.g. ``"openai:gpt-4.1-mini"``.

    Raises:
        JudgeError: no such model, or its key is not configured.

    Attributes:
        name: provider and name of the model.
        identity: what its answers depend on besides: its class, endpoint and settings; no key.
    """

    def __init__(self, model: Model | str) -> None:
        self._model = made(lambda: infer_model(model), str(model))
        self.name = f"{self._model.system}:{self._model.model_name}"
        self.identity = identity(model=self._model)
        self._in_words = not _takes_forms(self._model.profile)

    def __repr__(self) -> str:
        return f"PydanticAILLM({self.name!r})"

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """The reply as an instance of ``schema``, and what it cost.

        Raises:
            ReplyError: a reply that is empty, refused, cut short, or does not fit.
            JudgeError: the model could not be called.
        """
        if not self._in_words:
            form = OutputObjectDefinition(json_form(schema), schema.__name__, strict=True)
            try:
                return await self._read(await self._call(prompt, form), schema)
            except RequestRefusedError:
                self._in_words = True
        return await self._read(await self._call(spelled_out(prompt, schema), None), schema)

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """See `noisesense.WordLLM`. The length of the reply is left to the model."""
        response = await self._call(prompt, None)
        return choice_in(response.text or "", words, usage_of(response), response.finish_reason)

    async def _call(self, prompt: str, form: OutputObjectDefinition | None) -> ModelResponse:
        call = model_request(
            self._model,
            [ModelRequest.user_text_prompt(prompt)],
            model_request_parameters=ModelRequestParameters(
                output_mode="text" if form is None else "native", output_object=form
            ),
        )
        return await call_model(call, self.name, has_other_form=form is not None)

    async def _read(self, response: ModelResponse, schema: type[S]) -> tuple[S, Usage]:
        usage = usage_of(response)
        check_complete(usage, response.finish_reason)
        return read_reply(response.text or "", schema, usage), usage


def _takes_forms(profile: Any) -> bool:
    """Does the model reply in a JSON Schema by itself? Profiles became dicts in pydantic-ai 2."""
    name = "supports_json_schema_output"
    if isinstance(profile, dict):
        return bool(cast("dict[str, Any]", profile).get(name))
    return bool(getattr(profile, name, False))
