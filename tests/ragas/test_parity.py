"""The same verdicts, the same figure: ragas' own metric, the core, and our metric in ragas."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from noisesense import Mode, Sample, Verdicts, score
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.published import Deviation, deviations
from support.ragas_mind import RagasMind
from support.ragas_peer import collections_scores, legacy_scores, ragas_row
from support.ragas_runs import column, evaluated, same
from support.table_judge import TableJudge
from support.tables import Shape, random_pairs

Pairs = list[tuple[Sample, Verdicts]]
MODES: tuple[Mode, ...] = ("relevant", "irrelevant")
BOTH = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(scope="module", params=[40, pytest.param(1000, marks=pytest.mark.broad)])
def tables(request: pytest.FixtureRequest) -> Pairs:
    """0 to 12 response claims, 1 to 8 reference claims, 1 to 15 chunks."""
    return list(random_pairs(request.param))


def _differing(tables: Pairs, got: list[float], mode: Mode) -> list[tuple[int, Any, Any]]:
    return [
        (seed, figure, score(verdicts).value(mode))
        for seed, (figure, (_, verdicts)) in enumerate(zip(got, tables, strict=True))
        if not same(figure, score(verdicts).value(mode))
    ]


@BOTH
@pytest.mark.parametrize("peer", [legacy_scores, collections_scores])
def test_ragas_own_metric_gives_our_figure(
    tables: Pairs, peer: Callable[..., list[float]], mode: Mode
) -> None:
    figures = peer(tables, mode)
    assert _differing(tables, figures, mode) == []
    # Not for want of anything to compare: ragas fails nowhere but without response claims.
    empty = [not verdicts.response_claims for _, verdicts in tables]
    assert [math.isnan(figure) for figure in figures] == empty
    assert len(tables) / 50 < sum(empty) < len(tables) / 5
    figures_seen = {figure for figure in figures if not math.isnan(figure)}
    assert len(figures_seen) > (30 if len(tables) == 1000 else 6)


# A third of the references make no claims, and few responses do not.
BARE = Shape(response_claims=(0, 5), reference_claims=(0, 2), chunks=(1, 5))


@pytest.fixture(scope="module", params=[50, pytest.param(120, marks=pytest.mark.broad)])
def partly_bare(request: pytest.FixtureRequest) -> Pairs:
    return list(random_pairs(request.param, seed=5000, shape=BARE))


def without_references(pairs: Pairs) -> list[int]:
    """The places of responses with claims beside references without."""
    return [
        place
        for place, (_, verdicts) in enumerate(pairs)
        if verdicts.response_claims and not verdicts.reference_claims
    ]


@BOTH
def test_references_without_claims_are_nan_as_ragas_own(partly_bare: Pairs, mode: Mode) -> None:
    """ragas' own: NaN in evaluate(). Ours is NaN in both APIs, though the core knows some of the
    figures: where every claim is correct, or comes from no chunk, none counts."""
    metric = NoiseSensitivity(mode, judge=TableJudge(partly_bare))
    own = legacy_scores(partly_bare, mode)
    ours = column(evaluated([sample for sample, _ in partly_bare], [metric]), mode)
    assert all(map(same, ours, own))
    rows = [ragas_row(sample) for sample, _ in partly_bare]
    by_ascore = [found.value for found in asyncio.run(metric.abatch_score(rows))]
    assert all(map(same, by_ascore, own))
    bare = without_references(partly_bare)
    assert len(bare) > len(partly_bare) / 5
    for place in bare:
        assert math.isnan(own[place])
        if score(partly_bare[place][1]).value(mode) == 0.0:
            assert by_ascore[place].status == "undefined"
            assert "no claims of the reference" in by_ascore[place].reason


class _Wrong(RagasMind):
    """Replies that go wrong in one way."""

    def __init__(self, pairs: Pairs, how: str) -> None:
        super().__init__(pairs)
        self._how = how
        self._reference = pairs[0][0].reference

    def answer(self, prompt: str) -> str:
        reply = json.loads(super().answer(prompt))
        rows = reply["statements"]
        if not rows or not isinstance(rows[0], dict):
            return json.dumps(reply)
        if self._how == "no is said as -1":
            rows = [{**row, "verdict": row["verdict"] or -1} for row in rows]
        elif self._how == "the last verdict on the reference's claims is left out":
            rows = rows[:-1] if rows[0]["statement"].startswith("Reference") else rows
        else:  # the verdicts against the reference come in reverse order
            rows = rows[::-1] if self._reference in prompt else rows
        return json.dumps({"statements": rows})


def _pair(deviation: Deviation, table: str) -> tuple[Sample, Verdicts]:
    given = deviation.evidence.get(table, deviation.evidence["table"])
    responses = given["reference_to_response"]
    references = given["chunks_to_reference"]
    chunks = len((given["chunks_to_response"] + references)[0])
    facts = range(len(responses))
    if table == "table":
        facts = deviation.evidence.get("claims", facts)
    verdicts = Verdicts.from_matrices(
        **given,
        response_claims=[f"Response claims fact {i}." for i in facts],
        reference_claims=[f"Reference states fact {g}." for g in range(len(references))],
    )
    sample = Sample(
        user_input=deviation.evidence.get("user_input", "What is known?"),
        response="A response.",
        reference="A reference.",
        retrieved_contexts=tuple({"text": f"Passage {j}."} for j in range(chunks)),  # type: ignore[misc]
    )
    return sample, verdicts


@BOTH
@pytest.mark.parametrize("deviation", deviations("ragas"), ids=lambda deviation: deviation.id)
def test_known_deviations_give_ragas_and_our_documented_figures(
    deviation: Deviation, mode: Mode
) -> None:
    sample, verdicts = _pair(deviation, "judged")
    metric = NoiseSensitivity(mode=mode, judge=TableJudge([(sample, verdicts)]))
    (figure,) = column(evaluated([sample], [metric]), mode)
    assert isinstance(figure, ScoredFloat)  # not for a failure
    assert same(figure, deviation.evidence["noisesense"][mode])
    said = [_pair(deviation, "table")]
    how = deviation.evidence.get("replies")
    mind = _Wrong(said, how) if how else RagasMind(said)
    (own,) = legacy_scores(said, mode, mind=mind)
    assert same(own, deviation.evidence["ragas"][mode])
