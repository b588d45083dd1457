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
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, modes_of
from noisesense.scoring.scoring import Score, score
from noisesense.testing.judges import (
    KEY,
    TEXTS,
    AgreeingLLM,
    Pair,
    TableJudge,
    all_from,
    noisy_pair,
    pair_of,
    random_pair,
)
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

TOLERANCE = 1e-12
_PROMPT = "canary wording of the prompt"
_NOTHING = "nothing was retrieved"


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
        for name in self.definitions:
            run = self.run([e.sample for e in examples], judge, definition=name)
            for example, row in zip(examples, run.rows, strict=True):
                expected = dict(zip(MODES, example.expected[name], strict=True))
                for mode in modes_of(name):
                    what = f"{example.id}, {mode}, definition {name}"
                    _expect_value(_mode(row, mode, what), expected[mode], what)

    def test_random_tables(self) -> None:
        """Random verdict tables, in every other one a tenth open, score as in the core."""
        seeds = range(self.tables)
        _expect_scores(self, [random_pair(seed, open_share=0.1 * (seed % 2)) for seed in seeds])

    def test_both_modes_from_one_judging(self) -> None:
        """Both modes of a sample cost one judging."""
        pairs = _pairs(5)
        _, judge = _run(self, pairs)
        assert len(judge.asked) == len(pairs), "a sample was judged more than once for its modes"

    def test_undefined_is_no_number(self) -> None:
        """A response without claims has no score: it is not 0, not NaN in a mean, and no pass."""
        sample, verdicts = random_pair(1)
        nothing = verdicts.model_copy(update={"response_claims": ()})
        self._expect_no_number((sample, nothing), "undefined")

    def test_undetermined_is_no_number(self) -> None:
        """A score that open verdicts decide is no number and no pass, and the host says so."""
        table = [[True, False], [False, True]]
        self._expect_no_number(pair_of(999, [None, None], table, table[:1]), "undetermined")

    def test_nothing_retrieved_is_no_number(self) -> None:
        """Without chunks nothing is measured: the host shows no number and no pass, and why."""
        none = random_pair(5)[0].model_copy(update={"retrieved_contexts": ()})
        verdicts = Verdicts.from_matrices([False, True], [[], []], [[]])
        self._expect_no_number((none, verdicts), _NOTHING)

    def _expect_no_number(self, pair: Pair, says: str) -> None:
        """Nor does it count in the host's mean, and the row beside it keeps its own."""
        known, expected = noisy_pair(), score(noisy_pair()[1])
        run, _ = _run(self, [pair, known])
        _expect_nothing(run.rows[0], says)
        _expect_score(run.rows[1], expected)
        for mode, mean in run.averages.items():
            _expect_value(Shown(mean), expected.value(mode), f"the host's mean beside {says}")

    def test_lower_is_better_is_said(self) -> None:
        """Whoever reads a number is told in which direction it is better."""
        run, _ = _run(self, [random_pair(3)])
        for mode in MODES:
            text = _mode(run.rows[0], mode, "a score").text.lower()
            assert "lower is better" in text, f"the direction is not said: {text!r}"

    def test_failure_stays_in_its_row(self) -> None:
        """A judge that fails on one sample costs that row its number, and no other."""
        pairs = _pairs(4)
        failing = pairs[2][0]
        run, judge = _run(self, pairs, failing=[failing])
        for number in (0, 1, 3):
            _expect_score(run.rows[number], score(pairs[number][1]))
        for said in ("refused this sample", run.names[2] if run.names else ""):
            _expect_failed(run.rows[2], said, "a failed judge")
        times = [sample.key for sample in judge.asked].count(failing.key)
        assert 1 <= times <= self.metrics, f"a judge that failed was asked {times} times"

    def test_repeats_ask_again(self) -> None:
        """A second evaluation asks the judge again: it would else measure nothing."""
        pairs = _pairs(3)
        judge = TableJudge(pairs)
        for _ in range(2):
            self.run([sample for sample, _ in pairs], judge)
        assert len(judge.asked) == 2 * len(pairs), "the second evaluation was served from memory"

    def test_concurrent_rows_do_not_mix(self) -> None:
        """Rows that are judged side by side, and finish in another order, keep their own."""
        _expect_scores(self, _pairs(12), slow=True)

    def test_two_runs_at_once(self) -> None:
        """Two runs side by side over the same samples keep their own judges' verdicts."""
        if not self.side_by_side:
            raise unittest.SkipTest("the host does one run at a time")
        samples = [sample for sample, _ in _pairs(4)]
        tables = [[all_from(sample, correct) for sample in samples] for correct in (False, True)]
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(partial(_expect_scores, self, both=threading.Barrier(2)), tables))

    def test_labels_win(self) -> None:
        """A chunk's label reaches the score, also against what the verdicts say."""
        if not self.labels:
            raise unittest.SkipTest("the host has no place for labels")
        sample, verdicts = noisy_pair()
        labels = zip(sample.retrieved_contexts, (False, True), strict=True)
        flipped = tuple(chunk.model_copy(update={"relevant": label}) for chunk, label in labels)
        labeled = sample.model_copy(update={"retrieved_contexts": flipped})
        _expect_scores(self, [(labeled, verdicts)])

    def test_texts_arrive_as_they_are(self) -> None:
        """Equal chunks, blank ones among others, white space, long texts and equal rows count."""
        cells = [[number == chunk for chunk in range(4)] for number in (3, 2, 0)]
        texts = [
            ("The same.", "The same.", "The same.", "Another."),
            ("", "A chunk.", "  indented,\n\tand broken \n", "\u00e9\u4e2d\U0001f600 | ; , end"),
            ("long " * 40_000, "[1]", "{'text': 'a'}", "null"),
        ]
        pairs: list[Pair] = []
        for number, chunks in enumerate(texts):
            sample = Sample(
                user_input=f"Question {number}?",
                response=f"Response {number}.\n\n  Its second line. " + "More. " * 9_000 * number,
                reference=f"Reference {number}.",
                retrieved_contexts=chunks,
            )
            verdicts = Verdicts.from_matrices([False, False, True], cells, cells[1:2])
            pairs.append((sample, verdicts.beside(sample)))
        _expect_scores(self, [*pairs, pairs[0]])

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
        things = [*readable, *wrong, *nothing]
        samples: list[Sample] = []
        for number, thing in enumerate(things):
            texts = {name: text.format(number) for name, text in TEXTS.items()}
            chunks = [] if thing in nothing else ["The chunk."]
            samples.append(Sample(**texts, retrieved_contexts=chunks))
        judge = TableJudge([all_from(sample, False) for sample in samples])
        run = self.retrieved(things, judge)
        if run is None:
            raise unittest.SkipTest("the host's rows hold lists of texts only")
        read = {each.response: [c.text for c in each.retrieved_contexts] for each in judge.asked}
        for thing, sample, row in zip(things, samples, run.rows, strict=True):
            found = read.get(sample.response)
            if thing in nothing:
                _expect_nothing(row, _NOTHING)
            elif thing in readable:
                assert found == ["The chunk."], f"of {thing!r} the judge is given {found!r}"
                assert row.error is None, row.error
            else:
                assert found is None, f"{thing!r} is judged"
                _expect_failed(row, "expected", f"{thing!r}")

    def test_nothing_secret_is_stored(self) -> None:
        """Neither a key nor a prompt is in anything the host stores, and errors hold neither."""
        samples = [sample for sample, _ in _pairs(3)]
        prompts = Prompts(decompose=f"{_PROMPT}, to decompose", verify=f"{_PROMPT}, to verify")
        run = self.run(samples, LLMJudge(AgreeingLLM(samples[1].response), prompts=prompts))
        _expect_score(run.rows[0], score(all_from(samples[0], True)[1]))
        assert run.stored, "the adapter's test does not say what the host stores"
        shown = f"{run.stored}\n{run.rows}"
        assert KEY not in shown, "the key is stored"
        assert _PROMPT not in shown, "the prompt is stored"

    def test_usage_is_counted_once(self) -> None:
        """Calls, tokens and cost that a reader sums up are what judging cost."""
        usage = Usage(calls=4, input_tokens=50, output_tokens=7, cost=0.25)
        run, _ = _run(self, _pairs(3), usage=usage)
        if run.usage is not None:
            total, found = usage + usage + usage, run.usage
            # Some hosts have no place for one of the two.
            cost = total.cost if found.cost is None else found.cost
            reported = replace(found, calls=found.calls or total.calls, cost=cost)
            assert reported == total, f"{found} is reported for {total}"

    def test_gate(self) -> None:
        """A row passes only if every completion of its open verdicts is within the limit."""
        pairs = [random_pair(seed, open_share=0.15) for seed in range(self.tables)]
        run, _ = _run(self, pairs)
        for (_, verdicts), row in zip(pairs, run.rows, strict=True):
            for mode in MODES:
                passed = _mode(row, mode, "a score").passed
                if self.limit is None:
                    assert passed is None, "a row passes or fails, and no limit is stated"
                    continue
                outcome = score(verdicts).gate(mode, self.limit)
                assert (passed is True) == (outcome == "pass"), f"{outcome} is shown as {passed}"


