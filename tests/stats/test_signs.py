"""Signs of a broken run: broken systems do not pass a gate, and sound ones are not stopped.

A row is its verdicts and texts. The sound system answers with two claims of which the second is
wrong in every fifth row and comes from the first of two chunks: both means are at most 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from msgspec import structs

from noisesense import Sample, Tally, Verdicts, gate_run, score, summarize
from noisesense.errors import InputError
from noisesense.judging.protocol import Placebos, Usage
from noisesense.scoring.results import Result
from noisesense.stats.signs import SIGNS

COUNT = 20
Cells = Sequence[Sequence[bool | None]]


@dataclass(frozen=True)
class Row:
    """One row: the answer's two claims, the reference's one, and two chunks."""

    number: int
    correct: Sequence[bool | None] = (True, True)
    claims: Cells = ((None, None), (None, None))
    reference: Cells = ((True, False),)
    answer: str = ""
    chunks: Sequence[str] = ()

    @property
    def result(self) -> Result:
        chunks = self.chunks or [f"chunk {self.number} {j}" for j in range(2)]
        verdicts = Verdicts.from_matrices(
            list(self.correct), *map(_lists, (self.claims, self.reference))
        )
        sample = Sample(
            user_input=f"question {self.number}",
            response=self.answer or f"answer {self.number}",
            reference=f"reference {self.number}",
            retrieved_contexts=chunks,
        )
        scored = score(verdicts.with_sample(sample))
        name = str(self.number)
        return Result(name, scored, sample=sample)


def _lists(cells: Cells) -> list[list[bool | None]]:
    return [list(row) for row in cells]


def sound(number: int) -> Row:
    if number % 5:
        return Row(number)
    return Row(number, correct=(True, False), claims=((None, None), (True, False)))


Change = Callable[[Row], Row]
NO = (False, False)


def unsupported(row: Row) -> Row:
    return replace(row, correct=(True, False), claims=(NO, NO), reference=(NO,))


def unasked(row: Row) -> Row:
    """All right: a lazy plan asks of no chunk."""
    return Row(row.number, reference=((None, None),))


BROKEN: dict[str, tuple[str, Change]] = {
    "no claim correct and none from a chunk": (
        "none-correct",
        lambda row: replace(row, correct=NO, claims=(NO, NO)),
    ),
    "the judge always says no": (
        "none-correct",
        lambda row: replace(row, correct=NO, claims=(NO, NO), reference=(NO,)),
    ),
    "the contexts of other rows": ("none-supported", unsupported),
    "contexts that are an error": (
        "none-supported",
        lambda row: replace(unsupported(row), chunks=["Error 503"] * 2),
    ),
    "the judge says yes to every cell": (
        "all-alike",
        lambda row: replace(
            row, correct=(True, True), claims=((True, True),) * 2, reference=((True, True),)
        ),
    ),
    "answers that are an object": (
        "no-answers",
        lambda row: replace(row, answer='{"error": "timeout"}'),
    ),
    "an object in place of three answers": (
        "no-answers",
        lambda row: (
            replace(row, correct=NO, claims=(NO, NO), answer="{}") if row.number < 3 else row
        ),
    ),
    "answers that are a page": (
        "no-answers",
        lambda row: replace(row, answer="<!DOCTYPE html><html>"),
    ),
    "answers without a text": ("no-answers", lambda row: replace(row, answer="[object Object]")),
    "one answer to all": (
        "same-answer",
        lambda row: (
            replace(row, correct=NO, claims=(NO, NO), answer="42") if row.number % 3 else row
        ),
    ),
    "a quarter of the answers without a chunk of use, and no other looked at": (
        "none-supported",
        lambda row: unsupported(row) if row.number % 4 == 0 else unasked(row),
    ),
    "the contexts of the first row": (
        "same-context",
        lambda row: replace(row if row.number == 0 else unsupported(row), chunks=["a", "b"]),
    ),
    "one answer to most, right once": (
        "same-answer",
        lambda row: (
            replace(row, correct=NO, claims=(NO, NO), answer="42")
            if row.number
            else replace(Row(0), answer="42")
        ),
    ),
    "one context for most, and few looked at": (
        "same-context",
        lambda row: (
            row
            if row.number >= 12
            else replace(
                unasked(row) if row.number % 4 else unsupported(row), chunks=["About us", "x"]
            )
        ),
    ),
    "one context for most": (
        "same-context",
        lambda row: replace(unsupported(row), chunks=["About us", "x"]) if row.number % 3 else row,
    ),
}

SOUND: dict[str, Change] = {
    "as it is": lambda row: row,
    "all right, and no chunk asked": lambda row: Row(row.number),
    "all right, every cell asked": lambda row: Row(row.number, claims=((True, False),) * 2),
    "one document that says all": lambda row: Row(
        row.number, claims=((True,), (True,)), reference=((True,),), chunks=["The only document."]
    ),
    "a chunk that comes with every answer": lambda row: replace(
        row, chunks=[f"chunk {row.number}", "About us"]
    ),
    "all right, and nothing asked of the chunk that comes with every answer": lambda row: replace(
        unasked(row), chunks=[f"chunk {row.number}", "About us"]
    ),
    "two answers without a chunk of use, and no other looked at": lambda row: (
        unsupported(row) if row.number < 2 else unasked(row)
    ),
    "a chunk that most have, and that helps a few": lambda row: (
        replace(row, chunks=["About us", "x"])
        if row.number % 5 == 0
        else replace(row, claims=(NO, NO), reference=(NO,), chunks=["About us", "x"])
    ),
    "the same right answer to most": lambda row: replace(row, answer="Yes"),
    "answers in JSON": lambda row: replace(row, answer=f'{{"known": {row.number}}}'),
    "one answer without a chunk of use, and no other looked at": lambda row: (
        unsupported(row) if row.number == 0 else unasked(row)
    ),
    "three in ten contexts an error": lambda row: (
        replace(unsupported(row), chunks=["Error 503", "x"]) if row.number % 10 < 3 else row
    ),
    "three in ten answers of another domain": lambda row: (
        replace(row, correct=NO, claims=(NO, NO)) if row.number % 10 < 3 else row
    ),
    "an object in one answer": lambda row: replace(row, answer="{}" if row.number == 1 else ""),
}


SAME_CHUNKS = "the chunks are the same, in {0} of {0} samples"
NOTED = {
    "one document that says all": SAME_CHUNKS,
    "a chunk that most have, and that helps a few": (
        SAME_CHUNKS
        + "; no chunk supports a claim, in {1} of the {0} samples whose chunks were looked at"
    ),
    "one answer without a chunk of use, and no other looked at": (
        "no chunk supports a claim, in 1 of the 1 samples whose chunks were looked at"
    ),
    "two answers without a chunk of use, and no other looked at": (
        "no chunk supports a claim, in 2 of the 2 samples whose chunks were looked at"
    ),
    "three in ten contexts an error": (
        "no chunk supports a claim, in {2} of the {0} samples whose chunks were looked at"
    ),
    "three in ten answers of another domain": (
        "neither the reference nor a chunk has a claim of the answer, in {2} of {0} samples"
    ),
    "all right, and nothing asked of the chunk that comes with every answer": (
        "no chunk was asked about, as nothing is known to be wrong: they are untested"
    ),
}
"""What a broken system may have, too, so that it is told and passes."""


def run(change: Change, count: int = COUNT) -> Tally:
    tally = Tally()
    for number in range(count):
        tally.add(change(sound(number)).result)
    return tally


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_is_not_measured_unless_its_sign_is_waived(name: str) -> None:
    sign, change = BROKEN[name]
    summary = run(change).summary()
    found = gate_run(summary, 0.3)
    assert not found.passed
    assert sign in {each.name for each in summary.signs}
    assert any("A sign that the run is broken" in warning for warning in summary.warnings)
    waived = gate_run(summary, 0.3, waive=[each.name for each in summary.signs])
    assert "not measured" not in {finding.outcome for finding in waived.findings}


@pytest.mark.parametrize("count", [10, COUNT, 40])
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_run_is_not_stopped(name: str, count: int) -> None:
    summary = run(SOUND[name], count).summary()
    assert summary.signs == ()
    found = gate_run(summary, 0.3)
    assert found.outcome == ("warn" if name in NOTED else "pass")
    assert found.reason == NOTED.get(name, "").format(count, 4 * count // 5, 3 * count // 10)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (unasked, "every claim is correct"),
        (
            lambda row: replace(
                row, claims=((None, None), (True, True)), reference=((True, True),)
            ),
            "every chunk supports every claim that it was asked about",
        ),
    ],
)
def test_a_judge_without_a_no_is_named_where_no_placebo_shows_one(
    change: Change, said: str
) -> None:
    by_people = [change(sound(number)).result for number in range(COUNT)]
    asked = [structs.replace(row, usage=Usage(calls=1)) for row in by_people]
    tested = [structs.replace(row, placebos=Placebos(1, 0, 0)) for row in asked]
    note = f"{said}: so it is in a clean run, and with a judge that never says no"
    assert note not in summarize(by_people).notes
    assert note in summarize(asked).notes
    assert note not in summarize(tested).notes


def test_wrong_answers_from_chunks_fail_by_their_number() -> None:
    """All wrong in truth: the mean says so, and no sign is needed."""

    def wrong(row: Row) -> Row:
        return replace(row, correct=NO, claims=((True, False),) * 2)

    found = gate_run(run(wrong).summary(), 0.3)
    assert found.outcome == "fail"
    assert len(found.findings) == 1


def test_parts_of_a_run_have_the_signs_of_the_whole() -> None:
    for name, (sign, change) in BROKEN.items():
        halves = [Tally(), Tally()]
        for number in range(COUNT):
            halves[number % 2].add(change(sound(number)).result)
        both = halves[0] + halves[1]
        assert sign in {each.name for each in both.summary().signs}, name


def test_a_wrong_name_of_a_sign_is_an_error() -> None:
    assert len(SIGNS) == 7
    with pytest.raises(InputError, match="waive: expected 'none-correct'"):
        gate_run(summarize([sound(1).result]), 0.3, waive=["none correct"])


@pytest.mark.parametrize(
    ("option", "limit", "outcome"),
    [
        ("min_correct", 0.9, "pass"),  # 36 of 40 claims are correct
        ("min_correct", 0.91, "fail"),
        ("max_hallucinated", 0.1, "pass"),
        ("max_hallucinated", 0.09, "fail"),
    ],
)
def test_too_few_correct_or_too_many_hallucinated_claims_fail_without_a_limit(
    option: str, limit: float, outcome: str
) -> None:
    """Of twenty rows four have a wrong claim: 4 of 40 claims, here from no chunk."""

    def hallucinating(row: Row) -> Row:
        return replace(row, claims=((None, None), NO)) if row.number % 5 == 0 else row

    summary = run(hallucinating).summary()
    assert gate_run(summary, None, **{option: limit}).outcome == outcome
