"""Whether the right figures stand in the right places, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from noisesense import (
    Comparison,
    Interval,
    LabeledVerdicts,
    Mode,
    Range,
    Result,
    Verdicts,
    compare,
    offenders,
    score,
    summarize,
    trust,
)
from noisesense.ablation import Cause
from noisesense.stats.powered_mean import PPIMean
from noisesense_adapters.evaluate.tables import (
    Table,
    cause_table,
    comparison_table,
    mean_table,
    offender_legend,
    offender_table,
    sample_table,
    trust_tables,
)
from noisesense_adapters.evaluate.wording import (
    comparison_sentences,
    document_name,
    headline,
    offender_sentences,
    standing,
)

KINDS: dict[str, dict[str, object]] = {
    "c": {"correct": True, "entailed_by": []},
    "r": {"correct": False, "entailed_by": [0]},
    "i": {"correct": False, "entailed_by": [1]},
    "h": {"correct": False, "entailed_by": []},
    "u": {"correct": None, "entailed_by": [0]},
    "n": {"correct": None, "entailed_by": []},
}
HALLUCINATED = "wrong and in no retrieved document"


def claiming(kinds: str) -> Verdicts:
    """One claim of each kind; the first chunk is relevant, the second is not."""
    return Verdicts.model_validate(
        {
            "response_claims": [{"text": kind, **KINDS[kind]} for kind in kinds],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )


@pytest.mark.parametrize(
    ("claims", "amount", "rest"),
    [
        ("c", "0 of 1 claim is", (0, 0, "")),
        ("crh", "1 of 3 claims is", (1, 0, f"; 1 more is {HALLUCINATED}")),
        ("rriihh", "4 of 6 claims are", (2, 2, f"; 2 more are {HALLUCINATED}")),
        ("n", "0 of 1 claim is", (0, 0, "; the judge left 1 open")),
        ("u", "0 to 1 of 1 claim is", (0, 0, "; the judge left 1 open")),
        ("cru", "1 to 2 of 3 claims are", (1, 0, "; the judge left 1 open")),
    ],
)
def test_the_headline(claims: str, amount: str, rest: tuple[int, int, str]) -> None:
    verdicts = claiming(claims)
    relevant, irrelevant, more = rest
    assert headline(summarize([score(verdicts)])) == (
        f"{amount} wrong and came from a retrieved document",
        f"{relevant} from relevant documents, {irrelevant} from irrelevant ones{more}.",
    )
    nothing = headline(summarize([score(Verdicts(response_claims=()))]))
    assert nothing == ("Nothing was measured", "1 of 1 answer claims nothing.")
    both = headline(summarize([score(verdicts), score(Verdicts(response_claims=()))]))
    assert both.message.endswith("from a retrieved document; 1 of 2 answers claims nothing")


def test_samples_that_are_in_no_mean_say_what_to_do() -> None:
    """One is measured, one is 0 or 1 in the relevant mode, one claims nothing, one failed."""
    known = [score(claiming("r")), score(claiming("u")), score(Verdicts(response_claims=()))]
    results = [Result(str(i), each) for i, each in enumerate(known)]
    summary = summarize([*results, Result("failed", error="no")])
    table = sample_table(summary)
    assert table.titles == ("samples", "relevant", "irrelevant", "what to do")
    assert [row[:3] for row in table.rows] == [
        ("measured", "1", "2"),
        ("left open by the judge", "1", "0"),
        ("nothing to measure", "1", "1"),
        ("failed", "1", "1"),
    ]
    assert [bool(row[3]) for row in table.rows] == [False, True, True, True]
    means = mean_table(summary)
    assert means.rows[0] == ("mean", "0.5000 to 1.0000", "0.0000")
    assert means.rows[1][0] == "95% interval"


def test_a_column_of_zeros_is_left_out() -> None:
    table = Table(("", "a", "b", "c"), [("x", "0", "1", ""), ("y", "0", "0", "")])
    assert table.without_zeros() == (("", "b"), [("x", "1"), ("y", "0")], "")


def retrievals(document: str, misled: int, retrieved: int) -> list[Result]:
    """Each with one claim, wrong in so many."""
    chunks = [{"text": document, "id": document, "relevant": True}]
    found: list[Result] = []
    for i in range(retrieved):
        claim = {"text": "c", "correct": i >= misled, "entailed_by": [0]}
        known = Verdicts.model_validate({"response_claims": [claim], "chunks": chunks})
        found.append(Result(f"{document}{i}", score(known)))
    return found


def others() -> list[Result]:
    return [each for i in range(30) for each in retrievals(f"good{i}", 0, 8)]


def test_the_order_may_be_chance() -> None:
    unsure = offenders([each for i in range(30) for each in retrievals(f"{i}.md", i < 6, 4)])
    (sentence,) = offender_sentences(unsure)
    assert sentence.startswith("0.md stands first. ")
    assert list(offender_sentences(offenders(others()))) == []


def test_the_table_of_documents() -> None:
    found = offenders([*retrievals("bad.md", 9, 12), *others()])
    table = offender_table(found.documents)
    assert table.titles == ("document", "claims", "only", "samples", "rate", "95% interval")
    assert table.rows[0][:4] == ("bad.md", "9", "9", "9 of 12")
    assert "open: " not in offender_legend(table)


def test_a_document_is_blamed_where_its_effect_is_shown() -> None:
    found = offenders([*retrievals("bad.md", 9, 12), *others()])
    half = Range(0.5, 0.5)
    cause = Cause("bad.md", True, 9, 0, half, Range(0.0, 0.0), 0.2, is_shown=True)
    (first,) = offender_sentences(found, [cause])
    assert first == "By the ablation, wrong claims vanish without bad.md."
    assert [*offender_sentences(found, [cause._replace(is_shown=False)])] == []
    table = cause_table([cause, cause._replace(is_shown=False, gone_without_others=None)])
    assert table.rows[0] == ("bad.md", "9", "50%", "0%", "at least 20 points")
    assert table.rows[1] == ("bad.md", "9", "50%", "-", "no effect shown")


def test_names_of_documents() -> None:
    assert document_name("a\n b.") == "a b"
    assert document_name("") == "(no id and no text)"
    assert document_name("word " * 20, 12) == "word word w…"


RELEVANT, IRRELEVANT = (0, 1)


def run_of(wrong: Sequence[int], chunk: int = RELEVANT, *, claims: int = 4) -> list[Result]:
    """Each with so many wrong claims, entailed by that chunk; the rest are correct."""
    found: list[Result] = []
    for i, count in enumerate(wrong):
        stated = [
            {"text": str(j), "correct": j >= count, "entailed_by": [chunk]} for j in range(claims)
        ]
        chunks = [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}]
        known = Verdicts.model_validate({"response_claims": stated, "chunks": chunks})
        found.append(Result(f"q{i}", score(known)))
    return found


NONE = [0] * 40
SOME = [0, 1] * 20
"""Half of the samples with one wrong claim of four: a mean of 0.125 and, beside none, an interval
of 0.125 ± t · s / √40 with s = 0.1266, t = 2.0227: 0.0845 to 0.1655."""


@pytest.mark.parametrize(
    ("margin", "more", "cell"),
    [
        (0.0, "", "{}"),
        (0.05, " by more than 0.05", "{}"),
        (0.12, "; whether by more than 0.12 is not decided", "{}, maybe within 0.12"),
        (0.3, ", but not by more than 0.3", "the same within 0.3"),
    ],
)
def test_the_sentence_says_what_the_table_says(margin: float, more: str, cell: str) -> None:
    up = compare(run_of(NONE), run_of(SOME), margin=margin)
    down = compare(run_of(SOME), run_of(NONE), margin=margin)
    assert up.any is not None
    assert down.any is not None
    assert next(comparison_sentences(up)) == f"B is noisier{more}."
    assert next(comparison_sentences(down, "This run")) == f"This run is less noisy{more}."
    assert standing(up.any) == cell.format("worse")
    assert standing(down.any) == cell.format("better")


def test_the_table_of_a_comparison() -> None:
    """B has 3.5 correct claims an answer, A 4; nothing comes from an irrelevant chunk."""
    table = comparison_table(compare(run_of(NONE), run_of(SOME)))
    assert table.titles == ("figure", "A", "B", "difference", "95% interval", "B against A")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["relevant"] == ("0.000", "0.125", "+0.125", "0.085 to 0.165", "worse")
    assert rows["any"] == rows["relevant"]
    assert rows["irrelevant"][:3] == ("0.000", "0.000", "+0.000")
    assert rows["correct"][:3] == ("4.000", "3.500", "-0.500")


def test_correct_claims_are_said_beside_noise() -> None:
    fewer = list(comparison_sentences(compare(run_of(NONE), run_of(SOME))))
    assert fewer == ["B is noisier.", "B has fewer correct claims."]
    more = list(comparison_sentences(compare(run_of(SOME), run_of(NONE), margin=0.1)))
    assert more[1] == "B has more correct claims; whether by more than 0.35 is not decided."


def test_noise_that_moves_to_the_other_mode_is_said_of_both() -> None:
    """All wrong claims come from the irrelevant chunk before, from the relevant one after."""
    moved = compare(run_of(SOME, IRRELEVANT), run_of(SOME, RELEVANT))
    said = list(comparison_sentences(moved))
    assert said == [
        "B is noisier in the relevant mode.",
        "B is less noisy in the irrelevant mode.",
    ]


def mixed(up: int, down: int, same: int) -> Comparison:
    """So many samples with a wrong claim more of four, so many with one less; margin 0.05."""
    before = [0] * up + [1] * down + [0] * same
    after = [1] * up + [0] * down + [0] * same
    return compare(run_of(before), run_of(after), margin=0.05)


@pytest.mark.parametrize(
    ("up", "down", "same", "cell"),
    [
        # Ten differences of ±0.25: s = 0.264, and 0 ± 2.3 · 0.264 / √10 is about ±0.19.
        (5, 5, 0, "too few to say"),
        # 3 of 30 lower by 0.25: s = 0.0763, -0.025 ± 2.05 · 0.0763 / √30 is -0.053 to 0.004.
        (0, 3, 27, "not worse"),
        (3, 0, 27, "not better"),
    ],
)
def test_what_is_known_of_what_is_not_decided(up: int, down: int, same: int, cell: str) -> None:
    found = mixed(up, down, same).any
    assert found is not None
    assert found.decision == "undecided"
    assert standing(found) == cell


def test_pairs_that_differ_are_counted() -> None:
    """Two of four; they cancel out, in the mean and in their cluster."""
    names = "aabb"
    before, after = (
        [Result(each.id, each.score, cluster=name) for name, each in zip(names, run, strict=True)]
        for run in (run_of([0, 1, 2, 2]), run_of([1, 0, 2, 2]))
    )
    found = compare(before, after).any
    assert found is not None
    assert found.difference == (0.0, 0.0)


def test_fewer_than_six_pairs_are_too_few_to_say() -> None:
    few = compare(run_of([0] * 5), run_of([4] * 5))
    assert few.any is not None
    assert standing(few.any) == "too few to say"
    assert list(comparison_sentences(few)) == []


def mean_of(
    interval: tuple[float, float], judge: tuple[float, float], unlabeled: int = 5
) -> PPIMean:
    """A mean by people in this interval, and the judge's, which open verdicts make a range."""
    found = Interval(*interval, 0.95, "dirichlet", 10)
    ends = Range(*interval)
    return PPIMean(ends, found, Range(*judge), ends, 1.0, 10, unlabeled, ())


