"""One JSON object out of whatever a model wrote, or an error; never a guess."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, StrictBool

from noisesense.errors import ReplyError
from noisesense.judging.protocol import Usage
from noisesense_adapters.toolbox.replies import json_form, read_reply, spelled_out


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
