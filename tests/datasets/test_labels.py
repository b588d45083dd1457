"""Labeled claims: downloads turned into a file, and a judge asked about them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, JudgeError, LLMJudge, Result, Usage, Verdicts, score
from noisesense.judging.protocol import Entailment, EntailmentJudge
from noisesense_adapters.datasets.labels import import_labels, judge_labels
from noisesense_adapters.datasets.results import results_of
from support.datasets import write_jsonl
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs


def tables(path: Path) -> list[list[list[bool | None]]]:
    found = [result.score for result in results_of(path)]
    assert all(found)
    return [each.verdicts.to_matrices()["chunks_to_response"] for each in found if each]


# Made up for this test, in the form that WiCE's README describes.
def wice(name: str, label: str, sets: list[list[int]], sentences: int = 5) -> dict[str, Any]:
    return {
        "label": label,
        "supporting_sentences": sets,
        "claim": f"The lighthouse {name} was built in 1887.",
        "evidence": [f"Sentence {i} about {name}." for i in range(sentences)],
        "meta": {"id": name, "claim_title": "t", "claim_section": "s", "claim_context": "c"},
    }


WICE = [
    wice("whole", "supported", [[0, 1]]),
    wice("two sets", "supported", [[1, 2], [4]]),
    wice("torn", "supported", [[1, 2]]),
    wice("in part", "partially_supported", [[3]]),
    wice("not", "not_supported", [[0]]),
]


def test_wice(tmp_path: Path) -> None:
    raw, out = write_jsonl(tmp_path / "dev.jsonl", WICE), tmp_path / "wice.jsonl"
    found = import_labels(raw, out, sentences=2)
    # Chunks are the sentences 0–1, 2–3 and 4.
    assert tables(out) == [
        [[True, False, False]],
        [[None, None, True]],
        [[None, None, False]],
        [[False, None, False]],
        [[False, False, False]],
    ]
    assert found[:4] == (5, 2, 8, 5)
    assert found.sha256 == hashlib.sha256(raw.read_bytes()).hexdigest()
    first = next(iter(results_of(out)))
    assert (first.id, first.cluster) == ("whole", "whole")
    assert first.score is not None
    assert first.score.verdicts.chunks is not None
    assert first.score.verdicts.chunks[0].text == "Sentence 0 about whole. Sentence 1 about whole."
    again = import_labels(raw, out, sha256=found.sha256.upper())
    assert again.samples == 5


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({}, {}, "the field 'label'"),
        ({**WICE[0], "meta": {}}, {}, r"raw.jsonl, line 1, meta: expected the field 'id'"),
        ({**WICE[0], "label": "yes"}, {}, "'supported', 'partially_supported' or"),
        ({**WICE[0], "supporting_sentences": [0]}, {}, r"line 1, supporting_sentences\[0\]"),
        (None, {}, "raw.jsonl: expected a readable file"),
        (WICE[0], {"sha256": "00"}, "expected SHA-256 00"),
        (WICE[0], {"sentences": 0}, "sentences"),
    ],
)
def test_what_cannot_be_imported(
    row: dict[str, Any] | None, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    raw, out = tmp_path / "raw.jsonl", tmp_path / "out.jsonl"
    if row is not None:
        write_jsonl(raw, [row])
    with pytest.raises(InputError, match=message):
        import_labels(raw, out, **options)
    assert not out.exists()


PAIRS = [
    pair
    for pair in random_pairs(12, shape=Shape(response_claims=(1, 4), undetermined=0.1))
    if pair[1].response_claims
]


def test_a_model_is_asked_about_the_claims_as_they_are() -> None:
    labels = [
        Result(f"r{i}", score(verdicts.beside(sample)), sample=sample)
        for i, (sample, verdicts) in enumerate(PAIRS)
    ]
    llm = ScriptedLLM(Mind(PAIRS).answer)
    judge = LLMJudge(llm, max_reasks=0)
    assert isinstance(judge, EntailmentJudge)
    told: list[str | None] = []
    judged = judge_labels(labels, judge, concurrency=3, on_done=told.append)
    assert told == [None] * len(labels)
    for each in judged.samples:
        # The mind says exactly what the labels say, and nothing where they are open.
        assert each.judge is not None
        assert (
            each.judge.to_matrices()["chunks_to_response"]
            == (each.labels.to_matrices()["chunks_to_response"])
        )
        assert (
            each.judge.to_matrices()["chunks_to_reference"]
            == (each.labels.to_matrices()["chunks_to_reference"])
        )
        assert [c.correct for c in each.judge.response_claims] == [
            c.correct for c in each.labels.response_claims
        ]
    assert judged.usage.calls == judge.usage.calls > 0


class Failing:
    """Fails on every second sample."""

    def __init__(self) -> None:
        self.asked = 0

    async def entailment(self, texts: Sequence[str], claims: Sequence[str]) -> Entailment:
        self.asked += 1
        if self.asked % 2:
            raise JudgeError("no answer")
        return Entailment([[True] * len(texts)] * len(claims), Usage(calls=1), 0)


def test_a_sample_that_cannot_be_judged_is_counted_and_told() -> None:
    table = Verdicts.from_matrices([None], [[True]], response_claims=["a"], chunks=["b"])
    told: list[str | None] = []
    judged = judge_labels(
        [Result(str(i), score(table)) for i in range(4)],
        Failing(),
        concurrency=1,
        on_done=told.append,
    )
    assert told == ["no answer", None, "no answer", None]
    assert [each.judge is None for each in judged.samples] == [True, False, True, False]
    assert judged.usage.calls == 2


def test_labels_without_texts() -> None:
    table = Verdicts.from_matrices([None], [[True]])
    with pytest.raises(InputError, match="sample 'x': expected texts to judge"):
        judge_labels([Result("x", score(table))], Failing())
