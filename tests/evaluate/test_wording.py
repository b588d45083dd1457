"""What figures say in words, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisesense import Range, Result, Verdicts, offenders, score, summarize
from noisesense_adapters.evaluate.wording import (
    Caused,
    document_name,
    headline,
    offender_sentences,
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
    assert nothing == ("Nothing was measured", "1 of 1 answers claims nothing.")
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
        "Look first at bad.md: it entails 9 claims that the reference does not support. With a "
        "probability of over 99% it is among the tenth of the 31 retrieved documents that mislead "
        "most often."
    )
    unsure = offenders([each for i in range(30) for each in retrievals(f"{i}.md", i < 6, 4)])
    (sentence,) = offender_sentences(unsure)
    leading = unsure.documents[0]
    assert 0 < leading.top_tenth < 0.9
    assert sentence == (
        "0.md and 5 more lead: each misled in 1 of the 4 samples that retrieved it. The "
        "probability that it is among the tenth of the 30 retrieved documents that mislead most "
        f"often is {leading.top_tenth:.0%}; at 90% it would be the one to look at first."
    )
    leading.top_tenth = 0.896
    leading.open_samples = 2
    (sentence,) = offender_sentences(unsure)
    assert sentence.startswith("0.md leads: it misled in 1 to 3 of the 4 samples that")
    assert " most often is just under 90%; at 90% " in sentence
    assert list(offender_sentences(offenders(others()))) == []


def test_few_documents_have_no_tenth() -> None:
    """Of nine no figure is told, of ten there is."""
    nine = [each for i in range(9) for each in retrievals(f"{i}.md", i < 2, 4)]
    (few,) = offender_sentences(offenders(nine))
    assert few == (
        "0.md and 1 more lead: each misled in 1 of the 4 samples that retrieved it. Where the "
        "intervals of the rates overlap, the order may be chance."
    )
    (ten,) = offender_sentences(offenders([*nine, *retrievals("9.md", 0, 4)]))
    assert " is among the tenth of the 10 retrieved documents that " in ten
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


def test_names_of_documents() -> None:
    assert document_name("a\n b.") == "a b"
    assert document_name("") == "(no id and no text)"
    assert document_name("word " * 20, 12) == "word word w…"
