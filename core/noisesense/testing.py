"""A conformance kit: what an adapter must satisfy, as tests that run against any host.

A third party writes one class, and pytest collects the tests in it::

    from noisesense.testing import AdapterTests, HostRun, Shown, ShownRow

    class TestMyHost(AdapterTests):
        def run(self, samples, judge, *, definition="ragas"):
            ...  # evaluate the samples in the host, and say what it shows

Each test says in its docstring what it demands. No key, no network and no other package is
needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import random
import re
import threading
import unittest
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from noisesense.errors import JudgeError, ReplyError
from noisesense.fixtures import reference_examples
from noisesense.judging.llm import LLMJudge
from noisesense.judging.prompts import Prompts
from noisesense.judging.protocol import Judge, Judgement, StructuredLLM, Usage
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.scoring.scoring import Score, score
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

S = TypeVar("S", bound=BaseModel)
Pair = tuple[Sample, Verdicts]

TOLERANCE = 1e-12
_KEY = "sk-canary-5f1d0c"
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


class TableJudge:
    """A judge that knows the verdicts, counts how often it is asked, and can fail or be slow.

    Args:
        pairs: samples with their verdicts.
        usage: what each judging costs.
        failing: samples on which it fails.
        slow: whether later samples are answered first.
    """

    name = "table"

    def __init__(
        self,
        pairs: Sequence[Pair],
        *,
        usage: Usage = Usage(),  # noqa: B008 - it is frozen
        failing: Sequence[Sample] = (),
        slow: bool = False,
    ) -> None:
        self._verdicts = {sample.key: verdicts for sample, verdicts in pairs}
        self._waits = {sample.key: len(pairs) - n for n, (sample, _) in enumerate(pairs)}
        self._failing = {sample.key for sample in failing}
        self._usage, self._slow = usage, slow
        self.asked: list[str] = []

    async def judge(self, sample: Sample) -> Verdicts:
        """The verdicts on the sample."""
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        """The verdicts, and what they cost. Raises `JudgeError` where it is told to fail."""
        self.asked.append(sample.key)
        if self._slow:
            for _ in range(self._waits[sample.key]):
                await asyncio.sleep(0.001)
        if sample.key in self._failing:
            raise JudgeError("the judge's endpoint refused this sample")
        verdicts = self._verdicts[sample.key].beside(sample)
        return Judgement(verdicts, self._usage)


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
        self._expect_no_number(_without_claims(random_pair(1)), "undefined")

    def test_undetermined_is_no_number(self) -> None:
        """A score that open verdicts decide is no number and no pass, and the host says so."""
        self._expect_no_number(_undetermined(), "undetermined")

    def _expect_no_number(self, pair: Pair, status: str) -> None:
        known = _noisy_pair()
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
        tables = [[_all_from(sample, correct) for sample in samples] for correct in (False, True)]
        judges = [_MeetingJudge(table, both) for table in tables]
        with ThreadPoolExecutor(2) as threads:
            runs = list(threads.map(partial(self.run, samples), judges))
        for run, table in zip(runs, tables, strict=True):
            for (_, verdicts), row in zip(table, run.rows, strict=True):
                _expect_score(row, score(verdicts))

    def test_labels_win(self) -> None:
        """A chunk's label reaches the score, also against what the verdicts say."""
        if not self.labels:
            raise unittest.SkipTest("the host has no place for labels")
        sample, verdicts = _noisy_pair()
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
        _, verdicts = _with_texts(60, verdicts, 4)
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
        judge = _TextJudge(pairs)
        run = self.run([sample for sample, _ in pairs], judge)
        for (_, expected), row in zip(pairs, run.rows, strict=True):
            _expect_score(row, score(expected))

    def test_nothing_retrieved_is_no_number(self) -> None:
        """Without chunks nothing is measured: the host shows no number and no pass, and why."""
        sample, _ = random_pair(5)
        none = sample.model_copy(update={"retrieved_contexts": ()})
        verdicts = Verdicts.from_matrices([False, True], [[], []], [[]])
        known = _noisy_pair()
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
        judge = _ReadingJudge()
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
        model = _ScriptedLLM(pairs, failing=pairs[1][0].response)
        prompts = Prompts(decompose=f"{_PROMPT}, to decompose", verify=f"{_PROMPT}, to verify")
        run = self.run([sample for sample, _ in pairs], LLMJudge(model, prompts=prompts))
        _expect_score(run.rows[0], score(pairs[0][1]))
        assert run.stored, "the adapter's test does not say what the host stores"
        shown = f"{run.stored}\n{run.rows}"
        assert _KEY not in shown, "the key is stored"
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


