"""One JSON object out of whatever a model wrote, or an error; never a guess."""

from __future__ import annotations

import json
import sys

import pytest
from pydantic import BaseModel, StrictBool

from noisesense.errors import ReplyError
from noisesense.judging.prompts import Claims, VerdictList
from noisesense.judging.protocol import Usage
from noisesense_adapters.toolbox.replies import LONGEST, json_form, read_reply, spelled_out
from support.faults import DRAFTS


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
    "text",
    [
        ONE,
        f"  \n{ONE}\n",
        f"```json\n{ONE}\n```",
        f"Sure! For the set {{1}} here it is:\n```\n{ONE}\n```\nAnything else?",
        f"<think>Maybe {TWO}? No.</think>\n{ONE}",
        f"{ONE}\n{ONE}",
        f'{{"example": {TWO}}} {ONE}',
    ],
)
def test_the_object_is_found(text: str) -> None:
    reply = read_reply(text, Reply, USAGE)
    assert reply == Reply(verdicts=[Item(id=1, entailed=True)], note='a {brace} and "quote"')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("I cannot answer that, secret-prompt.", "no complete JSON object"),
        (ONE[:-2], "no complete JSON object"),
        # Half of the reply: its items are whole objects, and still not the reply.
        ('{"verdicts": [{"id": 1, "entailed": true}, {"id": 2, "ent', "no complete JSON object"),
        (f"{ONE}\n{TWO}", "2 different objects"),
        ('{"verdicts": [{"id": "secret-prompt", "entailed": true}]}', r"not fit \(int_parsing\)"),
        ('{"verdicts": "secret-prompt"}', r"not fit \(list_type\)"),
        ("[" * 100_000, "no complete JSON object"),
        ('{"verdicts":' * 100_000, "no complete JSON object"),
        ("1" * 1_000_000, "no complete JSON object"),
        ("blah { " * 150_000, "no complete JSON object"),
    ],
)
def test_anything_else_is_no_reply(text: str, says: str) -> None:
    with pytest.raises(ReplyError, match=says) as caught:
        read_reply(text, Reply, USAGE)
    assert caught.value.usage is USAGE
    assert caught.value.__context__ is None
    assert "secret-prompt" not in str(caught.value)


def test_a_key_with_two_values_has_none() -> None:
    both = '{"verdicts": [{"id": 1, "entailed": true, "entailed": false}]}'
    assert read_reply(both, Reply, USAGE).verdicts == [Item(id=1, entailed=None)]
    same = '{"verdicts": [{"id": 1, "entailed": true, "entailed": true}]}'
    assert read_reply(same, Reply, USAGE).verdicts == [Item(id=1, entailed=True)]


def test_the_form_is_strict_and_short_and_follows_no_reference() -> None:
    verdict = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
    item = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "entailed": verdict},
        "required": ["id", "entailed"],
        "additionalProperties": False,
    }
    assert json_form(Reply) == {
        "type": "object",
        "properties": {
            "verdicts": {"type": "array", "items": item},
            "note": {"type": "string"},
        },
        "required": ["verdicts", "note"],
        "additionalProperties": False,
    }
    prompt = spelled_out("Urteil über 数学", Reply)
    assert prompt.startswith("Urteil über 数学\n")
    assert json.loads(prompt.splitlines()[-1]) == json_form(Reply)


FINAL = '{"verdicts": [{"id": 1, "entailed": true}, {"id": 2, "entailed": false}]}'
DRAFT = '{"verdicts": [{"id": 1, "entailed": false}, {"id": 2, "entailed": false}]}'


def _entailed(text: str) -> list[bool] | None:
    try:
        return [each.entailed for each in read_reply(text, VerdictList, USAGE).verdicts]
    except ReplyError:
        return None


@pytest.mark.parametrize("form", DRAFTS.values(), ids=DRAFTS.keys())
def test_a_draft_is_never_the_answer_wherever_the_reply_is_cut(form: str) -> None:
    whole = form.replace("DRAFT", DRAFT).replace("FINAL", FINAL)
    assert _entailed(whole) == [True, False]
    for cut in range(len(whole)):
        assert _entailed(whole[:cut]) in (None, [True, False]), whole[:cut]


