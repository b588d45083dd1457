"""No key of a user's in a pickle, nor in the locals of our frames, as `pytest -l` shows them."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import pytest
from openai import OpenAI

from noisesense.errors import InputError
from noisesense.judging.prompts import Claims
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from support import misbehavior as bad
from support.says import Says
from support.server import ScriptedServer

KEY = "canary-5f2e9c"
PARAMS = {"extra_headers": {"X-Auth": KEY}, "extra_body": {"key": KEY}}


def with_settings(url: str) -> OpenAILLM:
    return OpenAILLM("m", base_url=url, api_key=KEY, params=PARAMS)


def with_our_client(url: str) -> OpenAILLM:
    return OpenAILLM("m", client=ChatClient(api_key=KEY, base_url=url), params=PARAMS)


def with_a_blocking_client(url: str) -> OpenAILLM:
    return OpenAILLM("m", client=OpenAI(api_key=KEY, base_url=url), params=PARAMS)


MAKE = [with_settings, with_our_client, with_a_blocking_client]


def frames(traceback: TracebackType | None) -> Iterator[Any]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


@pytest.mark.parametrize("make", MAKE)
def test_no_key_stands_in_the_locals_of_a_frame(make: Callable[[str], OpenAILLM]) -> None:
    """While it waits: the call is cancelled, and its frames are those of the error."""
    with ScriptedServer(Says(""), script=bad.always(bad.Misbehavior("hang", hang=True))) as server:
        llm = make(server.base_url.replace("//", f"//user:{KEY}@"))

        async def main() -> BaseException | None:
            task = asyncio.ensure_future(llm.generate("Which claims?", Claims))
            while not server.log.calls:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait({task})
            try:
                task.result()
            except asyncio.CancelledError as error:
                return error
            return None

        error = asyncio.run(main())
        assert error is not None
    seen = 0
    for frame in frames(error.__traceback__):
        if "noisesense" in frame.f_code.co_filename:
            seen += 1
            assert KEY not in repr(frame.f_locals), frame.f_code.co_name
    assert seen == 4  # those that lead to the client's call, and none behind it


@pytest.mark.parametrize("make", MAKE)
def test_models_with_a_key_cannot_be_pickled_and_copy_as_themselves(
    make: Callable[[str], OpenAILLM],
) -> None:
    llm = make("http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match="make a model in each process"):
        pickle.dumps(llm)
    assert copy.deepcopy(llm) is llm  # as hosts copy metrics
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(ChatClient(api_key=KEY))
