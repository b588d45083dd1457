"""`ChatClient` against servers on loopback: where a request goes, with what, and how often.

The fault table (`tests/models/test_faults.py`) runs through it as through every other client.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from noisesense.errors import JudgeError
from noisesense.judging.protocol import Usage
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from support import misbehavior as bad
from support.says import Answer, Says
from support.server import ScriptedServer

CERTIFICATE = Path(__file__).with_name("loopback.pem")  # its own authority, for 127.0.0.1 only
COMPLETION = {"choices": [{"message": {"content": '{"text": "yes"}'}}]}


def ask(base_url: str, **settings: Any) -> tuple[Answer, Usage]:
    client = ChatClient(**{"api_key": "k-1", "max_retries": 0, "base_url": base_url, **settings})
    return asyncio.run(OpenAILLM("m", client=client).generate("Well?", Answer))


@contextlib.contextmanager
def serving(
    *replies: tuple[int, dict[str, str]], tls: bool = False
) -> Iterator[tuple[str, list[BaseHTTPRequestHandler]]]:
    """The replies' statuses and headers, one after another, then completions."""
    left = list(replies)
    content = json.dumps(COMPLETION).encode()
    requests: list[BaseHTTPRequestHandler] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(self)
            status, headers = left.pop(0) if left else (200, {})
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def test_path_query_key_organization_project_and_credentials_are_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    with serving() as (address, requests):
        ask(f"{address}/base/?version=2")
        ask(address.replace("://", "://me:p%40ss@") + "/v1")
    first, second = requests
    assert first.path == "/base/chat/completions?version=2"
    assert first.headers["Authorization"] == "Bearer k-1"
    names = ("OpenAI-Organization", "OpenAI-Project")
    assert [first.headers[name] for name in names] == ["org", "project"]
    assert second.path == "/v1/chat/completions"
    assert base64.b64decode(second.headers["Authorization"].split()[1]) == b"me:p@ss"


def test_a_redirect_is_named_and_not_followed() -> None:
    """So that no key reaches another host."""
    with serving() as (other, requests):
        for status in (301, 302, 303, 307, 308):
            with (
                serving((status, {"Location": f"{other}/v1"})) as (address, _),
                pytest.raises(JudgeError, match=f"HTTP {status}.*moved: check the base URL"),
            ):
                ask(address)
    assert requests == []


def by_package(address: str) -> tuple[Answer, Usage]:
    llm = OpenAILLM("m", base_url=address, api_key="k", max_retries=0)
    return asyncio.run(llm.generate("Well?", Answer))


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as (address, requests):
        monkeypatch.setenv("http_proxy", address)
        assert ask("http://host.invalid/v1")[0].text == "yes"
    assert requests[0].path == "http://host.invalid/v1/chat/completions"


@pytest.mark.parametrize("asking", [ask, by_package])
def test_a_certificate_must_be_trusted_as_by_ssl_cert_file(
    monkeypatch: pytest.MonkeyPatch, asking: Callable[[str], tuple[Answer, Usage]]
) -> None:
    # Anew for each client: the tests' shared context has read its certificates already.
    unshared = getattr(ssl.create_default_context, "__wrapped__", ssl.create_default_context)
    monkeypatch.setattr(ssl, "create_default_context", unshared)
    with serving(tls=True) as (address, requests):
        with pytest.raises(JudgeError, match=r"is not trusted.*SSL_CERT_FILE"):
            asking(address)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert asking(address)[0].text == "yes"
    assert len(requests) == 1


def test_a_request_that_is_given_up_holds_no_process_back() -> None:
    script = """
import asyncio, sys
from noisesense_adapters.openai.client import ChatClient
client = ChatClient(api_key="k", base_url=sys.argv[1], timeout=60, max_retries=0)
try:
    asyncio.run(asyncio.wait_for(client.create(messages=[]), 0.2))
except (TimeoutError, asyncio.TimeoutError):
    print("given up")
"""
    with ScriptedServer(Says(), script=bad.always(bad.HANG)) as server:
        command = [sys.executable, "-c", script, server.base_url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert done.stdout == "given up\n"
    assert done.stderr == ""
