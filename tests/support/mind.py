"""A scripted mind: it answers the judge's own prompts as the given verdicts have it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from noisesense import Sample, Verdicts
from noisesense.judging.sentences import sentences

Items = list[dict[str, Any]]
_Table = dict[str, "bool | None"]


class Mind:
    """Knows the true verdicts of some samples; finds the sample by the texts in a prompt.

    Undetermined verdicts are left out of its replies, however often it is asked. A prompt about
    texts it does not know, or on which two samples disagree, is an AssertionError: a scripted
    test must not rest on a guess. Texts need therefore be unique where the verdicts differ.
    """

    def __init__(self, pairs: Iterable[tuple[Sample, Verdicts]]) -> None:
        self._claims: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
        self._tables: dict[str, list[_Table]] = defaultdict(list)
        for sample, verdicts in pairs:
            verdicts = verdicts.with_sample(sample)
            for text, claims in (
                (sample.response, verdicts.response_claims),
                (sample.reference, verdicts.reference_claims),
            ):
                self._claims[text].append((sample.user_input, [claim.text for claim in claims]))
            for premise, table in _premises(sample, verdicts):
                self._tables[premise].append(table)

    def answer(self, prompt: str) -> str:
        """The JSON reply to one of the judge's prompts, wherever in the text its data stands."""
        data = data_of(prompt)
        reply = self.reply(data)
        if "one" in data:
            word = "".join("yes" if item["entailed"] else "no" for item in reply["verdicts"])
            return json.dumps({"answer": word})
        if "claims" in reply:
            return json.dumps(reply, ensure_ascii=False)
        return reply_of(reply["verdicts"])

    def reply(self, data: dict[str, Any]) -> dict[str, Any]:
        """The claims or, with their numbers, the verdicts, on the prompt's data.

        What a table lists as a claim is one of its text, and gives information on the question.
        Its lists are whole: they say whatever is none of its claims.
        """
        if "text" in data:
            return {"claims": self.claims(data["text"], data.get("question", ""))}
        claims = {int(number): text for number, text in data["claims"].items()}
        if "premise" in data:
            cells = self.verdicts(data["premise"], claims)
        elif "listed" in data:
            cells = {i: self._is_said(data["listed"], claim) for i, claim in claims.items()}
        else:
            cells = dict.fromkeys(claims, True)
        return {"verdicts": [{"id": i, "entailed": cell} for i, cell in cells.items()]}

    def _is_said(self, listed: list[str], claim: str) -> bool:
        return claim in listed or claim not in self._known

    @property
    def _known(self) -> set[str]:
        return {each for lists in self._claims.values() for _, claims in lists for each in claims}

    def claims(self, text: str, question: str = "") -> list[str]:
        """The claims of a response or a reference. All of a split text's are in its first part."""
        found = [
            claims if whole.startswith(text) else []
            for whole in _holding(text, self._claims)
            for asked, claims in self._claims[whole]
            if question in ("", asked)
        ]
        return _only(found, f"the claims of {text!r}")

    def verdicts(self, premise: str, claims: dict[int, str]) -> dict[int, bool]:
        """Which of the claims the premise entails, without those the mind will not answer."""
        tables = [
            table
            for whole in _holding(premise, self._tables)
            for table in self._tables[whole]
            if table.keys() >= set(claims.values())
        ]
        if not tables and set(claims.values()) <= self._known | set(sentences(premise)):
            return {i: text in premise for i, text in claims.items()}  # a placebo
        cells = {
            i: _only([table[text] for table in tables], f"whether {premise!r} entails {text!r}")
            for i, text in claims.items()
        }
        return {i: cell for i, cell in cells.items() if cell is not None}


_LINE = re.compile(r"(Text|Question|Statement|\d+)[:.] (\"(?:[^\"\\]|\\.)*\")")


def data_of(prompt: str) -> dict[str, Any]:
    """The data of one of the judge's prompts; a host may have put text around the prompt.

    ``{"text", "question"}`` where claims are asked for, ``{"premise", "claims"}`` where verdicts
    are, and ``one`` beside it where it is one. In place of the premise
    ``listed``, the claims that may say a statement already, or ``asked``, the question that a
    statement may give information on.
    """
    said: dict[str, str] = {}
    listed: list[str] = []
    for line in prompt.split("\n"):  # an example's lines come first
        if line.strip() == "Statements:" and "Text" not in said:
            listed = [said.pop(name) for name in [*said] if name.isdecimal()]
        match = _LINE.fullmatch(line.strip())
        if match:
            said[match[1]] = json.loads(match[2])
            if match[1] == "Statement" and "Text" not in said:
                listed = [said.pop(name) for name in [*said] if name.isdecimal()]
    claims = {name: text for name, text in said.items() if name.isdecimal()}
    checked: dict[str, Any] = {"claims": claims}
    if "Statement" in said:
        checked = {"claims": {"1": said["Statement"]}, "one": True}
    if "Text" in said and checked["claims"]:
        return {"premise": said["Text"], **checked}
    if "Text" in said:
        question = {"question": said["Question"]} if "Question" in said else {}
        return {"text": said["Text"], **question}
    if listed:
        return {"listed": listed, **checked}
    if "Question" in said and checked["claims"]:
        return {"asked": said["Question"], **checked}
    raise AssertionError(f"not one of the judge's prompts: {prompt[:200]!r}")


def reply_of(items: Items) -> str:
    """The reply that says so of each id, in that order: yes, no, or whatever stands there."""
    words = {True: "yes", False: "no"}
    pairs = (
        (item["id"], words[said] if isinstance(said := item["entailed"], bool) else said)
        for item in items
    )
    return "{" + ", ".join(f"{json.dumps(str(i))}: {json.dumps(said)}" for i, said in pairs) + "}"


def items_of(reply: str) -> Items:
    """What a reply says of each id, as a list: an id may stand in it twice."""
    pairs = json.loads(reply, object_pairs_hook=list)
    return [{"id": int(i), "entailed": said == "yes"} for i, said in pairs]


def _holding(text: str, index: dict[str, Any]) -> list[str]:
    """The text itself, or else the longer texts it is a part of."""
    return [text] if text in index else [whole for whole in index if text in whole]


def _premises(sample: Sample, verdicts: Verdicts) -> Iterator[tuple[str, _Table]]:
    """Every premise of a sample, with what it says of each claim."""
    yield sample.reference, {claim.text: claim.correct for claim in verdicts.response_claims}
    for text, own in (
        (sample.response, verdicts.response_claims),
        (sample.reference, verdicts.reference_claims),
    ):
        yield text, {claim.text: True for claim in own}
    for j, chunk in enumerate(sample.retrieved_contexts):
        table: _Table = {}
        for claim in (*verdicts.response_claims, *verdicts.reference_claims):
            cell = None if j in claim.undetermined else j in claim.entailed_by
            if table.setdefault(claim.text, cell) is not cell:
                raise AssertionError(f"chunk {j}: two verdicts on the claim {claim.text!r}")
        yield chunk.text, table


def _only(found: list[Any], what: str) -> Any:
    assert found, f"the mind does not know {what}"
    assert all(item == found[0] for item in found), f"the mind has two answers: {what}"
    return found[0]
