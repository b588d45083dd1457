"""Noise sensitivity in ragas' idiom: for ``evaluate()`` and for the collections API."""

from __future__ import annotations

import copy
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics.base import MetricOutputType, MetricType, MetricWithLLM, SingleTurnMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult
from ragas.prompt.mixin import PromptMixin
from ragas.run_config import RunConfig

from noisesense.errors import InputError, UndeterminedScoreError
from noisesense.judging.protocol import Judge, Judgement
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, check_mode
from noisesense.scoring.scoring import Empty, Undetermined, check_empty, check_undetermined, score
from noisesense_adapters.ragas.llm import RagasLLM, check_llm
from noisesense_adapters.ragas.result import ScoredFloat
from noisesense_adapters.ragas.run import (
    Run,
    callbacks_in,
    errors_are_raised,
    raising_as_under,
    run_of,
    trace_report,
    warn_of_namesake,
)
from noisesense_adapters.ragas.sample import FIELDS, read_row, row_place
from noisesense_adapters.toolbox.judges import check_judge, judge_over

__all__ = ["NoiseSensitivity"]


class NoiseSensitivity(BaseMetric, SingleTurnMetric, PromptMixin):  # type: ignore[misc]
    """Same as ragas' own two metrics of this name, but from any verdicts, and for fewer calls.

    The share of the response's claims that are incorrect and that a relevant chunk entails
    (``mode="relevant"``), or irrelevant chunks only (``mode="irrelevant"``): from 0 to 1, lower
    is better. A chunk is relevant if it entails a claim of the reference; where you know better,
    a row says so in its ``rubrics`` (see `noisesense_adapters.ragas.rubrics`).

    ``evaluate(dataset, metrics=[NoiseSensitivity(…)])`` gives a column
    ``noise_sensitivity(mode=relevant)`` of floats. Each is a `ScoredFloat` that carries the whole
    score, and is NaN where there is no number:

    - *undefined*: there is nothing to measure, since the response makes no claims, or since the
      reference makes none and a chunk has no label (there ragas' own metric has no number either).
    - *undetermined*: the judge left open verdicts on which the number depends. At its end the run
      logs one line with the range in which its mean lies; `noisesense_adapters.ragas.summarize`
      gives it with an interval. ``evaluate(raise_exceptions=True)`` raises instead.

    A row that failed is a plain NaN; ragas logs why, and ``raise_exceptions=True`` raises it.
    ``await metric.ascore(…)`` and ``metric.score(…)`` give a `MetricResult` with value, reason
    and traces.

    Both modes over one sample have it judged once in an ``evaluate()``. Another ``evaluate()``
    judges again, and so does each further ``ascore()`` of a metric.

    Args:
        mode: ``"relevant"`` or ``"irrelevant"``.
        llm: the model that judges. ``evaluate()`` gives its own where there is neither an ``llm``
            nor a ``judge``.
        judge: where the verdicts come from instead; then no model and no key is asked for.
        definition: ``"ragas"``, as above, or another: see `noisesense.definitions`.
        empty: what a response without claims gives, see `noisesense.score`.
        undetermined: what open verdicts give: ``"none"`` (NaN), ``"low"`` (none of them is noise)
            or ``"high"`` (all are).
        share: may another metric of the same run have what is judged for this one, and this one
            what is judged for another? False asks for itself alone.
        name: the column's name; the mode is added by ragas. ragas keeps one column a name: give
            one to each of several definitions in a run.
        store: a `VerdictStore` that keeps what ``llm`` said.
        judge_options: further arguments of `noisesense.LLMJudge`.
        focus: deprecated name of ``mode``.

    Raises:
        InputError: an unknown mode, definition, empty, undetermined or judge option; both an
            ``llm`` and a ``judge``.
    """

    if not TYPE_CHECKING:  # the arguments are those of __init__

        def __new__(cls, mode="relevant", llm=None, judge=None, **_):
            # evaluate() sets the llm of each MetricWithLLM, and without one wants a key for
            # OpenAI: with a judge the metric must not be one.
            kind = _WithLLM if cls is NoiseSensitivity and judge is None else cls
            return super().__new__(kind)

    def __init__(
        self,
        mode: Mode = "relevant",
        llm: Any = None,
        judge: Judge | None = None,
        *,
        definition: DefinitionName = "ragas",
        empty: Empty = "undefined",
        undetermined: Undetermined = "none",
        share: bool = True,
        name: str = "noise_sensitivity",
        store: Any = None,
        judge_options: Mapping[str, Any] | None = None,
        focus: Mode | None = None,
    ) -> None:
        self.mode = _mode(mode, focus)
        self.llm = llm
        self.judge = judge
        self.definition: DefinitionName = check_definition(definition).name
        self.empty: Empty = check_empty(empty)
        self.undetermined: Undetermined = check_undetermined(undetermined)
        self.share = share
        self.store = store
        check_judge(judge, judge_options or None, llm=llm, store=store)
        self.judge_options = dict(judge_options or {})
        self.output_type: MetricOutputType | None = MetricOutputType.CONTINUOUS
        self._required_columns = {MetricType.SINGLE_TURN: {*FIELDS, "rubrics:optional"}}
        BaseMetric.__init__(self, name)  # pyright: ignore[reportUnknownMemberType]

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        return (), {"judge": self.judge}

    def __deepcopy__(self, memo: dict[int, Any]) -> NoiseSensitivity:
        # A copy shares the judge: it must not pay again for what is judged.
        return copy.copy(self)

    def __repr__(self) -> str:
        source = "" if self.judge is None else f", judge={self.judge!r}"
        return f"{self.name}(mode={self.mode!r}, definition={self.definition!r}{source})"

    # A dataclass among the bases compares names only, and is unhashable for it.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def init(self, run_config: RunConfig) -> None:
        """Called by ragas at the start of a run; a judge needs nothing of it."""

    async def ascore(  # type: ignore[override]
        self,
        *,
        user_input: str = "",
        response: str,
        reference: str,
        retrieved_contexts: Sequence[Any],
        rubrics: Mapping[str, str] | None = None,
    ) -> MetricResult:
        """The score of one sample, with its reason and (``traces["output"]``) its report.

        Args:
            user_input: the question.
            response: what the system answered.
            reference: the correct answer.
            retrieved_contexts: strings, or `noisesense.Chunk` with a label.
            rubrics: see `noisesense_adapters.ragas.rubrics`.

        Raises:
            InputError: a field is missing or wrong.
            NoiseSenseError: as the judge raises.
        """
        row = {
            "user_input": user_input,
            "response": response,
            "reference": reference,
            "retrieved_contexts": retrieved_contexts,
            "rubrics": rubrics,
        }
        value = await self._value(row, Run())
        return MetricResult(value, value.reason, {"input": row, "output": value.report})

    async def single_turn_ascore(
        self, sample: SingleTurnSample, callbacks: Any = None, timeout: float | None = None
    ) -> float:
        """As ragas' own, for ``evaluate()``: see the class.

        Raises:
            UndeterminedScoreError: under ``evaluate(raise_exceptions=True)``.
            NoiseSenseError: as the judge raises.
        """
        with raising_as_under(sys._getframe(1)):
            return await super().single_turn_ascore(sample, callbacks, timeout)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        row = {name: getattr(sample, name) for name in (*FIELDS, "rubrics")}
        run, asked = run_of(callbacks), self._asked()
        try:
            with callbacks_in(callbacks):
                value = await self._value(row, run)
        except BaseException:
            run.count(self.name, asked, None)
            raise
        run.count(self.name, asked, value.score)
        trace_report(callbacks, asked, value.report)
        warn_of_namesake(callbacks, self.name, asked)
        if math.isnan(value) and value.status == "undetermined" and errors_are_raised():
            raise UndeterminedScoreError(f"{row_place(row)}: {value.reason}")
        return value

    async def _value(self, row: Mapping[str, Any], run: Run) -> ScoredFloat:
        sample, verdicts = read_row(row)
        if verdicts is None:
            judgement = await judge_once(
                self._current_judge(),
                sample,
                metric=("ragas", self.name, *self._asked().values()),
                run=run.token,
                share=self.share and not run.over,
            )
        else:
            judgement = Judgement(verdicts)
        found = score(
            judgement.verdicts,
            definition=self.definition,
            empty=self.empty,
            undetermined=self.undetermined,
        )
        return ScoredFloat.of(found, check_mode(self.mode), judgement)

    def _asked(self) -> dict[str, str]:
        """All in which metrics over the same verdicts differ."""
        return {
            "mode": self.mode,
            "definition": self.definition,
            "empty": self.empty,
            "undetermined": self.undetermined,
        }

    def _current_judge(self) -> Judge:
        if self.judge is not None:
            return self.judge
        if self.llm is None:
            raise InputError(
                "an llm or a judge",
                "neither",
                where=self.name,
                hint="NoiseSensitivity(llm=…), NoiseSensitivity(judge=…) or evaluate(…, llm=…)",
            )
        bridge = partial(RagasLLM, self.llm)
        return judge_over(self.llm, bridge, "ragas", store=self.store, options=self.judge_options)

    def _validate_llm(self) -> None:
        """ragas' collections take only some models; the other API's are as good here."""
        if self.llm is not None:
            check_llm(self.llm)


class _WithLLM(NoiseSensitivity, MetricWithLLM):  # type: ignore[misc]
    """What ``NoiseSensitivity(…)`` makes where no judge is given."""

    def init(self, run_config: RunConfig) -> None:
        MetricWithLLM.init(self, run_config)


def _mode(mode: Any, focus: Any) -> Mode:
    if focus is not None:
        warnings.warn(
            "focus= is deprecated, as in ragas: use mode=", DeprecationWarning, stacklevel=3
        )
        if mode not in ("relevant", focus):
            raise InputError("mode alone", "mode and focus", where="focus")
        mode = focus
    if not isinstance(mode, str):
        hint = "NoiseSensitivity(llm=…)" if mode is not None else ""
        raise InputError(
            "'relevant' or 'irrelevant'", type(mode).__name__, where="mode", hint=hint
        )
    return check_mode(mode)
