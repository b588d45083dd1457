"""What figures say in words, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisesense import (
    Interval,
    LabeledVerdicts,
    Mode,
    Range,
    Result,
    Verdicts,
    offenders,
    score,
    summarize,
    trust,
)
from noisesense.stats.powered_mean import PPIMean
from noisesense_adapters.evaluate.wording import (
    Caused,
    document_name,
    headline,
    offender_sentences,
    reused,
    trust_sentences,
)

KINDS: dict[str, dict[str, object]] = {
    "c": {"correct": True, "entailed_by": []},
    "r": {"correct": False, "entailed_by": [0]},
    "i": {"correct": False, "entailed_by": [1]},
    "h": {"correct": False, "entailed_by": []},
    "u": {"correct": None, "entailed_by": [0]},
    "n": {"correct": None, "entailed_by": []},
}
NEITHER = "supported neither by the reference nor by a chunk"


@pytest.mark.parametrize(
    ("claims", "amount", "come", "rest"),
    [
        ("c", "0 of 1 claim is", "comes", (0, 0, "")),
        ("crh", "1 of 3 claims is", "comes", (1, 0, f"; 1 more is {NEITHER}")),
        ("rriihh", "4 of 6 claims are", "come", (2, 2, f"; 2 more are {NEITHER}")),
        ("n", "0 of 1 claim is", "comes", (0, 0, "; the judge left 1 open")),
        ("u", "0 to 1 of 1 claim is", "comes", (0, 0, "; the judge left 1 open")),
        ("cru", "1 to 2 of 3 claims are", "come", (1, 0, "; the judge left 1 open")),
    ],
)
def test_the_headline(claims: str, amount: str, come: str, rest: tuple[int, int, str]) -> None:
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [{"text": kind, **KINDS[kind]} for kind in claims],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )
    relevant, irrelevant, more = rest
    assert headline(summarize([score(verdicts)])) == (
        f"{amount} not supported by the reference and {come} from a retrieved chunk",
        f"{relevant} from relevant chunks, {irrelevant} from irrelevant ones{more}.",
    )
    nothing = headline(summarize([score(Verdicts(response_claims=()))]))
    assert nothing == ("Nothing was measured", "1 of 1 answer claims nothing.")
    both = headline(summarize([score(verdicts), score(Verdicts(response_claims=()))]))
    assert both.message.endswith("from a retrieved chunk; 1 of 2 answers claims nothing")


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


def test_one_document_is_named_where_it_is_sure() -> None:
    found = offenders([*retrievals("bad.md", 9, 12), *others()])
    (sentence,) = offender_sentences(found)
    assert sentence == (
        "Look first at bad.md: it entails 9 claims that the reference does not support. It is "
        "over 99% likely to be in the worst tenth (4 of 31 retrieved documents)."
    )
    unsure = offenders([each for i in range(30) for each in retrievals(f"{i}.md", i < 6, 4)])
    (sentence,) = offender_sentences(unsure)
    leading = unsure.documents[0]
    assert 0 < leading.top_tenth < 0.9
    assert sentence == (
        "0.md and 5 more lead: each misled in 1 of the 4 samples that retrieved it. Each is "
        f"{leading.top_tenth:.0%} likely to be in the worst tenth (3 of 30 retrieved documents); "
        "from 90% on that counts as sure."
    )
    leading.top_tenth = 0.896
    leading.open_samples = 2
    (sentence,) = offender_sentences(unsure)
    assert sentence.startswith("0.md leads: it misled in 1 to 3 of the 4 samples that")
    assert " retrieved it. It is just under 90% likely to be in " in sentence
    assert list(offender_sentences(offenders(others()))) == []


def test_few_documents_have_no_tenth() -> None:
    """Of nine no figure is told, of ten there is."""
    nine = [each for i in range(9) for each in retrievals(f"{i}.md", i < 2, 4)]
    (few,) = offender_sentences(offenders(nine))
    assert few == (
        "0.md and 1 more lead: each misled in 1 of the 4 samples that retrieved it. Where the "
        "intervals of the rates overlap, the order may be chance."
    )
    far = offenders([*retrievals("bad.md", 20, 24), *retrievals("good.md", 1, 24)])
    first, second = far.documents
    assert first.interval.low > second.interval.high
    (apart,) = offender_sentences(far)
    assert apart == (
        "bad.md leads: it misled in 20 of the 24 samples that retrieved it. The interval of its "
        "rate lies above those of the others."
    )
    (ten,) = offender_sentences(offenders([*nine, *retrievals("9.md", 0, 4)]))
    assert " likely to be the worst of 10 retrieved documents; from 90% on that counts " in ten
    several = [*nine, *retrievals("9.md", 0, 4), *retrievals("10.md", 0, 4)]
    (eleven,) = offender_sentences(offenders(several))
    assert " likely to be in the worst tenth (2 of 11 retrieved documents); " in eleven
    found = offenders(retrievals("bad.md", 9, 12))
    named = replace(found, first=found.documents[0])
    first, *_ = offender_sentences(named)
    assert first == (
        "Look first at bad.md: it entails 9 claims that the reference does not support."
    )


def test_terse_references_are_noted() -> None:
    found = offenders(retrievals("a", 5, 10))
    *_, sentence = offender_sentences(found)
    assert sentence.startswith(
        "Of 10 claims that the reference or a relevant chunk supports, 5 are in no reference."
    )


def test_what_the_ablation_counted_comes_first() -> None:
    found = offenders([*retrievals("bad.md", 9, 12), *others()])
    caused = [
        Caused("none.md", Range(4, 4), Range(0, 0), Range(0, 0)),
        Caused("some.md", Range(3, 4), Range(2, 3), Range(0, 0)),
    ]
    first, second = offender_sentences(found, caused)
    assert first == (
        "By the ablation most claims go with some.md: 2 to 3 of 3 to 4 that were said again with "
        "the same chunks were not said without it."
    )
    assert second.startswith("Look first at bad.md")
    together = caused[1]._replace(shared=Range(1, 2))
    first, _ = offender_sentences(found, [together])
    assert first.endswith(
        " were not said without it, 1 to 2 of them where other documents were taken away, too."
    )
    first, _ = offender_sentences(found, [caused[1]._replace(shared=None)])
    assert first.endswith(" were not said without it.")
    assert len([*offender_sentences(found, caused[:1])]) == 1


def mean_of(
    interval: tuple[float, float], judge: tuple[float, float], unlabeled: int = 5
) -> PPIMean:
    """A mean by people in this interval, and the judge's, which open verdicts make a range."""
    ends = Range(*interval)
    found = Interval(*interval, 0.95, "dirichlet", 10)
    return PPIMean(ends, found, Range(*judge), ends, 1.0, 10, unlabeled, ())


