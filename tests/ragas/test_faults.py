"""What goes wrong behind ``evaluate()`` and ragas' real clients: never a wrong number, and told.

The bridges alone see the whole table: ``tests/models/test_faults.py``.
"""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import pytest

from noisesense import ReplyError
from noisesense.errors import JudgeSetupError
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.chat import error_body
from support.faults import FAULTS, RETRIES, STRUCK, TRUTH, Fault, mind, pairs
from support.misbehavior import always, http_error, says
from support.ragas_llms import KEY, KINDS, evaluated_by
from support.ragas_runs import COLUMNS
from support.server import ScriptedServer
from support.sizes import by_turns, named

ASKED = [kind for kind in KINDS if kind != "LangChain wrapped"]
# The last of each: of the failed ones an account without quota.
OF_EACH_OUTCOME = {fault.outcome: fault for fault in FAULTS if fault.outcome != "safe"}


def _rows(llm: str, server: ScriptedServer) -> dict[str, list[Any]]:
    """The scores of both modes, by the name in the question."""
    samples = [sample for sample, _ in pairs()]
    metrics = [NoiseSensitivity(mode) for mode in MODES]
    client = {"max_retries": RETRIES, "on_demand": True}
    result = evaluated_by(llm, server, samples, metrics, client=client)
    traces = json.dumps(result.traces, default=str)
    assert KEY not in traces
    assert "Reply in JSON" not in traces
    return {
        sample.user_input[7:-1]: [row[name] for name in COLUMNS.values()]
        for sample, row in zip(samples, result.scores, strict=True)
    }


@pytest.mark.parametrize(("fault", "llm"), by_turns(OF_EACH_OUTCOME, named(ASKED)))
def test_a_fault_of_each_outcome(fault: Fault, llm: str, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(mind(), script=fault.script(), api_key=KEY) as server:
        with caplog.at_level(logging.INFO):
            found = _rows(llm, server)
        assert sum(STRUCK in prompt for prompt in server.log.prompts) <= fault.requests
    struck = found.pop(STRUCK)
    assert list(found.values()) == [[TRUTH, TRUTH]] * len(found)
    assert KEY not in caplog.text
    assert "Reply in JSON" not in caplog.text
    if fault.outcome in ("failed", "unusable"):
        kind = JudgeSetupError if fault.outcome == "failed" else ReplyError
        assert caplog.text.count(f": {kind.__name__}(") == 2
        assert [(type(value), math.isnan(value)) for value in struck] == [(float, True)] * 2
    else:
        for mode, value in zip(MODES, struck, strict=True):
            check_what_is_left(fault, value, mode)


def check_what_is_left(fault: Fault, value: Any, mode: Mode) -> None:
    assert isinstance(value, ScoredFloat)
    assert math.isnan(value) or value == TRUTH
    low, high = value.score.bounds(mode) or (0.0, 1.0)
    assert low <= TRUTH <= high
    assert (value.judgement.unanswered == 0) is (fault.outcome == "exact")


@pytest.mark.parametrize("llm", ASKED)
@pytest.mark.parametrize("status", [200, 401, 500])
def test_an_endpoint_that_echoes_the_key_and_the_prompt(
    llm: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients and instructor log what endpoints answer; not about our calls."""
    said = f"Incorrect API key provided: {KEY}. You asked: Reply in JSON"
    fault = says(said) if status == 200 else http_error(status, message=error_body(said))
    with ScriptedServer(mind(), script=always(fault)) as server, caplog.at_level(logging.INFO):
        found = _rows(llm, server)
    assert all(math.isnan(value) for both in found.values() for value in both)
    assert caplog.text.count("Exception raised") == 4
    assert KEY not in caplog.text
    assert "Reply in JSON" not in caplog.text
    assert status != 401 or caplog.text.count("HTTP 401") == 4
