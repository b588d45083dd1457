"""Texts where Promptfoo's users keep them: templates, CSV columns, transforms, paths, folders.

And what an output may bring itself: its chunks, never what grades it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from noisesense_adapters.promptfoo import get_assert

VERDICTS = {
    "response_claims": [
        {"text": "Paris is the capital", "correct": True, "entailed_by": [0]},
        {"text": "Berlin is in France", "correct": False, "entailed_by": [1]},
    ]
}
CLEAN = {"response_claims": [{"text": "a", "correct": True, "entailed_by": []}]}
VARS: dict[str, Any] = {"query": "q", "answer": "a", "reference": "r", "verdicts": VERDICTS}


@pytest.fixture(autouse=True)
def _nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def assess(
    config: Any = None, output: Any = "an answer", response: Any = None, **given: Any
) -> Any:
    context = {"vars": {**VARS, **given}, "config": config or {}, "test": {}}
    return get_assert(output, {**context, "providerResponse": response or {}})


def chunks(*labels: Any) -> list[dict[str, Any]]:
    return [{"text": f"chunk {j}", "relevant": label} for j, label in enumerate(labels)]


def test_where_nothing_was_retrieved_nobody_is_asked() -> None:
    nothing = assess(verdicts=None, contextChunks=[])
    assert nothing["pass"] is False
    assert nothing["metadata"]["status"] == "undefined"
    assert nothing["metadata"]["judge"]["calls"] == 0
    asked = assess({"definition": "promptfoo"}, verdicts=None, contextChunks=[])
    assert asked["metadata"]["status"] == "error"  # without a key


def test_templates_inside_chunks_are_filled_also_one_within_another() -> None:
    result = assess(
        contextChunks=[
            {"text": "{{chunk1}}", "relevant": True},
            {"text": "{{ docs[0].text }}", "relevant": False},
        ],
        chunk1="one",
        docs=[{"text": "{{ base }}"}],
        base="inner",
    )
    analysis = result["metadata"]["claimAnalyses"][1]
    assert analysis["sourceChunk"]["text"] == "inner"
    listed = assess({"contextChunks": ["plain", "{{chunk1}}"]}, chunk1="one text")
    assert listed["metadata"]["claimAnalyses"][1]["sourceChunk"]["text"] == "one text"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"contextChunks": [{"text": "{{ chunk1 | upper }}"}]}, "vars.contextChunks, chunk 0"),
        ({"contextChunks": [{"text": "See {{ chunk1 }}"}]}, "vars.contextChunks, chunk 0"),
        ({"contextChunks": [{"text": "{{ loop }}"}], "loop": "{{ loop }}"}, "vars.contextChunks"),
        ({"reference": "{{ nobody }}"}, "vars.reference"),
    ],
)
def test_what_cannot_be_filled_is_refused(given: dict[str, Any], place: str) -> None:
    """Verdicts alone need no texts, so a model is to be asked here."""
    given = {"contextChunks": chunks(True), "verdicts": None, "chunk1": "c", **given}
    result = assess({"judge": {"model": "m", "baseUrl": "http://127.0.0.1:9"}}, **given)
    assert result["pass"] is False
    assert result["metadata"]["status"] == "error"
    assert f"computed: {place}" in result["reason"]


@pytest.mark.parametrize(
    ("config", "given", "place"),
    [
        ({}, {"contextChunks": ["file://a.md"]}, "vars.contextChunks"),
        ({}, {"contextChunks": [{"text": "file://gone.md"}]}, "vars.contextChunks"),
        ({"context": "file://a.md"}, {}, "config.context"),
        ({"reference": "file://a.md"}, {"contextChunks": chunks(True)}, "config.reference"),
        ({"noiseContext": "file://a.md"}, {"context": "a"}, "config.noiseContext"),
    ],
)
def test_the_name_of_a_file_is_not_judged_as_its_text(
    config: Any, given: dict[str, Any], place: str
) -> None:
    """Promptfoo loads files in variables at the top only; the others passed with 0."""
    judge = {"judge": {"model": "m", "baseUrl": "http://127.0.0.1:9"}}
    result = assess({**judge, **config}, **{"verdicts": None, **given})
    assert result["pass"] is False
    assert result["metadata"]["status"] == "error"
    assert place in result["reason"]
    assert "expected a text, got 'file://" in result["reason"]
    assert "Promptfoo loads files in variables at the top only" in result["reason"]


def test_braces_that_are_text_stand_between_raw_and_endraw() -> None:
    text = "run: echo {% raw %}${{ github.sha }}{% endraw %} now"
    result = assess(contextChunks=[{"text": "a"}, {"text": text}])
    sample = result["metadata"]["sample"]
    assert sample["retrieved_contexts"][1]["text"] == "run: echo ${{ github.sha }} now"
    refused = assess(contextChunks=[{"text": f"{text} {{{{ x | upper }}}}"}])
    assert "between {% raw %} and {% endraw %}" in refused["reason"]


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
def test_chunks_that_a_transform_left_out_are_read_from_the_output(
    output: Any, response: Any
) -> None:
    result = assess(output=output, response=response)
    assert list(result["namedScores"].values()) == [0.0, 0.5]
    assert result["metadata"]["claimAnalyses"][1]["sourceChunk"]["text"] == "c1"


@pytest.mark.parametrize(
    ("path", "output", "metadata"),
    [
        ("output.found.docs", {"found": {"docs": RAW["contextChunks"]}}, {}),
        ("output.hits[1].docs", {"hits": [{}, {"docs": RAW["contextChunks"]}]}, {}),
        ("metadata.docs", {}, {"docs": RAW["contextChunks"]}),
        ("mine.docs", {}, {}),
    ],
)
def test_a_path_names_any_place(path: str, output: Any, metadata: Any) -> None:
    response = {"providerTransformedOutput": output, "metadata": metadata}
    mine = {"docs": RAW["contextChunks"]}
    result = assess({"contextChunks": f"{{{{{path}}}}}"}, response=response, mine=mine)
    assert list(result["namedScores"].values()) == [0.0, 0.5]


SELF_GRADED = {
    "answer": "a", "verdicts": CLEAN, "recording": "/dev/zero", "reference": "a", "query": "a"
}  # fmt: skip


@pytest.mark.parametrize("place", ["output", "providerTransformedOutput", "untransformed"])
def test_an_output_does_not_grade_itself(place: str) -> None:
    given: Any = {"verdicts": None, "contextChunks": chunks(True)}
    for output in (json.dumps(SELF_GRADED), SELF_GRADED):
        response = {"output" if place == "untransformed" else place: output}
        result = assess(None, output if place == "output" else "a", response, **given)
        assert result["metadata"]["status"] == "error"
        assert "verdicts, or a model to judge by, got neither" in result["reason"]
        judge = {"judge": {"model": "m", "baseUrl": "http://127.0.0.1:9", "maxRetries": 0}}
        unknown = assess(judge, output, response, **given, reference=None)
        assert "expected the reference at" in unknown["reason"]
        # Only where the author says so.
        named = assess({"verdicts": "{{output.verdicts}}"}, output, response, **given)
        assert named["pass"] is True


def test_the_providers_metadata_wins_over_its_output() -> None:
    output = {"answer": "a", "contextChunks": chunks(False, False)}
    result = assess(output=output, response={"metadata": {"contextChunks": chunks(True, True)}})
    assert result["namedScores"]["noise_sensitivity_relevant"] == 0.5


def test_only_a_regular_file_is_a_recording(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name in (str(pipe), "/dev/zero", str(tmp_path)):
        reason = assess(verdicts=name, contextChunks=chunks(True))["reason"]
        assert "vars.verdicts: expected a readable file" in reason


def test_an_empty_answer_passes_the_definition_promptfoo() -> None:
    given: dict[str, Any] = {"verdicts": None, "contextChunks": chunks(True)}
    result = assess({"definition": "promptfoo"}, "", **given)
    assert result["pass"] is True
    assert result["score"] == 1.0
    assert result["namedScores"]["noise_sensitivity_relevant_promptfoo"] == 0
    assert assess({}, "", **given)["pass"] is False
