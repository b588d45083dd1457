"""A small reply that expands to a large one, and one that does not end."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from pydantic import BaseModel

from noisesense import JudgeError
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import MOST_BYTES, ChatClient

HEAD = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "'
TAIL = b'"}, "finish_reason": "stop"}]}'


class Reply(BaseModel):
    claims: list[str]


@contextmanager
def endpoint(body: bytes, encoding: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            if encoding:
                self.send_header("Content-Encoding", encoding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def package(url: str) -> OpenAILLM:
    return OpenAILLM("m", base_url=url, api_key="k", max_retries=0)


def standard_library(url: str) -> OpenAILLM:
    return OpenAILLM("m", client=ChatClient(api_key="k", base_url=url, max_retries=0))


@pytest.mark.parametrize("make", [package, standard_library])
@pytest.mark.parametrize("encoding", ["", "gzip", "br"])
def test_a_body_is_bounded(make: Callable[[str], OpenAILLM], encoding: str) -> None:
    body = HEAD + b"x" * (MOST_BYTES * 10) + TAIL
    if encoding:
        body = gzip.compress(body)
        assert len(body) < MOST_BYTES // 50
    with endpoint(body, encoding) as url, pytest.raises(JudgeError) as caught:
        asyncio.run(make(url).generate("?", Reply))
    if not (make is standard_library and encoding):  # which unpacks nothing: it is no JSON
        assert "larger than 8,000,000 bytes" in str(caught.value)


def test_a_sound_body_that_is_packed_is_read() -> None:
    whole = HEAD + b'{\\"claims\\": [\\"a\\"]}' + TAIL
    with endpoint(gzip.compress(whole), "gzip") as url:
        reply, _ = asyncio.run(package(url).generate("?", Reply))
    assert reply == Reply(claims=["a"])
