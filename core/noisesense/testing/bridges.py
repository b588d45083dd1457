"""The tests of a bridge to a host's models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pydantic import BaseModel

from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.protocol import StructuredLLM, Usage
from noisesense.testing.judges import KEY


def _always(text: str) -> Callable[[str], str]:
    return lambda _: text


class BridgeTests:
    """Tests of a `StructuredLLM` over a host's model object; `bridge` makes one."""

    def bridge(self, reply: Callable[[str], str]) -> StructuredLLM:
        """The bridge over a model of the host's that replies ``reply(prompt)`` as its text."""
        raise NotImplementedError

    def _generate(self, reply: Callable[[str], str]) -> tuple[_Reply, Usage]:
        return asyncio.run(self.bridge(reply).generate(_QUESTION, _Reply))

    def test_a_reply_is_read(self) -> None:
        """The reply comes as the object asked for, the prompt goes whole, the call is counted."""
        prompts: list[str] = []

        def reply(prompt: str) -> str:
            prompts.append(prompt)
            return '{"words": ["one", "two"]}'

        read, usage = self._generate(reply)
        assert read == _Reply(words=["one", "two"]), f"read as {read!r}"
        assert usage.calls == len(prompts) == 1, f"{usage.calls} of {len(prompts)} calls counted"
        assert _QUESTION in prompts[0], "the prompt did not arrive whole"

    def test_what_is_no_answer_is_an_error(self) -> None:
        """Prose, a reply cut off, another form, two answers: a `ReplyError`, never a value."""
        for text in (
            "",
            "I cannot say.",
            '{"words": ["one", "tw',
            '{"other": 1}',
            '{"words": ["one"]} or {"words": ["two"]}',
        ):
            try:
                read, _ = self._generate(_always(text))
            except ReplyError:
                continue
            raise AssertionError(f"{text!r} is read as {read!r}")

    def test_a_failing_model_is_a_judge_error_without_its_key(self) -> None:
        """What the client raises becomes a `JudgeError`; neither key nor prompt is in it."""

        def fail(prompt: str) -> str:
            raise RuntimeError(f"Authorization: Bearer {KEY}; {prompt}")

        message = ""
        try:
            self._generate(fail)
        except JudgeError as error:
            message = str(error)
        assert message, "a model that fails gives a reply"
        assert KEY not in message, "the key is in the error"
        assert _QUESTION not in message, "the prompt is in the error"


class _Reply(BaseModel):
    words: list[str]


_QUESTION = 'Which words?\n\tReply with a list: "one", \u00e9.'
