"""The tests of an adapter, and what it says its host shows."""

from __future__ import annotations

import math
import threading
import unittest
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from noisesense.fixtures import reference_examples
from noisesense.judging.llm import LLMJudge
from noisesense.judging.prompts import Prompts
from noisesense.judging.protocol import Judge, Usage
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.scoring.scoring import Score, score
from noisesense.testing.judges import (
    KEY,
    TEXTS,
    MeetingJudge,
    Pair,
    ReadingJudge,
    ScriptedLLM,
    TableJudge,
    TextJudge,
    all_from,
    noisy_pair,
    random_pair,
    undetermined,
    with_texts,
    without_claims,
)
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

TOLERANCE = 1e-12
_PROMPT = "canary wording of the prompt"


@dataclass(frozen=True)
class Shown:
    """What the host shows of one mode of one row.

    Attributes:
        value: exactly what it stores as the number; None if it stores none.
        text: reason, comment, label, status: whatever people read beside it.
        passed: what it makes of the score, if it makes anything of it.
    """

    value: object = None
    text: str = ""
    passed: bool | None = None


@dataclass(frozen=True)
class ShownRow:
    """What the host shows of one row.

    Attributes:
        modes: by mode; a mode that it does not show is left out.
        error: what it says of a row that could not be evaluated.
    """

    modes: Mapping[Mode, Shown] = field(default_factory=dict[Mode, Shown])
    error: str | None = None


@dataclass(frozen=True)
class HostRun:
    """What one evaluation in the host left behind.

    Attributes:
        rows: in the order of the samples.
        stored: everything that it stores, prints or sends, as one text.
        averages: its own mean of each mode, where it computes one.
        usage: calls, tokens and cost as somebody sums them up who reads the host's results; None
            where the host has no place for them.
        names: what errors call each row, in the host's words; empty where the host itself says
            which row an error belongs to.
    """

    rows: Sequence[ShownRow]
    stored: str = ""
    averages: Mapping[Mode, object] = field(default_factory=dict[Mode, object])
    usage: Usage | None = None
    names: Sequence[str] = ()


