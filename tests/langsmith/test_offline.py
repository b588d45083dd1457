"""The page's example sends nothing, although a key is set and the service is there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = Path(__file__).parents[2] / "adapters/noisesense_adapters/langsmith/README.md"
_PATHS = os.pathsep.join(str(PAGE.parents[2].parent / name) for name in ("core", "adapters"))


class _Service(BaseHTTPRequestHandler):
    seen: list[str]

    def _reply(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.seen.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PATCH = _reply  # noqa: N815 - the base class calls them so

    def log_message(self, *_: object) -> None:
        pass


def _requests(code: str, folder: Path) -> list[str]:
    seen: list[str] = []
    handler = type("Service", (_Service,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        environment = {
            **os.environ,
            "PYTHONPATH": _PATHS,
            "LANGSMITH_API_KEY": "k",
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_ENDPOINT": address,
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("0.5\n0.0\n")
    return seen


def test_the_pages_example_sends_nothing(tmp_path: Path) -> None:
    code = PAGE.read_text("utf-8").split("```python\n")[1].split("```")[0]
    assert _requests(code, tmp_path) == []
    # The service is there to be seen: without one of the page's settings it is asked.
    assert _requests(code.replace("    client=Client(info={}),\n", ""), tmp_path) == ["GET /info"]
