"""Noise sensitivity in ragas' idiom: for ``evaluate()`` and for the collections API."""

from __future__ import annotations

import copy
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

from noisesense.errors import InputError
from noisesense.judging.protocol import Judge, Judgement
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, check_mode
from noisesense.scoring.scoring import Empty, Undetermined, check_empty, check_undetermined, score
from noisesense_adapters.ragas.llm import RagasLLM, check_llm
from noisesense_adapters.ragas.result import Choices, ScoredFloat
from noisesense_adapters.ragas.run import Run, raising_as_under, score_row
from noisesense_adapters.ragas.sample import FIELDS, read_row, row_place
from noisesense_adapters.toolbox.judges import check_judge, judge_over


class NoiseSensitivity(BaseMetric, SingleTurnMetric, PromptMixin):  # type: ignore[misc]
    """The share of claims that are wrong because of a retrieved chunk, as a ragas metric.

    ``mode="relevant"`` counts the response's claims that are incorrect and that a relevant chunk
    entails, ``mode="irrelevant"`` those that only irrelevant chunks entail: from 0 to 1, lower is
    better. A chunk is relevant if it entails a claim of the reference. Where you know better, a
    row says so in its ``rubrics`` (see `noisesense_adapters.ragas.rubrics`). ragas has two metrics
    of this name; this class takes the place of both, with verdicts from anywhere and fewer calls.

    ``evaluate(dataset, metrics=[NoiseSensitivity(…)])`` gives a column
    ``noise_sensitivity(mode=relevant)`` of floats. Each is a `ScoredFloat` that carries the whole
    score, and is NaN where there is no number:

    - *undefined*: there is nothing to measure, since the response makes no claims, or since the
      reference makes none and a chunk has no label (ragas' own metric has no number either).
    - *undetermined*: the number depends on verdicts that the judge left open. The run ends with
      one log line that gives the range of its mean; `noisesense_adapters.ragas.summarize` gives
      it with an interval. ``evaluate(raise_exceptions=True)`` raises instead.

    A row that failed is a plain NaN; ragas logs why, and ``raise_exceptions=True`` raises it.
    ``await metric.ascore(…)`` and ``metric.score(…)`` give a `MetricResult` with value, reason
    and traces.

    Two modes in one ``evaluate()`` have a sample judged once. Another ``evaluate()`` judges again,
    and so does each further ``ascore()`` of a metric.

    Args:
        mode: ``"relevant"`` or ``"irrelevant"``.
        llm: the model that judges. Without ``llm`` and ``judge``, ``evaluate()`` sets its own.
        judge: where the verdicts come from instead. No model and no key is then needed.
        definition: ``"ragas"``, as above, or another: see `noisesense.definitions`.
        empty: the score of a response without claims, see `noisesense.score`.
        undetermined: what open verdicts count as: ``"none"`` (the score is NaN), ``"low"`` (none
            of them is noise) or ``"high"`` (all are).
        share: whether metrics of the same run share what is judged. False makes this one ask for
            itself alone.
        name: the column's name; ragas adds the mode. ragas keeps one column a name, so several
            definitions in one run need a name each.
        store: a `VerdictStore` that keeps the replies of ``llm``.
        judge_options: further arguments of `noisesense.LLMJudge`.
        focus: deprecated name of ``mode``.

    Raises:
        InputError: an unknown mode, definition, empty, undetermined or judge option; both an
            ``llm`` and a ``judge``.
    """

    if not TYPE_CHECKING:  # the arguments are those of __init__

        def __new__(cls, mode="relevant", llm=None, judge=None, **_):
            # evaluate() sets the llm of each MetricWithLLM, by default OpenAI's with a key: with
            # a judge the metric must not be one.
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
        # A copy shares the judge, so that it does not pay again.
        return copy.copy(self)

    def __repr__(self) -> str:
        source = "" if self.judge is None else f", judge={self.judge!r}"
        return f"{self.name}(mode={self.mode!r}, definition={self.definition!r}{source})"

    # A base class is a dataclass, which compares names only and cannot be hashed.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def init(self, run_config: RunConfig) -> None:
        """Called by ragas at the start of a run. A judge needs no configuration."""

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
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        with raising_as_under(caller):
            return await super().single_turn_ascore(sample, callbacks, timeout)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        row = {name: getattr(sample, name) for name in (*FIELDS, "rubrics")}
        value_in = partial(self._value, row)
        return await score_row(value_in, callbacks, self.name, self._choices(), row_place(row))

    async def _value(self, row: Mapping[str, Any], run: Run) -> ScoredFloat:
        sample, verdicts = read_row(row)
        choices = self._choices()
        if verdicts is None:
            judgement = await judge_once(
                self._current_judge(),
                sample,
                metric=("ragas", self.name, *choices),
                run=run.token,
                share=self.share and not run.over,
            )
        else:
            judgement = Judgement(verdicts)
        _, definition, empty, undetermined = choices
        result = score(
            judgement.verdicts, definition=definition, empty=empty, undetermined=undetermined
        )
        return ScoredFloat.of(result, check_mode(self.mode), judgement)

    def _choices(self) -> Choices:
        return Choices(check_mode(self.mode), self.definition, self.empty, self.undetermined)

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
        """ragas' collections take only some models. Here those of ``evaluate()`` are as good."""
        if self.llm is not None:
            check_llm(self.llm)


class _WithLLM(NoiseSensitivity, MetricWithLLM):  # type: ignore[misc]
    """What ``NoiseSensitivity(…)`` makes without a judge."""

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
