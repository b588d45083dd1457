"""The requirements on an adapter, as tests for any host.

Write one class, and pytest collects the tests in it::

    class TestMyHost(AdapterTests):
        def run(self, samples, judge, *, definition="ragas"):
            ...  # evaluate the samples in the host, and return what it shows

The docstring of each test states the requirement.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, LLMJudge, Sample, Score, Usage, Verdicts, score
from noisesense.fixtures import reference_examples
from noisesense.judging.prompts import Prompts
from noisesense.scoring.definitions import DEFINITIONS, MODES, Mode, modes_of
from support import tables
from support.table_judge import (
    KEY,
    AgreeingLLM,
    Pair,
    TableJudge,
    all_from,
    noisy_pair,
    pair_of,
)

TOLERANCE = 1e-12
_PROMPT = "canary wording of the prompt"
_NOTHING = "nothing was retrieved"


@dataclass(frozen=True)
class Shown:
    """What the host shows for one mode of one row.

    Attributes:
        value: the number as the host stores it; None if it stores none.
        text: all that is shown beside it: reason, comment, label, status.
        passed: whether the host passes the row; None if it does not decide.
    """

    value: object = None
    text: str = ""
    passed: bool | None = None


@dataclass(frozen=True)
class ShownRow:
    """What the host shows for one row.

    Attributes:
        modes: what it shows for each mode; modes that it does not show are left out.
        error: the error of a row that could not be evaluated.
    """

    modes: Mapping[Mode, Shown] = field(default_factory=dict[Mode, Shown])
    error: str | None = None


@dataclass(frozen=True)
class HostRun:
    """The result of one evaluation in the host.

    Attributes:
        rows: in the order of the samples.
        stored: all that the host stores, prints or sends, as one text.
        averages: the host's own mean for each mode, if it computes one.
        usage: the sum of calls, tokens and cost in the host's results; None if it stores none.
        names: the name of each row in error messages; empty if the host itself shows which row
            an error belongs to.
    """

    rows: Sequence[ShownRow]
    stored: str = ""
    averages: Mapping[Mode, object] = field(default_factory=dict[Mode, object])
    usage: Usage | None = None
    names: Sequence[str] = ()


class AdapterTests:
    """The tests. Subclasses implement `run`.

    Attributes:
        definitions: the definitions that the adapter offers.
        limit: the limit for which `run` sets up the host, if the host passes and fails rows.
        tables: the number of random verdict tables; reduce it for a slow host.
        labels: whether the labels of chunks reach the judge in `run`.
        metrics: the number of metrics in `run`: one, or one for each mode. Each may ask a judge
            that failed.
        side_by_side: whether the host supports two runs at once in one process.
    """

    definitions: tuple[DefinitionName, ...] = tuple(DEFINITIONS)
    limit: float | None = None
    tables: int = 200
    labels: bool = True
    metrics: int = 1
    side_by_side: bool = True

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        """Evaluate both modes of the samples in the host with this judge."""
        raise NotImplementedError

    def test_reference_examples(self) -> None:
        """The published examples give the values derived by hand, under every definition."""
        examples = reference_examples()
        pairs = [(example.sample, example.verdicts) for example in examples]
        judge = TableJudge(pairs)
        for name in self.definitions:
            run = self.run(_samples(pairs), judge, definition=name)
            for example, row in zip(examples, run.rows, strict=True):
                values = zip(modes_of(name), example.expected[name], strict=False)
                for mode, expected in values:
                    what = f"{example.id}, {mode}, definition {name}"
                    _expect_value(_mode(row, mode, what), expected, what)

    def test_random_tables(self) -> None:
        """Random verdict tables, half of them with open verdicts, score as in the core."""
        pairs = [random_pair(seed) for seed in range(0, self.tables, 2)]
        pairs += [random_pair(seed, open_share=0.1) for seed in range(1, self.tables, 2)]
        _expect_scores(self, pairs)

    def test_both_modes_from_one_judging(self) -> None:
        """Both modes of a sample take one judging."""
        pairs = _pairs(5)
        _, judge = _run(self, pairs)
        assert len(judge.asked) == len(pairs), "a sample was judged more than once for its modes"

    def test_undefined_is_no_number(self) -> None:
        """A response without claims has no number and no pass, and no part in a mean."""
        sample, verdicts = random_pair(1)
        nothing = verdicts.model_copy(update={"response_claims": ()})
        self._expect_no_number((sample, nothing), "undefined")

    def test_undetermined_is_no_number(self) -> None:
        """An undetermined score has no number and no pass, and the host shows that it is one."""
        table = [[True, False], [False, True]]
        self._expect_no_number(pair_of(999, [None, None], table, table[:1]), "undetermined")

    def test_nothing_retrieved_is_no_number(self) -> None:
        """A sample without chunks has no number and no pass, and the host shows why."""
        sample, _ = random_pair(5)
        without = sample.model_copy(update={"retrieved_contexts": ()})
        verdicts = Verdicts.from_matrices([False, True], [[], []], [[]])
        self._expect_no_number((without, verdicts), _NOTHING)

    def _expect_no_number(self, pair: Pair, says: str) -> None:
        """Nor does it enter the host's mean. Another row keeps its number."""
        another = noisy_pair()
        expected = score(another[1])
        run, _ = _run(self, [pair, another])
        _expect_nothing(run.rows[0], says)
        _expect_score(run.rows[1], expected)
        for mode, mean in run.averages.items():
            _expect_value(Shown(mean), expected.value(mode), f"the host's mean beside {says}")

    def test_lower_is_better_is_said(self) -> None:
        """The text beside a number says that lower is better."""
        run, _ = _run(self, [random_pair(3)])
        for mode in MODES:
            text = _mode(run.rows[0], mode, "a score").text.lower()
            assert "lower is better" in text, f"the direction is not said: {text!r}"

    def test_failure_stays_in_its_row(self) -> None:
        """Where the judge fails on one sample, only that row has an error."""
        pairs = _pairs(4)
        failing, _ = pairs[2]
        run, judge = _run(self, pairs, failing=[failing])
        for number in (0, 1, 3):
            _expect_score(run.rows[number], score(pairs[number][1]))
        _expect_failed(run.rows[2], "refused this sample", "a failed judge")
        if run.names:
            _expect_failed(run.rows[2], run.names[2], "a failed judge")
        keys = [sample.key for sample in judge.asked]
        times = keys.count(failing.key)
        assert 1 <= times <= self.metrics, f"a judge that failed was asked {times} times"

    def test_repeats_ask_again(self) -> None:
        """A second evaluation asks the judge again, or it would not be a measurement."""
        pairs = _pairs(3)
        judge = TableJudge(pairs)
        for _ in range(2):
            self.run(_samples(pairs), judge)
        assert len(judge.asked) == 2 * len(pairs), "the second evaluation was served from memory"

    def test_concurrent_rows_do_not_mix(self) -> None:
        """Rows judged at the same time, and finished in another order, keep their own scores."""
        _expect_scores(self, _pairs(12), slow=True)

    def test_two_runs_at_once(self) -> None:
        """Two runs over the same samples at the same time keep their own judges' verdicts."""
        if not self.side_by_side:
            pytest.skip("the host does one run at a time")
        samples = _samples(_pairs(4))
        incorrect = [all_from(sample, False) for sample in samples]
        correct = [all_from(sample, True) for sample in samples]
        barrier = threading.Barrier(2)
        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(_expect_scores, self, incorrect, both=barrier)
            second = threads.submit(_expect_scores, self, correct, both=barrier)
        first.result()
        second.result()

    def test_labels_win(self) -> None:
        """A chunk's label in the host reaches the verdicts of the judge, which say otherwise."""
        if not self.labels:
            pytest.skip("the host has no place for labels")
        sample, verdicts = noisy_pair()
        first, second = sample.retrieved_contexts
        irrelevant = first.model_copy(update={"relevant": False})
        relevant = second.model_copy(update={"relevant": True})
        labeled = sample.model_copy(update={"retrieved_contexts": (irrelevant, relevant)})
        _expect_scores(self, [(labeled, verdicts)])

    def test_texts_arrive_as_they_are(self) -> None:
        """Equal chunks, blank ones, white space, long texts and equal rows arrive unchanged."""
        cells = [
            [False, False, False, True],
            [False, False, True, False],
            [True, False, False, False],
        ]
        texts = [
            ("The same.", "The same.", "The same.", "Another."),
            ("", "A chunk.", "  indented,\n\tand broken \n", "\u00e9\u4e2d\U0001f600 | ; , end"),
            ("long " * 40_000, "[1]", "{'text': 'a'}", "null"),
        ]
        pairs: list[Pair] = []
        for number, chunks in enumerate(texts):
            more = "More. " * (9_000 * number)
            sample = Sample(
                user_input=f"Question {number}?",
                response=f"Response {number}.\n\n  Its second line. {more}",
                reference=f"Reference {number}.",
                retrieved_contexts=chunks,
            )
            verdicts = Verdicts.from_matrices([False, False, True], cells, cells[1:2])
            pairs.append((sample, verdicts.with_sample(sample)))
        _expect_scores(self, [*pairs, pairs[0]])

    def test_nothing_secret_is_stored(self) -> None:
        """Neither an API key nor a prompt is in what the host stores, nor in errors."""
        samples = _samples(_pairs(3))
        prompts = Prompts(decompose=f"{_PROMPT}, to decompose", verify=f"{_PROMPT}, to verify")
        model = AgreeingLLM(failing=samples[1].response)
        run = self.run(samples, LLMJudge(model, prompts=prompts))
        _, agreed = all_from(samples[0], True)
        _expect_score(run.rows[0], score(agreed))
        assert run.stored, "the adapter's test does not say what the host stores"
        shown = f"{run.stored}\n{run.rows}"
        assert KEY not in shown, "the key is stored"
        assert _PROMPT not in shown, "the prompt is stored"

    def test_usage_is_counted_once(self) -> None:
        """Calls, tokens and cost in the host's results add up to what judging cost."""
        usage = Usage(calls=4, input_tokens=50, output_tokens=7, cost=0.25)
        run, _ = _run(self, _pairs(3), usage=usage)
        if run.usage is not None:
            total = usage + usage + usage
            reported = run.usage
            # Some hosts store no cost, others no calls.
            if reported.cost is None:
                reported = replace(reported, cost=total.cost)
            if not reported.calls:
                reported = replace(reported, calls=total.calls)
            assert reported == total, f"{run.usage} is reported for {total}"

    def test_gate(self) -> None:
        """A row passes if it is within the host's limit however its open verdicts fall, and no row
        passes or fails in a host without a limit."""
        pairs = _pairs(self.tables, open_share=0.15)
        run, _ = _run(self, pairs)
        for (_, verdicts), row in zip(pairs, run.rows, strict=True):
            for mode in MODES:
                passed = _mode(row, mode, "a score").passed
                if self.limit is None:
                    assert passed is None, "a row passes or fails, and no limit is stated"
                    continue
                outcome = score(verdicts).gate(mode, self.limit)
                assert (passed is True) == (outcome == "pass"), f"{outcome} is shown as {passed}"


