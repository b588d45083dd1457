"""One Promptfoo config with everything the tests look at, so that each version runs once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from noisesense import write_recording
from noisesense.fixtures import reference_examples
from support.bad_inputs import GOOD_SAMPLE

CANARIES = {
    name: f"sk-canary-{name}-4f1c9a"
    for name in ("provider", "options", "yaml-env", "environment", "judge")
}
"""Keys, by where they were put. None may appear in anything Promptfoo prints or writes."""

EXAMPLES = reference_examples()
SHIM = "from noisesense_adapters.promptfoo import get_assert\n"
ASYNC = """
import asyncio
from noisesense_adapters.promptfoo import get_assert as noise

async def get_assert(output, context):
    await asyncio.sleep(0)
    return noise(output, context)
"""
INLINE = """
from noisesense_adapters.promptfoo import get_assert
return get_assert(output, context)
"""
PROVIDER = """
module.exports = class {
  constructor(options) { this.key = options.config.apiKey; }
  id() { return "scripted"; }
  async callApi(prompt, context) {
    // Of its own: Promptfoo 0.118 hands on no object twice.
    const { answer, metadata } = structuredClone(context.vars);
    return { output: answer, metadata: metadata ?? {} };
  }
};
"""
_CHUNKS = ["Paris is the capital of France.", "Berlin is the capital of Germany."]
_LABELLED = [{"text": text, "relevant": j == 0} for j, text in enumerate(_CHUNKS)]


def claims(correct: int, noisy: int) -> dict[str, Any]:
    """Verdicts of so many correct claims, and of so many incorrect ones from chunk 1."""
    return {
        "response_claims": [
            {"text": f"claim {i}", "correct": i < correct, "entailed_by": [int(i >= correct)]}
            for i in range(correct + noisy)
        ],
        "chunks": _LABELLED,
    }


def _assertion(value: str = "file://noise.py", **keys: Any) -> dict[str, Any]:
    return {"type": "python", "value": value, **keys}


def _case(name: str, *assertions: dict[str, Any], options: Any = None, **given: Any) -> Any:
    test = {
        "description": name,
        "vars": {"answer": "An answer.", **given},
        "assert": assertions or [_assertion()],
    }
    return {**test, "options": options} if options else test


def _texts(sample: Any) -> dict[str, Any]:
    return {
        "query": sample.user_input,
        "answer": sample.response,
        "reference": sample.reference,
        "contextChunks": [
            {"text": chunk.text, "relevant": chunk.relevant} for chunk in sample.retrieved_contexts
        ],
    }


def _documented() -> list[Any]:
    """Each an assertion, which costs a process: other definitions are scored without Promptfoo."""
    recorded = _assertion(config={"recording": "recording.jsonl", "definition": "promptfoo"})
    return [_case(f"{each.id}, promptfoo", recorded, **_texts(each.sample)) for each in EXAMPLES]


def _forms() -> list[Any]:
    verdicts = claims(4, 1)
    return [
        _case(
            "forms",
            _assertion(metric="noise_robustness"),
            _assertion("file://noise.py:get_assert"),
            _assertion("file://async_noise.py"),
            _assertion(INLINE),
            verdicts=verdicts,
        ),
        _case(
            "threshold 0.8",
            _assertion(threshold=0.8, config={"mode": "irrelevant"}),
            verdicts=verdicts,
        ),
        _case(
            "threshold 0.81",
            _assertion(threshold=0.81, config={"mode": "irrelevant"}),
            verdicts=verdicts,
        ),
    ]


def _sources() -> list[Any]:
    """What Promptfoo itself fills in or hands on. All places: tests/promptfoo."""
    verdicts = {key: value for key, value in claims(1, 1).items() if key != "chunks"}
    chunks = {"contextChunks": _LABELLED}
    return [
        _case(
            "source: template", _assertion(config={"verdicts": "{{given}}"}), given=claims(1, 1)
        ),
        _case("source: metadata", metadata={"verdicts": verdicts, **chunks}),
        _case(
            "source: transformed output",
            _assertion(config={"contextChunks": "{{output.docs}}"}),
            answer={"text": "An answer.", "docs": _LABELLED},
            options={"transform": "output.text"},
            verdicts=verdicts,
        ),
        # As the documentation of the unmerged assertion has it, its ``value`` in config.
        _case(
            "unmerged",
            _assertion(
                config={
                    "definition": "promptfoo",
                    "mode": "irrelevant",
                    "contextChunks": "{{contextChunks}}",
                    "reference": "Paris.",
                    "threshold": 0.5,
                }
            ),
            query="Which city?",
            verdicts=verdicts,
            **chunks,
        ),
    ]


def _broken() -> list[Any]:
    """Five tests that pass, each with a claim of which no text has anything."""
    claim = {"text": "claim", "correct": False, "entailed_by": []}
    given = {**_texts(EXAMPLES[0].sample), "verdicts": {"response_claims": [claim]}}
    return [_case(f"broken: {number}", **given) for number in range(5)]


def _errors() -> list[Any]:
    unreachable = {"model": "m", "baseUrl": "http://127.0.0.1:9/v1", "maxRetries": 0}
    recorded = _assertion(config={"verdicts": "recording.jsonl"})
    good = {"query": GOOD_SAMPLE["user_input"], "answer": GOOD_SAMPLE["response"]}
    chunks = {"contextChunks": [{"text": text} for text in GOOD_SAMPLE["retrieved_contexts"]]}
    given = {**good, **chunks, "reference": GOOD_SAMPLE["reference"]}
    return [
        _case("error: sample not recorded", recorded, **given),
        _case("error: judge out of reach", _assertion(config={"judge": unreachable}), **given),
        _case("error: no reference", recorded, **good, **chunks),
        _case("error: contextTransform", {**recorded, "contextTransform": "output.docs"}),
        _case("error: output is no text", recorded, answer={"note": 1}, reference="a", **chunks),
    ]


def _judged(base_url: str) -> list[Any]:
    judge = {
        "model": "scripted",
        "baseUrl": base_url,
        "apiKeyEnv": "JUDGE_KEY",
        "store": "noise.db",
        "timeout": 30,
    }
    both = [
        _assertion(config={"judge": judge, "mode": mode}) for mode in ("relevant", "irrelevant")
    ]
    grader = {
        "id": "openai:chat:scripted",
        "config": {"apiKey": CANARIES["options"], "apiBaseUrl": base_url},
    }
    return [
        _case(f"judged: {EXAMPLES[0].id}", *both, **_texts(EXAMPLES[0].sample)),
        *(_case(f"judged: {each.id}", both[0], **_texts(each.sample)) for each in EXAMPLES[1:]),
        _case("judged by environment", **_texts(EXAMPLES[0].sample)),
        _case("judged by options", options={"provider": grader}, **_texts(EXAMPLES[0].sample)),
    ]


def write_suite(folder: Path, base_url: str) -> dict[str, str]:
    """Write the config and all it names. Returns the environment it needs."""
    write_recording(folder / "recording.jsonl", [(e.sample, e.verdicts) for e in EXAMPLES])
    (folder / "noise.py").write_text(SHIM, encoding="utf-8")
    (folder / "async_noise.py").write_text(ASYNC, encoding="utf-8")
    (folder / "provider.cjs").write_text(PROVIDER, encoding="utf-8")
    config = {
        "description": "NoiseSense",
        "prompts": ["{{answer}}"],
        "providers": [{"id": "file://provider.cjs", "config": {"apiKey": CANARIES["provider"]}}],
        "env": {"YAML_KEY": CANARIES["yaml-env"]},
        "defaultTest": {"options": {"disableVarExpansion": True}},
        "tests": [
            *_documented(), *_forms(), *_sources(), *_broken(), *_errors(),
            *_judged(base_url),
        ],
    }  # fmt: skip
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return {
        "OPENAI_API_KEY": CANARIES["environment"],
        "OPENAI_BASE_URL": base_url,
        "JUDGE_KEY": CANARIES["judge"],
    }
