"""Calls of blocking clients, and of clients of another event loop, from an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Same as `asyncio.to_thread`, but without a limit of threads, and exit does not wait."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # it is not cancelled when one who waits for it is
    context = contextvars.copy_context()  # frameworks keep the caller's callbacks there

    def run() -> None:
        try:
            future.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            future.set_exception(error)

    threading.Thread(target=run, name="noisesense-ask", daemon=True).start()
    return await asyncio.wrap_future(future)


# asyncio's messages about another loop's connection. Not "no running event loop": ragas' `score()`
# calls `asyncio.run` while it handles that error, so that any failure has it as its context.
_OF_ANOTHER_LOOP = ("Event loop is closed", "different loop", "different event loop")

_lock = threading.Lock()
_first: weakref.ref[asyncio.AbstractEventLoop] | None = None


async def ask_either(call: Callable[[], Awaitable[T]], blocking: Callable[[], T]) -> T:
    """``call`` in the first event loop that calls LangChain; in others ``blocking`` in a thread.

    ``blocking`` also where ``call`` fails because of another loop's connection; and ``call`` where
    ``blocking`` is not implemented.

    LangChain's async clients share connections for the life of the process, but a connection
    belongs to the loop that opened it: in another loop a request is sent and paid for, and its
    reply is lost. Sync clients do not have this problem.
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
        return await call()  # the model has no sync client


def is_about_loops(error: BaseException | None) -> bool:
    """Tell whether an error, or one behind it, is about a connection of another event loop."""
    while error is not None:
        message = str(error) if isinstance(error, RuntimeError) else ""
        if any(words in message for words in _OF_ANOTHER_LOOP):
            return True
        error = error.__cause__ or error.__context__
    return False