@pytest.mark.parametrize(
    ("mean", "said"),
    [
        # 0.3 − 0.15 and 0.15 − 0.1; of a judge's range the ends that lie farther off.
        (mean_of((0.1, 0.3), (0.15, 0.15)), "0.1500, at most 0.15 too low or 0.05 too high."),
        (
            mean_of((0.1, 0.3), (0.15, 0.25)),
            "0.1500 to 0.2500, at most 0.15 too low or 0.15 too high.",
        ),
        (mean_of((0.0, 0.3), (0.0, 0.0)), "0.0000, at most 0.3 too low."),
        (mean_of((0.0, 0.3), (0.3, 0.3)), "0.3000, at most 0.3 too high."),
        (mean_of((0.2, 0.3), (0.15, 0.15)), "0.1500, too low by 0.05 to 0.15."),
        (mean_of((0.2, 0.3), (0.35, 0.4)), "0.3500 to 0.4000, too high by 0.05 to 0.2."),
        # Every sample has a label, but some of the labels are open.
        (mean_of((0.2, 0.3), (0.25, 0.25), 0), "0.2500, at most 0.05 too low or 0.05 too high."),
    ],
)
def test_how_far_the_judges_mean_is_off(mean: PPIMean, said: str) -> None:
    sentence = trusted({"relevant": mean})[1]
    assert sentence.startswith("In the relevant mode people would find a mean of 0.")
    assert sentence.endswith(f" in these results, where the judge finds {said}")


@pytest.mark.parametrize(
    ("people", "judge", "off"),
    [
        (0.3929, 0.3214, "too low by 0.0715"),
        (0.25, 0.5, "too high by 0.25"),
        (0.2, 0.2, "the same"),
    ],
)
def test_labels_on_every_sample_leave_nothing_to_estimate(
    people: float, judge: float, off: str
) -> None:
    _, sentence, *_ = trusted({"irrelevant": mean_of((people, people), (judge, judge), 0)})
    assert sentence == (
        f"In the irrelevant mode people find a mean of {people:.4f} (exact: every sample is "
        f"labeled), where the judge finds {judge:.4f}, {off}."
    )


def trusted(means: dict[Mode, PPIMean]) -> list[str]:
    """One labeled sample with two claims: the reference has the first, the judge misses it."""
    people = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
    judge = Verdicts.from_matrices([False, False], [[True], [True]], [[True]])
    found = trust("m", [LabeledVerdicts(people, judge, "a")])
    return [*trust_sentences(replace(found, means=means))]


def test_errors_are_counted_beside_their_shares() -> None:
    """Of one sample there is no interval."""
    _, correct, response, reference = trusted({})
    assert correct == (
        "Is a claim in the reference? Where people say no, the judge says yes in 0 of 1 (0.0%); "
        "where people say yes, the judge says no in 1 of 1 (100.0%)."
    )
    assert response == (
        "Is a response claim in a chunk? No label says no; where people say yes, the judge says "
        "no in 0 of 2 (0.0%)."
    )
    assert reference.startswith("Is a reference claim in a chunk? No label says no; where ")
    nobody = Verdicts.from_matrices([False], [[False]], [[False]])
    _, correct, *_ = trust_sentences(trust("m", [LabeledVerdicts(nobody, nobody, "a")]))
    assert correct == (
        "Is a claim in the reference? Where people say no, the judge says yes in 0 of 1 (0.0%); "
        "no label says yes."
    )


def test_replies_that_are_used_again() -> None:
    assert reused(1) == "1 reply used again"
    assert reused(2000) == "2,000 replies used again"


def test_names_of_documents() -> None:
    assert document_name("a\n b.") == "a b"
    assert document_name("") == "(no id and no text)"
    assert document_name("word " * 20, 12) == "word word w…"
