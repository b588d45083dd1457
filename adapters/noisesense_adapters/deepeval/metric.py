"""`NoiseSensitivityMetric`: the metric as DeepEval's runner, reports and copies want it."""

from __future__ import annotations

import asyncio
import secrets
import sys
import weakref
from collections.abc import Coroutine, Hashable, Mapping
from types import FrameType, NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from deepeval.metrics import BaseMetric
from deepeval.metrics.indicator import metric_progress_indicator
from deepeval.metrics.utils import construct_verbose_logs
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams
from deepeval.utils import get_or_create_event_loop

from noisesense import (
    DefinitionName,
    Empty,
    InputError,
    Judge,
    Judgement,
    Mode,
    NoiseSenseError,
    ReplyError,
    UndefinedScoreError,
    Undetermined,
    Usage,
    Verdicts,
)
from noisesense import score as score_verdicts
from noisesense.errors import describe
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import check_definition, check_mode
from noisesense.scoring.gate import check_limit
from noisesense.scoring.scoring import check_empty, check_undetermined
from noisesense_adapters.deepeval.llm import judge_of, model_name
from noisesense_adapters.deepeval.result import (
    Cost,
    Measured,
    Measurement,
    State,
    cost_of,
    measurement_of,
    not_a_number,
    started_state,
    state_of,
    success_of,
    unusable_measurement,
)
from noisesense_adapters.deepeval.sample import Labels, given_verdicts, place_of, sample_of
from noisesense_adapters.toolbox.judges import check_judge

if TYPE_CHECKING:
    from noisesense import VerdictStore

T = TypeVar("T")

# Where DeepEval calls a metric and reads its score as higher is better.
_HIGHER_IS_BETTER = {"deepeval.optimizer.scorer.utils", "deepeval.metrics.dag.nodes"}


