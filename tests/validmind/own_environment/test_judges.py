"""Recordings, judges, LangChain's models and ValidMind's own: who is asked, and how often."""

from __future__ import annotations

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

from noisesense import VerdictStore
from support.mind import Mind


class Scripted(BaseChatModel):
    """Answers as a mind has it; counts, and fails on prompts with some text."""

    identity: str = "scripted"  # for a store
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


def test_a_langchain_model_is_asked_once_for_both_modes(
    run: Any, table: pd.DataFrame, model: Scripted
) -> None:
    both = run(table, judge_llm=model, mode="both").tables[0].data["Mean Score"]
    assert both.tolist() == [0.1944, 0.2222]
    asked = model.calls
    rows = sum(len(contexts) + 3 for contexts in table.retrieved_contexts)
    assert 5 < asked <= rows + 5, "five placebos"
    # Another run asks again: what was said is kept from one to the next by a store only.
    assert mean(run(table, judge_llm=model, definition="validmind")) == 0.5
    assert model.calls == 2 * asked


def test_a_model_inside_one_of_validminds_and_the_one_it_is_configured_with(
    run: Any, table: pd.DataFrame, model: Scripted
) -> None:
    held = vm.init_model(input_id="judge", predict_fn=lambda row: "", __log=False)
    held.model = model
    assert mean(run(table, judge_llm=held)) == 0.1944
    asked = model.calls
    utils.set_judge_config(model, DeterministicFakeEmbedding(size=8))
    assert mean(run(table)) == 0.1944
    assert model.calls == 2 * asked > 0


def test_what_failed_is_asked_again_with_a_store_and_nothing_else(
    run: Any, table: pd.DataFrame, pairs: Any, model: Scripted, tmp_path: Path
) -> None:
    model.fails_on = "Charlotte"
    store = tmp_path / "calls.db"
    result = run(table, judge_llm=model, store=store)
    (row,) = result.tables[0].data.to_dict("records")
    assert row["Count"] == 6
    assert row["Failed"] == 1
    assert row["Mean Score"] == 0.2333  # 7/6 over 5
    (error,) = result.raw_data.evaluation_results["error"].dropna()
    assert error.startswith("dataset 'answers', row 1: Scripted cannot be reached (Connection")
    assert "secret" not in error
    model.fails_on = None
    asked = model.calls
    assert mean(run(table, judge_llm=model, store=str(store))) == 0.1944
    # Two decompositions, a check and the chunks; and placebos, which this row may be one of.
    assert asked < model.calls <= asked + 2 + 3 + 5
    other = Scripted(mind=Mind(pairs))
    with VerdictStore(store) as opened:
        assert mean(run(table, judge_llm=other, store=opened)) == 0.1944
    assert other.calls == 0
