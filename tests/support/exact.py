"""A judge's model that makes no mistake: what every text says stands in a table by hand."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from noisesense import Judgement, LLMJudge, Sample
from support.mind import data_of
from support.scripted_llm import ScriptedLLM

Facts = frozenset[str]

_BREAK = re.compile(r"[\n.!?:|,;…。！？：，、؟،।\"#<>()\[\]{}/\\]+")
_HELD = re.compile("[*_\ufe0f]")
"""Marks for bold type, and what makes a sign an emoji, stand within words and say nothing."""


def judged_exactly(model: ExactModel, question: str, response: str) -> Judgement:
    """Judge a response by "reference", and by one labeled chunk, "chunk"."""
    sample = Sample(
        user_input=question,
        response=response,
        reference="reference",
        retrieved_contexts=[{"text": "chunk", "relevant": True}],
    )
    return asyncio.run(LLMJudge(ScriptedLLM(model.answer)).judge_detailed(sample))


class ExactModel:
    """Answers the judge's own prompts: its lists and its truth are both given.

    A text or statement says the facts of all wordings that stand in it. What else stands in it
    has to be known as saying nothing. Anything unknown is an AssertionError that shows it: a test
    must not rest on a guess.

    A premise entails a statement with facts if it says all of them. One without facts it entails
    only if the statement literally stands in it. A statement gives information on the question
    if it says a fact.

    Args:
        says: the facts of each wording.
        nothing: texts without a fact, as a greeting is.
        lists: the claims that it lists of each text.
    """

    def __init__(
        self,
        says: Mapping[str, Collection[str]],
        nothing: Iterable[str],
        lists: Mapping[str, Sequence[str]],
    ) -> None:
        self._says = {plain(text): frozenset(facts) for text, facts in says.items()}
        self._by_length = sorted(self._says, key=len, reverse=True)
        self._nothing = {piece for text in nothing for piece in _pieces(text)}
        self._lists = {plain(text): list(claims) for text, claims in lists.items()}

    def answer(self, prompt: str) -> str:
        """The reply to one of the judge's prompts."""
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": self._lists[plain(data["text"])]}, ensure_ascii=False)
        words = {n: self._word(data, claim) for n, claim in data["claims"].items()}
        if "one" not in data:
            return json.dumps(words)
        return json.dumps({"answer": words["1"]})

    def facts(self, text: str) -> Facts:
        """What a text or statement says."""
        rest = plain(text)
        found: set[str] = set()
        for wording in self._by_length:
            if wording in rest:
                found |= self._says[wording]
                rest = rest.replace(wording, "\n")
        if not found:
            found |= self._facts_of_part(rest)
            rest = "" if found else rest
        unknown = _pieces(rest) - self._nothing
        assert not unknown, f"the table does not know {unknown} in {text!r}"
        return frozenset(found)

    def _facts_of_part(self, part: str) -> Facts:
        """What a wording says of which this is one end: a stop within it was taken for its own."""
        ends = part and (w for w in self._says if w.startswith(part) or w.endswith(part))
        return frozenset().union(*(self._says[wording] for wording in ends))

    def _word(self, data: Mapping[str, Any], claim: str) -> str:
        facts = self.facts(claim)
        if "asked" in data:
            return "yes" if facts else "no"
        premises = data["listed"] if "listed" in data else [data["premise"]]
        if facts:
            is_entailed = facts <= frozenset().union(*map(self.facts, premises))
        else:
            is_entailed = any(plain(claim) in plain(premise) for premise in premises)
        return "yes" if is_entailed else "no"


def plain(text: str) -> str:
    """A text without case, bold type and white space around it."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_HELD.sub("", text).split())


def _pieces(text: str) -> set[str]:
    """A text between its marks; a judge may ask about any of its sentences alone."""
    pieces = _BREAK.split(unicodedata.normalize("NFKC", text))
    return {re.sub(r"^\W+|\W+$", "", plain(piece)) for piece in pieces} - {""}
