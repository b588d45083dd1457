"""What goes wrong behind `evaluate()` and DeepEval's own clients: never a wrong number or a pass.

The bridges alone see the whole table: ``tests/models/test_faults.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from deepeval.models import LocalModel

from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import OpenAIModel, case_of, run
from support.faults import FAULTS, RETRIES, STRUCK, TRUTH, Fault, mind, pairs
from support.server import ScriptedServer
from support.sizes import by_turns

KEY = "sk-canary-0123456789"
Make = Callable[[ScriptedServer], Any]

# DeepEval makes a client for each call, and closes none.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("unclosed_clients"),
]
MODELS: dict[str, Make] = {
    # With structured output, as DeepEval knows this model to have it.
    "structured": lambda server: OpenAIModel("gpt-4o", api_key=KEY, base_url=server.base_url),
    "JSON mode": lambda server: OpenAIModel("gpt-4-turbo", api_key=KEY, base_url=server.base_url),
    # In words, read by DeepEval's own parser.
    "local": lambda server: LocalModel("m", api_key=KEY, base_url=server.base_url),
}
OF_EACH_OUTCOME = {
    fault.outcome: fault for fault in FAULTS if fault.outcome not in ("safe", "failed")
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def evaluated(model: Any) -> dict[str, list[Any]]:
    """The data of both modes, by the name of the sample."""
    cases = [case_of(sample, name=sample.user_input[7:-1]) for sample, _ in pairs()]
    metrics = [NoiseSensitivityMetric(mode=mode, model=model) for mode in MODES]
    results = run(cases, metrics, ignore_errors=True)
    return {case.name: r.metrics_data for case, r in zip(cases, results, strict=True)}


@pytest.mark.parametrize(("fault", "make"), by_turns(OF_EACH_OUTCOME, MODELS))
def test_a_fault_of_each_outcome(
    fault: Fault, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DEEPEVAL_RETRY_MAX_ATTEMPTS", str(1 + RETRIES))
    with ScriptedServer(mind(), script=fault.script(), api_key=KEY) as server:
        found = evaluated(make(server))
        assert sum(STRUCK in prompt for prompt in server.log.prompts) <= fault.requests
    struck = found.pop(STRUCK)
    (sound,) = found.values()
    assert [data.score for data in sound] == [TRUTH, TRUTH]
    seen = caplog.text
    for data in struck:
        check_what_is_left(fault, data)
        seen += str(data.reason)
    assert KEY not in seen
    assert "Reply in JSON" not in seen


def check_what_is_left(fault: Fault, data: Any) -> None:
    """The truth is above the threshold of 0.2: nothing passes."""
    assert data.error is None
    assert data.success is not True
    assert data.score in ((TRUTH,) if fault.outcome == "exact" else (TRUTH, None))
    told = re.search(r"between ([\d.]+) and (\d[.\d]*\d|\d)", data.reason)
    if told is not None:
        assert float(told[1]) - 1e-4 <= TRUTH <= float(told[2]) + 1e-4
    if fault.outcome == "unusable":
        assert "is undetermined: the judge's model" in data.reason


@each_model
def test_connection_refused(make: Make) -> None:
    with ScriptedServer(mind()) as server:
        model = make(server)
    for data in (data for both in evaluated(model).values() for data in both):
        assert "cannot be reached" in data.error
        assert "RetryError" not in data.error  # but what it was about
        assert data.success is False
