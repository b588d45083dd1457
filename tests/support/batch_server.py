"""A loopback provider of batches: OpenAI's files and batches, with a scripted mind behind them.

::

    with BatchServer(mind, expired=0.02, malformed=0.02) as server:
        client = OpenAI(base_url=server.base_url, api_key="any")
        output, errors = server.run(client, path)

Of the requests it sees for the first time, a share drawn at random, the same in each run, expires,
and another gets half of its reply. Answers come back in another order than they were asked in.
"""

from __future__ import annotations

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.chat import completion, prompt_of
from support.misbehavior import Misbehavior
from support.server import Mind

__all__ = ["BatchServer"]

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000


class BatchServer:
    """Serves on 127.0.0.1, an ephemeral port, until the block ends.

    Args:
        mind: answers the prompts.
        expired: the share of requests that expire.
        malformed: the share of replies that break off.
        polls: how often a batch is still in progress when asked after.
    """

    def __init__(
        self, mind: Mind, *, expired: float = 0.0, malformed: float = 0.0, polls: int = 1
    ) -> None:
        self.mind, self.polls = mind, polls
        self._shares = {"expired": expired, "malformed": malformed}
        self._random = random.Random(0)
        self.seen: dict[str, int] = {}
        self.requests = 0
        self.counts = {"expired": 0, "malformed": 0}
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> BatchServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def run(self, client: Any, path: Path, folder: Path) -> list[Path]:
        """As a user does it: upload, start, poll, download what there is."""
        with path.open("rb") as file:
            uploaded = client.files.create(file=file, purpose="batch")
        batch = client.batches.create(
            input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        while batch.status not in ("completed", "expired", "failed"):
            batch = client.batches.retrieve(batch.id)
        assert batch.status != "failed", batch.errors
        found: list[Path] = []
        for name in filter(None, (batch.output_file_id, batch.error_file_id)):
            answers = folder / f"{name}.jsonl"
            answers.write_bytes(client.files.content(name).content)
            found.append(answers)
        return found

    def post(self, path: str, body: bytes, content_type: str) -> dict[str, Any]:
        if path == "/v1/files":
            name = f"file-{len(self._files)}"
            boundary = content_type.partition("boundary=")[2].encode()
            parts = body.split(b"--" + boundary)
            content = next(part for part in parts if b'name="file"' in part)
            self._files[name] = content.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
            return {"id": name, "object": "file", "purpose": "batch", "status": "processed"}
        assert path == "/v1/batches", path
        asked = json.loads(body)
        name = f"batch_{len(self._batches)}"
        batch = self._batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "completion_window": asked["completion_window"],
            "created_at": 0,
            "input_file_id": asked["input_file_id"],
            "status": "validating",
            "polls": self.polls,
        }
        return batch

    def get(self, path: str) -> dict[str, Any] | bytes:
        name = path.split("/")[3]
        if path.startswith("/v1/files/"):
            return self._files[name]
        batch = self._batches[name]
        if batch["polls"] > 0:
            batch["polls"] -= 1
            batch["status"] = "in_progress"
        elif batch["status"] != "completed":
            self._answer(batch)
        return batch

    def _answer(self, batch: dict[str, Any]) -> None:
        asked = self._files[batch["input_file_id"]]
        lines = [json.loads(line) for line in asked.splitlines()]
        ids = [line["custom_id"] for line in lines]
        if len(set(ids)) < len(ids) or len(ids) > MOST_REQUESTS or len(asked) > MOST_BYTES:
            batch |= {"status": "failed", "errors": {"data": [{"code": "invalid_file"}]}}
            return
        files: dict[str, list[dict[str, Any]]] = {"output": [], "error": []}
        for line in lines:
            files["error" if (answer := self._one(line))["error"] else "output"].append(answer)
        batch["status"] = "completed"
        for kind, answers in files.items():
            if answers:
                name = batch[f"{kind}_file_id"] = f"file-{len(self._files)}"
                text = "".join(f"{json.dumps(answer)}\n" for answer in reversed(answers))
                self._files[name] = text.encode()

    def _one(self, line: dict[str, Any]) -> dict[str, Any]:
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        key, body = line["custom_id"], line["body"]
        assert body["response_format"]["json_schema"]["strict"] is True
        self.requests += 1
        fault = ""
        if key not in self.seen:
            self.seen[key] = len(self.seen) + 1
            fault = self._fault()
        answer = {"id": f"batch_req_{self.requests}", "custom_id": key, "response": None}
        if fault:
            self.counts[fault] += 1
        if fault == "expired":
            message = "This request could not be executed before the completion window expired."
            return {**answer, "error": {"code": "batch_expired", "message": message}}
        prompt = prompt_of(body)
        text = self.mind.answer(prompt)
        text = text[: len(text) // 2] if fault else text
        reply = completion(body, self.requests, prompt, text, Misbehavior(""))
        answer["response"] = {"status_code": 200, "request_id": "r", "body": reply}
        return {**answer, "error": None}

    def _fault(self) -> str:
        drawn = self._random.random()
        for fault, share in self._shares.items():
            if drawn < share:
                return fault
            drawn -= share
        return ""


def _handler(server: BatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self._reply(server.post(self.path, body, self.headers["content-type"]))

        def do_GET(self) -> None:
            self._reply(server.get(self.path))

        def _reply(self, found: dict[str, Any] | bytes) -> None:
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(200)
            kind = "application/octet-stream" if isinstance(found, bytes) else "application/json"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
