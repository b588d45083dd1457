"""One judge for one model of a host and one set of options."""

from __future__ import annotations

from typing import Any

from noisesense_adapters.evaluate.judges import judge_over
from support.table_judge import AgreeingLLM


def made(model: object, key: str = "host", **options: Any) -> object:
    return judge_over(model, lambda: AgreeingLLM(""), key, options=options)


def test_one_judge_for_one_model_and_one_set_of_options() -> None:
    model = {"name": "m"}
    twin = {"name": "m"}
    first = made(model)
    assert made(model) is first
    assert made(twin) is not first
    assert made(model, "another host") is not first
    assert made(model, plan="full") is not first
    named = made("gpt-x")
    assert made("".join(["gpt", "-x"])) is named
    for number in range(16):  # so many are kept
        made(f"other {number}")
    assert made("gpt-x") is not named
