"""Recordings, judges, LangChain's models and ValidMind's own: who is asked, and how often."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import validmind as vm
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from validmind.ai import utils

from noisesense import (
    InputError,
    JudgeError,
    MissingExtraError,
    NoiseSenseError,
    RecordedJudge,
    RecordingError,
    StoreError,
    VerdictStore,
)
from support.mind import Mind


class Scripted(BaseChatModel):
    """Answers as a mind has it; counts, and fails on prompts with some text."""

    mind: Any
    calls: int = 0
    fails_on: str | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.calls += 1
        prompt = str(messages[-1].content)
        if self.fails_on is not None and self.fails_on in prompt:
            raise ConnectionError("no reply to sk-secret")
        reply = AIMessage(self.mind.answer(prompt))
        return ChatResult(generations=[ChatGeneration(message=reply)])


@pytest.fixture
def table(pairs: Any) -> pd.DataFrame:
    """With the chunks' labels, which some examples have in place of a reference's claims."""
    return pd.DataFrame([sample.model_dump(mode="json") for sample, _ in pairs])


@pytest.fixture
def model(pairs: Any) -> Scripted:
    return Scripted(mind=Mind(pairs))


@pytest.fixture(autouse=True)
def unconfigured() -> Iterator[None]:
    """ValidMind keeps its model in its module; after each test it is as before."""
    names = [name for name in vars(utils) if name.startswith(("__judge", "__client", "__model"))]
    assert len(names) == 5
    before = {name: getattr(utils, name) for name in names}
    yield
    for name, value in before.items():
        setattr(utils, name, value)


def mean(result: Any) -> float:
    found: float = result.tables[0].data["Mean Score"][0]
    return found


def test_a_recording_by_path_or_as_a_judge(run: Any, table: pd.DataFrame, recording: Path) -> None:
    for judge in (recording, str(recording), RecordedJudge(recording)):
        assert mean(run(table, judge=judge)) == 0.1944


def test_a_langchain_model_is_asked_once_for_both_modes(
    run: Any, table: pd.DataFrame, model: Scripted
) -> None:
    both = run(table, judge_llm=model, mode="both").tables[0].data["Mean Score"]
    assert both.tolist() == [0.1944, 0.2222]
    asked = model.calls
    assert 0 < asked <= sum(len(contexts) + 3 for contexts in table.retrieved_contexts)
    # Another run asks again: what was said is kept from one to the next by a store only.
    assert mean(run(table, judge_llm=model, definition="validmind")) == 0.5
    assert model.calls == 2 * asked


def test_embeddings_are_taken_and_not_used(
    run: Any, table: pd.DataFrame, model: Scripted, recording: Path
) -> None:
    class Embeddings(DeterministicFakeEmbedding):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError("embeddings were asked for")

    embeddings = Embeddings(size=8)
    assert mean(run(table, judge_llm=model, judge_embeddings=embeddings)) == 0.1944
    assert mean(run(table, judge=recording, judge_embeddings=embeddings)) == 0.1944


def test_a_model_inside_one_of_validminds(run: Any, table: pd.DataFrame, model: Scripted) -> None:
    held = vm.init_model(input_id="judge", predict_fn=lambda row: "", __log=False)
    held.model = model
    assert mean(run(table, judge_llm=held)) == 0.1944


def test_the_model_validmind_is_configured_with(
    run: Any, table: pd.DataFrame, model: Scripted
) -> None:
    utils.set_judge_config(model, DeterministicFakeEmbedding(size=8))
    assert mean(run(table)) == 0.1944
    assert mean(run(table, judge_embeddings="are not looked at")) == 0.1944
    assert model.calls > 0


def test_no_judge_at_all(run: Any, table: pd.DataFrame) -> None:
    wanted = "there is no judge, and ValidMind's own model needs packages of 'validmind\\[llm]'"
    with pytest.raises(MissingExtraError, match=f"{wanted}. Hint: judge=RECORDING needs no model"):
        run(table)


def test_validminds_own_model_is_half_configured(
    run: Any, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_KEY", "sk-secret")
    wanted = "there is no judge, and ValidMind's own model could not be called: ValueError, raised"
    with pytest.raises(JudgeError, match=wanted) as caught:
        run(table)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"judge": 3}, "judge: expected a recording's path, or an object with `async def judge"),
        (
            {"judge_llm": 3},
            "judge_llm: expected a LangChain chat model, or a ValidMind model with",
        ),
        ({"judge": "J", "judge_llm": 3}, "judge: expected a judge alone, got judge_llm too"),
        ({"judge": "J", "store": "s.db"}, "judge: expected a judge alone, got store too"),
        ({"mode": "all"}, "mode: expected one of 'relevant', 'irrelevant', 'both', got 'all'"),
        ({"definition": "mine"}, "definition: expected one of 'ragas', 'paper', "),
        ({"empty": "none"}, "empty: expected 'undefined', 'zero' or 'error', got 'none'"),
        (
            {"definition": "validmind", "mode": "irrelevant"},
            "definition: expected a definition with an irrelevant mode, got 'validmind'",
        ),
    ],
)
def test_wrong_parameters(
    run: Any, table: pd.DataFrame, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        run(table, **params)
    assert str(caught.value).startswith(message)


def test_another_focus_than_the_mode(run: Any, table: pd.DataFrame, recording: Path) -> None:
    with (
        pytest.warns(DeprecationWarning, match="use mode="),
        pytest.raises(InputError, match="focus: expected mode alone, got mode='relevant' and foc"),
    ):
        run(table, judge=recording, mode="relevant", focus="irrelevant")


def test_a_recording_that_is_not_there(run: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        run(table, judge=tmp_path / "none.jsonl")


def test_a_model_that_fails_on_a_sample(run: Any, table: pd.DataFrame, model: Scripted) -> None:
    model.fails_on = "Charlotte"
    result = run(table, judge_llm=model)
    (row,) = result.tables[0].data.to_dict("records")
    assert (row["Count"], row["Failed"], row["Mean Score"]) == (6, 1, 0.2333)  # 7/6 over 5
    (error,) = result.raw_data.evaluation_results["error"].dropna()
    assert error.startswith("dataset 'answers', row 1: Scripted cannot be reached (Connection")
    assert "secret" not in error
    model.fails_on = None
    assert mean(run(table, judge_llm=model)) == 0.1944


def test_a_store_carries_what_was_judged_into_the_next_run(
    run: Any, table: pd.DataFrame, model: Scripted, tmp_path: Path
) -> None:
    """What failed is asked again, and nothing else: two decompositions, a check and the chunks."""
    model.fails_on = "Charlotte"
    store = tmp_path / "calls.db"
    run(table, judge_llm=model, store=store)
    model.fails_on, asked = None, model.calls
    assert mean(run(table, judge_llm=model, store=store)) == 0.1944
    assert asked < model.calls <= asked + 2 + 3


def test_a_model_that_always_fails(run: Any, table: pd.DataFrame, model: Scripted) -> None:
    model.fails_on = ""
    with pytest.raises(NoiseSenseError, match="none of 6 samples was scored") as caught:
        run(table, judge_llm=model)
    assert "secret" not in str(caught.value)
    with pytest.raises(JudgeError, match="the judge failed on the first 20 samples"):
        run(pd.concat([table.assign(user_input=f"{i}?") for i in range(4)]), judge_llm=model)


def test_a_store_by_path_or_as_an_object(
    run: Any, table: pd.DataFrame, pairs: Any, tmp_path: Path
) -> None:
    first, second, third = (Scripted(mind=Mind(pairs)) for _ in range(3))
    path = tmp_path / "judged.db"
    assert mean(run(table, judge_llm=first, store=path)) == 0.1944
    with VerdictStore(path) as store:
        assert mean(run(table, judge_llm=second, store=store)) == 0.1944
    assert mean(run(table, judge_llm=third, store=str(path))) == 0.1944
    assert first.calls > 0
    assert second.calls == third.calls == 0
    (tmp_path / "broken.db").write_text("no database " * 500, encoding="utf-8")
    with pytest.raises(StoreError, match=r"broken\.db"):
        run(table, judge_llm=first, store=tmp_path / "broken.db")


def test_only_this_module_loads_validmind() -> None:
    modules = ("datasets.score", "ragchecker", "langchain", "promptfoo")
    imports = "; ".join(f"import noisesense_adapters.{name}" for name in modules)
    code = f"import sys, noisesense; {imports}; print('validmind' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
