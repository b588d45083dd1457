"""The metric as an object: how it is made, what ragas takes it for, copies, what it refuses."""

from __future__ import annotations

from typing import Any

from ragas.llms.base import BaseRagasLLM

from noisesense_adapters.ragas import NoiseSensitivity, VerdictsInRows

JUDGE = VerdictsInRows()


class Silent(BaseRagasLLM):
    def generate_text(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    async def agenerate_text(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    def is_finished(self, response: Any) -> bool:
        return True


def test_the_orders_of_arguments_of_both_of_ragas_apis_are_understood() -> None:
    llm = Silent()
    relevant = (llm, "relevant", "noise_sensitivity")
    mine = (llm, "irrelevant", "mine")
    for metric, expected in (
        (NoiseSensitivity(llm), relevant),
        (NoiseSensitivity(llm, mode="relevant"), relevant),
        (NoiseSensitivity("relevant", llm), relevant),
        (NoiseSensitivity(llm, "mine", "irrelevant"), mine),
        (NoiseSensitivity(llm, name="mine", mode="irrelevant"), mine),
    ):
        assert (metric.llm, metric.mode, metric.name) == expected
    assert NoiseSensitivity("irrelevant", None, JUDGE).judge is JUDGE
