"""What the bridges to hosts' models share: how a model is asked, and what it replied."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError, ReplyError
from noisesense.judging.protocol import Usage
from noisesense_adapters.models import replies
from noisesense_adapters.models.envelopes import CUT_SHORT, fields_of, problem_of, usage_of
from noisesense_adapters.models.failures import RequestRefusedError, call_model
from noisesense_adapters.reading.values import as_list

S = TypeVar("S", bound=BaseModel)


class Reply(NamedTuple):
    """What a model replied, as far as its host tells.

    Attributes:
        text: of the reply. What a host has parsed already is written as JSON again.
        usage: what it cost.
        problem: why it is no whole reply: failed, refused, filtered or cut short; else empty.
    """

    text: str
    usage: Usage
    problem: str = ""

    @property
    def is_thinking(self) -> bool:
        """Is the reply cut short, and blank or with thoughts at its head?"""
        text = self.text.strip()
        return self.problem == CUT_SHORT and (not text or text.startswith(replies.OPENINGS))


def completion_reply(completion: Any, form: str = "") -> Reply:
    """A chat completion of an OpenAI-compatible endpoint: its text, or what it calls a tool with.

    What is wrong with it is the reply's ``problem``.

    Args:
        completion: the object that its client gives, not a dict.
        form: the name of the form that was asked for, if any was.

    Raises:
        ReplyError: it has no message.
    """
    usage = usage_of(completion)
    choices = as_list(getattr(completion, "choices", None))
    choice: Any = choices[0] if choices else None
    message: Any = getattr(choice, "message", None)
    problem = problem_of(completion, form)
    if message is None:
        raise ReplyError(problem or "the reply is not a chat completion", usage)
    text = _text_in(message)
    if not text.strip() and not problem:
        beside = [name for name, value in fields_of(message).items() if value and name != "role"]
        problem = f"the reply is empty; beside its text: {', '.join(beside) or 'nothing'}"
    return Reply(text, usage, problem)


def _text_in(message: Any) -> str:
    """Return the arguments of its calls of tools, or else its text."""
    texts: list[Any] = []
    for call in as_list(getattr(message, "tool_calls", None)):
        function = getattr(call, "function", None)
        texts.append(getattr(function, "arguments", None))
    if not texts:
        texts.append(getattr(message, "content", None))
    return "\n".join(text for text in texts if isinstance(text, str))


class Bridge:
    """A host's model as a `noisesense.StructuredLLM`.

    A host's class says how the model is asked (`ask`). Here it is asked for the form and, where
    its endpoint refuses that, in words from then on.

    Attributes:
        name: of the model, for people.
        identity: what its answers depend on besides; no key.
        takes_forms: is it asked for the form? Not once its endpoint has refused that.
        replies_in_text: can it reply in plain text?
    """

    name: str
    identity: str
    takes_forms: bool = True
    replies_in_text: bool = True

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """Return one call of the model: for a reply in the form, or for plain text.

        It may raise whatever the model's client does.
        """
        raise NotImplementedError

    def explain(self, error: BaseException) -> JudgeError | None:
        """Our error for an exception that only this host raises; None, as here, for any other."""

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """Return the reply as an instance of ``schema``, and what it cost.

        Raises:
            ReplyError: a reply that is empty, refused, cut short, or does not fit.
            JudgeError: the model could not be called. Our errors of `ask` are passed on.
        """
        reply = await self.reply(prompt, schema)
        if reply.problem:
            raise ReplyError(reply.problem, reply.usage)
        return replies.read_reply(reply.text, schema, reply.usage), reply.usage

    async def reply(self, prompt: str, schema: type[BaseModel]) -> Reply:
        """Return the model's reply, in whichever form its endpoint takes; it may have a problem.

        Raises `JudgeError`.
        """
        if self.takes_forms:
            with suppress(RequestRefusedError):
                return await self._called(prompt, schema, has_other_form=self.replies_in_text)
        reply = await self._called(replies.spelled_out(prompt, schema), None)
        self.takes_forms = False  # only now: it was the form that was refused
        return reply

    async def _called(
        self, prompt: str, schema: type[BaseModel] | None, *, has_other_form: bool = False
    ) -> Reply:
        model = self.name or "the model"
        asking = self.ask(prompt, schema)
        return await call_model(asking, model, self.explain, has_other_form=has_other_form)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __deepcopy__(self, memo: object) -> Bridge:
        return self

    def __reduce__(self) -> Any:
        hint = "it would carry the key: make a model in each process"
        raise InputError("something that can be pickled", repr(self), where="pickle", hint=hint)