def random_pair(seed: int, *, open_share: float = 0.0) -> Pair:
    """A sample with a random table of verdicts; its texts occur in no other seed's."""
    shape = tables.Shape((1, 6), (1, 3), (1, 5), undetermined=open_share)
    return tables.random_pair(seed, shape)


def _pairs(count: int, *, open_share: float = 0.0) -> list[Pair]:
    return [random_pair(seed, open_share=open_share) for seed in range(count)]


def _samples(pairs: Sequence[Pair]) -> list[Sample]:
    return [sample for sample, _ in pairs]


def _run(kit: AdapterTests, pairs: Sequence[Pair], **options: Any) -> tuple[HostRun, TableJudge]:
    judge = TableJudge(pairs, **options)
    return kit.run(_samples(pairs), judge), judge


def _expect_scores(kit: AdapterTests, pairs: Sequence[Pair], **options: Any) -> None:
    run, _ = _run(kit, pairs, **options)
    for (sample, verdicts), row in zip(pairs, run.rows, strict=True):
        _expect_score(row, score(verdicts.with_sample(sample)))


def _mode(row: ShownRow, mode: Mode, what: str) -> Shown:
    assert row.error is None, f"{what}: the row failed: {row.error}"
    assert mode in row.modes, f"{what}: the {mode} mode is not shown"
    return row.modes[mode]