def _pairs(count: int) -> list[Pair]:
    return [random_pair(seed) for seed in range(count)]


def _run(kit: AdapterTests, pairs: Sequence[Pair], **options: Any) -> tuple[HostRun, TableJudge]:
    judge = TableJudge(pairs, **options)
    return kit.run([sample for sample, _ in pairs], judge), judge


def _expect_scores(kit: AdapterTests, pairs: Sequence[Pair], **options: Any) -> None:
    run, _ = _run(kit, pairs, **options)
    for (sample, verdicts), row in zip(pairs, run.rows, strict=True):
        _expect_score(row, score(verdicts.beside(sample)))


def _mode(row: ShownRow, mode: Mode, what: str) -> Shown:
    assert row.error is None, f"{what}: the row failed: {row.error}"
    assert mode in row.modes, f"{what}: the {mode} mode is not shown"
    return row.modes[mode]


def _expect_absent(shown: Shown, what: str) -> None:
    value = shown.value
    is_absent = value is None or (isinstance(value, float) and math.isnan(value))
    assert is_absent, f"{what}: no number is right, and {value!r} is shown"
    assert not shown.passed, f"{what} passes"


def _expect_nothing(row: ShownRow, says: str) -> None:
    for mode in MODES:
        shown = _mode(row, mode, says)
        _expect_absent(shown, says)
        assert says in shown.text.lower(), f"nobody is told why ({says}): {shown.text!r}"


def _expect_failed(row: ShownRow, says: str, what: str) -> None:
    for shown in row.modes.values():
        _expect_absent(shown, what)
    texts = [row.error or "", *(shown.text for shown in row.modes.values())]
    is_undefined = any("undefined" in text.lower() for text in texts)
    assert not is_undefined, f"{what} is called undefined"
    assert any(says in text for text in texts), f"{what} is no error that says {says!r}: {texts}"


def _expect_score(row: ShownRow, expected: Score) -> None:
    for mode in modes_of(expected.definition):
        _expect_value(_mode(row, mode, "a score"), expected.value(mode), f"the {mode} mode")


def _expect_value(shown: Shown, expected: float | None, what: str) -> None:
    value: Any = shown.value
    if expected is None:
        _expect_absent(Shown(value), what)
    else:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        close = is_number and abs(value - expected) <= TOLERANCE
        assert close, f"{what}: {expected} is right, and {value!r} is shown"