TEXTS = {
    "user_input": "Question {}?",
    "response": "Response {}.",
    "reference": "Reference {}.",
}
"""The texts beside what was retrieved, in `AdapterTests.retrieved`; they take the row's number."""


def _always(text: str) -> Callable[[str], str]:
    return lambda _: text


class BridgeTests:
    """Tests of a `StructuredLLM` over a host's model object; `bridge` makes one."""

    def bridge(self, reply: Callable[[str], str]) -> StructuredLLM:
        """The bridge over a model of the host's that replies ``reply(prompt)`` as its text."""
        raise NotImplementedError

    def _generate(self, reply: Callable[[str], str]) -> tuple[_Reply, Usage]:
        return asyncio.run(self.bridge(reply).generate(_QUESTION, _Reply))

    def test_a_reply_is_read(self) -> None:
        """The reply comes as the object asked for, the prompt goes whole, the call is counted."""
        prompts: list[str] = []

        def reply(prompt: str) -> str:
            prompts.append(prompt)
            return '{"words": ["one", "two"]}'

        read, usage = self._generate(reply)
        assert read == _Reply(words=["one", "two"]), f"read as {read!r}"
        assert usage.calls == len(prompts) == 1, f"{usage.calls} of {len(prompts)} calls counted"
        assert _QUESTION in prompts[0], "the prompt did not arrive whole"

    def test_what_is_no_answer_is_an_error(self) -> None:
        """Prose, a reply cut off, another form, two answers: a `ReplyError`, never a value."""
        for text in (
            "",
            "I cannot say.",
            '{"words": ["one", "tw',
            '{"other": 1}',
            '{"words": ["one"]} or {"words": ["two"]}',
        ):
            try:
                read, _ = self._generate(_always(text))
            except ReplyError:
                continue
            raise AssertionError(f"{text!r} is read as {read!r}")

    def test_a_failing_model_is_a_judge_error_without_its_key(self) -> None:
        """What the client raises becomes a `JudgeError`; neither key nor prompt is in it."""

        def fail(prompt: str) -> str:
            raise RuntimeError(f"Authorization: Bearer {_KEY}; {prompt}")

        message = ""
        try:
            self._generate(fail)
        except JudgeError as error:
            message = str(error)
        assert message, "a model that fails gives a reply"
        assert _KEY not in message, "the key is in the error"
        assert _QUESTION not in message, "the prompt is in the error"


class _Reply(BaseModel):
    words: list[str]


_QUESTION = 'Which words?\n\tReply with a list: "one", \u00e9.'


class _MeetingJudge(TableJudge):
    """Waits at its first question until the other run has come as far."""

    def __init__(self, pairs: Sequence[Pair], both: threading.Barrier) -> None:
        super().__init__(pairs)
        self._both = both

    async def judge_detailed(self, sample: Sample) -> Judgement:
        if not self.asked:
            with contextlib.suppress(threading.BrokenBarrierError):
                await asyncio.to_thread(self._both.wait, 5)
        return await super().judge_detailed(sample)


class _TextJudge(TableJudge):
    """Fails on a text that nobody gave to the host."""

    async def judge_detailed(self, sample: Sample) -> Judgement:
        if sample.key not in self._verdicts:
            raise JudgeError("a text did not arrive as it was")
        return await super().judge_detailed(sample)


class _ReadingJudge:
    """Keeps the chunks it is given, by the response; one claim of each is noise."""

    name = "reading"

    def __init__(self) -> None:
        self.read: dict[str, list[str]] = {}

    async def judge(self, sample: Sample) -> Verdicts:
        chunks = [chunk.text for chunk in sample.retrieved_contexts]
        self.read[sample.response] = chunks
        return Verdicts.from_matrices([False], [[True for _ in chunks]]).beside(sample)


