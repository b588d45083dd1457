"""Inputs that people really have, after public reports, with the right values by hand.

The judge is `MillJudge`: of two claims the first, which names Ada, is correct if the reference
names her; the second, which says 1931, never is. With both chunks the second comes from the one
that says 1931, which says nothing of the reference: 1 of 2 claims is irrelevant noise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import LLMJudge, Result
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.score import score_rows
from noisesense_adapters.promptfoo import get_assert, llm
from support.mill import MillJudge
from support.no_claims import TERSE, LiteralReader, Terse
from support.scripted_llm import ScriptedLLM

ADA = "Ada built the mill in 1902."
FIRE = "The old mill burned in 1931."
ROW: dict[str, Any] = {
    "question": "Who built the mill?",
    "answer": "Ada built the mill. It burned in 1931.",
    "ground_truth": ADA,
    "contexts": [ADA, FIRE],
}
NOISY = (0.0, 0.5)
QUIET = (0.0, 0.0)  # without the chunk that says 1931 nothing says it: no noise


def results(path: Path, content: Any, **options: Any) -> list[Result]:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return score_rows(list(read_rows(path, **options)), MillJudge())


def figures(path: Path, content: Any, **options: Any) -> tuple[Any, Any]:
    (result,) = results(path, content, **options)
    assert result.error is None
    assert result.score is not None
    return result.score.relevant, result.score.irrelevant


def row(**changes: Any) -> dict[str, Any]:
    return {**ROW, **changes}


HEAD = "question,answer,ground_truth,contexts\n"
CELLS = "Who built the mill?,Ada built the mill. It burned in 1931.,Ada built the mill in 1902."
DOCUMENTS: dict[str, tuple[str, Any, tuple[float, float]]] = {
    "03 numpy": ("d.csv", f"{HEAD}{CELLS},['{ADA}' '{FIRE}']\n", NOISY),
    # Without Ada in the reference both claims are wrong, and each comes from its chunk.
    "04 a number": ("d.json", [row(ground_truth=1902)], (0.5, 0.5)),
    "04 a list": ("d.json", [row(ground_truth=[ADA, "It was built by Ada in 1902."])], NOISY),
    "05 columns": ("d.json", {name: [value] for name, value in ROW.items()}, NOISY),
    "05 pandas": ("d.json", {name: {"0": value} for name, value in ROW.items()}, NOISY),
    "05 elsewhere": ("d.json", {"averages": {}, "per_question": [ROW]}, NOISY),
    "05 examples": ("d.json", {"examples": [ROW], "name": "x"}, NOISY),
    "09 repr": (
        "d.csv",
        f"{HEAD}{CELLS},\"[Document(metadata={{'source': 'mill.pdf'}}, page_content='{ADA}')]\"\n",
        QUIET,
    ),
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_files(case: str, tmp_path: Path) -> None:
    name, content, expected = DOCUMENTS[case]
    assert figures(tmp_path / name, content) == expected


@pytest.mark.parametrize("terse", [TERSE[0], TERSE[1], TERSE[6]], ids=lambda terse: terse.answer)
def test_01_an_answer_of_one_word_is_right_with_its_question(terse: Terse, tmp_path: Path) -> None:
    """One claim, correct, from the relevant one of two chunks: no noise in either mode."""
    known = {"question": terse.question, "answer": terse.answer, "ground_truth": terse.reference}
    path = tmp_path / "d.json"
    path.write_text(json.dumps([{**known, "contexts": ["A chunk.", "Ginseng grows slowly."]}]))
    judge = LLMJudge(ScriptedLLM(LiteralReader(terse, "A chunk.").answer), plan="full")
    (result,) = score_rows(list(read_rows(path)), judge)
    assert result.score is not None
    assert (result.score.relevant, result.score.irrelevant) == QUIET
    assert [claim.correct for claim in result.score.claims] == [True]
    assert result.score.chunk_relevance == (True, False)


def test_a_row_with_more_texts_does_not_spoil_the_others(tmp_path: Path) -> None:
    """Three rows of one text, and then one of two, as numpy prints them."""
    ones = "".join(f"Q{n}?,{ADA},{ADA},['{ADA}']\n" for n in range(3))
    found = results(tmp_path / "d.csv", f"{HEAD}{ones}{CELLS},['{ADA}' '{FIRE}']\n")
    assert [len(result.sample.retrieved_contexts) for result in found if result.sample] == [
        *(1, 1, 1, 2)
    ]


@pytest.mark.parametrize(
    ("chunk", "name"),
    [
        ({"document_id": "mill.pdf", "text": ADA}, "mill.pdf"),
        ({"title": "Mill", "text": ADA}, "Mill"),
        ({"metadata": {"file_name": "mill.pdf"}, "text": ADA}, "mill.pdf"),
        ({"node": {"id_": "n1", "text": ADA, "metadata": {"file_name": "mill.pdf"}}}, "mill.pdf"),
        ({"content": {"text": ADA}, "location": {"s3Location": {"uri": "s3://b/m"}}}, "s3://b/m"),
        (
            {"id": ["x"], "kwargs": {"page_content": ADA, "metadata": {"source": "m"}}},
            "m",
        ),
        (["Mill", [ADA]], "Mill"),
    ],
)
def test_names_of_documents(chunk: Any, name: str, tmp_path: Path) -> None:
    """07."""
    (result,) = results(tmp_path / "d.json", [row(contexts=[chunk])])
    assert result.sample is not None
    assert [(each.text, each.id) for each in result.sample.retrieved_contexts] == [(ADA, name)]


def test_a_tests_own_context_and_what_was_retrieved_differ(monkeypatch: Any) -> None:
    """08: the test's stale text gave 0.0 where 0.5 is right."""
    monkeypatch.setattr(llm, "judge_over", lambda *_, **__: MillJudge())
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    given = {"query": ROW["question"], "reference": ADA, "context": "A text about a lake."}
    retrieved = {"metadata": {"contexts": [ADA, FIRE]}}
    context: dict[str, Any] = {"vars": given, "providerResponse": retrieved}
    judge = {"mode": "irrelevant", "judge": "scripted"}
    reason = get_assert(ROW["answer"], {**context, "config": judge})["reason"]
    assert "at 'metadata.contexts' and ['A text about a lake.'] at 'vars.context'" in reason
    chosen = {**judge, "contextChunks": "{{metadata.contexts}}"}
    result = get_assert(ROW["answer"], {**context, "config": chosen})
    assert result["namedScores"]["noise_sensitivity_irrelevant"] == 0.5
    assert result["metadata"]["contextsFrom"] == "config.contextChunks"
    # The prompt's own text, made of what was retrieved, is no other place.
    context["vars"] = {**given, "context": f"{ADA}\n\n{FIRE}"}
    result = get_assert(ROW["answer"], {**context, "config": judge})
    assert result["namedScores"]["noise_sensitivity_irrelevant"] == 0.5
    assert result["metadata"]["contextsFrom"] == "metadata.contexts"


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"Relevant": True}, True),
        ({"is_relevant": "no"}, False),
        ({"isRelevant": 1}, True),
        ({"metadata": {"relevant": "TRUE"}}, True),
        ({"is_supporting": False}, False),  # MuSiQue
        ({"relevance": True}, True),
        ({"relevance": 0.83}, None),  # a score
        ({"relevance_score": 1}, None),
        ({"relevant": ""}, None),
    ],
)
def test_labels_under_other_names(fields: dict[str, Any], label: Any, tmp_path: Path) -> None:
    (result,) = results(tmp_path / "d.json", [row(contexts=[{"text": ADA, **fields}])])
    assert result.sample is not None
    assert result.sample.retrieved_contexts[0].relevant is label
