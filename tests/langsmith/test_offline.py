"""The page's example sends nothing, although a key is set and the service is there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.command import environment
from support.pages import page_named

SEEN: list[str] = []


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        SEEN.append(f"{self.command} {self.path}")
        self.send_error(404)

    do_POST = do_PATCH = do_GET  # noqa: N815 - the base class calls them so

    def log_message(self, *_: object) -> None:
        pass


def run(code: str, folder: Path) -> list[str]:
    SEEN.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        variables = {
            "LANGSMITH_API_KEY": "k",
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        }
        command = [sys.executable, "-c", code]
        env = {**os.environ, **environment(), **variables}
        done = subprocess.run(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=True
        )
        server.shutdown()
    assert done.stdout.endswith("0.5\n0.0\n")
    return list(SEEN)


def test_the_pages_example_sends_nothing(tmp_path: Path) -> None:
    code = page_named("langsmith").read_text("utf-8").split("```python\n")[1].split("```")[0]
    assert run(code, tmp_path) == []
    # The service is there to be seen: without one of the page's settings it is asked.
    assert run(code.replace("    client=Client(info={}),\n", ""), tmp_path) == ["GET /info"]