class NoiseSensitivityMetric(BaseMetric):  # type: ignore[no-untyped-call]
    """Noise sensitivity of a test case's ``actual_output``, from 0 to 1. **Lower is better.**

    Unlike DeepEval's own metrics it passes at ``score <= threshold``, and ``strict_mode`` means
    a threshold of 0. It passes only if it does so whatever the verdicts that the judge left open
    are (see `noisesense.gate`). There is no number in two cases, and both have a reason:

    - *undetermined*, the judge did not say: the score is None and ``success`` is False, unless
      every number it can still be passes;
    - *undefined*, there is nothing to measure (no claims in the response, no such mode): score
      and ``success`` are None, DeepEval shows NONE, and the test case does not fail.

    A test case needs ``actual_output``, ``expected_output`` and ``retrieval_context``. If the
    latter is an empty list, the score is 0 and no model is asked: nothing can come from a chunk.
    ``metadata`` may bring what a judge would say: ``"verdicts"`` in the published form, or
    ``"chunk_labels"``, true, false or null for each item of ``retrieval_context``. Verdicts are
    taken from there, else from ``verdicts``, else from ``judge``, else from ``model``.

    Args:
        threshold: the highest score that passes; None to report without passing or failing.
        model: as for DeepEval's own metrics: None for the configured default, a name, or a
            `DeepEvalBaseLLM`. It is made when the first test case needs it.
        mode: ``"relevant"`` or ``"irrelevant"``; two metrics over one model or judge judge each
            test case once. Measuring it again with the same metric asks again.
        judge: any `noisesense.Judge` in place of a model, e.g. a `RecordedJudge`.
        definition: see `noisesense.score`.
        include_reason: False leaves "Lower is better." of the reason, unless the score is
            undetermined or undefined.
        async_mode: False makes `measure` use the model's ``generate``, call after call.
        strict_mode: pass at 0 only.
        verbose_mode: print the per-claim report.
        flaky: as for DeepEval's own metrics.
        verdicts: for the one test case this metric measures, in the published form.
        chunk_labels: relevance by a chunk's source or text, where the metadata say nothing.
        empty: what a response without claims gives, see `noisesense.score`.
        undetermined: what open verdicts give: ``"none"`` (no number), or the ``"low"`` or
            ``"high"`` end of what the score can be, as a number. Success does not depend on it.
        share: False asks the judge for this metric alone.
        store: a `VerdictStore` that keeps what ``model`` said, so that the next run does not
            pay again. DeepEval's own cache of results (``-c``) is not used.
        judge_options: further arguments of the `LLMJudge` over ``model``.

    Attributes:
        score_detail: the whole `Score` of the last test case. Where DeepEval measures with
            copies (async), ``verbose_logs`` in the results has the same report.
        judgement: the verdicts it was computed from, and what they cost.
        unusable: what was wrong with the model's replies if there is not even a judgement.

    Raises:
        InputError: an unknown mode or definition, a threshold that is no number from 0 to 1, or
            an argument of the wrong type.
    """

    _required_params = [  # type: ignore[assignment]  # noqa: RUF012 - DeepEval means a list, too
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.EXPECTED_OUTPUT,
        SingleTurnParams.RETRIEVAL_CONTEXT,
    ]

    score: Any = Measured()
    score_breakdown: Any = Measured()
    score_detail: Any = Measured()
    judgement: Any = Measured()
    unusable: Any = Measured()
    reason: Any = Measured()
    success: Any = Measured()
    error: Any = Measured()
    skipped: Any = Measured()
    evaluation_cost: Any = Measured()
    input_tokens: Any = Measured()
    output_tokens: Any = Measured()
    verbose_logs: Any = Measured()

    higher_is_better = False

    # DeepEval copies a metric by calling its class with the attributes that are named like these
    # parameters: each stays under its own name, and nothing expensive may happen here.
    def __init__(
        self,
        threshold: float | None = 0.2,
        model: str | DeepEvalBaseLLM | None = None,
        mode: Mode = "relevant",
        judge: Judge | None = None,
        definition: DefinitionName = "ragas",
        include_reason: bool = True,
        async_mode: bool = True,
        strict_mode: bool = False,
        verbose_mode: bool = False,
        flaky: bool = False,
        *,
        verdicts: Verdicts | Mapping[str, Any] | None = None,
        chunk_labels: Labels | None = None,
        empty: Empty = "undefined",
        undetermined: Undetermined = "none",
        share: bool = True,
        store: VerdictStore | None = None,
        judge_options: Mapping[str, Any] | None = None,
    ) -> None:
        if threshold is not None:
            threshold = float(check_limit(threshold, "threshold"))
        check_empty(empty)
        check_undetermined(undetermined)
        if not isinstance(share, bool):
            raise InputError("True or False", describe(share), where="share")
        if not isinstance(chunk_labels, (Mapping, NoneType)):
            raise InputError(
                "labels by source or text", describe(chunk_labels), where="chunk_labels"
            )
        check_definition(definition)
        if not isinstance(model, (str, DeepEvalBaseLLM, NoneType)):
            raise InputError(
                "None, a model's name or a DeepEvalBaseLLM", type(model).__name__, where="model"
            )
        check_judge(judge, judge_options, model=model, store=store)
        self.threshold = int(self.higher_is_better) if strict_mode else threshold
        # DeepEval's own metrics keep the model object here; ours makes it when it is needed.
        self.model = model  # type: ignore[assignment]
        self.mode: Mode = check_mode(mode)
        self.judge = judge
        self.definition: DefinitionName = definition
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.verdicts = verdicts
        self.chunk_labels = chunk_labels
        self.empty: Empty = empty
        self.undetermined: Undetermined = undetermined
        self.share = share
        self.store = store
        self.judge_options = judge_options

        self.latest = State(weakref.ref(self))

    def measure(  # type: ignore[override]  # an undefined score is None
        self,
        test_case: LLMTestCase,
        _show_indicator: bool = True,
        _in_component: bool = False,
        **_: Any,
    ) -> float | None:
        """The score of the test case; also in `score`, with `reason` and `score_detail`.

        Raises:
            MissingTestCaseParamsError: a field is None or empty.
            InputError: labels or verdicts that are malformed or do not fit the test case.
            JudgeError: the model could not be called.
            DeepEvalError: the model cannot be made, e.g. its key is not configured.
        """
        blocking = not self.async_mode
        measuring = _measure(self, test_case, blocking, _show_indicator, _in_component)
        return _run(measuring, own_loop=blocking)

    async def a_measure(  # type: ignore[override]
        self,
        test_case: LLMTestCase,
        _show_indicator: bool = True,
        _in_component: bool = False,
        **_: Any,
    ) -> float | None:
        """As `measure`, within an event loop."""
        return await _measure(self, test_case, False, _show_indicator, _in_component)

    def is_successful(self) -> bool | None:
        """Does the score pass, whatever the open verdicts are? None where nothing is to decide.

        An error, an undecided score and a judge that said nothing usable are False; an undefined
        score, no threshold and no measurement are None.
        """
        state = state_of(self)
        state.success = success_of(state, self)
        return state.success

    @property
    def configuration(self) -> Hashable:
        """What tells this metric from others that may share its judgements.

        DeepEval's copies of a metric have the same: they stand for it. What the runner sets on
        metrics (``verbose_mode``) is left out.
        """
        return (
            "deepeval",
            type(self),
            self.mode,
            self.definition,
            self.empty,
            self.undetermined,
            self.threshold,
            self.flaky,
        )

    @property
    def evaluation_model(self) -> str | None:
        """The name of the judge or model, as DeepEval shows it."""
        state = state_of(self)
        if state.evaluation_model is None:
            state.evaluation_model = model_name(self.judge, self.model)
        return state.evaluation_model

    @evaluation_model.setter
    def evaluation_model(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, name: str | None
    ) -> None:
        state_of(self).evaluation_model = name

    @property
    def n(self) -> int:
        """Compared by DeepEval's cache of results (``-c``), and never twice the same.

        The cache goes by a test case's texts: it would serve a score from before the labels or
        the verdicts in its metadata, which it does not look at. A `VerdictStore` saves the calls.
        """
        return secrets.randbits(48)

    @property
    def __name__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        # DeepEval's cache and its tables tell metrics apart by name only: what changes the
        # number is in it.
        parts = {
            self.mode: True,
            self.definition: self.definition != "ragas",
            f"empty={self.empty}": self.empty != "undefined",
            f"undetermined={self.undetermined}": self.undetermined != "none",
        }
        what = "Robustness" if self.higher_is_better else "Sensitivity"
        return f"Noise {what} ({', '.join(part for part, shown in parts.items() if shown)})"


