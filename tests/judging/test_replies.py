"""The reply forms: strict as a schema, lenient item by item when read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from noisesense import LLMJudge, ReplyError, Sample, VerdictStore
from noisesense.judging.prompts import Claims, PackedVerdicts, VerdictList
from support.scripted_llm import ScriptedLLM

FORMS: list[type[BaseModel]] = [Claims, VerdictList, PackedVerdicts]


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every object type in a JSON Schema."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for each in schema.values() for found in objects(each)]


@pytest.mark.parametrize("form", FORMS)
def test_schema_suits_strict_structured_output(form: type[BaseModel]) -> None:
    schema = form.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert objects(schema)
    for each in objects(schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    assert "description" not in json.dumps(schema)  # every word of it is paid for


@pytest.mark.parametrize(
    "item",
    [
        {"id": 2, "entailed": "perhaps"},
        {"id": 2, "entailed": 2},
        {"id": 2, "entailed": 0.5},
        {"id": 2, "entailed": ""},
        {"id": 2, "entailed": None},
        {"id": 2},
        {"entailed": True},
        {"id": True, "entailed": True},
        {"id": None, "entailed": True},
        {"id": 2.5, "entailed": True},
        {"id": "two", "entailed": True},
        {"id": "9" * 5000, "entailed": True},
        [2, True],
        "2: true",
        None,
        [],
    ],
)
def test_a_malformed_verdict_costs_only_itself(item: object) -> None:
    reply = json.dumps({"verdicts": [{"id": 1, "entailed": True}, item]})
    read = VerdictList.model_validate_json(reply)
    assert [(verdict.id, verdict.entailed) for verdict in read.verdicts] == [(1, True)]
    assert VerdictList.model_validate(json.loads(reply)) == read


def test_what_is_safe_is_read() -> None:
    read = VerdictList.model_validate(
        {"verdicts": [{"id": "3", "entailed": False, "reason": "…"}], "comment": "done"}
    )
    assert [(verdict.id, verdict.entailed) for verdict in read.verdicts] == [(3, False)]
    as_said = {"true": True, " Yes": True, 1: True, "FALSE": False, "no": False, 0: False}
    for said, meant in as_said.items():
        read = VerdictList.model_validate({"verdicts": [{"id": 2.0, "entailed": said}]})
        assert [(verdict.id, verdict.entailed) for verdict in read.verdicts] == [(2, meant)]
    packed = PackedVerdicts.model_validate(
        {"verdicts": [{"premise": 1, "id": 2, "entailed": True}, {"id": 2, "entailed": True}]}
    )
    assert [(v.premise, v.id, v.entailed) for v in packed.verdicts] == [(1, 2, True)]


@pytest.mark.parametrize("reply", ["{}", '{"verdicts": null}', '{"verdicts": {"1": true}}', "[]"])
def test_a_reply_of_another_form_is_none(reply: str) -> None:
    with pytest.raises(ValidationError):
        VerdictList.model_validate_json(reply)


@pytest.mark.parametrize(
    "reply", ["{}", '{"claims": "one"}', '{"claims": [1]}', '{"claims": ["one", null]}']
)
def test_claims_are_read_whole_or_not_at_all(reply: str) -> None:
    """A claim that is dropped would change what the score is divided by."""
    with pytest.raises(ValidationError):
        Claims.model_validate_json(reply)


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_survives_the_store(form: type[BaseModel]) -> None:
    reply: dict[str, Any] = {
        "claims": ["é 中"],
        "verdicts": [{"premise": 1, "id": 1, "entailed": True}],
    }
    read = form.model_validate(reply)
    assert form.model_validate_json(read.model_dump_json()) == read


def test_two_values_of_one_key_are_none() -> None:
    """Hosts' clients call pydantic's own reader, which would take the last."""
    both = (
        '{"verdicts": [{"id": 1, "entailed": true, "entailed": false}, {"id": 2, "entailed": 1}]}'
    )
    read = VerdictList.model_validate_json(both)
    assert [(verdict.id, verdict.entailed) for verdict in read.verdicts] == [(2, True)]
    with pytest.raises(ValidationError):
        Claims.model_validate_json('{"claims": ["one"], "claims": ["two"]}')


def test_half_a_surrogate_pair_is_repaired() -> None:
    for reply in (r'{"claims": ["half \ud83d"]}', '{"claims": ["half \ud83d"]}'):
        read = Claims.model_validate(json.loads(reply))
        assert read.claims == ["half ?"]
        assert Claims.model_validate_json(read.model_dump_json()) == read


def test_half_a_surrogate_pair_in_a_claim_is_stored_and_judged_again_for_nothing(
    tmp_path: Path,
) -> None:
    """The bridge of a user's own may hand it over in a form that it has built by itself."""
    half = "It is \ud83d."
    sample = Sample(response=half, reference=f"Not {half}", retrieved_contexts=[half])

    def answer(prompt: str) -> str:
        data = json.loads(prompt.splitlines()[-1])
        if "text" in data:
            return json.dumps({"claims": [half]})
        return json.dumps(
            {"verdicts": [{"id": int(i), "entailed": False} for i in data["claims"]]}
        )

    for calls in (4, 0):
        with VerdictStore(tmp_path / "store.sqlite") as store:
            judge = LLMJudge(ScriptedLLM(answer), store=store)
            verdicts = asyncio.run(judge.judge(sample))
        assert verdicts.response_claims[0].text == "It is ?."
        assert judge.usage.calls == calls


def test_the_prompts_own_example_is_no_claim() -> None:
    sample = Sample(response="One.", reference="Two.", retrieved_contexts=["Three."])
    for echo in ('{"claims":["…"]}', '{"claims": ["...", " "]}'):
        judge = LLMJudge(ScriptedLLM(lambda prompt, echo=echo: echo))
        with pytest.raises(ReplyError, match="no usable list"):
            asyncio.run(judge.judge(sample))