class AdapterTests:
    """The tests; `run` drives the host, and `retrieved` hands it documents of its own.

    Attributes:
        definitions: those that the adapter offers.
        limit: what `run` makes the host compare a score with, if it passes and fails rows.
        tables: how many random verdict tables; fewer for a host that takes its time.
        labels: whether a chunk's label reaches the judge by the way that `run` takes.
        metrics: how many of the host's metrics `run` makes: one, or one for each mode. Each may
            ask a judge that failed.
        side_by_side: whether the host can do two runs in one process at once.
    """

    definitions: tuple[DefinitionName, ...] = ("ragas", "paper", "promptfoo", "validmind")
    limit: float | None = None
    tables: int = 200
    labels: bool = True
    metrics: int = 1
    side_by_side: bool = True

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        """Evaluate the samples in the host with this judge, both modes of every one."""
        raise NotImplementedError

    def retrieved(self, things: Sequence[object], judge: Judge) -> HostRun | None:
        """Evaluate a row for each of the things, as its retriever's or application's output.

        The other texts of row ``n`` are `TEXTS` with that number. None, where the host's rows
        hold nothing but lists of texts.
        """
        return None

    def document(self, text: str, metadata: Mapping[str, Any]) -> object:
        """The host's own object for a retrieved document."""
        return {"page_content": text, "metadata": dict(metadata)}

    def test_reference_examples(self) -> None:
        """The documented examples give the figures derived by hand, under every definition."""
        examples = reference_examples()
        judge = TableJudge([(example.sample, example.verdicts) for example in examples])
        for definition in self.definitions:
            run = self.run([e.sample for e in examples], judge, definition=definition)
            for example, row in zip(examples, run.rows, strict=True):
                for mode, value in zip(MODES, example.expected[definition], strict=True):
                    if value is not None:
                        what = f"{example.id}, {mode}, definition {definition}"
                        _expect_value(_mode(row, mode, what), value, what)

    def test_random_tables(self) -> None:
        """Random verdict tables, in every other one a tenth open, score as in the core."""
        pairs = [random_pair(seed, open_share=0.1 * (seed % 2)) for seed in range(self.tables)]
        run = self.run([sample for sample, _ in pairs], TableJudge(pairs))
        for (_, verdicts), row in zip(pairs, run.rows, strict=True):
            _expect_score(row, score(verdicts))

    def test_both_modes_from_one_judging(self) -> None:
        """Both modes of a sample cost one judging."""
        pairs = [random_pair(seed) for seed in range(5)]
        judge = TableJudge(pairs)
        self.run([sample for sample, _ in pairs], judge)
        assert len(judge.asked) == len(pairs), "a sample was judged more than once for its modes"

    def test_undefined_is_no_number(self) -> None:
        """A response without claims has no score: it is not 0, not NaN in a mean, and no pass."""
        self._expect_no_number(without_claims(random_pair(1)), "undefined")

    def test_undetermined_is_no_number(self) -> None:
        """A score that open verdicts decide is no number and no pass, and the host says so."""
        self._expect_no_number(undetermined(), "undetermined")

    def _expect_no_number(self, pair: Pair, status: str) -> None:
        known = noisy_pair()
        pairs = [pair, known]
        run = self.run([sample for sample, _ in pairs], TableJudge(pairs))
        for mode in MODES:
            shown = _mode(run.rows[0], mode, status)
            assert _is_absent(shown.value), f"{status} is shown as the number {shown.value!r}"
            assert not shown.passed, f"{status} passes"
            assert status in shown.text.lower(), f"nobody is told that the score is {status}"
            if mode in run.averages:
                expected = score(known[1]).value(mode)
                what = f"the host's mean, with a row that is {status}"
                _expect_value(Shown(run.averages[mode]), expected, what)

    def test_lower_is_better_is_said(self) -> None:
        """Whoever reads a number is told in which direction it is better."""
        pairs = [random_pair(3)]
        (row,) = self.run([pairs[0][0]], TableJudge(pairs)).rows
        for mode in MODES:
            text = _mode(row, mode, "a score").text.lower()
            assert "lower is better" in text, f"the direction is not said: {text!r}"

    def test_failure_stays_in_its_row(self) -> None:
        """A judge that fails on one sample costs that row its number, and no other."""
        pairs = [random_pair(seed) for seed in range(4)]
        judge = TableJudge(pairs, failing=[pairs[2][0]])
        run = self.run([sample for sample, _ in pairs], judge)
        for number, (_, verdicts) in enumerate(pairs):
            row = run.rows[number]
            if number != 2:
                _expect_score(row, score(verdicts))
                continue
            for mode, shown in row.modes.items():
                assert _is_absent(shown.value), f"a failed judge gives {mode} {shown.value!r}"
                assert not shown.passed, "a failed judge passes"
            texts = [row.error or "", *(shown.text for shown in row.modes.values())]
            is_undefined = any("undefined" in text.lower() for text in texts)
            assert not is_undefined, "a failed judge is called undefined"
            assert any("refused this sample" in text for text in texts), "the cause is not said"
            name = run.names[number] if run.names else ""
            assert any(name in text for text in texts), f"the row is not named: {name}"
        times = judge.asked.count(pairs[2][0].key)
        assert 1 <= times <= self.metrics, f"a judge that failed was asked {times} times"

    def test_repeats_ask_again(self) -> None:
        """A second evaluation asks the judge again: it would else measure nothing."""
        pairs = [random_pair(seed) for seed in range(3)]
        judge = TableJudge(pairs)
        for _ in range(2):
            self.run([sample for sample, _ in pairs], judge)
        assert len(judge.asked) == 2 * len(pairs), "the second evaluation was served from memory"

    def test_concurrent_rows_do_not_mix(self) -> None:
        """Rows that are judged side by side, and finish in another order, keep their own."""
        pairs = [random_pair(seed) for seed in range(20, 32)]
        run = self.run([sample for sample, _ in pairs], TableJudge(pairs, slow=True))
        for (_, verdicts), row in zip(pairs, run.rows, strict=True):
            _expect_score(row, score(verdicts))

    def test_two_runs_at_once(self) -> None:
        """Two runs side by side over the same samples keep their own judges' verdicts."""
        if not self.side_by_side:
            raise unittest.SkipTest("the host does one run at a time")
        samples = [random_pair(seed)[0] for seed in range(40, 44)]
        both = threading.Barrier(2)
        tables = [[all_from(sample, correct) for sample in samples] for correct in (False, True)]
        judges = [MeetingJudge(table, both) for table in tables]
        with ThreadPoolExecutor(2) as threads:
            runs = list(threads.map(partial(self.run, samples), judges))
        for run, table in zip(runs, tables, strict=True):
            for (_, verdicts), row in zip(table, run.rows, strict=True):
                _expect_score(row, score(verdicts))

    def test_labels_win(self) -> None:
        """A chunk's label reaches the score, also against what the verdicts say."""
        if not self.labels:
            raise unittest.SkipTest("the host has no place for labels")
        sample, verdicts = noisy_pair()
        flipped = [
            chunk.model_copy(update={"relevant": number == 1})
            for number, chunk in enumerate(sample.retrieved_contexts)
        ]
        labeled = sample.model_copy(update={"retrieved_contexts": tuple(flipped)})
        (row,) = self.run([labeled], TableJudge([(sample, verdicts)])).rows
        _expect_score(row, score(verdicts.beside(labeled)))

    def test_texts_arrive_as_they_are(self) -> None:
        """Equal chunks, blank ones among others, white space, long texts and equal rows count."""
        entailing = [3, 2, 0]
        cells = [[number == chunk for chunk in range(4)] for number in entailing]
        verdicts = Verdicts.from_matrices([False, False, True], cells, cells[1:2])
        _, verdicts = with_texts(60, verdicts, 4)
        verdicts = verdicts.model_copy(update={"chunks": None})
        pairs: list[Pair] = []
        for number, chunks in enumerate(
            (
                ("The same.", "The same.", "The same.", "Another."),
                (
                    "",
                    "A chunk.",
                    "  indented,\n\tand broken \n",
                    "\u00e9\u4e2d\U0001f600 | ; , end",
                ),
                ("long " * 40_000, "[1]", "{'text': 'a'}", "null"),
            )
        ):
            sample = Sample(
                user_input=f"Question {number}?",
                response=f"Response {number}.\n\n  Its second line. " + "More. " * 9_000 * number,
                reference=f"Reference {number}.",
                retrieved_contexts=chunks,
            )
            pairs.append((sample, verdicts.beside(sample)))
        pairs.append(pairs[0])
        judge = TextJudge(pairs)
        run = self.run([sample for sample, _ in pairs], judge)
        for (_, expected), row in zip(pairs, run.rows, strict=True):
            _expect_score(row, score(expected))

    def test_nothing_retrieved_is_no_number(self) -> None:
        """Without chunks nothing is measured: the host shows no number and no pass, and why."""
        sample, _ = random_pair(5)
        none = sample.model_copy(update={"retrieved_contexts": ()})
        verdicts = Verdicts.from_matrices([False, True], [[], []], [[]])
        known = noisy_pair()
        run = self.run([none, known[0]], TableJudge([(none, verdicts), known]))
        _expect_nothing(run.rows[0])
        _expect_score(run.rows[1], score(known[1]))

    def test_retrieved_documents(self) -> None:
        """Of the host's own documents the text is judged; what holds none is an error."""
        own = self.document("The chunk.", {"text": "Its title", "id": "a.md"})
        readable: list[object] = [
            [own],
            [{"text": "", "content": "The chunk."}],
            [{"text": "The chunk.", "relevant": False}],
            ["The chunk."],
        ]
        wrong: list[object] = [{"documents": ["The chunk."]}, "The chunk.", [1, 2], [{"id": "a"}]]
        nothing: list[object] = [[], [""], [{"text": " "}]]
        judge = ReadingJudge()
        run = self.retrieved([*readable, *wrong, *nothing], judge)
        if run is None:
            raise unittest.SkipTest("the host's rows hold lists of texts only")
        for number, thing in enumerate(readable):
            chunks = judge.read.get(TEXTS["response"].format(number))
            assert chunks == ["The chunk."], f"of {thing!r} the judge is given {chunks!r}"
            assert run.rows[number].error is None, run.rows[number].error
        for number, thing in enumerate(wrong, len(readable)):
            row = run.rows[number]
            values = [shown.value for shown in row.modes.values()]
            assert all(map(_is_absent, values)), f"{thing!r} is shown as {values!r}"
            assert not any(shown.passed for shown in row.modes.values()), f"{thing!r} passes"
            assert TEXTS["response"].format(number) not in judge.read, f"{thing!r} is judged"
            texts = [row.error or "", *(shown.text for shown in row.modes.values())]
            assert any("expected" in text for text in texts), f"{thing!r} is no error"
        for row in run.rows[-len(nothing) :]:
            _expect_nothing(row)

    def test_nothing_secret_is_stored(self) -> None:
        """Neither a key nor a prompt is in anything the host stores, and errors hold neither."""
        pairs = [random_pair(seed) for seed in range(3)]
        model = ScriptedLLM(pairs, failing=pairs[1][0].response)
        prompts = Prompts(decompose=f"{_PROMPT}, to decompose", verify=f"{_PROMPT}, to verify")
        run = self.run([sample for sample, _ in pairs], LLMJudge(model, prompts=prompts))
        _expect_score(run.rows[0], score(pairs[0][1]))
        assert run.stored, "the adapter's test does not say what the host stores"
        shown = f"{run.stored}\n{run.rows}"
        assert KEY not in shown, "the key is stored"
        assert _PROMPT not in shown, "the prompt is stored"

    def test_usage_is_counted_once(self) -> None:
        """Calls, tokens and cost that a reader sums up are what judging cost."""
        pairs = [random_pair(seed) for seed in range(3)]
        usage = Usage(calls=4, input_tokens=50, output_tokens=7, cost=0.25)
        run = self.run([sample for sample, _ in pairs], TableJudge(pairs, usage=usage))
        if run.usage is not None:
            total = usage + usage + usage
            # Some hosts have no place for one of the two.
            cost = total.cost if run.usage.cost is None else run.usage.cost
            reported = replace(run.usage, calls=run.usage.calls or total.calls, cost=cost)
            assert reported == total, f"{run.usage} is reported for {total}"

    def test_gate(self) -> None:
        """A row passes only if every completion of its open verdicts is within the limit."""
        pairs = [random_pair(seed, open_share=0.15) for seed in range(self.tables)]
        run = self.run([sample for sample, _ in pairs], TableJudge(pairs))
        for (_, verdicts), row in zip(pairs, run.rows, strict=True):
            for mode in MODES:
                passed = _mode(row, mode, "a score").passed
                if self.limit is None:
                    assert passed is None, "a row passes or fails, and no limit is stated"
                    continue
                outcome = score(verdicts).gate(mode, self.limit)
                assert (passed is True) == (outcome == "pass"), f"{outcome} is shown as {passed}"


