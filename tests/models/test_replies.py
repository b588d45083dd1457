"""One JSON object out of whatever a model wrote, or an error; never a guess."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from pydantic import BaseModel, Field, StrictBool

from noisesense.errors import ReplyError
from noisesense.judging.prompts import (
    DEFAULT_PROMPTS,
    Answer,
    Claims,
    Premise,
    answers_form,
)
from noisesense.judging.protocol import Usage
from noisesense_adapters.models.replies import (
    LONGEST,
    json_form,
    read_reply,
    spelled_out,
)
from support.formats import KNOWN, UNCLEAR


class Item(BaseModel):
    id: int
    entailed: StrictBool | None


class Reply(BaseModel):
    verdicts: list[Item] = []
    note: str = "none"


USAGE = Usage(calls=1, input_tokens=7)
ONE = '{"verdicts": [{"id": 1, "entailed": true}], "note": "a {brace} and \\"quote\\""}'
TWO = '{"verdicts": [{"id": 1, "entailed": false}]}'


@pytest.mark.parametrize(
    "text", [f" \n{ONE}\n", ONE.replace("}]", "},]").replace('quote\\""', 'quote\\"" ,')]
)
def test_the_object_is_found_also_with_trailing_commas(text: str) -> None:
    reply = read_reply(text, Reply, USAGE)
    assert reply == Reply(verdicts=[Item(id=1, entailed=True)], note='a {brace} and "quote"')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" \n ", "empty"),
        ("I cannot answer that, secret-prompt.", "does not begin with a JSON object"),
        # Half of the reply: its items are whole objects, and still not the reply.
        ('{"verdicts": [{"id": 1, "entailed": true}, {"id": 2, "ent', "no complete JSON object"),
        (f"{ONE}\n{TWO}", "something follows"),
        (f"{ONE}\n{ONE}", "something follows"),
        (f"<think>as <think>before</think>{ONE}", "thoughts"),
        ('{"verdicts": [{"id": "secret-prompt", "entailed": true}]}', r"not fit \(int_parsing\)"),
        ('{"verdicts":' * 100_000, "nested too deeply"),
        ('{"verdicts": ' + "9" * 5_000 + "}", "a number in it is too long"),
        ("x" * (LONGEST + 1), r"too long: 2,000,001 of 2,000,000 characters"),
    ],
)
def test_anything_else_is_no_reply(text: str, says: str) -> None:
    with pytest.raises(ReplyError, match=says) as caught:
        read_reply(text, Reply, USAGE)
    assert caught.value.usage is USAGE
    assert caught.value.__context__ is None
    assert "secret-prompt" not in str(caught.value)


@pytest.mark.parametrize(
    "beside",
    [
        '"error": "context window exceeded"', '"refusal": "I cannot judge this"',
        '"note": "2 is a guess"', '"correction": {"1": "yes"}', '"type": "object"',
        '"properties": {"1": {"enum": ["yes", "no"]}}', '"01": "yes"', '"\uff11": "yes"',
        '"1.": "no"', '" 1": "no"', '"+1": "no"', '"": null', '"-1": "no"', '"1e0": "no"',
    ],
)  # fmt: skip
def test_an_object_with_more_than_the_form_is_no_reply(beside: str) -> None:
    """It says the opposite, that nothing was judged, or one number twice."""
    text = f'{{"1": "no", "2": "no", {beside}}}'
    with pytest.raises(ReplyError, match="does not fit"):
        read_reply(text, answers_form(2), USAGE)
    forms: dict[type[BaseModel], str] = {Claims: '"claims": ["One."]', Answer: '"answer": "no"'}
    for form, said in forms.items():
        assert read_reply(f"{{{said}}}", form, USAGE)
        with pytest.raises(ReplyError, match="does not fit"):
            read_reply(f"{{{said}, {beside}}}", form, USAGE)


def test_a_number_is_no_answer() -> None:
    """Models echo the statement's number, or rate it from 1 to 5: 1 is a yes, or the worst."""
    for text in ('{"1": 1, "2": 2}', '{"1": 1, "2": 5}', '{"1": 0, "2": 1}', '{"1": 1.0}'):
        with pytest.raises(ReplyError, match="does not fit"):
            read_reply(text, answers_form(2), USAGE)
    assert read_reply('{"1": true, "2": 1}', answers_form(2), USAGE).by_number == {
        1: True,
        2: None,
    }
    with pytest.raises(ReplyError, match="does not fit"):
        read_reply('{"answer": 1}', Answer, USAGE)


def test_a_key_with_two_values_has_none() -> None:
    both = '{"verdicts": [{"id": 1, "entailed": true, "entailed": false}]}'
    assert read_reply(both, Reply, USAGE).verdicts == [Item(id=1, entailed=None)]
    same = '{"verdicts": [{"id": 1, "entailed": true, "entailed": true}]}'
    assert read_reply(same, Reply, USAGE).verdicts == [Item(id=1, entailed=True)]