@pytest.mark.parametrize(
    ("breaks_off", "whole"),
    [
        (f"{DRAFT}\n<revised>No, the", f"{FINAL}\n<revised>No change</revised>"),
        (f"<note>{DRAFT} is too hasty", f"<note>hasty</note> {FINAL}"),
        (f"{DRAFT}\nFinal answer:", f"{FINAL}\nFinal answer: as above"),
        (f"{DRAFT}\n**Final:**\n", f"**Final:**\n{FINAL}"),
        (f"{DRAFT}\n<fin", f"{FINAL}\nA < B"),
        (f'{DRAFT} and {{"verdicts": [', f"{FINAL} and {FINAL}"),
    ],
)
def test_what_begins_behind_an_object_and_does_not_end_spoils_it(
    breaks_off: str, whole: str
) -> None:
    with pytest.raises(ReplyError, match="breaks off"):
        read_reply(breaks_off, VerdictList, USAGE)
    assert _entailed(whole) == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        f"{FINAL} I hope this helps. A < B, and so on.",
        f"<answer>{FINAL}</answer>",
        f"<answer>\n{FINAL}",
        f"<answer>{FINAL}</ans",
        f"<s>{FINAL}</s>",
        f"{FINAL}<|im_end|>",
        f"The range [0, 1) and [see note]: {FINAL}",
        f"The set {{1, 2}} and {{x: 1}}: {FINAL}",
        f"They said so in <think>1 {{2 </think> {FINAL}",
        FINAL.replace("}]", "},]").replace("]}", "] , }"),
        FINAL[13:-1],
        f"As a list: {FINAL[13:-1]}",
        f"[{FINAL}]",
        FINAL.replace("true", '"yes"').replace("false", "0").replace("2", '"2"'),
    ],
)
def test_what_is_unambiguous_is_read(text: str) -> None:
    assert _entailed(text) == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        f"{FINAL} Or rather: {{",
        f"{FINAL} Or rather: [",
        f"{FINAL} <think> but",
        f"{FINAL} <correction> but",
        f"{FINAL} <answer>",
        f'{FINAL} Or rather {{"verdicts": [oops]}}',
        f'{FINAL} Or rather {{"verdicts": 7}}',
        f"{FINAL} Corrected:",
        f"{FINAL} or {DRAFT}",
        '[{"id": 1, "entailed": true}, {"id": 2, "entailed": "perhaps"}]',
        '[{"id": 1, "entailed": true}, {"id": 2, "ent',
        "[]",
    ],
)
def test_what_may_mean_something_else_is_not(text: str) -> None:
    assert _entailed(text) is None


def test_tags_and_tokens_that_a_claim_quotes_are_data() -> None:
    claims = ["It says <think>", "<|channel|>analysis<|message|>", "<|begin_of_thought|>", "a { b"]
    assert read_reply(json.dumps({"claims": claims}), Claims, USAGE).claims == claims


def test_a_bare_list_of_claims() -> None:
    assert read_reply('["one", "two",]', Claims, USAGE).claims == ["one", "two"]
    with pytest.raises(ReplyError):
        read_reply('["one", 2]', Claims, USAGE)


@pytest.mark.parametrize("levels", [100, 490, 700, 990, 5_000, 100_000])
def test_deep_nesting_is_no_reply(levels: int) -> None:
    deep = '{"note": ' * levels + "1" + "}" * levels
    for text in (deep, deep.replace("note", "verdicts"), "[" * levels + '"x"' + "]" * levels):
        with pytest.raises(ReplyError):
            read_reply(text, VerdictList, USAGE)


# Per character, the reader looks at each of these a bounded number of times.
HOSTILE = {
    "open objects": "{",
    "open lists": '["',
    "open objects with words": "blah { ",
    "small objects": "{1} ",
    "objects that fit": FINAL,
    "different claims": '{"claims": ["%d"]}',
    "keys": '{"verdicts": ',
    "quotes": '{"\\"',
    "backslashes": "{\\",
    "tags": "<a>",
    "closing tags": "<a></b>",
    "thoughts": "<think>",
    "closing thoughts": "</think>{}",
    "channels": "<|channel|>",
    "final channels": "<|channel|>final<|message|>",
    "spaces": "[ ",
    "commas": '{"verdicts": [,, ,]} ',
    "lists": '["a"] ',
    "colons": "draft: ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_is_linear_in_a_hostile_reply(piece: str) -> None:
    """Counted in lines of Python executed, since no clock is reliable: four times the text takes
    at most some five times the steps."""
    steps = [_steps(piece * (size // len(piece))) for size in (5_000, 20_000)]
    assert steps[1] <= 5 * steps[0] + 1_000


def _steps(text: str) -> int:
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        _entailed(text)
    finally:
        sys.settrace(before)
    return count


def test_a_reply_beyond_the_limit_is_named() -> None:
    with pytest.raises(ReplyError, match=r"too long: 2,000,001 of 2,000,000 characters"):
        read_reply("x" * (LONGEST + 1), Reply, USAGE)
