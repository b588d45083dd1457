"""The page's settings send nothing; without them LangSmith's client sends traces."""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from noisesense import Sample
from noisesense.testing import TableJudge, random_pair
from noisesense_adapters.langsmith import noise_sensitivity
from support.experiments import outputs
from support.pages import page_named

CLIENT = "Client(info={})"


def examples(samples: list[Sample]) -> list[Any]:
    from langsmith.schemas import Example

    now = datetime.datetime.now(datetime.timezone.utc)
    return [
        Example(
            id=uuid.uuid4(),
            dataset_id=uuid.uuid4(),
            created_at=now,
            inputs={"question": sample.user_input},
            outputs={"answer": sample.reference},
        )
        for sample in samples
    ]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            seen.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = do_PATCH = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("LANGSMITH_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield seen
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
def test_the_pages_client_sends_nothing(requests: list[str]) -> None:
    from langsmith import Client, evaluate

    assert CLIENT in page_named("langsmith").read_text("utf-8")
    pair = random_pair(1)
    client = Client(info={})

    def application(inputs: dict[str, Any]) -> dict[str, Any]:
        return outputs(pair[0])

    evaluators: list[Any] = [noise_sensitivity(judge=TableJudge([pair]))]
    data = examples([pair[0]])
    rows = evaluate(
        application, data=data, evaluators=evaluators, upload_results=False, client=client
    )
    assert len(list(rows)) == 1
    client.flush()
    assert requests == []
