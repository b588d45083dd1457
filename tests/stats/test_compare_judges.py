"""Where a difference may be the judge's: other judges, or the same texts judged otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisesense import Result, Sample, Verdicts, compare, score


def run_of(
    wrong: Sequence[bool],
    *,
    judges: Sequence[str | None] = (),
    response: str = "It is so.",
    texts: bool = True,
) -> list[Result]:
    """Samples of one claim that comes from the relevant chunk and is wrong, or is right."""
    results: list[Result] = []
    for i, is_wrong in enumerate(wrong):
        sample = Sample(
            user_input=f"question {i}",
            response=response,
            reference="It is not.",
            retrieved_contexts=["So they say."],
        )
        claims = [{"text": "It is so.", "correct": not is_wrong, "entailed_by": [0]}]
        chunks = [{"text": "So they say.", "relevant": True}]
        verdicts = Verdicts.model_validate({"response_claims": claims, "chunks": chunks})
        judge = judges[i] if judges else None
        kept = sample if texts else None
        results.append(Result(f"q{i}", score(verdicts), sample=kept, judge=judge))
    return results


RIGHT = [False] * 8


@pytest.mark.parametrize(
    ("of_a", "of_b", "told"),
    [
        ("m", "n", True),
        ("m", "m", False),
        (None, "n", False),
        ("m", None, False),
        (None, None, False),
    ],
)
def test_two_judges(of_a: str | None, of_b: str | None, told: bool) -> None:
    a, b = run_of(RIGHT, judges=[of_a] * 8), run_of(RIGHT, judges=[of_b] * 8)
    words = [each for each in compare(a, b).warnings if "not judged alike" in each]
    assert len(words) == told


def test_one_judge_more_is_another_way_to_judge() -> None:
    a = run_of(RIGHT, judges=["m"] * 8)
    b = run_of(RIGHT, judges=["m"] * 7 + ["n"])
    assert any("not judged alike" in each for each in compare(a, b).warnings)


@pytest.mark.parametrize(
    ("wrong", "response", "texts", "told"),
    [
        (1, "It is so.", True, "1 sample that changed has the same texts in both"),
        (2, "It is so.", True, "2 samples that changed have the same texts in both"),
        (0, "It is so.", True, ""),
        (2, "It is so, they say.", True, ""),
        (2, "It is so.", False, ""),
    ],
)
def test_the_same_texts_judged_otherwise(
    wrong: int, response: str, texts: bool, told: str
) -> None:
    a = run_of(RIGHT, texts=texts)
    b = run_of([i < wrong for i in range(8)], response=response, texts=texts)
    (said,) = [each for each in compare(a, b).warnings if "same texts" in each] or [""]
    assert said.startswith(told) if told else not said


@pytest.mark.parametrize("swapped", [False, True])
def test_an_interval_that_touches_the_margin(swapped: bool) -> None:
    """Worse is beyond the margin, not at it; the same is within it, and at it."""
    a, b = run_of(RIGHT * 6), run_of([i % 3 == 0 for i in range(48)], response="It is so, so.")
    if swapped:
        a, b = b, a
    found = compare(a, b).relevant
    assert found is not None
    assert found.interval is not None
    assert found.decision == ("better" if swapped else "worse")
    edge = -found.interval.high if swapped else found.interval.low
    at = compare(a, b, margin=edge).relevant
    assert at is not None
    assert at.decision == "undecided"
    assert at.bounded is not None
    widest = max(abs(end) for each in (at.interval, at.bounded) if each for end in each[:2])
    for margin, decision in ((widest, "same"), (widest - 1e-9, "undecided")):
        decided = compare(a, b, margin=margin).relevant
        assert decided is not None
        assert decided.decision == decision
