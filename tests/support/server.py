"""A loopback server that speaks OpenAI chat completions, with a scripted mind behind it.

::

    with ScriptedServer(mind, latency=0.05, script=first(1, RATE_LIMITED)) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="any")
        ...
    assert server.log.calls == 13

``mind`` is any object with ``answer(prompt: str) -> str``; the prompt is the contents of all
messages, joined by newlines. See `support.misbehavior` for scripts and `support.request_log`
for what is recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Collection
from http import HTTPStatus
from typing import Any, Protocol

from support.chat import completion, error_body, form_of, prompt_of
from support.misbehavior import Misbehavior, Script
from support.request_log import SECRET_HEADERS, Request, RequestLog
from support.timeouts import MARK, ON_DEMAND

MAX_BODY = 32_000_000
MAX_HANG = 120.0
FORMS = ("text", "json_object", "json_schema", "tools")
_WELL = Misbehavior("")


class Mind(Protocol):
    def answer(self, prompt: str) -> str: ...


class ScriptedServer:
    """Serves on 127.0.0.1, an ephemeral port, in a thread of its own, until the block ends.

    Args:
        mind: answers the prompts. An exception in it is kept in ``mind_errors`` and raised when
            the block ends, so that a test cannot pass on a mind that did not understand.
        latency: seconds each reply takes; requests are served side by side.
        script: when to misbehave, see `support.misbehavior`.
        forms: the reply forms the endpoint knows; another is a 400, as real endpoints say it.
        api_key: if given, another bearer token is a 401.
    """

    def __init__(
        self,
        mind: Mind,
        *,
        latency: float = 0.0,
        script: Script | None = None,
        forms: Collection[str] = FORMS,
        api_key: str | None = None,
    ) -> None:
        self.mind = mind
        self.latency = latency
        self.script = script
        self.forms = forms
        self.api_key = api_key
        self.log = RequestLog()
        self.mind_errors: list[Exception] = []
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ScriptedServer:
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(started)), name="scripted-server", daemon=True
        )
        self._thread.start()
        if not started.wait(120):
            raise RuntimeError("the scripted server did not start")
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(120)
        if self.mind_errors and error is None:
            raise AssertionError("the mind failed") from self.mind_errors[0]

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, limit=MAX_BODY, backlog=1000
        )
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stop.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        # Transports close in the loop's next round.
        await asyncio.sleep(0.01)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._connection(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # A task that is cancelled before its first step never comes to its own `finally`.
        task.add_done_callback(lambda _: writer.close())

    async def _connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        gone = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        try:
            with contextlib.suppress(*gone):
                while await self._one(reader, writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(Exception):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; False ends the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path = path.partition("?")[0]
        # Some gateways have a key before it.
        if method == "POST" and path.endswith("/v1/chat/completions"):
            return await self._chat(json.loads(body), headers, reader, writer)
        await _reply(writer, 404, error_body(f"unknown endpoint {method} {path}"))
        return True

    async def _chat(
        self,
        asked: dict[str, Any],
        headers: dict[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        request = self._noted(asked, headers)
        fault = (self.script(request.index, request.prompt) if self.script else None) or _WELL
        request.fault = fault.name
        status, body = self._answer(asked, request, fault)
        if fault.hang and ON_DEMAND in headers:
            request.status, request.ended = MARK, time.monotonic()
            await _reply(writer, MARK, "")
            return True
        wait = MAX_HANG if fault.hang else self.latency
        if wait and await _went_away(reader, wait):
            request.aborted = True
            return False
        # Before the reply is written: the client cannot ask again sooner, so rounds count right.
        request.status, request.ended = status, time.monotonic()
        if fault.hang or fault.cut == "before":
            writer.transport.abort()
            return False
        only = len(body) // 2 if fault.cut == "mid" else None
        await _reply(writer, status, body, fault.headers, only=only)
        return only is None

    def _noted(self, asked: dict[str, Any], headers: dict[str, str]) -> Request:
        """In the log, without what is secret."""
        shown = {name: "***" if name in SECRET_HEADERS else headers[name] for name in headers}
        return self.log.add(
            lambda index: Request(
                index,
                prompt_of(asked),
                started=time.monotonic(),
                model=str(asked.get("model", "")),
                body=asked,
                form=form_of(asked),
                headers=shown,
                key=headers.get("authorization", "").removeprefix("Bearer "),
            )
        )

    def _answer(
        self, asked: dict[str, Any], request: Request, fault: Misbehavior
    ) -> tuple[int, str | bytes]:
        if self.api_key is not None and request.key != self.api_key:
            return 401, error_body("Incorrect API key provided", "invalid_api_key")
        if asked.get("stream"):
            return 400, error_body("this server does not stream")
        if request.form not in self.forms:
            return 400, error_body(f"Invalid parameter: {request.form!r} is not supported")
        if fault.status != 200:
            return fault.status, fault.body or error_body(f"scripted {fault.name}", "scripted")
        if fault.body is not None:
            return 200, fault.body
        try:
            text = self.mind.answer(request.prompt)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shall see it
            self.mind_errors.append(error)
            return 500, error_body(f"the mind failed: {type(error).__name__}", "mind")
        if fault.mutate is not None:
            text = fault.mutate(text)
        request.completion = text
        reply: object = completion(asked, request.index, request.prompt, text, fault)
        if fault.reshape is not None:
            reply = fault.reshape(reply)
        return 200, reply if isinstance(reply, bytes) else json.dumps(reply)


async def _went_away(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Wait; True as soon as the client closes the connection."""
    try:
        return not await asyncio.wait_for(reader.read(1), seconds)
    except (asyncio.TimeoutError, TimeoutError):
        return False


async def _reply(
    writer: asyncio.StreamWriter,
    status: int,
    body: str | bytes,
    headers: Any = None,
    *,
    only: int | None = None,
) -> None:
    payload = body if isinstance(body, bytes) else body.encode()
    known = {each.value: each.phrase for each in HTTPStatus}
    fields = {
        "content-type": "application/json",
        "content-length": len(payload),
        **(headers or {}),
    }
    lines = [
        f"HTTP/1.1 {status} {known.get(status, 'None')}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    writer.write(payload[:only])
    await writer.drain()
