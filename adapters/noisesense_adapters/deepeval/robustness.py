"""`NoiseRobustnessMetric`: the same measurement for what raises scores, such as the optimizer."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from deepeval.models import DeepEvalBaseLLM

from noisesense import Mode
from noisesense_adapters.deepeval.metric import NoiseSensitivityMetric


class NoiseRobustnessMetric(NoiseSensitivityMetric):  # type: ignore[no-untyped-call]
    """One minus the noise sensitivity of a test case, from 0 to 1. **Higher is better.**

    ``score = |response claims that are no noise| / |response claims|``. Same as
    `NoiseSensitivityMetric`, but it passes at ``score >= threshold`` whatever the open verdicts
    are, and ``strict_mode`` means a threshold of 1: the direction of DeepEval's own metrics.

    This is the one for DeepEval's prompt optimizer, which raises scores. The optimizer has no
    place for a test case without a number, so there such a test case is an error, which names it:
    ``undetermined="high"`` counts what the judge left open as noise, and ``empty="zero"`` counts
    a response without claims as free of noise. It also tells metrics apart by the name of their
    class only, and keeps one of a name: the class of each metric is named after its mode, too.

    Args:
        threshold: the lowest score that passes; None to report without passing or failing.
        model: see `NoiseSensitivityMetric`, as all that follows.
        mode: ``"relevant"`` or ``"irrelevant"``; give the optimizer one metric of each.
        options: any other argument of `NoiseSensitivityMetric`. ``undetermined="low"`` and
            ``"high"`` are ends of the noise: "high" gives the lowest robustness.

    Raises:
        InputError: as `NoiseSensitivityMetric` raises it.
        UndeterminedScoreError: in the optimizer, the judge left the score open.
        UndefinedScoreError: in the optimizer, there is nothing to measure.
    """

    higher_is_better = True

    def __init__(
        self,
        threshold: float | None = 0.8,
        model: str | DeepEvalBaseLLM | None = None,
        mode: Mode = "relevant",
        **options: Any,
    ) -> None:
        super().__init__(threshold, model, mode, **options)
        self.__class__ = _class_named_after(cast(Any, type(self)), self.__name__)


@cache
def _class_named_after(of: Any, metric: str) -> Any:
    name, details = cast(type, of).__name__, metric[metric.index(" (") :]
    # A copy is made by calling the class of the metric, which has its name already.
    if name.endswith(details):
        return of
    return type(name + details, (of,), {"__module__": of.__module__, "__doc__": of.__doc__})
