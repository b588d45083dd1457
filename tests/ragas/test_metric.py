"""The metric as an object: how it is made, what ragas takes it for, copies, prompts."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest
from ragas.llms.base import BaseRagasLLM
from ragas.metrics.base import Metric, MetricOutputType, MetricWithLLM, SingleTurnMetric

from noisesense import InputError, RecordedJudge, write_recording
from noisesense_adapters.demo.ragas_peer import ragas_row
from noisesense_adapters.ragas import NoiseSensitivity, VerdictsInRows
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
    assert not isinstance(judged, MetricWithLLM)
    assert isinstance(asking, MetricWithLLM)
    for metric in (judged, asking, NoiseSensitivity("irrelevant", Silent())):
        assert isinstance(metric, NoiseSensitivity)
        assert isinstance(metric, Metric)
        assert isinstance(metric, SingleTurnMetric)
        assert metric.output_type is MetricOutputType.CONTINUOUS
    positional = NoiseSensitivity("irrelevant", None, VerdictsInRows())
    assert not isinstance(positional, MetricWithLLM)


def test_a_subclass_of_ones_own_with_a_judge() -> None:
    class Mine(NoiseSensitivity):
        pass

    assert type(Mine(judge=VerdictsInRows())) is Mine


def test_focus_is_the_deprecated_name_of_mode() -> None:
    with pytest.warns(DeprecationWarning, match="use mode=") as caught:
        metric = NoiseSensitivity(focus="irrelevant", judge=VerdictsInRows())
    assert metric.mode == "irrelevant"
    assert caught[0].filename == __file__
    with (
        pytest.warns(DeprecationWarning, match="focus"),
        pytest.raises(InputError, match="mode and focus"),
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
        ({"mode": Silent()}, ("mode", "Silent", "llm=")),
        ({"mode": None}, ("mode", "NoneType")),
        ({"definition": "ragsa"}, ("definition", "'paper'", "'ragsa'")),
        ({"empty": "nan"}, ("empty", "'zero'", "'nan'")),
        ({"llm": "gpt-4o-mini"}, ("llm", "ragas' models", "str", "llm_factory")),
        ({"judge": "verdicts.jsonl"}, ("judge", "async def judge", "str", "RecordedJudge(path)")),
        ({"judge": VerdictsInRows(), "llm": Silent()}, ("judge", "llm too")),
        ({"judge": VerdictsInRows(), "store": object()}, ("judge", "store too")),
        ({"judge_options": {"vote": 3}}, ("judge_options", "'vote'", "mean 'votes'?")),
        ({"judge_options": {"store": "a.db"}}, ("'store'", "argument of the metric itself")),
        ({"judge_options": {"wait": 3}}, ("'wait'", "known are plan, ")),
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
    with pytest.raises(InputError, match="an llm or a judge"):
        NoiseSensitivity().score(**ragas_row(sample))


def test_copies_keep_everything_and_share_the_judge(tmp_path: Any) -> None:
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
        assert {**vars(made), "judge": None} == {**vars(metric), "judge": None}
        assert made.score(**ragas_row(sample)).value == expected
        assert made is not metric
    assert copy.deepcopy([metric])[0].judge is judge
    asking = NoiseSensitivity(judge_options={"votes": 3})
    for made in (copy.copy(asking), copy.deepcopy(asking), pickle.loads(pickle.dumps(asking))):
        assert isinstance(made, MetricWithLLM)
        assert made.judge_options == {"votes": 3}


def test_metrics_are_themselves_only() -> None:
    """A dataclass among the bases would make both modes equal, and neither hashable."""
    judge = VerdictsInRows()
    one, other = NoiseSensitivity(judge=judge), NoiseSensitivity(judge=judge)
    assert one != other
    assert len({one, other, one}) == 2


def test_repr_shows_no_model() -> None:
    assert repr(NoiseSensitivity(llm=Silent())) == (
        "noise_sensitivity(mode='relevant', definition='ragas')"
    )


@pytest.mark.parametrize("judge", [None, VerdictsInRows()])
def test_prompts_of_ragas_kind_there_are_none(judge: Any, tmp_path: Any) -> None:
    metric = NoiseSensitivity(judge=judge)
    assert metric.get_prompts() == {}
    metric.set_prompts()
    metric.save_prompts(str(tmp_path))
    metric.load_prompts(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="does not exist"):
        metric.set_prompts(nli=None)


def test_required_columns_are_ragas_own() -> None:
    from ragas.metrics._noise_sensitivity import NoiseSensitivity as Own

    metric = NoiseSensitivity(judge=VerdictsInRows())
    assert metric.required_columns == Own().required_columns
    assert metric.get_required_columns(with_optional=True)["SINGLE_TURN"] >= {"rubrics"}


def test_making_one_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NoiseSensitivity(judge=VerdictsInRows())
        NoiseSensitivity(llm=Silent())
