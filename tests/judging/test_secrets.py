"""Neither a key nor a prompt is found where a judge leaves words: canaries."""

from __future__ import annotations

import asyncio
from pathlib import Path

from noisesense import LLMJudge, VerdictStore, score
from noisesense.judging.prompts import Prompts
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pair

KEY = "sk-canary-0123456789"
WORDS = "canary-instructions"
PROMPTS = Prompts(decompose=f"{WORDS} decompose", verify=f"{WORDS} verify", again=WORDS)
SAMPLE, TRUTH = random_pair(38, Shape(response_claims=(3, 3), chunks=(2, 2)))


class Keyed(ScriptedLLM):
    """A model object that holds a key, and shows it when it is printed."""

    api_key = KEY

    def __repr__(self) -> str:
        return f"Keyed(api_key={self.api_key})"


def clean(text: str) -> None:
    for canary in (KEY, WORDS, "Keyed("):
        assert canary not in text


def everything_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in sorted(folder.iterdir()))


def test_no_key_and_no_prompt_is_in_a_store_a_reason_or_a_repr(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "verdicts.db") as store:
        llm = Keyed(Mind([(SAMPLE, TRUTH)]).answer)
        judge = LLMJudge(llm, store=store, prompts=PROMPTS)
        judgement = asyncio.run(judge.judge_detailed(SAMPLE))
        clean(everything_in(tmp_path))  # while the write-ahead log is still there
        assert TRUTH.response_claims[0].text in everything_in(tmp_path)
        clean("".join(map(repr, [judge, judge.usage, judgement, store])))
        found = score(judgement.verdicts)
        clean(found.reason("relevant") + found.reason("irrelevant") + repr(found.to_dict()))
    clean(everything_in(tmp_path))
