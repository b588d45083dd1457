"""Our metric in ragas' ``evaluate()`` and ``aevaluate()``, with a judge: no key, no network."""

from __future__ import annotations

import math
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    Sample,
    Usage,
    Verdicts,
    gate_run,
    read_results,
    score,
    write_results,
)
from noisesense import summarize as summarize_scores
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import (
    NoiseSensitivity,
    VerdictsInRows,
    results_of,
    rubrics,
    summarize,
)
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, evaluated
from support.table_judge import TableJudge
from support.tables import Shape, random_pairs

RELEVANT = COLUMNS["relevant"]

# By hand, relevant mode, four claims each, none correct, over chunk 0, which entails the
# reference. OPEN: claim 0 comes from it, of claims 1 and 2 that is open, claim 3 does not: from
# 1/4 to 3/4. SURE: one of four. EMPTY: no claims. Irrelevant mode: chunk 0 is relevant, so none
# counts, whichever way the open ones fall.
OPEN = Verdicts.from_matrices([False] * 4, [[True], [None], [None], [False]], [[True]])
SURE = Verdicts.from_matrices([False] * 4, [[True], [False], [False], [False]], [[True]])
EMPTY = Verdicts.from_matrices([], [], [[True]])


@pytest.fixture(autouse=True)
def _no_key_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def both(judge: Any, **options: Any) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode, judge=judge, **options) for mode in MODES]


def judged(**given: Verdicts) -> tuple[list[Sample], TableJudge]:
    """Samples of such verdicts, named by their responses."""
    samples = [
        Sample(response=name, reference="It is so.", retrieved_contexts=(f"{name} 0",))  # type: ignore[arg-type]
        for name in given
    ]
    return samples, TableJudge(list(zip(samples, given.values(), strict=True)))


def test_labels_and_verdicts_travel_in_the_rubrics() -> None:
    pairs = list(random_pairs(30, shape=Shape(undetermined=0.1, labeled=0.5)))
    rows = []
    for sample, verdicts in pairs:
        labels = [chunk.relevant for chunk in sample.retrieved_contexts]
        given = rubrics(verdicts=verdicts.model_copy(update={"chunks": None}), labels=labels)
        rows.append({**ragas_row(sample), "rubrics": {"score1_description": "another's", **given}})
    result = evaluated(rows, both(VerdictsInRows()))
    for row, (_, verdicts) in zip(result.scores, pairs, strict=True):
        assert all(row[name].score.claims == score(verdicts).claims for name in COLUMNS.values())


# ``summarize(result)``: in place of ragas' own mean.

PAIRS = list(random_pairs(40, shape=Shape(undetermined=0.1)))
SAMPLES = [sample for sample, _ in PAIRS]


def test_the_summary_is_the_cores() -> None:
    from ragas.metrics._string import ExactMatch

    result = evaluated(SAMPLES, [ExactMatch(), *both(TableJudge(PAIRS))])
    expected = summarize_scores(score(verdicts) for _, verdicts in PAIRS)
    assert summarize(result) == expected
    assert summarize(result, name=RELEVANT) == expected  # its scores have both modes
    assert summarize(result, confidence=0.5).confidence == 0.5


def test_failed_rows_are_counted_and_shared_ones_paid_once() -> None:
    rows: list[Any] = [*SAMPLES, {**ragas_row(SAMPLES[0]), "response": " "}]
    each = Usage(calls=2, input_tokens=10)
    judge = TableJudge(PAIRS, usage=each, failing=[SAMPLES[3]])
    result = evaluated(rows, both(judge))
    # Whichever of the two metrics has paid, one column alone costs the same.
    for found in (summarize(result), *(summarize(result, name=each) for each in COLUMNS.values())):
        assert found.samples == 41
        assert found.scored == 39
        assert found.failed == 2
        assert found.usage == Usage(calls=2 * 39, input_tokens=10 * 39)


def run_with_documents() -> tuple[Any, list[Sample]]:
    """OPEN, SURE and a row that failed; of the first two the documents have names."""
    samples, judge = judged(a=OPEN, b=SURE)
    documents: list[Any] = [["a.md"], [7]]
    rows: list[Any] = [
        {**ragas_row(sample), "retrieved_context_ids": ids}
        for sample, ids in zip(samples, documents, strict=True)
    ]
    judge.name = "the judge"
    failing: Any = {**ragas_row(samples[0]), "response": " "}
    return evaluated([*rows, failing], both(judge)), samples


def test_a_claim_names_its_document() -> None:
    run, _ = run_with_documents()
    sentences = [claim.sentence for claim in run.scores[1][RELEVANT].score.claims]
    assert sentences[0].endswith("relevant chunk 0 (7).")


def test_a_run_in_which_all_failed_is_summarized_with_its_texts() -> None:
    judge = TableJudge(PAIRS, failing=SAMPLES[:2])
    result = evaluated(SAMPLES[:2], both(judge))
    assert summarize(result).failed == 2
    assert [failed.sample for failed in results_of(result)] == SAMPLES[:2]


def test_a_run_becomes_results_with_texts(tmp_path: Path) -> None:
    run, samples = run_with_documents()
    write_results(tmp_path / "results.jsonl", results_of(run))
    first, second, failed = read_results(tmp_path / "results.jsonl")
    assert first.bounds("relevant") == (1 / 4, 3 / 4)
    assert second.bounds("relevant") == (1 / 4, 1 / 4)
    assert first.judge == second.judge == "the judge"
    assert first.id == samples[0].key
    assert first.sample.response == "a"
    assert str(failed.error).startswith("response: expected a non-empty text")
    assert repr(summarize_scores([first, second, failed])) == repr(summarize(run))
    run.scores[0][RELEVANT] = math.nan  # as if ragas had given up on that mode
    assert results_of(run)[0].bounds("relevant") == (1 / 4, 3 / 4)


def test_what_ascore_gave_becomes_the_same_results() -> None:
    samples, judge = judged(a=OPEN, b=SURE)
    metric = NoiseSensitivity(judge=judge)
    found = [metric.score(**ragas_row(sample)) for sample in samples]
    run = evaluated([ragas_row(sample) for sample in samples], [metric])
    assert [each.to_dict() for each in results_of(found)] == [
        each.to_dict() for each in results_of(run)
    ]
    assert summarize(found) == summarize(run)
    with pytest.raises(InputError, match=r"result 0: expected what ascore\(\) gave, got 0\.5"):
        results_of([0.5])


def test_a_run_of_ragas_where_results_belong_says_what_makes_them(tmp_path: Path) -> None:
    run, _ = run_with_documents()
    for take in (summarize_scores, partial(write_results, tmp_path / "results.jsonl")):
        with pytest.raises(InputError, match=r"expected results, .* Hint: results_of\(run\)"):
            take(run)
    with pytest.raises(InputError, match=r"expected a Summary, .* Hint: summarize\(results\)"):
        gate_run(run, 0.2)
