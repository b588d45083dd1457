"""Texts where Promptfoo's users keep them: templates, CSV columns, transforms, paths, folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense_adapters.promptfoo import get_assert
from support.promptfoo_cli import Evaluation, evaluate
from support.promptfoo_suite import SHIM

VERDICTS = {
    "response_claims": [
        {"text": "Paris is the capital", "correct": True, "entailed_by": [0]},
        {"text": "Berlin is in France", "correct": False, "entailed_by": [1]},
    ]
}
VARS: dict[str, Any] = {"query": "q", "answer": "a", "reference": "r", "verdicts": VERDICTS}


def assess(
    config: Any = None, output: Any = "an answer", response: Any = None, **given: Any
) -> Any:
    context = {"vars": {**VARS, **given}, "config": config or {}, "test": {}}
    return get_assert(output, {**context, "providerResponse": response or {}})


def chunks(*labels: Any) -> list[dict[str, Any]]:
    return [{"text": f"chunk {j}", "relevant": label} for j, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("yes", "no"),
    [(True, False), ("true", "false"), ("TRUE", "False"), ("yes", "no"), (1, 0), ("1", "0")],
)
def test_labels_as_csv_columns_hold_them(yes: Any, no: Any) -> None:
    for labels, figures in (((yes, no), (0.0, 0.5)), ((no, yes), (0.5, 0.0))):
        named = assess(contextChunks=chunks(*labels))["namedScores"]
        assert tuple(named.values()) == figures
        templated = assess(
            contextChunks=chunks("{{label0}}", "{{ label1 }}"), label0=labels[0], label1=labels[1]
        )
        assert templated["namedScores"] == named


def test_a_label_that_is_none_of_them() -> None:
    reason = assess(contextChunks=chunks("perhaps", True))["reason"]
    assert "vars.contextChunks, chunk 0, relevant: expected true or false" in reason
    assert (
        "expected the label 'relevant'"
        in assess(contextChunks=[{"text": "a", "relevent": True}])["reason"]
    )


def test_templates_inside_chunks_are_filled() -> None:
    result = assess(
        contextChunks=[
            {"text": "{{chunk1}}", "relevant": True},
            {"text": "See: {{ docs[0].text }} ({{n}})", "relevant": False},
        ],
        chunk1="{{ base }} text",
        base="the base",
        docs=[{"text": "inner"}],
        n=3,
    )
    analysis = result["metadata"]["claimAnalyses"][1]
    assert analysis["sourceChunk"]["text"] == "See: inner (3)"
    listed = assess({"contextChunks": ["{{chunk1}}", "plain"]}, chunk1="one text")
    assert listed["metadata"]["claimAnalyses"][1]["sourceChunk"]["text"] == "plain"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"contextChunks": [{"text": "{{ chunk1 | upper }}"}]}, "vars.contextChunks, chunk 0"),
        ({"contextChunks": [{"text": "{% if x %}a{% endif %}"}]}, "vars.contextChunks, chunk 0"),
        ({"contextChunks": [{"text": "{{ nobody }}"}]}, "vars.contextChunks, chunk 0"),
        ({"contextChunks": [{"text": "{{ loop }}"}], "loop": "{{ loop }}"}, "vars.contextChunks"),
        ({"reference": "{{ who | upper }}", "who": "x"}, "vars.reference"),
        ({"query": "{{ who | upper }}", "who": "x"}, "vars.query"),
        (
            {"contextChunks": None, "context": "About {{ who | upper }}", "who": "x"},
            "vars.context:",
        ),
        ({"verdicts": "{{ folder | lower }}/v.jsonl"}, "vars.verdicts"),
    ],
)
def test_what_cannot_be_filled_is_refused(
    given: dict[str, Any], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts alone need no texts, so a model is to be asked here."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")  # nobody is to be asked
    given = {"contextChunks": chunks(True), "verdicts": None, "chunk1": "c", **given}
    result = assess(**given)
    assert (result["pass"], result["metadata"]["status"]) == (False, "error")
    assert f"computed: {place}" in result["reason"]


def test_a_providers_text_may_hold_braces() -> None:
    output = {"answer": "a", "contextChunks": [{"text": "Jinja: {{ x | upper }}"}, {"text": "b"}]}
    assert assess(output=output)["metadata"]["status"] == "undetermined"  # no labels: scored


RAW = {
    "answer": "an answer",
    "contextChunks": [
        {"content": "c0", "relevant": True, "source": "a.md", "score": 0.9},
        {"page_content": "c1", "relevant": False, "metadata": {"page": 3}},
    ],
}


@pytest.mark.parametrize(
    ("output", "response"),
    [
        ("an answer", {"output": "an answer", "providerTransformedOutput": RAW}),
        ("an answer", {"output": RAW}),
        ("an answer", {"providerTransformedOutput": json.dumps(RAW)}),
        (json.dumps(RAW), {}),
        (RAW, {}),
    ],
    ids=["transformed away", "untransformed", "a text of JSON", "output is JSON", "an object"],
)
def test_chunks_that_the_transform_left_out(output: Any, response: Any) -> None:
    result = assess(output=output, response=response)
    assert list(result["namedScores"].values()) == [0.0, 0.5]
    source = result["metadata"]["claimAnalyses"][1]["sourceChunk"]
    assert (source["text"], source["metadata"]) == ("c1", {"page": 3})


@pytest.mark.parametrize(
    ("path", "holder"),
    [
        ("output.found.docs", {"found": {"docs": RAW["contextChunks"]}}),
        ("output.hits[1].docs", {"hits": [{}, {"docs": RAW["contextChunks"]}]}),
        ("docs", {"docs": RAW["contextChunks"]}),
    ],
)
def test_context_path(path: str, holder: Any) -> None:
    result = assess({"contextPath": path}, response={"providerTransformedOutput": holder})
    assert list(result["namedScores"].values()) == [0.0, 0.5]
    metadata = {"metadata": {"d": RAW["contextChunks"]}}
    by_metadata = assess({"contextPath": "metadata.d"}, response=metadata)
    assert by_metadata["namedScores"] == result["namedScores"]


@pytest.mark.parametrize("path", ["output.chunks", "output.map(x => x)", 5])
def test_a_context_path_that_leads_nowhere(path: Any) -> None:
    reason = assess({"contextPath": path}, response={"output": {"answer": "a"}})["reason"]
    assert "config.contextPath" in reason
    if path == "output.chunks":
        assert "only answer" in reason


def test_errors_use_the_authors_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")  # nobody is to be asked
    asking: dict[str, Any] = {"verdicts": None, "contextChunks": [{"text": 7}]}
    assert "computed: vars.contextChunks, chunk 0" in assess(**asking)["reason"]
    named = assess(verdicts=None, contexts=[{"text": 7}])["reason"]
    assert "computed: vars.contexts, chunk 0" in named
    config = {"judge": {"model": "m", "maxConcurrency": 0}}
    reason = assess(config, verdicts=None, contextChunks=chunks(True))["reason"]
    assert "config.judge, maxConcurrency: expected" in reason
    config = {"judge": {"model": "m", "chunksPerCall": 0}}
    reason = assess(config, verdicts=None, contextChunks=chunks(True))["reason"]
    assert "config.judge, chunksPerCall: expected" in reason
    config = {"judge": {"model": "m", "baseUrl": "localhost:8000/v1"}}
    reason = assess(config, verdicts=None, contextChunks=chunks(True))["reason"]
    assert "baseUrl" in reason
    assert "an address that begins with http:// or https:// and a host, got" in reason
    assert "such as http://localhost:8000/v1" in reason


def test_an_empty_answer_passes_the_definition_promptfoo() -> None:
    result = assess({"definition": "promptfoo"}, "", verdicts=None, contextChunks=chunks(True))
    assert (result["pass"], result["score"]) == (True, 1.0)
    assert result["namedScores"]["noise_sensitivity_relevant"] == 0
    assert assess({}, "", verdicts=None, contextChunks=chunks(True))["pass"] is False


PROVIDER = """
module.exports = class {
  id() { return 'rag'; }
  async callApi(prompt) {
    return { output: { answer: prompt, docs: [
      { content: 'c0', score: 0.9, relevant: 'yes' }, { content: 'c1', relevant: 'no' } ] } };
  }
};
"""


@pytest.fixture(scope="module")
def evaluation(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """A config in a folder below the working directory, and its assertion one below that."""
    folder = tmp_path_factory.mktemp("rag")
    sub = folder / "sub" / "asserts"
    sub.mkdir(parents=True)
    (sub / "noise.py").write_text(SHIM, encoding="utf-8")
    (folder / "sub" / "provider.cjs").write_text(PROVIDER, encoding="utf-8")
    samples = [
        {"user_input": "q", "response": "a", "reference": "r", "retrieved_contexts": texts}
        for texts in (["c0", "c1"], ["one", "two"])
    ]
    lines = [json.dumps({"sample": sample, "verdicts": VERDICTS}) for sample in samples]
    (folder / "sub" / "v.jsonl").write_text("\n".join(lines), encoding="utf-8")
    noise = {"type": "python", "value": "file://asserts/noise.py"}
    recorded = {"verdicts": "v.jsonl", "mode": "irrelevant"}
    given = {"query": "q", "answer": "a", "reference": "r"}
    path = {**recorded, "contextPath": "output.docs"}
    labeled = [{"text": "{{c}}", "relevant": "true"}, {"text": "two", "relevant": "{{l}}"}]
    tests = [
        {
            "description": "transform",
            "vars": given,
            "options": {"transform": "output.answer"},
            "assert": [{**noise, "config": path}],
        },
        {
            "description": "templates",
            "vars": {**given, "c": "one", "l": "0", "contextChunks": labeled},
            "options": {"transform": "output.answer"},
            "assert": [{**noise, "config": recorded}],
        },
    ]
    config = {"prompts": ["{{answer}}"], "providers": ["file://provider.cjs"], "tests": tests}
    (folder / "sub" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return evaluate(commands, folder, arguments=["-c", "sub/config.json"])


@pytest.mark.parametrize("name", ["transform", "templates"])
@pytest.mark.broad
def test_in_promptfoo(evaluation: Evaluation, name: str) -> None:
    graded = evaluation.only(name)
    assert graded.figures == (0.0, 0.5), graded.reason
    # One assertion, one result: its claims are in the metadata.
    (result,) = evaluation.rows[name]["gradingResult"]["componentResults"]
    assert len(result["metadata"]["claims"]) == 2
    assert evaluation.rows[name]["success"] is False