def _expect_absent(shown: Shown, what: str) -> None:
    is_nan = isinstance(shown.value, float) and math.isnan(shown.value)
    message = f"{what}: no number is right, and {shown.value!r} is shown"
    assert shown.value is None or is_nan, message
    assert not shown.passed, f"{what} passes"


def _expect_nothing(row: ShownRow, says: str) -> None:
    for mode in MODES:
        shown = _mode(row, mode, says)
        _expect_absent(shown, says)
        assert says in shown.text.lower(), f"the text does not say {says!r}: {shown.text!r}"


def _expect_failed(row: ShownRow, says: str, what: str) -> None:
    for shown in row.modes.values():
        _expect_absent(shown, what)
    texts = [shown.text for shown in row.modes.values()]
    text = "\n".join([row.error or "", *texts])
    assert "undefined" not in text.lower(), f"{what} is called undefined"
    assert says in text, f"{what} is no error that says {says!r}: {text}"


def _expect_score(row: ShownRow, expected: Score) -> None:
    for mode in modes_of(expected.definition):
        _expect_value(_mode(row, mode, "a score"), expected.value(mode), f"the {mode} mode")


def _expect_value(shown: Shown, expected: float | None, what: str) -> None:
    if expected is None:
        _expect_absent(Shown(shown.value), what)
        return
    value = shown.value
    message = f"{what}: {expected} is right, and {value!r} is shown"
    assert isinstance(value, (int, float)), message
    assert not isinstance(value, bool), message
    assert abs(value - expected) <= TOLERANCE, message
