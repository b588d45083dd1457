"""Blocking clients, and clients of another event loop, asked from an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """As `asyncio.to_thread`, but for any number at once, and no exit waits for a thread."""
    done: Future[T] = Future()
    # With the context, in which frameworks keep the callbacks of whoever calls us.
    work: Callable[[], T] = partial(contextvars.copy_context().run, call)

    def run() -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            done.set_exception(error)

    threading.Thread(target=run, name="noisesense-ask", daemon=True).start()
    return await asyncio.wrap_future(done)


# What asyncio says of another loop's connection. "no running event loop" is not one of them: as
# ragas' `score()` calls `asyncio.run` while it handles that error, any failure has it as context.
_OF_ANOTHER_LOOP = ("Event loop is closed", "different loop", "different event loop")

_lock = threading.Lock()
_first: weakref.ref[asyncio.AbstractEventLoop] | None = None


async def ask_either(call: Callable[[], Awaitable[T]], blocking: Callable[[], T]) -> T:
    """``call`` in the first event loop that asks LangChain, ``blocking`` in a thread in any other.

    LangChain shares the connections of its async clients between model objects and keeps them
    for good, but they belong to the loop that opened them: in another loop a request goes out,
    is paid for, and its reply is lost. Sync clients have no such bond.
    """
    global _first
    loop = asyncio.get_running_loop()
    with _lock:
        _first = _first or weakref.ref(loop)
    if _first() is loop:
        try:
            return await call()
        except Exception as error:
            if not is_about_loops(error):
                raise
    try:
        return await in_thread(blocking)
    except NotImplementedError:
        return await call()  # a model that has nothing else


def is_about_loops(error: BaseException | None) -> bool:
    """Is it about a connection that the user's own code left behind in an earlier loop?"""
    while error is not None:
        if isinstance(error, RuntimeError) and any(w in str(error) for w in _OF_ANOTHER_LOOP):
            return True
        error = error.__cause__ or error.__context__
    return False
