"""Labeled claims: WiCE turned into a file of them, and a judge asked about them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, JudgeError, LLMJudge, Result, Sample, Usage, Verdicts, score
from noisesense.judging.protocol import Entailment, EntailmentJudge
from noisesense_adapters.datasets.labels import import_labels, judge_labels
from noisesense_adapters.datasets.read import results_of
from support.datasets import write_jsonl
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs


# Made up for this test, in the form that WiCE's README describes.
def wice(name: str, label: str, sets: list[list[int]]) -> dict[str, Any]:
    return {
        "label": label,
        "supporting_sentences": sets,
        "claim": f"The lighthouse {name} was built in 1887.",
        "evidence": [f"Sentence {i} about {name}." for i in range(5)],
        "meta": {"id": name, "claim_title": "t", "claim_section": "s", "claim_context": "c"},
    }


# Chunks are the sentences 0-1, 2-3 and 4.
WICE: list[tuple[dict[str, Any], list[bool | None]]] = [
    (wice("whole", "supported", [[0, 1]]), [True, False, False]),
    (wice("two sets", "supported", [[1, 2], [4]]), [None, None, True]),
    (wice("torn", "supported", [[1, 2]]), [None, None, False]),
    (wice("in part", "partially_supported", [[3]]), [False, None, False]),
    (wice("not", "not_supported", [[0]]), [False, False, False]),
    (wice("nothing", "not_supported", [[], []]), [False, False, False]),
    (wice("one empty", "not_supported", [[], [4]]), [False, False, False]),
]
WHOLE = WICE[0][0]
OUTSIDE = (
    "raw.jsonl, line 1, supporting_sentences: expected positions in the evidence, of 5 sentences "
    "counted from 0, got "
)


def test_wice(tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "dev.jsonl", [row for row, _ in WICE])
    out = tmp_path / "o.jsonl"
    assert import_labels(raw, out, sentences=2) == (7, 2, 14, 5)
    found = list(results_of(out))
    scores = [result.score for result in found if result.score]
    tables = [each.verdicts.to_matrices()["chunks_to_response"] for each in scores]
    assert tables == [[cells] for _, cells in WICE]
    assert found[0].id == "whole"
    assert found[0].cluster == "whole"
    assert scores[0].verdicts.chunks[0].text == "Sentence 0 about whole. Sentence 1 about whole."


def test_all_the_evidence_in_one_chunk(tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "dev.jsonl", [row for row, _ in WICE])
    tracemalloc.start()
    imported = import_labels(raw, tmp_path / "o.jsonl", sentences=10**6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert imported == (7, 3, 3, 1)  # three claims are supported, one in part, three are not
    assert peak < 10_000_000  # bytes; a million numbers take several times as much


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**WHOLE, "meta": {}}, r"raw.jsonl, line 1, meta: expected the field 'id'"),
        ({**WHOLE, "supporting_sentences": [0]}, r"line 1, supporting_sentences\[0\]"),
        (None, "raw.jsonl: expected a readable file"),
        # Within the range of the first chunk, of 8 sentences, but the evidence has 5.
        (wice("x", "supported", [[0], [5]]), OUTSIDE + "5$"),
        (wice("x", "supported", [[8]]), OUTSIDE + "8$"),
        (wice("x", "partially_supported", [[-1, 0]]), OUTSIDE + "-1$"),
        (wice("x", "not_supported", [[9]]), OUTSIDE + "9$"),
        (wice("x", "supported", []), r"a sentence, as the label is 'supported', got none$"),
        (wice("x", "supported", [[], []]), r"line 1, supporting_sentences: expected a sentence,"),
        (wice("x", "partially_supported", []), r"the label is 'partially_supported', got none$"),
    ],
)
def test_what_cannot_be_imported(row: dict[str, Any] | None, message: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"
    out = tmp_path / "out.jsonl"
    if row is not None:
        write_jsonl(raw, [row])
    with pytest.raises(InputError, match=message):
        import_labels(raw, out)
    assert not out.exists()


PAIRS = [
    pair
    for pair in random_pairs(12, shape=Shape(response_claims=(1, 4), undetermined=0.1))
    if pair[1].response_claims
]


def test_a_model_is_asked_about_the_claims_as_they_are() -> None:
    labels = [
        Result(f"r{i}", score(verdicts.with_sample(sample)), sample=sample)
        for i, (sample, verdicts) in enumerate(PAIRS)
    ]
    judge = LLMJudge(ScriptedLLM(Mind(PAIRS).answer), max_reasks=0)
    assert isinstance(judge, EntailmentJudge)
    told: list[str | None] = []
    failed = Result("no labels", error="no reply")
    judged = judge_labels([*labels, failed], judge, concurrency=3, on_done=told.append)
    assert told == [None] * len(labels)
    for each in judged.samples:
        # The mind says exactly what the labels say, and nothing where they are open.
        ours = each.judge.to_matrices()
        theirs = each.labels.to_matrices()
        for name in ("reference_to_response", "chunks_to_response", "chunks_to_reference"):
            assert ours[name] == theirs[name]
    assert judged.usage.calls == judge.usage.calls > 0


def test_no_samples_at_once_are_an_error() -> None:
    """None was asked, and all labels were lost without a word."""
    with pytest.raises(InputError, match="concurrency: expected a whole number of 1 or more"):
        judge_labels([], Scripted(), concurrency=0)


def test_labels_of_a_sample_without_chunks_are_those_of_its_reference() -> None:
    sample = Sample(response="r", reference="g", retrieved_contexts=[])
    claims = [{"text": "a", "correct": True, "entailed_by": []}]
    reference = [{"text": "b", "entailed_by": []}]
    labels = Verdicts.model_validate(
        {"response_claims": claims, "reference_claims": reference, "chunks": []}
    )
    (judged,) = judge_labels([Result("x", score(labels), sample=sample)], Scripted()).samples
    assert judged.judge.to_matrices()["reference_to_response"] == [True]


def test_the_reference_is_asked_as_the_answer_to_its_question_and_chunks_alone() -> None:
    sample = Sample(
        user_input="Which herb?", response="r", reference="g", retrieved_contexts=["c", "d"]
    )
    labels = Verdicts.from_matrices(
        [True, None],
        [[True, None], [False, True]],
        [[True, False]],
        response_claims=["a", "b"],
        reference_claims=["x"],
    ).with_sample(sample)
    judge = Scripted()
    judged = judge_labels([Result("1", score(labels), sample=sample)], judge)
    of_reference = (("g",), ("a", "b"), "Which herb?")
    of_chunks = (("c", "d"), ("a", "b", "x"), "")
    assert judge.questions == [of_reference, of_chunks]
    # The judge has 0.25 for a first text and 0.5 for a second; cells without a label say nothing.
    labeled = [(True, 0.25), (True, 0.25), (False, 0.25), (True, 0.5), (True, 0.25), (False, 0.5)]
    assert judged.probabilities == labeled


class Scripted:
    """Says yes with a probability, and fails on some samples."""

    def __init__(self, fails: Sequence[int] = ()) -> None:
        self.fails = fails
        self.asked = 0
        self.questions: list[tuple[tuple[str, ...], tuple[str, ...], str]] = []

    async def entailment(
        self, texts: Sequence[str], claims: Sequence[str], *, question: str = ""
    ) -> Entailment:
        self.asked += 1
        self.questions.append((tuple(texts), tuple(claims), question))
        if self.asked - 1 in self.fails:
            raise JudgeError("no answer")
        cells = [[True] * len(texts)] * len(claims)
        likely = [[0.25 * (i + 1) for i in range(len(texts))]] * len(claims)
        return Entailment(cells, Usage(calls=1), 0, likely)


TABLE = Verdicts.from_matrices([None], [[True, None]], response_claims=["a"], chunks=["b", "c"])


def test_a_sample_that_cannot_be_judged_is_counted_and_told() -> None:
    told: list[str | None] = []
    labels = [Result(str(i), score(TABLE)) for i in range(4)]
    judged = judge_labels(labels, Scripted((0, 2)), concurrency=1, on_done=told.append)
    assert told == ["no answer", None, "no answer", None]
    assert [each.judge is None for each in judged.samples] == [True, False, True, False]
    assert judged.usage.calls == 2
    assert judged.probabilities == [(True, 0.25)] * 2  # of the cells that people labeled


def test_labels_without_texts() -> None:
    table = Verdicts.from_matrices([None], [[True]])
    with pytest.raises(InputError, match="sample 'x': expected texts to judge"):
        judge_labels([Result("x", score(table))], Scripted())