@pytest.mark.parametrize(
    ("mean", "cells"),
    [
        (mean_of((0.1, 0.3), (0.15, 0.25)), ("0.10 to 0.30", "inside it")),
        (mean_of((0.2, 0.3), (0.15, 0.15)), ("0.20 to 0.30", "too low")),
        (mean_of((0.2, 0.3), (0.35, 0.4)), ("0.20 to 0.30", "too high")),
        # Every sample has a label, but some of the labels are open.
        (mean_of((0.2, 0.3), (0.25, 0.25), 0), ("0.20 to 0.30", "inside it")),
        (mean_of((0.4, 0.4), (0.3, 0.3), 0), ("exact", "too low")),
        (mean_of((0.2, 0.2), (0.2, 0.2), 0), ("exact", "the same")),
    ],
)
def test_whether_the_judges_mean_is_off(mean: PPIMean, cells: tuple[str, str]) -> None:
    table, _ = trusted({"relevant": mean})
    assert table.titles == ("mode", "judge", "people", "95% interval", "labeled", "the judge's")
    (row,) = table.rows
    assert (row[3], row[5]) == cells
    assert row[4] == "10"


def trusted(means: dict[Mode, PPIMean]) -> list[Table]:
    """One labeled sample with two claims: the reference has the first, the judge misses it."""
    people = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
    judge = Verdicts.from_matrices([False, False], [[True], [True]], [[True]])
    found = trust("m", [LabeledVerdicts(people, judge, "a")])
    return trust_tables(replace(found, means=means))


def test_the_judges_errors_by_kind() -> None:
    """Of one sample there is no interval; no label of a chunk says no."""
    (errors,) = trusted({})
    assert errors.titles == ("verdict", "labeled", "false yes", "false no")
    assert errors.rows == [
        ("claim in reference", "2", "0.0%", "100.0%"),
        ("response claim in chunk", "2", "-", "0.0%"),
        ("reference claim in chunk", "1", "-", "0.0%"),
    ]
