"""The fault table through `evaluate()` and DeepEval's own clients, asked on loopback."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from deepeval.models import LocalModel

from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import OpenAIModel, case_of, run
from support.faults import RETRIES, STRUCK, TRUTH, Fault, faults_through, mind, pairs
from support.server import ScriptedServer
from support.timeouts import async_client

KEY = "sk-canary-0123456789"
Make = Callable[..., Any]

unclosed = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def structured(server: ScriptedServer, **options: Any) -> Any:
    """With structured output, as DeepEval knows this model to have it."""
    options["async_http_client"] = options.pop("http_client", None)
    return OpenAIModel("gpt-4o", api_key=KEY, base_url=server.base_url, **options)


def json_mode(server: ScriptedServer, **options: Any) -> Any:
    return OpenAIModel("gpt-4-turbo", api_key=KEY, base_url=server.base_url, **options)


def local(server: ScriptedServer, http_client: Any = None, **options: Any) -> LocalModel:
    """In words, read by DeepEval's own parser."""
    model = LocalModel("m", api_key=KEY, base_url=server.base_url, **options)
    if http_client is not None:
        # As an argument it would go to the blocking client, too, which refuses it.
        model.kwargs["http_client"] = http_client
    return model


MODELS: dict[str, Make] = {"structured": structured, "JSON mode": json_mode, "local": local}
ASKED = {name: MODELS[name] for name in ("structured", "local")}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


@pytest.fixture
def http_client(loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    """One for all calls: the many DeepEval would make cost most of the table's time."""
    client = async_client()
    yield client
    loop.run_until_complete(client.aclose())


def evaluated(model: Any, run_async: bool = True) -> dict[str, list[Any]]:
    """The data of both modes, by the name of the sample."""
    cases = [case_of(sample, name=sample.user_input[7:-1]) for sample, _ in pairs()]
    metrics = [NoiseSensitivityMetric(mode=mode, model=model) for mode in MODES]
    results = run(cases, metrics, run_async=run_async, ignore_errors=True)
    return {case.name: r.metrics_data for case, r in zip(cases, results, strict=True)}


@pytest.mark.parametrize(("fault", "make"), faults_through(ASKED, every=tuple(ASKED), half=0))
def test_fault(
    fault: Fault,
    make: Make,
    http_client: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("DEEPEVAL_RETRY_MAX_ATTEMPTS", str(1 + RETRIES))
    with ScriptedServer(mind(), script=fault.script(), api_key=KEY) as server:
        found = evaluated(make(server, http_client=http_client))
        assert sum(STRUCK in prompt for prompt in server.log.prompts) <= fault.requests

    struck = found.pop(STRUCK)
    for name, both in found.items():
        assert [data.score for data in both] == [TRUTH, TRUTH], name
    scores = [data.score for data in struck]
    told = [data.error or data.reason for data in struck]
    if fault.outcome == "exact":
        assert scores == [TRUTH, TRUTH]
    elif fault.outcome == "safe":
        assert all(score in (None, TRUTH) for score in scores) or any(map(_holds_truth, struck))
    elif fault.outcome == "failed":
        assert all(data.error and data.success is False for data in struck)
    else:
        assert all(data.error is None for data in struck)
        # The truth is above the threshold of 0.2, and nothing that is left of it passes.
        assert all(data.success is False for data in struck)
        if fault.outcome == "unusable":
            assert scores == [None, None]
            assert all("is undetermined: the judge's model" in reason for reason in told)
        else:
            if fault.outcome == "undefined":
                assert scores == [None, None]
            assert any("unanswered" in reason for reason in told)
            assert all(_holds_truth(data) for data in struck)
    seen = " ".join([*map(str, told), caplog.text])
    assert KEY not in seen
    assert "RetryError" not in "".join(map(str, told))  # but what it was about
    assert "Reply in JSON" not in seen


def _holds_truth(data: Any) -> bool:
    found = re.search(r"between ([\d.]+) and (\d[.\d]*\d|\d)", data.reason)
    assert (data.score is None) == ("is undetermined: it lies between" in data.reason)
    low, high = map(float, found.groups()) if found else (data.score, data.score)
    return low - 1e-4 <= TRUTH <= high + 1e-4


@unclosed
@pytest.mark.usefixtures("unclosed_clients")
@each_model
@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_a_sound_endpoint(make: Make, run_async: bool) -> None:
    with ScriptedServer(mind(), api_key=KEY) as server:
        found = evaluated(make(server), run_async)
        assert server.log.calls == len(pairs()) * 6  # C + 3, for both modes
        if not run_async:
            assert server.log.concurrency == 1
        forms = {request.form for request in server.log.requests}
    assert len(forms) == 1
    for both in found.values():
        assert [data.score for data in both] == [TRUTH, TRUTH]


@unclosed
@pytest.mark.usefixtures("unclosed_clients")
@each_model
def test_connection_refused(make: Make) -> None:
    with ScriptedServer(mind()) as server:
        model = make(server)
    for both in evaluated(model).values():
        assert all("cannot be reached" in data.error for data in both)
        assert all(data.success is False for data in both)
