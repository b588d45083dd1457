"""Noise sensitivity in ragas' idiom: for ``evaluate()`` and for the collections API."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables.config import var_child_runnable_config
from ragas.callbacks import RagasTracer
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics.base import MetricOutputType, MetricType, MetricWithLLM, SingleTurnMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult
from ragas.run_config import RunConfig

from noisesense.errors import InputError, error_context
from noisesense.judging.protocol import Judge
from noisesense.scoring.definitions import DefinitionName, Mode, check_mode
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.evaluate.evaluator import Evaluator, Settings, suffix
from noisesense_adapters.evaluate.judges import given_judge, judge_over
from noisesense_adapters.ragas.llm import bridge_over
from noisesense_adapters.ragas.result import ScoredFloat
from noisesense_adapters.ragas.sample import FIELDS, OPTIONAL, read_row, row_place, row_trace

# The callbacks of the row that is scored.
_row_group: ContextVar[Any] = ContextVar("noisesense_ragas_row_group", default=None)


# ragas' own bases disagree on the type of `allowed_values`.
class NoiseSensitivity(BaseMetric, MetricWithLLM, SingleTurnMetric):  # type: ignore[misc]
    """The share of claims that are wrong because of a retrieved chunk. **Lower is better.**

    ``mode="relevant"`` counts the response's claims that are incorrect and that a relevant chunk
    entails, ``mode="irrelevant"`` those that only irrelevant chunks entail: from 0 to 1. A chunk
    is relevant if it entails a claim of the reference, or if a row's ``rubrics`` say so (see
    `noisesense_adapters.ragas.rubrics`). ragas has two metrics of this name; this class takes the
    place of both.

    ``evaluate(dataset, metrics=[NoiseSensitivity(…)])`` gives a column
    ``noise_sensitivity(mode=relevant)``; any definition but "ragas" is part of that name,
    ``noise_sensitivity_paper(mode=relevant)``. Each number is a `ScoredFloat`, which carries the
    whole score and is NaN where there is no number:

    - *undefined*: there is nothing to measure (no claims in the response, nothing retrieved, no
      claims in the reference where a chunk has no label).
    - *undetermined*: the number depends on verdicts that the judge left open.

    ragas' own mean leaves such rows out: `noisesense_adapters.ragas.summarize` gives the range of
    it. A row that failed is a plain NaN; ragas logs why.
    ``await metric.ascore(…)`` and ``metric.score(…)`` give a `MetricResult`.

    Two modes in one ``evaluate()`` have a sample judged once. Another ``evaluate()`` judges again,
    and so does each further ``ascore()`` of a metric. The order of ragas' collections,
    ``NoiseSensitivity(llm, name, mode)``, is understood, too.

    Args:
        mode: ``"relevant"`` or ``"irrelevant"``.
        llm: the model that judges. Without ``llm`` and ``judge``, ``evaluate()`` sets its own.
        judge: where the verdicts come from instead. No model and no key is then needed.
        definition: ``"ragas"``, as above, or another: see `noisesense.definitions`.
        empty: the score where there is nothing to measure, see `noisesense.score`.
        undetermined: what open verdicts count as: ``"none"`` (the score is NaN), ``"low"`` (none
            of them is noise) or ``"high"`` (all are).
        name: another name of the column, to which no definition is added; ragas adds the mode.
        store: a `VerdictStore` that keeps the replies of ``llm``.
        judge_options: further arguments of `noisesense.LLMJudge`.

    Raises:
        InputError: an unknown mode, definition, empty, undetermined or judge option; both an
            ``llm`` and a ``judge``.
    """

    def __init__(
        self,
        mode_or_llm: Mode | Any = None,
        /,
        llm: Any = None,
        judge: Judge | Any = None,
        *,
        mode: Mode | None = None,
        definition: DefinitionName = "ragas",
        empty: Empty = "undefined",
        undetermined: Undetermined = "none",
        name: str = "noise_sensitivity",
        store: Any = None,
        judge_options: Mapping[str, Any] | None = None,
    ) -> None:
        first = mode_or_llm
        if first is not None and not isinstance(first, str):
            # The order of ragas' collections: llm, name, mode.
            if isinstance(llm, str):
                name = llm
                llm = None
            if isinstance(judge, str):
                mode = _one("mode", mode, judge)
                judge = None
            llm = _one("llm", first, llm)
            first = None
        judge = given_judge(judge, judge_options=judge_options, llm=llm, store=store)
        self.mode: Mode = check_mode(_one("mode", first, mode) or "relevant")
        self._settings = Settings.checked(definition, empty, undetermined)
        self.judge = judge
        self.store = store
        self.judge_options = dict(judge_options or {})
        self._run_options: dict[str, Any] = {}
        # ragas sets its own model where there is none.
        self.llm: Any = llm if judge is None else judge
        self.output_type = MetricOutputType.CONTINUOUS
        optional = [f"{field}:optional" for field in OPTIONAL]
        self._required_columns = {MetricType.SINGLE_TURN: {*FIELDS, *optional}}
        if name == "noise_sensitivity":
            name += suffix(definition)
        BaseMetric.__init__(self, name)  # pyright: ignore[reportUnknownMemberType]  # its **kwargs

    def _validate_llm(self) -> None:
        """Raise `InputError` unless `bridge_over` takes the model, if there is one.

        ragas' collections take only some models. Here those of ``evaluate()`` are as good.
        """
        if self.llm is not None and self.judge is None:
            bridge_over(self.llm)

    def init(self, run_config: RunConfig) -> None:
        """Called by ragas at the start of a run: its ``max_workers`` limits the calls at once.

        A ``max_concurrency`` in ``judge_options`` wins. A judge needs no configuration. Raises
        `ValueError` without a judge and a model.
        """
        if self.judge is None:
            MetricWithLLM.init(self, run_config)
            workers = run_config.max_workers
            self._run_options = {"max_concurrency": workers} if workers > 0 else {}

    async def ascore(  # type: ignore[override]  # names what a row holds
        self,
        user_input: str = "",
        response: str | None = None,
        reference: str | None = None,
        retrieved_contexts: Sequence[Any] | None = None,
        rubrics: Mapping[str, str] | None = None,
        retrieved_context_ids: Sequence[str | int] | None = None,
    ) -> MetricResult:
        """The score of one sample, with its reason and, in ``traces["output"]``, the whole of it.

        The result's value is a `ScoredFloat`: NaN where there is no number.

        Args:
            user_input: the question.
            response: what the system answered.
            reference: the correct answer.
            retrieved_contexts: strings, or `noisesense.Chunk` with a label.
            rubrics: see `noisesense_adapters.ragas.rubrics`.
            retrieved_context_ids: the names of the contexts' documents.

        Raises:
            InputError: a field is missing or wrong, or there is neither a judge nor a model.
            NoiseSenseError: as the judge raises.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
        """
        texts = (user_input, response, reference, retrieved_contexts)
        fields = (*FIELDS, *OPTIONAL)
        values = (*texts, rubrics, retrieved_context_ids)
        row: dict[str, Any] = dict(zip(fields, values, strict=True))
        value = await self._scored(row)
        number = None if math.isnan(value) else float(value)
        output = {"value": number, **value.score.to_dict()}
        return MetricResult(value, value.reason, {"input": row, "output": output})

    async def single_turn_ascore(
        self, sample: SingleTurnSample, callbacks: Any = None, timeout: float | None = None
    ) -> float:
        """As ragas' own, for ``evaluate()``: see the class. Raises as `ascore`."""
        token = _row_group.set(callbacks)
        heard = var_child_runnable_config.set({"callbacks": _listeners(callbacks)})
        try:
            return await super().single_turn_ascore(sample, callbacks, timeout)
        finally:
            var_child_runnable_config.reset(heard)
            _row_group.reset(token)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        row = {name: getattr(sample, name) for name in (*FIELDS, *OPTIONAL)}
        return await self._scored(row)

    async def _scored(self, row: Mapping[str, Any]) -> ScoredFloat:
        """Read the row, have it judged and scored, and give ragas the number."""
        # ragas gives all metrics of a row one object, new in each run: those share a judging.
        group = _row_group.get()
        run = group if row_trace(group) else None  # outside ``evaluate()`` nothing is shared
        metric = ("ragas", self.name, self.mode)
        with error_context(row_place(row, run)):
            evaluator = Evaluator(self._settings, self._judge, metric)
            evaluated = await evaluator.evaluate(read_row(row), run)
        return ScoredFloat.of(evaluated, self.mode)

    def _judge(self) -> Judge:
        if self.judge is not None:
            return self.judge
        options = {**self._run_options, **self.judge_options}
        bridge = partial(bridge_over, self.llm)
        return judge_over(self.llm, bridge, "ragas", store=self.store, options=options)


def _listeners(callbacks: Any) -> Any:
    """Return the row's callbacks without ragas' tracer, for LangChain's models to call.

    The tracer hears of chains alone, and LangChain would tell it of each call's start and end in
    a thread.
    """
    if not isinstance(callbacks, BaseCallbackManager):
        return callbacks
    heard: Any = cast("Any", callbacks).copy()
    for handler in callbacks.handlers:
        if type(handler) is RagasTracer:
            heard.remove_handler(handler)
    return heard


def _one(name: str, *arguments: Any) -> Any:
    """Return the one of several arguments that is given, or None. Raises `InputError` for two."""
    values = [value for value in arguments if value is not None]
    if len(values) > 1:
        raise InputError(f"one {name}", str(len(values)), where=name)
    return values[0] if values else None
