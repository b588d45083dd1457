"""`NoiseSensitivityMetric`: the metric as DeepEval's runner, reports and copies want it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, cast

from deepeval.metrics import BaseMetric
from deepeval.metrics.indicator import metric_progress_indicator
from deepeval.metrics.utils import construct_verbose_logs
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase
from deepeval.utils import get_or_create_event_loop

from noisesense.errors import NoiseSenseError, ReplyError, error_context
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Judge, Judgement
from noisesense.scoring.definitions import DefinitionName, Mode, check_mode
from noisesense.scoring.outcomes import check_limit
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Empty, Score, Undetermined
from noisesense_adapters.deepeval.llm import judge_of
from noisesense_adapters.deepeval.result import begin, measured, outcome_of, reason_of, steps_of
from noisesense_adapters.deepeval.sample import place_of, read_case
from noisesense_adapters.evaluate.evaluator import Evaluator, Settings
from noisesense_adapters.evaluate.judges import given_judge


class NoiseSensitivityMetric(BaseMetric):  # type: ignore[no-untyped-call]  # DeepEval's hook
    """Noise sensitivity of a test case's ``actual_output``, from 0 to 1. **Lower is better.**

    Unlike DeepEval's own metrics it passes at ``score <= threshold``, and ``strict_mode`` means
    a threshold of 0. It passes only if it does so whatever the verdicts that the judge left open
    are (see `noisesense.gate`). There is no number in two cases, and both have a reason:

    - *undetermined*, the judge did not say: the score is None and ``success`` is False, unless
      every number it can still be passes;
    - *undefined*, there is nothing to measure (no claims in the response, nothing retrieved, no
      such mode): the score is None and ``success`` is False. With ``fail_undefined=False`` it is
      None, DeepEval shows NONE and lets the test case pass.

    A test case needs ``actual_output``, ``expected_output`` and ``retrieval_context``. Its
    ``metadata`` may bring what a judge would say: ``"verdicts"`` in the published form, or
    ``"chunk_labels"``, true, false or null for each item of ``retrieval_context``.

    Args:
        threshold: the highest score that passes.
        model: as for DeepEval's own metrics: None for the configured default, a name, or a
            `DeepEvalBaseLLM`. It is made when the first test case needs it.
        mode: ``"relevant"`` or ``"irrelevant"``; two metrics over one model or judge judge each
            test case once. Measuring it again with the same metric asks again.
        judge: any `noisesense.Judge` in place of a model, e.g. a `RecordedJudge`.
        definition: see `noisesense.score`; any but "ragas" is part of the metric's name.
        include_reason: False leaves "Lower is better." of the reason, unless the score is
            undetermined or undefined.
        async_mode: False makes `measure` use the model's ``generate``, call after call.
        strict_mode: pass at 0 only.
        verbose_mode: print the per-claim report.
        flaky: as for DeepEval's own metrics.
        empty: what a sample with nothing to measure gives, see `noisesense.score`.
        undetermined: what open verdicts give: ``"none"`` (no number), or the ``"low"`` or
            ``"high"`` end of what the score can be, as a number. Success does not depend on it.
        fail_undefined: fail a test case with an undefined score, as a gate should: a retriever
            that is down, or a system that only says that it does not know, has none. With False
            DeepEval skips it, and passes the case.
        store: a `VerdictStore` that keeps what ``model`` said, so that the next run does not
            pay again. DeepEval's own cache of results (``-c``) is not used.
        judge_options: further arguments of the `LLMJudge` over ``model``.
        results: a list that gets a `noisesense.Result` of each test case, in the order in which
            they end, failed ones included: `noisesense.gate_run` of their summary is a gate over
            the run, which sees a system that is broken for all. Give it to one metric of a run.

    Attributes:
        score_detail: the whole `Score` of the last test case. Where DeepEval measures with
            copies (async), ``verbose_logs`` in the results has the same report.
        judgement: the verdicts it was computed from, and what they cost.

    Raises:
        InputError: an unknown mode, definition, ``empty``, ``undetermined`` or judge option; a
            threshold that is no number from 0 to 1; a ``judge`` that is not one; or something
            that a judge does not use beside it.
    """

    score_detail: Score | None
    judgement: Judgement | None
    higher_is_better = False

    threshold: float

    # DeepEval copies a metric by calling its class with the attributes that are named like these
    # parameters: each stays under its own name, and nothing expensive may happen here.
    def __init__(
        self,
        threshold: float = 0.2,
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
        empty: Empty = "undefined",
        undetermined: Undetermined = "none",
        fail_undefined: bool = True,
        store: Any = None,
        judge_options: Mapping[str, Any] | None = None,
        results: list[Result] | None = None,
    ) -> None:
        self.latest: dict[str, Any] = {}
        threshold = float(check_limit(threshold, "threshold"))
        judge = given_judge(judge, judge_options=judge_options, model=model, store=store)
        limit = int(self.higher_is_better) if strict_mode else threshold
        self.threshold = limit  # pyright: ignore[reportIncompatibleVariableOverride]  # never None
        self.model = cast("Any", model)  # or its name
        self.judge = judge
        self.mode: Mode = check_mode(mode)
        settings = Settings.checked(definition, empty, undetermined)
        self.definition: DefinitionName = settings.definition
        self.empty: Empty = settings.empty
        self.undetermined: Undetermined = settings.undetermined
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.fail_undefined = fail_undefined
        self.store = store
        self.judge_options = judge_options
        self.results = results

    def measure(  # type: ignore[override]  # an undefined score is None
        self, test_case: LLMTestCase, *args: Any, **options: Any
    ) -> float | None:
        """Return the score of the test case; also in `score`, with `reason` and `score_detail`.

        None where there is no number, also if the model's replies were of no use.

        Raises:
            MissingTestCaseParamsError: a field is None or empty.
            InputError: labels or verdicts that are malformed or do not fit the test case.
            JudgeError: the model could not be called.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
            DeepEvalError: the model cannot be made, e.g. its key is not configured.
        """
        measuring = self.a_measure(test_case, *args, **options)
        if not self.async_mode:
            return run_blocking(measuring)
        return get_or_create_event_loop().run_until_complete(measuring)

    async def a_measure(  # type: ignore[override]  # likewise
        self,
        test_case: LLMTestCase,
        _show_indicator: bool = True,
        _in_component: bool = False,
        **_: Any,
    ) -> float | None:
        """As `measure`, within an event loop."""
        begin(self)
        with metric_progress_indicator(
            self, async_mode=True, _show_indicator=_show_indicator, _in_component=_in_component
        ):
            try:
                with error_context(place_of(test_case)):
                    await self._measure(test_case)
            except Exception as error:
                self.error = str(error)
                self.success = False
                self._keep(Result(place_of(test_case), error=self.error))
                if isinstance(error, TypeError):  # at which DeepEval measures all over again
                    raise NoiseSenseError(f"measuring failed with TypeError: {error}") from error
                raise
        return self.score

    async def _measure(self, test_case: LLMTestCase) -> None:
        """Judge and score a test case, and set what DeepEval reads of the metric."""
        row = read_case(test_case, self.__name__)
        settings = Settings(self.definition, self.empty, self.undetermined)
        metric = (type(self), self.mode, self.threshold, self.flaky)
        self.evaluation_model = "given verdicts"
        try:
            evaluator = Evaluator(settings, self._judge, metric)
            evaluated = await evaluator.evaluate(row, test_case)
        except ReplyError as error:  # it answered, but with nothing to score: not 0
            self.reason = f"{self.__name__} is undetermined: {error}."
            self.success = False
            self._keep(Result(place_of(test_case), error=str(error)))
            return
        self._keep(evaluated.result(place_of(test_case), row.sample))
        score = evaluated.score
        mode = self.mode
        status = score.status(mode)
        higher = self.higher_is_better
        self.score_detail = score
        self.judgement = evaluated.judgement
        usage = evaluated.judgement.usage
        self.evaluation_cost = usage.cost
        self.input_tokens = usage.input_tokens
        self.output_tokens = usage.output_tokens
        self.score = score.robustness(mode) if higher else score.value(mode)
        self.reason = reason_of(score, mode, self.threshold, higher)
        if self.fail_undefined and status == "undefined":
            self.reason += " What is undefined does not pass here."
        shown = status if self.score is None else self.score
        steps = steps_of(score, evaluated.judgement, shown, self.reason)
        if not self.include_reason and status == "determined":
            self.reason = "Higher is better." if higher else "Lower is better."
        self.verbose_logs = construct_verbose_logs(self, steps)
        self.success = self.is_successful()

    def _keep(self, result: Result) -> None:
        if self.results is not None:
            self.results.append(result)

    def _judge(self) -> Judge:
        judge = judge_of(self) if self.judge is None else self.judge
        self.evaluation_model = getattr(judge, "model", None) or type(judge).__name__
        return judge

    def is_successful(self) -> bool | None:
        """Tell whether the score passes, whatever the open verdicts are.

        False after an error, for an undecided score, and if the judge said nothing usable. An
        undefined score is False, or None with ``fail_undefined=False``. None before a measurement.
        """
        score = self.score_detail
        if self.error is None and score is not None:
            outcome = outcome_of(score, self.mode, self.threshold, self.higher_is_better)
            is_skipped = outcome == "undefined" and not self.fail_undefined
            self.success = None if is_skipped else outcome == "pass"
        return self.success

    @property
    def n(self) -> int:
        """A random number, which DeepEval's cache of results (``-c``) compares.

        The cache goes by a test case's texts: it would serve a score from before the labels or
        the verdicts in its metadata, which it does not look at. A `VerdictStore` saves the calls.
        """
        return secrets.randbits(48)

    @property
    def __name__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        # DeepEval's cache and its tables tell metrics apart by name only: what changes the
        # number is in it.
        parts: list[str] = [self.mode]
        if self.definition != "ragas":
            parts.append(self.definition)
        if self.empty != "undefined":
            parts.append(f"empty={self.empty}")
        if self.undetermined != "none":
            parts.append(f"undetermined={self.undetermined}")
        what = "Robustness" if self.higher_is_better else "Sensitivity"
        return f"Noise {what} ({', '.join(parts)})"


for _name in (
    *("score", "score_detail", "judgement", "reason", "success", "error"),
    *("skipped", "evaluation_cost", "input_tokens", "output_tokens", "verbose_logs"),
):
    setattr(NoiseSensitivityMetric, _name, measured(_name))


class NoiseRobustnessMetric(NoiseSensitivityMetric):  # type: ignore[no-untyped-call]  # the hook
    """One minus the noise sensitivity of a test case, from 0 to 1. **Higher is better.**

    ``score = |response claims that are no noise| / |response claims|``. Same as
    `NoiseSensitivityMetric`, but it passes at ``score >= threshold`` whatever the open verdicts
    are, and ``strict_mode`` means a threshold of 1: the direction of DeepEval's own metrics.

    This is the one for DeepEval's prompt optimizer and DAG, which take a higher score for better,
    and have no place for a test case without a number: give ``undetermined="high"`` and
    ``empty="zero"`` there. The optimizer keeps one metric of each class name: for both modes,
    subclass this one.

    Args:
        threshold: the lowest score that passes.
        model: see `NoiseSensitivityMetric`, as all that follows.
        mode: ``"relevant"`` or ``"irrelevant"``.
        options: any other argument of `NoiseSensitivityMetric`. ``undetermined="low"`` and
            ``"high"`` are ends of the noise: "high" gives the lowest robustness.

    Raises:
        InputError: as `NoiseSensitivityMetric` raises it.
    """

    higher_is_better = True

    def __init__(self, threshold: float = 0.8, *args: Any, **options: Any) -> None:
        super().__init__(threshold, *args, **options)
