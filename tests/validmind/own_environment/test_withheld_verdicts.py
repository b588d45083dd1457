"""Every way to withhold a verdict: what ValidMind's tables and raw data then show."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from noisesense import NoiseSenseError
from noisesense.definitions import MODES
from support.withholding import CASES, NOTHING, WAYS, Way, reply, wrong_with


class Withholding(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "withholding"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        said = reply(str(messages[-1].content))
        message = AIMessage(
            "" if said.refusal else said.text,
            additional_kwargs={"refusal": said.refusal} if said.refusal else {},
            response_metadata={"finish_reason": said.finish_reason},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_a_way(run: Any, way: Way) -> None:
    cases = [case for case in CASES if case.way is way]
    table = pd.DataFrame([case.sample.model_dump(mode="json") for case in cases])
    if way.id == NOTHING:
        with pytest.raises(NoiseSenseError, match=r"none of 6 samples .* no usable list"):
            run(table, judge_llm=Withholding(), mode="both")
        return
    result = run(table, judge_llm=Withholding(), mode="both")
    data, wrong = result.raw_data.evaluation_results, ""
    for case, (_, row) in zip(cases, data.iterrows(), strict=True):
        for mode in MODES:
            name = f"noise_sensitivity_{mode}"
            wrong += wrong_with(case, mode, number=row[name], words=row[f"{name}_reason"])
            assert (row[f"{name}_low"], row[f"{name}_high"]) == case.expected(mode).bounds
    assert wrong == ""
    rows = next(each for each in result.tables if each.title == "Aggregate Scores").data
    for mode, (_, row) in zip(MODES, rows.iterrows(), strict=True):
        known = [case.expected(mode) for case in cases]
        opened = sum(each.value is None for each in known)
        assert (row["Mode"], row["Undetermined"]) == (mode, opened)
        assert row["Failed"] == 0
        if opened:
            low, high = (sum(each.bounds[i] for each in known) / len(known) for i in (0, 1))
            assert row["Mean Score"] == "undetermined"
            assert (row["Mean Low"], row["Mean High"]) == (round(low, 4), round(high, 4))
        else:
            assert row["Mean Score"] == round(sum(each.truth for each in known) / len(known), 4)