def test_what_a_claim_quotes_is_data() -> None:
    claims = [
        "It says <think>", "<|channel|>analysis<|message|>", "</think>", "a { b", "</s>",
        "He wrote: Here is the answer: {x}", "Here is the JSON:\n`",
    ]  # fmt: skip
    written = json.dumps({"claims": claims})
    assert read_reply(written, Claims, USAGE).claims == claims
    quoting = [*claims, "It ends with <|end|>", "and [/THINK]"]
    quoted = json.dumps({"claims": quoting}, ensure_ascii=False)
    # As R1 and Qwen3 write: a blank line behind the thoughts.
    for before, behind in (
        ("<think>Well.</think>\n\n", ""),
        ("<think>Well.</think>\n\nHere is the JSON:\n", ""),
        ("<answer>", "</answer>"),
        ("Here is the JSON:\n", ""),
    ):
        assert read_reply(before + quoted + behind, Claims, USAGE).claims == quoting, before


def test_the_form_is_strict_without_titles_and_in_words_has_no_schema() -> None:
    words = {"type": "string", "enum": ["yes", "no"]}
    assert json_form(answers_form(2)) == {
        "type": "object",
        "properties": {"1": words, "2": words},
        "required": ["1", "2"],
        "additionalProperties": False,
    }
    prompt = spelled_out("Urteil über 数学", Claims)
    assert prompt.startswith("Urteil über 数学\n")
    # No schema, which a small model would reply, and no object at all that could be copied.
    assert prompt.endswith('Its keys are "claims".')
    assert "{" not in prompt


class Words(BaseModel):
    one: Literal["yes", "no"] = Field(alias="1")
    two: Literal["yes", "no"] = Field(alias="2")


FINAL = '{"1": "yes", "2": "no"}'
DRAFT = '{"1": "no", "2": "yes"}'
PLAIN = {DRAFT, f"```json\n{DRAFT}\n```", f"```\n{DRAFT}\n```"}
"""Whole replies: where a longer one is cut just there, no reader can know."""
FORMS = {
    name: form.replace("DRAFT", DRAFT).replace("FINAL", FINAL)
    for name, form in {**KNOWN, **UNCLEAR}.items()
}


def _said(text: str) -> str | None:
    try:
        return read_reply(text, Words, USAGE).one
    except ReplyError:
        return None


@pytest.mark.parametrize("name", KNOWN)
def test_what_models_are_known_to_write_around_an_answer(name: str) -> None:
    assert _said(FORMS[name]) == "yes"


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_no_marking_makes_the_answer_is_none(name: str) -> None:
    whole = FORMS[name]
    draft_alone = whole.strip() in PLAIN or UNCLEAR[name] == "<think>DRAFT</think>"
    assert _said(whole) is None or draft_alone


def test_a_draft_is_never_the_answer_wherever_a_reply_is_cut() -> None:
    assert len(FORMS) > 150
    for whole in FORMS.values():
        for cut in range(len(whole)):
            if whole[:cut].strip() not in PLAIN:
                assert _said(whole[:cut]) in (None, "yes"), whole[:cut]


# Whatever the reader looks for, it looks at each character a bounded number of times.
PIECES = [
    *{part for form in FORMS.values() for part in form.split("{")},
    "{", '["', "blah { ", FINAL, '{"verdicts": ', '{"\\"', "{\\", '{"a": "\\"', '"\\"', "<a>",
    "<a></b>", "<think>", "</think>{}", "<|channel|>", "<|channel|>final<|message|>", "{,  ",
    '{"a": [,, ,', "```json\n", "Here is the JSON: ", "sure, ", "</s>", "</s> ",
]  # fmt: skip


def test_time_is_linear_in_a_hostile_reply() -> None:
    """A reader that looks twice as long at twice as much would take hours over 100,000
    characters, so that only being done is asserted."""
    for piece in filter(None, PIECES):
        for text in (
            piece * (100_000 // len(piece)),
            '{"claims": ["' + piece * (50_000 // len(piece)),
        ):
            _said(text)


@pytest.mark.parametrize(
    "prompt",
    [
        DEFAULT_PROMPTS.decomposition('{"claims": ["a"]}', "Who?"),
        DEFAULT_PROMPTS.verification(Premise('{"1": "yes"}'), {1: '{"1": "yes"}', 2: "yes"}),
        DEFAULT_PROMPTS.single(Premise("yes"), "no"),
        DEFAULT_PROMPTS.single(Premise('{"answer": "yes"}'), "no"),
        DEFAULT_PROMPTS.verification(Premise(claims=('{"1": "yes"}', "yes")), {1: "no", 2: "yes"}),
        DEFAULT_PROMPTS.verification(Premise(question="yes"), {1: '{"1": "yes"}', 2: "no"}),
        DEFAULT_PROMPTS.single(Premise(claims=("yes", "no")), "yes"),
        DEFAULT_PROMPTS.single(Premise(question="no"), "yes"),
    ],
)
def test_the_prompt_echoed_is_no_answer(prompt: str) -> None:
    """Whole, or any run of its lines, the data's own alone among them.

    The example's list is a reply; that it is never believed, `tests/judging/test_prompts.py` says.
    """
    lines = spelled_out(prompt, Claims).splitlines()
    for start in range(len(lines)):
        for end in range(start + 1, len(lines) + 1):
            echo = "\n".join(lines[start:end])
            if echo.strip() and echo.strip() in DEFAULT_PROMPTS.decompose:
                continue
            for form in (Claims, answers_form(2)):
                with pytest.raises(ReplyError):
                    read_reply(echo, form, USAGE)
