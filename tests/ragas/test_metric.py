"""The metric as an object: how it is made, what ragas takes it for, copies, prompts."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from ragas.llms.base import BaseRagasLLM
from ragas.metrics.base import Metric, MetricOutputType, MetricWithLLM, SingleTurnMetric

from noisesense import InputError, RecordedJudge, write_recording
from noisesense_adapters.ragas import NoiseSensitivity, VerdictsInRows
from support.ragas_peer import ragas_row
from support.tables import random_pair


class Silent(BaseRagasLLM):
    def generate_text(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    async def agenerate_text(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    def is_finished(self, response: Any) -> bool:
        return True


def test_only_without_a_judge_does_ragas_see_a_metric_that_wants_an_llm() -> None:
    judged, asking = NoiseSensitivity(judge=VerdictsInRows()), NoiseSensitivity()
    assert judged.llm is not None  # so that evaluate() makes no model for it, and needs no key
    assert asking.llm is None
    for metric in (judged, asking, NoiseSensitivity("irrelevant", Silent())):
        assert type(metric) is NoiseSensitivity
        assert isinstance(metric, MetricWithLLM)
        assert isinstance(metric, NoiseSensitivity)
        assert isinstance(metric, Metric)
        assert isinstance(metric, SingleTurnMetric)
        assert metric.output_type is MetricOutputType.CONTINUOUS
    assert NoiseSensitivity("irrelevant", None, VerdictsInRows()).llm is not None


def test_focus_is_the_deprecated_name_of_mode() -> None:
    with pytest.warns(DeprecationWarning, match="use mode=") as caught:
        metric = NoiseSensitivity(focus="irrelevant", judge=VerdictsInRows())
    assert metric.mode == "irrelevant"
    assert caught[0].filename == __file__
    with (
        pytest.warns(DeprecationWarning, match="focus"),
        pytest.raises(InputError, match="one mode"),
    ):
        NoiseSensitivity("irrelevant", focus="relevant")
    with (
        pytest.warns(DeprecationWarning, match="focus"),
        pytest.raises(InputError, match="'both'"),
    ):
        NoiseSensitivity(focus="both")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"mode": "both"}, ("mode", "'irrelevant'", "'both'")),
        ({"definition": "ragsa"}, ("definition", "'paper'", "'ragsa'")),
        ({"empty": "nan"}, ("empty", "'zero'", "'nan'")),
        ({"llm": "gpt-4o-mini"}, ("llm", "ragas' models", "str", "llm_factory")),
        ({"judge": 7}, ("judge", "async def judge", "int", "a recording's path")),
        ({"judge": VerdictsInRows(), "llm": Silent()}, ("judge", "llm too")),
        ({"judge": VerdictsInRows(), "store": object()}, ("judge", "store too")),
        ({"judge_options": {"vote": 3}}, ("judge_options", "'vote'", "mean 'votes'?")),
        ({"judge_options": {"store": "a.db"}}, ("'store'", "argument of the metric itself")),
        ({"judge_options": {"wait": 3}}, ("'wait'", "known are ")),
        ({"judge_options": "full"}, ("judge_options", "a mapping", "'full'")),
        (
            {"judge": VerdictsInRows(), "judge_options": {"votes": 3}},
            ("judge", "judge_options too"),
        ),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], names: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        NoiseSensitivity(**arguments)
    assert all(name in str(caught.value) for name in names)


def test_neither_llm_nor_judge_in_ascore() -> None:
    sample, _ = random_pair(1)
    with pytest.raises(InputError, match="or judge="):
        NoiseSensitivity().score(**ragas_row(sample))


def test_copies_keep_everything(tmp_path: Any) -> None:
    path = tmp_path / "verdicts.jsonl"
    sample, verdicts = random_pair(3)
    write_recording(path, [(sample, verdicts)])
    judge = RecordedJudge(path)
    metric = NoiseSensitivity(
        "irrelevant", judge=judge, definition="paper", empty="zero", name="mine"
    )
    expected = metric.score(**ragas_row(sample)).value
    pickled = pickle.loads(pickle.dumps(metric))
    for made in (copy.copy(metric), copy.deepcopy(metric), pickled):
        assert type(made) is NoiseSensitivity
        assert made.score(**ragas_row(sample)).value == expected
        assert made is not metric
    asking = NoiseSensitivity(judge_options={"votes": 3})
    for made in (copy.copy(asking), copy.deepcopy(asking), pickle.loads(pickle.dumps(asking))):
        assert isinstance(made, MetricWithLLM)
        assert made.judge_options == {"votes": 3}


def test_the_constructor_of_ragas_own_metrics() -> None:
    """The collections take ``(llm, name, mode)``."""
    llm = Silent()
    for metric in (
        NoiseSensitivity(llm),
        NoiseSensitivity(llm, mode="relevant"),
        NoiseSensitivity(mode="relevant", llm=llm),
        NoiseSensitivity("relevant", llm),
    ):
        assert (metric.llm, metric.mode, metric.name) == (llm, "relevant", "noise_sensitivity")
    metric = NoiseSensitivity(llm, "mine", "irrelevant")
    assert (metric.llm, metric.name, metric.mode) == (llm, "mine", "irrelevant")
    assert NoiseSensitivity(llm, name="mine", mode="irrelevant").mode == "irrelevant"
    for arguments, named in (
        ((llm, object()), {}),
        (("relevant",), {"mode": "irrelevant"}),
        ((llm, "a", "relevant"), {"mode": "irrelevant"}),
    ):
        with pytest.raises(InputError, match="expected one"):
            NoiseSensitivity(*arguments, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("nli_statements_prompt", r'judge_options=\{"prompts"'),
        ("max_retries", r'judge_options=\{"max_reasks"'),
        ("allowed_values", "help"),
    ],
)
def test_what_ragas_own_takes_and_ours_cannot_is_named(name: str, instead: str) -> None:
    with pytest.raises(InputError, match=f"{name}.*{instead}"):
        NoiseSensitivity(**{name: None})


@pytest.mark.parametrize(
    "name", ["get_prompts", "set_prompts", "adapt_prompts", "save_prompts", "load_prompts"]
)
def test_ragas_prompts_api_is_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=r'ragas. prompts API.*judge_options=\{"prompts"'):
        getattr(NoiseSensitivity(llm=Silent()), name)()


def test_required_columns_are_ragas_own() -> None:
    from ragas.metrics._noise_sensitivity import NoiseSensitivity as Own

    metric = NoiseSensitivity(judge=VerdictsInRows())
    assert metric.required_columns == Own().required_columns
    assert metric.get_required_columns(with_optional=True)["SINGLE_TURN"] >= {"rubrics"}
