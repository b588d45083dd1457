"""ragas' prompts API on our metric: what is set there is what the model is asked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts
from noisesense.judging.prompts import Prompts
from noisesense_adapters.demo.ragas_peer import ragas_row
from noisesense_adapters.ragas import NoiseSensitivity
from noisesense_adapters.ragas.prompts import (
    FORMS,
    ClaimDecompositionPrompt,
    ClaimVerificationPrompt,
    Passage,
    PremiseAndClaims,
)
from support.mind import Mind
from support.ragas_llms import asked
from support.server import ScriptedServer
from support.tables import random_pair

NAMES = {form.name for form in FORMS}


def _prompts_sent(metric: NoiseSensitivity, sample: Sample, verdicts: Verdicts) -> list[str]:
    async def work(model: Any) -> Any:
        metric.llm = model
        return await metric.ascore(**ragas_row(sample))

    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        value = asked("async client", server, work).value
    assert value == value  # a number: the replies still fit
    return server.log.prompts


def test_what_is_set_is_what_the_model_is_asked() -> None:
    sample, verdicts = random_pair(3)
    metric = NoiseSensitivity()
    prompts = metric.get_prompts()
    assert set(prompts) == NAMES
    decomposition, verification = (
        prompts["claim_decomposition_prompt"],
        prompts["claim_verification_prompt"],
    )
    plain = _prompts_sent(NoiseSensitivity(), sample, verdicts)
    assert all(any(p.instruction in text for text in plain) for p in (decomposition, verification))
    changed = ClaimDecompositionPrompt()
    changed.instruction = "Split it, please."
    metric.set_prompts(claim_decomposition_prompt=changed)
    verification.instruction = "Does it follow?"  # in place, as ragas' users also do
    sent = _prompts_sent(metric, sample, verdicts)
    assert all(("Split it, please." in text) != ("Does it follow?" in text) for text in sent)
    assert not any(text in each for text in ("Split the text", "For each claim") for each in sent)
    # What the reply must look like stays.
    assert all('{"claims":' in text or '{"verdicts":' in text for text in sent)


def test_examples_go_along() -> None:
    sample, verdicts = random_pair(3)
    metric = NoiseSensitivity()
    form = metric.get_prompts()["claim_verification_prompt"]
    form.examples = [
        (
            PremiseAndClaims(premise="Water boils at 100 °C.", claims={"1": "Water boils."}),
            form.output_model.model_validate({"verdicts": [{"id": 1, "entailed": True}]}),
        )
    ]
    sent = _prompts_sent(metric, sample, verdicts)
    shown = [text for text in sent if "Water boils at 100 °C." in text]
    assert shown
    assert all(form.instruction in text for text in shown)
    assert all('"entailed":true' in text for text in shown)
    assert any("Water" not in text for text in sent)


def test_saved_and_loaded(tmp_path: Path) -> None:
    metric = NoiseSensitivity(name="noise")
    metric.get_prompts()["claim_decomposition_prompt"].instruction = "Mine."
    metric.save_prompts(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {
        f"noise_{name}_english.json" for name in NAMES
    }
    other = NoiseSensitivity(name="noise")
    loaded = other.load_prompts(str(tmp_path))
    assert other.get_prompts()["claim_decomposition_prompt"].instruction != "Mine."
    other.set_prompts(**loaded)
    assert other.get_prompts() == metric.get_prompts()


class Translator:
    """Answers ragas' translation prompt with the statements in capitals."""

    def answer(self, prompt: str) -> str:
        given = json.loads(prompt.rpartition("input: ")[2].rpartition("Output:")[0])
        return json.dumps({"statements": [text.upper() for text in given["statements"]]})


def _adapted(metric: NoiseSensitivity, **options: Any) -> tuple[dict[str, Any], int]:
    with ScriptedServer(Translator()) as server:
        prompts = asked(
            "async client", server, lambda model: metric.adapt_prompts("hindi", model, **options)
        )
    return prompts, server.log.calls


def test_adapted_to_a_language() -> None:
    metric = NoiseSensitivity()
    plain = {name: prompt.instruction for name, prompt in metric.get_prompts().items()}
    adapted, calls = _adapted(metric, adapt_instruction=True)
    assert calls == len(NAMES)
    assert {name: prompt.instruction for name, prompt in adapted.items()} == {
        name: text.upper() for name, text in plain.items()
    }
    assert {prompt.language for prompt in adapted.values()} == {"hindi"}
    metric.set_prompts(**adapted)
    sample, verdicts = random_pair(3)
    sent = _prompts_sent(metric, sample, verdicts)
    assert all("CLAIM" in text for text in sent)


def test_adapting_nothing_is_not_silent() -> None:
    with pytest.warns(UserWarning, match="adapt_instruction=True translates") as caught:
        adapted, calls = _adapted(NoiseSensitivity())
    assert len(caught) == len(NAMES)
    assert calls == 0
    assert {prompt.language for prompt in adapted.values()} == {"hindi"}


def test_examples_are_translated_as_ragas_does() -> None:
    metric = NoiseSensitivity()
    form = metric.get_prompts()["claim_decomposition_prompt"]
    form.examples = [(Passage(text="it rains"), form.output_model(claims=["it does rain"]))]
    with pytest.warns(UserWarning, match="no examples"):
        adapted, calls = _adapted(metric)
    assert calls == 1
    ((given, reply),) = adapted["claim_decomposition_prompt"].examples
    assert (given.text, reply.claims) == ("IT RAINS", ["IT DOES RAIN"])


def test_prompts_of_the_options_and_those_set_agree() -> None:
    prompts = Prompts(version="mine", decompose="Cut it up.\nThe JSON below is data: go.")
    metric = NoiseSensitivity(judge_options={"prompts": prompts})
    forms = metric.get_prompts()
    assert forms["claim_decomposition_prompt"].instruction == "Cut it up."
    sample, verdicts = random_pair(3)
    sent = _prompts_sent(metric, sample, verdicts)
    assert any("Cut it up.\nThe JSON below is data: go.\n" in text for text in sent)


def test_metrics_with_other_prompts_do_not_share_a_judging() -> None:
    sample, verdicts = random_pair(3)
    one, two = NoiseSensitivity("relevant"), NoiseSensitivity("irrelevant")
    two.get_prompts()["claim_decomposition_prompt"].instruction = "Otherwise."

    async def work(model: Any) -> None:
        one.llm = two.llm = model
        await asyncio.gather(*(m.ascore(**ragas_row(sample)) for m in (one, two)))

    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        asked("async client", server, work)
    assert sum("Otherwise." in text for text in server.log.prompts) == 2
    assert sum(ClaimVerificationPrompt().instruction in text for text in server.log.prompts) >= 2
