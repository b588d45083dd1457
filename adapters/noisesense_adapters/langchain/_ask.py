"""Asking a LangChain model from whatever event loop the host happens to run."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from noisesense_adapters._threads import in_thread

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

__all__ = ["ask", "ask_either", "is_about_loops"]

T = TypeVar("T")

# What asyncio says of another loop's connection. "no running event loop" is not among them: that
# is in the context of whatever fails below an `asyncio.run` that stands in the handler of the
# question whether a loop is running, as in ragas' `score()`.
_OF_ANOTHER_LOOP = ("Event loop is closed", "different loop", "different event loop")

_lock = threading.Lock()
_first: weakref.ref[asyncio.AbstractEventLoop] | None = None


async def ask(model: Runnable[Any, Any], prompt: str, config: RunnableConfig | None) -> Any:
    """``ainvoke`` in the first event loop that asks, ``invoke`` in a thread in any other.

    LangChain shares the connections of its async clients between model objects and keeps them
    for good, but they belong to the loop that opened them: in another loop a request goes out,
    is paid for, and its reply is lost. Sync clients have no such bond.
    """
    return await ask_either(
        partial(model.ainvoke, prompt, config=config),
        partial(model.invoke, prompt, config=config),
    )


async def ask_either(asking: Callable[[], Awaitable[T]], blocking: Callable[[], T]) -> T:
    """``asking`` in the first event loop that asks LangChain, ``blocking`` in a thread else."""
    if _is_first(asyncio.get_running_loop()):
        try:
            return await asking()
        except Exception as error:
            if not is_about_loops(error):
                raise
    return await in_thread(blocking)


def _is_first(loop: asyncio.AbstractEventLoop) -> bool:
    global _first
    with _lock:
        if _first is None:
            _first = weakref.ref(loop)
        return _first() is loop


def is_about_loops(error: BaseException | None) -> bool:
    """Is it a connection that the user's own code left behind in a loop of before?"""
    while error is not None:
        if isinstance(error, RuntimeError) and any(w in str(error) for w in _OF_ANOTHER_LOOP):
            return True
        error = error.__cause__ or error.__context__
    return False
