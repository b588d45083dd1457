"""The tests of adapters fail on some that are broken on purpose, each for its own reason."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from noisesense import (
    Chunk,
    DefinitionName,
    Judge,
    Judgement,
    NoiseSenseError,
    Sample,
    Score,
    score,
)
from noisesense.judging.sharing import ask_judge
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.reading.chunks import chunks_of
from noisesense_adapters.reading.texts import text_of
from support.adapter_tests import AdapterTests, HostRun, Shown, ShownRow
from support.table_judge import TEXTS


class Sound(AdapterTests):
    """A host in a few lines, whose adapter does everything right. Its children break one thing."""

    limit = 0.25

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        judgements = asyncio.run(self.judge_all(samples, judge))
        rows = [self.row(each, definition) for each in judgements]
        usage = [each.usage for each in judgements if isinstance(each, Judgement)]
        return HostRun(
            rows,
            stored=self.stored(rows, judge),
            averages=self.averages(rows),
            usage=self.total(usage),
        )

    async def judge_all(self, samples: Sequence[Sample], judge: Judge) -> list[Any]:
        return list(await asyncio.gather(*(self.judge_one(sample, judge) for sample in samples)))

    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        reference = self.reference(sample.reference)
        read = sample.model_copy(update={"reference": reference})
        try:
            return await ask_judge(judge, read)
        except NoiseSenseError as error:
            return error

    def reference(self, text: str) -> str:
        read: str = text_of(text, "reference")
        return read

    def row(self, judged: Any, definition: DefinitionName) -> ShownRow:
        if isinstance(judged, NoiseSenseError):
            return ShownRow(error=str(judged))
        result = score(judged.verdicts, definition=definition)
        return ShownRow({mode: self.shown(result, mode) for mode in MODES})

    def shown(self, result: Score, mode: Mode) -> Shown:
        text = f"{result.status(mode)}: {result.reason(mode)} Lower is better."
        return Shown(result.value(mode), text, result.gate(mode, 0.25) == "pass")

    def stored(self, rows: Sequence[ShownRow], judge: Judge) -> str:
        return repr(rows)

    def averages(self, rows: Sequence[ShownRow]) -> dict[Mode, object]:
        averages: dict[Mode, object] = {}
        for mode in MODES:
            shown: list[Any] = [row.modes[mode].value for row in rows if row.error is None]
            values = [value for value in shown if value is not None]
            if values:
                averages[mode] = math.fsum(values) / len(values)
        return averages

    def total(self, usages: Sequence[Any]) -> Any:
        return sum(usages[1:], usages[0]) if usages else None

    def retrieved(self, things: Sequence[object], judge: Judge) -> HostRun:
        rows = [self.read(number, thing, judge) for number, thing in enumerate(things)]
        return HostRun(rows)

    def read(self, number: int, thing: object, judge: Judge) -> ShownRow:
        texts: dict[str, Any] = {name: text.format(number) for name, text in TEXTS.items()}
        try:
            sample = Sample(**texts, retrieved_contexts=self.chunks(thing))
        except NoiseSenseError as error:
            return ShownRow(error=str(error))
        return self.run([sample], judge).rows[0]

    def chunks(self, thing: object) -> list[Any]:
        return chunks_of(thing)


class TestSound(Sound):
    """A sound adapter passes all of it."""


class ZeroForUndefined(Sound):
    def shown(self, result: Score, mode: Mode) -> Shown:
        shown = super().shown(result, mode)
        is_undefined = result.status(mode) == "undefined"
        return replace(shown, value=0.0) if is_undefined else shown


class LowEndForUndetermined(Sound):
    def shown(self, result: Score, mode: Mode) -> Shown:
        shown = super().shown(result, mode)
        bounds = result.bounds(mode)
        return replace(shown, value=bounds[0]) if bounds else shown


class NanIntoTheMean(Sound):
    def averages(self, rows: Sequence[ShownRow]) -> dict[Mode, object]:
        values = [row.modes["relevant"].value for row in rows if row.error is None]
        numbers: list[Any] = [math.nan if value is None else value for value in values]
        return {"relevant": sum(numbers) / len(numbers)}


class UndeterminedPasses(Sound):
    def shown(self, result: Score, mode: Mode) -> Shown:
        shown = super().shown(result, mode)
        return replace(shown, passed=True) if result.status(mode) == "undetermined" else shown


class GateByTheLowEnd(Sound):
    def shown(self, result: Score, mode: Mode) -> Shown:
        bounds = result.bounds(mode)
        decided = result.status(mode) == "determined"
        passed = bool(bounds and bounds[0] <= 0.25 and (decided or bounds[1] < 1))
        return replace(super().shown(result, mode), passed=passed)


class CrossTalk(Sound):
    last: Any = None

    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        self.last = sample
        await asyncio.sleep(0)
        return await super().judge_one(self.last, judge)


class JudgedOncePerMode(Sound):
    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        await super().judge_one(sample, judge)
        return await super().judge_one(sample, judge)


class ServedFromMemory(Sound):
    memory: dict[str, Any] = {}  # noqa: RUF012

    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        key = f"{id(judge)} {sample.key}"
        if key not in self.memory:
            self.memory[key] = await super().judge_one(sample, judge)
        return self.memory[key]


class FailureAsZero(Sound):
    def row(self, judged: Any, definition: DefinitionName) -> ShownRow:
        row = super().row(judged, definition)
        zero = Shown(0.0, f"0. Lower is better. {row.error}", True)
        return row if row.error is None else ShownRow(dict.fromkeys(MODES, zero))


class KeyInMetadata(Sound):
    def stored(self, rows: Sequence[ShownRow], judge: Judge) -> str:
        model = getattr(judge, "llm", None) or judge._calls.llm
        return f"{rows} {vars(model) if model else ''}"


class ClientsErrorInText(Sound):
    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        try:
            return Judgement((await judge.judge(sample)).with_sample(sample))
        except Exception as error:  # noqa: BLE001 - the fault under test
            return NoiseSenseError(str(error))


class DirectionUnsaid(Sound):
    def shown(self, result: Score, mode: Mode) -> Shown:
        shown = super().shown(result, mode)
        return replace(shown, text=shown.text.replace("ower is better", "..."))


class UsagePerMode(Sound):
    def total(self, usages: Sequence[Any]) -> Any:
        return super().total([*usages, *usages])


class ModesSwapped(Sound):
    def row(self, judged: Any, definition: DefinitionName) -> ShownRow:
        row = super().row(judged, definition)
        if row.error is not None:
            return row
        return ShownRow({"relevant": row.modes["irrelevant"], "irrelevant": row.modes["relevant"]})


class Changed(Sound):
    """Hands the judge other chunks than it was given; its children say how."""

    def changed(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        raise NotImplementedError

    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        chunks = tuple(self.changed(sample.retrieved_contexts))
        changed = sample.model_copy(update={"retrieved_contexts": chunks})
        return await super().judge_one(changed, judge)


def changing(change: Callable[[Sequence[Chunk]], Sequence[Chunk]]) -> type[Changed]:
    return type("Changing", (Changed,), {"changed": lambda _, chunks: change(chunks)})


LabelsDropped = changing(lambda chunks: [Chunk(text=chunk.text) for chunk in chunks])
DuplicatesDropped = changing(lambda chunks: [*{chunk.text: chunk for chunk in chunks}.values()])


class AsksTwiceAfterFailure(Sound):
    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        judged = await super().judge_one(sample, judge)
        if isinstance(judged, NoiseSenseError):
            return await super().judge_one(sample, judge)
        return judged


class FailureAsUndefined(Sound):
    def row(self, judged: Any, definition: DefinitionName) -> ShownRow:
        row = super().row(judged, definition)
        shown = Shown(None, f"Undefined: {row.error} Lower is better.")
        return row if row.error is None else ShownRow(dict.fromkeys(MODES, shown))


class NothingRetrievedAsZero(Sound):
    def row(self, judged: Any, definition: DefinitionName) -> ShownRow:
        row = super().row(judged, definition)
        if isinstance(judged, Judgement) and not judged.verdicts.chunks:
            return ShownRow(dict.fromkeys(MODES, Shown(0.0, "nothing was retrieved", True)))
        return row


class LatestJudgeForAll(Sound):
    judge: Any = None

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        type(self).judge = judge
        return super().run(samples, judge, definition=definition)

    async def judge_one(self, sample: Sample, judge: Judge) -> Judgement | NoiseSenseError:
        return await super().judge_one(sample, type(self).judge)

    async def judge_all(self, samples: Sequence[Sample], judge: Judge) -> list[Any]:
        return [await self.judge_one(sample, judge) for sample in samples]


class MetadataOverText(Sound):
    def chunks(self, thing: object) -> list[Any]:
        first: Any = thing[0] if isinstance(thing, list) and thing else None
        title = first.get("metadata", {}).get("text") if isinstance(first, dict) else None
        return [title] if title else chunks_of(thing)


class ReferenceAsItIsWritten(Sound):
    def reference(self, text: str) -> str:
        return text


class BrokenRetrieverAsNothing(Sound):
    def chunks(self, thing: object) -> list[Any]:
        try:
            return chunks_of(thing)
        except NoiseSenseError:
            return []


@pytest.mark.parametrize(
    ("adapter", "test", "reason"),
    [
        (ZeroForUndefined, "test_undefined_is_no_number", "undefined: no number is right"),
        (LowEndForUndetermined, "test_undetermined_is_no_number", "no number is right"),
        (NanIntoTheMean, "test_undefined_is_no_number", "the host's mean"),
        (UndeterminedPasses, "test_undetermined_is_no_number", "undetermined passes"),
        (GateByTheLowEnd, "test_gate", "is shown as True"),
        (CrossTalk, "test_concurrent_rows_do_not_mix", "is shown"),
        (JudgedOncePerMode, "test_both_modes_from_one_judging", "judged more than once"),
        (ServedFromMemory, "test_repeats_ask_again", "served from memory"),
        (FailureAsZero, "test_failure_stays_in_its_row", "a failed judge: no number is right"),
        (KeyInMetadata, "test_nothing_secret_is_stored", "the key is stored"),
        (ClientsErrorInText, "test_nothing_secret_is_stored", "the key is stored"),
        (DirectionUnsaid, "test_lower_is_better_is_said", "the direction is not said"),
        (UsagePerMode, "test_usage_is_counted_once", "is reported for"),
        (ModesSwapped, "test_reference_examples", "is right"),
        (ModesSwapped, "test_random_tables", "is right"),
        (LabelsDropped, "test_labels_win", "is right"),
        (DuplicatesDropped, "test_texts_arrive_as_they_are", "did not arrive"),
        (AsksTwiceAfterFailure, "test_failure_stays_in_its_row", "asked 2 times"),
        (FailureAsUndefined, "test_failure_stays_in_its_row", "is called undefined"),
        (NothingRetrievedAsZero, "test_nothing_retrieved_is_no_number", "retrieved: no number"),
        (NothingRetrievedAsZero, "test_retrieved_documents", "retrieved: no number"),
        (LatestJudgeForAll, "test_two_runs_at_once", "is right"),
        (MetadataOverText, "test_retrieved_documents", "Its title"),
        (ReferenceAsItIsWritten, "test_a_reference_of_several_answers", "did not arrive"),
        (BrokenRetrieverAsNothing, "test_retrieved_documents", "is no error|is judged"),
    ],
)
def test_a_broken_adapter_fails(adapter: type[AdapterTests], test: str, reason: str) -> None:
    with pytest.raises((AssertionError, NoiseSenseError), match=reason):
        getattr(adapter(), test)()