def _mode(row: ShownRow, mode: Mode, what: str) -> Shown:
    assert row.error is None, f"{what}: the row failed: {row.error}"
    assert mode in row.modes, f"{what}: the {mode} mode is not shown"
    return row.modes[mode]


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _expect_nothing(row: ShownRow) -> None:
    for mode in MODES:
        shown = _mode(row, mode, "nothing retrieved")
        assert _is_absent(shown.value), f"nothing retrieved is shown as {shown.value!r}"
        assert not shown.passed, "nothing retrieved passes"
        said = "nothing was retrieved" in shown.text.lower()
        assert said, f"nobody is told that nothing was retrieved: {shown.text!r}"


def _expect_score(row: ShownRow, expected: Score) -> None:
    for mode in MODES:
        if check_definition(expected.definition).irrelevant is None and mode == "irrelevant":
            continue
        _expect_value(_mode(row, mode, "a score"), expected.value(mode), f"the {mode} mode")


def _expect_value(shown: Shown, expected: float | None, what: str) -> None:
    if expected is None:
        assert _is_absent(shown.value), f"{what}: no number is right, and {shown.value!r} is shown"
        return
    value = shown.value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    assert is_number, f"{what}: {expected} is right, and {value!r} is shown"
    assert isinstance(value, (int, float))
    assert abs(value - expected) <= TOLERANCE, f"{what}: {expected} is right, {value} is shown"