def random_pair(seed: int, *, open_share: float = 0.0) -> Pair:
    """A sample with a random verdict table; its texts occur in no other seed's."""
    rng = random.Random(seed)
    claims, references, chunks = rng.randint(1, 6), rng.randint(1, 3), rng.randint(1, 5)
    odds = [rng.random() for _ in range(3)]

    def cell(odds: float) -> bool | None:
        value = rng.random() < odds
        return None if rng.random() < open_share else value

    verdicts = Verdicts.from_matrices(
        [cell(odds[0]) for _ in range(claims)],
        [[cell(odds[1]) for _ in range(chunks)] for _ in range(claims)],
        [[cell(odds[2]) for _ in range(chunks)] for _ in range(references)],
    )
    return _with_texts(seed, verdicts, chunks)


def _with_texts(seed: int, verdicts: Verdicts, chunks: int) -> Pair:
    sides: dict[str, list[Any]] = {}
    for side in ("response_claims", "reference_claims"):
        sides[side] = [
            claim.model_copy(update={"text": f"Sample {seed} states {side} {number}."})
            for number, claim in enumerate(getattr(verdicts, side))
        ]
    sample = Sample(
        user_input=f"Question {seed}?",
        response=f"Response {seed}.",
        reference=f"Reference {seed}.",
        retrieved_contexts=[f"Chunk {number} of sample {seed}." for number in range(chunks)],
    )
    return sample, verdicts.model_copy(update=sides).beside(sample)


def _noisy_pair() -> Pair:
    """Relevant 1/4, irrelevant 2/4: other scores than 0 in both modes."""
    table = [[True, False], [False, True], [False, True], [True, False]]
    verdicts = Verdicts.from_matrices([False, False, False, True], table, [[True, False]])
    return _with_texts(998, verdicts, 2)


def _all_from(sample: Sample, correct: bool) -> Pair:
    cells = [True for _ in sample.retrieved_contexts]
    return sample, Verdicts.from_matrices([correct], [cells], [cells]).beside(sample)


def _without_claims(pair: Pair) -> Pair:
    sample, verdicts = pair
    return sample, verdicts.model_copy(update={"response_claims": ()}).beside(sample)


def _undetermined() -> Pair:
    """One claim of which nobody knows whether it is correct; a relevant chunk, and another."""
    verdicts = Verdicts.from_matrices(
        [None, None], [[True, False], [False, True]], [[True, False]]
    )
    return _with_texts(999, verdicts, 2)


class _ScriptedLLM:
    """A model that answers from the tables, holds a key, and quotes it where it fails."""

    def __init__(self, pairs: Sequence[Pair], *, failing: str) -> None:
        self.name, self.api_key, self._failing = "scripted", _KEY, failing
        self._claims: dict[str, list[str]] = {}
        self._entailed: set[tuple[str, str]] = set()
        for sample, verdicts in pairs:
            texts = [chunk.text for chunk in sample.retrieved_contexts]
            self._claims[sample.response] = [c.text for c in verdicts.response_claims]
            self._claims[sample.reference] = [c.text for c in verdicts.reference_claims]
            self._entailed |= {
                (sample.reference, claim.text)
                for claim in verdicts.response_claims
                if claim.correct
            }
            for side in (verdicts.response_claims, verdicts.reference_claims):
                self._entailed |= {(texts[j], c.text) for c in side for j in c.entailed_by}

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        said: dict[str, str] = dict(re.findall(r'(?m)^(Text|\d+)[:.] (".*")$', prompt))
        text, *statements = (json.loads(quoted) for quoted in said.values())
        if text == self._failing:
            raise RuntimeError(f"Authorization: Bearer {_KEY}; the prompt was {prompt}")
        reply: dict[str, Any] = {"claims": self._claims.get(text)}
        if statements:
            words = ("yes" if (text, each) in self._entailed else "no" for each in statements)
            reply = {str(number): word for number, word in enumerate(words, start=1)}
        return schema.model_validate(reply), Usage(calls=1)


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