async def _measure(
    metric: NoiseSensitivityMetric,
    test_case: LLMTestCase,
    blocking: bool,
    show_indicator: bool,
    in_component: bool,
) -> float | None:
    needs_higher = _reads_higher_as_better()
    if needs_higher and not metric.higher_is_better:
        raise InputError(
            "a metric where higher is better",
            f"{type(metric).__name__}: DeepEval would take more noise for better",
            where="metrics",
            hint=f"use NoiseRobustnessMetric(mode={metric.mode!r})",
        )
    state = started_state(metric)
    with metric_progress_indicator(
        metric,
        async_mode=not blocking,
        _show_indicator=show_indicator,
        _in_component=in_component,
    ):
        try:
            measurement, judge = await _measurement(metric, test_case, blocking)
            if needs_higher and measurement.value is None:
                raise not_a_number(measurement, metric.mode)
        except Exception as error:
            failure, cause = error, error.__cause__
            if isinstance(error, TypeError):
                # DeepEval answers a TypeError by measuring the test case all over again.
                failure = NoiseSenseError(f"measuring failed with TypeError: {error}")
                cause = error
            elif isinstance(error, NoiseSenseError) and isinstance(test_case, LLMTestCase):
                place = place_of(test_case)
                failure = error if place in str(error) else error.within(place)
            state.error = str(failure)
            if failure is error:
                raise
            raise failure from cause
        state.take(measurement)
        if judge is None:
            state.evaluation_model = "given verdicts"
        elif metric.model is None and metric.judge is None:
            # The metric would make the default model once more, only to learn its name.
            state.evaluation_model = getattr(judge, "model", None)
        state.verbose_logs = construct_verbose_logs(metric, list(measurement.steps))
        state.success = success_of(state, metric)
    return measurement.value


async def _measurement(
    metric: NoiseSensitivityMetric, test_case: LLMTestCase, blocking: bool
) -> tuple[Measurement, Judge | None]:
    """With the judge that was asked."""
    sample = sample_of(test_case, metric.__name__, metric.chunk_labels)
    verdicts = given_verdicts(test_case, metric.verdicts, sample)
    judge, cost = None, Cost()
    if verdicts is not None:
        judgement = Judgement(verdicts)
    else:
        judge = metric.judge
        if judge is None:
            judge = judge_of(metric.model, metric.store, metric.judge_options, blocking=blocking)
        try:
            judgement = await judge_once(
                judge, sample, metric=metric.configuration, run=test_case, share=metric.share
            )
        except ReplyError as error:
            # The model answered, but with nothing to compute a score from: undetermined, not 0.
            usage = error.usage if isinstance(error.usage, Usage) else Usage()
            what = "robustness" if metric.higher_is_better else "sensitivity"
            title = f"Noise {what} ({metric.mode}, definition {metric.definition})"
            cost = cost_of(judge, usage)
            measurement = unusable_measurement(
                str(error),
                usage,
                title,
                metric.threshold,
                higher_is_better=metric.higher_is_better,
                cost=cost,
            )
            return measurement, judge
        cost = cost_of(judge, judgement.usage)
    try:
        score = score_verdicts(
            judgement.verdicts,
            definition=metric.definition,
            empty=metric.empty,
            undetermined=metric.undetermined,
        )
    except UndefinedScoreError as error:
        raise UndefinedScoreError(f"{place_of(test_case)}: {error}") from None
    measurement = measurement_of(
        score,
        judgement,
        metric.mode,
        metric.threshold,
        higher_is_better=metric.higher_is_better,
        include_reason=metric.include_reason,
        cost=cost,
    )
    return measurement, judge


def _reads_higher_as_better() -> bool:
    """Does the caller? Only the calls that led here show it."""
    frame: FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__") not in _HIGHER_IS_BETTER:
        frame = frame.f_back
    return frame is not None


def _run(work: Coroutine[Any, Any, T], *, own_loop: bool) -> T:
    """The coroutine's result, whether or not a loop is running in this thread.

    Args:
        own_loop: where none is running, take a new one and close it. Otherwise it is the
            thread's loop, as in DeepEval's own metrics: its models leave connections open, which
            have to be closed in the loop they were opened in.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if own_loop:
            return _run_in_own_loop(work)
    # A running loop is re-entered (nest_asyncio), so that what is waited for can go on.
    return get_or_create_event_loop().run_until_complete(work)


def _run_in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, which would also take the thread's loop away."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
