"""`NoiseSensitivityMetric`: the metric as DeepEval's runner, reports and copies want it."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any

from deepeval.metrics import BaseMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams

from noisesense import (
    DefinitionName,
    Empty,
    InputError,
    Judge,
    Judgement,
    Mode,
    Score,
    Undetermined,
    Verdicts,
    gate,
)
from noisesense.errors import describe
from noisesense.scoring.definitions import check_definition, check_mode
from noisesense.scoring.gate import check_limit
from noisesense.scoring.scoring import check_empty, check_undetermined
from noisesense_adapters.deepeval._blocking import run_blocking
from noisesense_adapters.deepeval.llm import model_name
from noisesense_adapters.deepeval.result import measure_into
from noisesense_adapters.deepeval.sample import Labels
from noisesense_adapters.toolbox.judges import check_judge

if TYPE_CHECKING:
    from noisesense import VerdictStore

__all__ = ["NoiseSensitivityMetric"]


class NoiseSensitivityMetric(BaseMetric):  # type: ignore[no-untyped-call]
    """Noise sensitivity of a test case's ``actual_output``, from 0 to 1. **Lower is better.**

    Unlike DeepEval's own metrics it passes at ``score <= threshold``, and ``strict_mode`` means
    a threshold of 0. It passes only if it does so whatever the verdicts that the judge left open
    are (see `noisesense.gate`). There is no number in two cases, and both have a reason:

    - *undetermined*, the judge did not say: the score is None and ``success`` is False, unless
      every number it can still be passes;
    - *undefined*, there is nothing to measure (no claims in the response, no such mode): score
      and ``success`` are None, DeepEval shows NONE, and the test case does not fail.

    A test case needs ``actual_output``, ``expected_output`` and ``retrieval_context``. Its
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
        include_reason: False leaves the reason out, unless the score is undetermined or undefined.
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

    # DeepEval copies a metric by calling its class with the attributes that are named like these
    # parameters: each is kept under its own name, and nothing expensive may happen here.
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
            check_limit(threshold, "threshold")
        check_empty(empty)
        check_undetermined(undetermined)
        if not isinstance(share, bool):
            raise InputError("True or False", describe(share), where="share")
        if not isinstance(chunk_labels, (Mapping, NoneType)):
            raise InputError(
                "labels by source or text", describe(chunk_labels), where="chunk_labels"
            )
        check_definition(definition)
        _check_model(model)
        check_judge(judge, judge_options, model=model, store=store)
        self.threshold = 0 if strict_mode else threshold
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

        self.score_detail: Score | None = None
        self.judgement: Judgement | None = None
        self.unusable: str | None = None
        self.turn: object = None
        self._evaluation_model: str | None = None

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
            JudgeError: the model could not be asked.
            DeepEvalError: the model cannot be made, e.g. its key is not configured.
        """
        blocking = not self.async_mode
        return run_blocking(
            measure_into(self, test_case, blocking, _show_indicator, _in_component),
            own_loop=blocking,
        )

    async def a_measure(  # type: ignore[override]
        self,
        test_case: LLMTestCase,
        _show_indicator: bool = True,
        _in_component: bool = False,
        **_: Any,
    ) -> float | None:
        """As `measure`, within an event loop."""
        return await measure_into(self, test_case, False, _show_indicator, _in_component)

    def is_successful(self) -> bool | None:
        """Does the score pass, whatever was left open? None where there is nothing to decide.

        An error, an undecided score and a judge that said nothing usable are False; an undefined
        score, no threshold and no measurement are None.
        """
        if self.threshold is None:
            self.success = None
        elif self.error is not None or self.unusable is not None:
            self.success = False
        elif self.score_detail is not None:
            outcome = self.score_detail.gate(self.mode, self.threshold)
            self.success = None if outcome == "undefined" else outcome == "pass"
        elif self.score is not None:
            self.success = gate((self.score, self.score), self.threshold) == "pass"
        else:
            self.success = None
        return self.success

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
        if self._evaluation_model is None:
            self._evaluation_model = model_name(self.judge, self.model)
        return self._evaluation_model

    @evaluation_model.setter
    def evaluation_model(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, name: str | None
    ) -> None:
        self._evaluation_model = name

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
        parts: list[str] = [self.mode]
        if self.definition != "ragas":
            parts.append(self.definition)
        if self.empty != "undefined":
            parts.append(f"empty={self.empty}")
        if self.undetermined != "none":
            parts.append(f"undetermined={self.undetermined}")
        return f"Noise Sensitivity ({', '.join(parts)})"


def _check_model(model: object) -> None:
    if model is not None and not isinstance(model, (str, DeepEvalBaseLLM)):
        raise InputError(
            "None, a model's name or a DeepEvalBaseLLM", type(model).__name__, where="model"
        )
