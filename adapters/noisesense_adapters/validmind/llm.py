"""The judge of a test: given, a recording, or a LangChain model."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from noisesense import Judge
from noisesense.errors import InputError, MissingExtraError, NoiseSenseError
from noisesense_adapters.toolbox.failures import judge_error
from noisesense_adapters.toolbox.judges import given_judge, judge_over

_HINT = "judge=RECORDING needs no model; judge_llm= takes any chat model of LangChain"


def judge_of(judge: Any, judge_llm: Any, store: Any) -> Judge:
    """The judge that the parameters describe.

    Args:
        judge: a judge, or the path of a recording.
        judge_llm: a LangChain chat model, or a ValidMind model that holds one. Without ``judge``
            and ``judge_llm``, the model that ValidMind is configured with.
        store: a `VerdictStore`, or the path of one, for a model's replies.

    Raises:
        InputError: both, something else, or a store beside a judge.
        MissingExtraError: the packages of ValidMind's own model are not installed.
        JudgeError: ValidMind's own model cannot be made, e.g. its key is not configured.
    """
    given = given_judge(judge, judge_llm=judge_llm, store=store)
    if given is not None:
        return given
    from noisesense_adapters.langchain import LangChainLLM

    model = _model(judge_llm)
    return judge_over(model, partial(LangChainLLM, model), "validmind", store=store)


def _model(judge_llm: Any) -> Any:
    """The chat model, by ValidMind's own rules; its embeddings are not needed."""
    name = "judge_llm" if judge_llm is not None else "there is no judge, and ValidMind's own model"
    failure: NoiseSenseError
    try:
        model, _ = import_module("validmind.ai.utils").get_judge_config(judge_llm, None)
    except ImportError:
        failure = MissingExtraError(f"{name} needs packages of 'validmind[llm]'. Hint: {_HINT}")
    except Exception as error:  # noqa: BLE001 - clients' exceptions may quote their settings
        if judge_llm is None:
            cause = judge_error(error, name)
            failure = type(cause)(f"{cause}. Hint: {_HINT}")
        else:
            expected = "a LangChain chat model, or a ValidMind model with one as its .model"
            failure = InputError(expected, type(judge_llm).__name__, where="judge_llm")
    else:
        return model
    raise failure
