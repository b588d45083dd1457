"""Models people write for ragas themselves: what they reply and raise, and what comes of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM
from ragas.run_config import RunConfig

from noisesense import InputError, JudgeError, ReplyError, Usage, VerdictStore, score
from noisesense.judging.prompts import Claims
from noisesense.judging.protocol import WordLLM
from noisesense_adapters.ragas import NoiseSensitivity, RagasLLM
from support.mind import Mind
from support.ragas_peer import ragas_row
from support.ragas_runs import column, evaluated
from support.tables import random_pair

SAMPLE, VERDICTS = random_pair(1)
MIND = Mind([(SAMPLE, VERDICTS)])
SECRET = "sk-canary-0123456789"
Says = Callable[[str], LLMResult]


def said(text: str) -> LLMResult:
    return LLMResult(generations=[[Generation(text=text)]])


class Texts(BaseRagasLLM):
    def __init__(self, says: Says, *, finished: bool = True) -> None:
        super().__init__(run_config=RunConfig(max_retries=1))
        self._says, self._finished = says, finished
        self.prompts: list[str] = []

    def generate_text(self, *args: Any, **kwargs: Any) -> LLMResult:
        raise AssertionError("ragas' evaluate() asks agenerate_text")

    async def agenerate_text(self, prompt: Any, *args: Any, **kwargs: Any) -> LLMResult:
        self.prompts.append(prompt.to_string())
        return self._says(self.prompts[-1])

    def is_finished(self, response: LLMResult) -> bool:
        return self._finished


class Objects(InstructorBaseRagasLLM):
    """With the two methods ragas demands, and nothing else."""

    def __init__(self, says: Callable[[str, type[Any]], Any]) -> None:
        self._says = says
        self.prompts: list[str] = []

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        raise AssertionError("an async model is asked asynchronously")

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        self.prompts.append(prompt)
        return self._says(prompt, response_model)


def raising(error: BaseException) -> Callable[..., Any]:
    def says(*args: Any) -> Any:
        raise error

    return says


def generated(llm: Any) -> tuple[Claims, Usage]:
    return asyncio.run(RagasLLM(llm).generate("a prompt", Claims))


def test_a_model_of_texts_in_evaluate() -> None:
    llm = Texts(lambda prompt: said(MIND.answer(prompt)))
    result = evaluated(
        [SAMPLE], [NoiseSensitivity()], llm=llm, run_config=RunConfig(max_retries=1)
    )
    (value,) = column(result, "relevant")
    assert value == score(VERDICTS).relevant
    assert result.scores[0]["noise_sensitivity(mode=relevant)"].judgement.usage == Usage(
        calls=len(llm.prompts)
    )
    assert all("Its keys are " in prompt for prompt in llm.prompts)


def test_a_model_of_objects_in_ascore() -> None:
    llm = Objects(lambda prompt, form: form.model_validate_json(MIND.answer(prompt)))
    found = NoiseSensitivity(llm=llm).score(**ragas_row(SAMPLE))
    assert found.value == score(VERDICTS).relevant
    assert found.value.judgement.usage == Usage(calls=len(llm.prompts))


def test_usage_as_langchain_or_the_provider_tells_it() -> None:
    message = AIMessage(
        '{"claims": []}',
        usage_metadata={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
    )
    langchains = LLMResult(generations=[[ChatGeneration(message=message)]])
    openais = said('{"claims": []}')
    openais.llm_output = {"token_usage": {"prompt_tokens": 5, "completion_tokens": 3}}
    assert generated(Texts(lambda _: langchains))[1] == Usage(1, 0, 0, 7, 2)
    assert generated(Texts(lambda _: openais))[1] == Usage(1, 0, 0, 5, 3)


def test_a_reply_that_is_cut_short_is_asked_for_three_times() -> None:
    llm = Texts(lambda prompt: said('{"claims": []}'), finished=False)
    with pytest.raises(ReplyError, match="cut short"):
        generated(llm)
    llm.prompts.clear()
    result = evaluated(
        [SAMPLE], [NoiseSensitivity()], llm=llm, run_config=RunConfig(max_retries=1)
    )
    assert math.isnan(*column(result, "relevant"))
    assert len(llm.prompts) == 6  # both lists of claims


@pytest.mark.parametrize("kind", [Texts, Objects])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError(SECRET), "the model cannot be reached"),
        (TimeoutError(SECRET), "no reply in time"),
        (KeyError(SECRET), "could not be called: KeyError, raised in test_custom_models.py"),
        (RuntimeError(f"Event loop is closed {SECRET}"), "RuntimeError"),
    ],
)
def test_what_a_model_raises_is_told_without_its_words(
    kind: Any, error: Exception, message: str
) -> None:
    llm = kind(raising(error))
    with pytest.raises(JudgeError, match=message) as caught:
        generated(llm)
    assert not isinstance(caught.value, ReplyError)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(llm.prompts) == 1


def test_another_object_than_was_asked_for() -> None:
    with pytest.raises(JudgeError, match="a str where a Claims was asked for"):
        NoiseSensitivity(llm=Objects(lambda *_: "yes")).score(**ragas_row(SAMPLE))


def test_a_model_without_a_name_and_a_store(tmp_path: Path) -> None:
    llm = Texts(lambda prompt: said(MIND.answer(prompt)))
    with VerdictStore(tmp_path / "store.sqlite") as store:
        with pytest.raises(InputError, match="a model with a name"):
            NoiseSensitivity(llm=llm, store=store).score(**ragas_row(SAMPLE))
        named = NoiseSensitivity(llm=llm, store=store, judge_options={"model": "mine"})
        assert named.score(**ragas_row(SAMPLE)).value == score(VERDICTS).relevant


def test_a_word_is_chosen_in_plain_text() -> None:
    llm = Texts(lambda _: said("No."))
    bridge = RagasLLM(llm)
    assert isinstance(bridge, WordLLM)
    choice, usage = asyncio.run(bridge.choose("Is it so?", ["yes", "no"]))
    assert (choice, usage) == (("no", None), Usage(calls=1))
    assert llm.prompts == ["Is it so?"]
    with pytest.raises(ReplyError):
        asyncio.run(RagasLLM(Texts(lambda _: said("Maybe."))).choose("?", ["yes", "no"]))
    # instructor gives objects only: such a model is asked for a form with one field.
    assert not isinstance(RagasLLM(Objects(lambda *_: None)), WordLLM)


@pytest.mark.parametrize("kind", [Texts, Objects])
def test_one_claim_a_call(kind: Any) -> None:
    def says(prompt: str, form: Any = None) -> Any:
        reply = MIND.answer(prompt)
        return said(reply) if form is None else form.model_validate_json(reply)

    metric = NoiseSensitivity(llm=kind(says), judge_options={"check": "each"})
    assert metric.score(**ragas_row(SAMPLE)).value == score(VERDICTS).relevant
