"""What goes wrong behind ``evaluate()`` and ragas' real clients: never a wrong number, and told.

The bridges alone see the whole table: ``tests/models/test_faults.py``.
"""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import pytest

from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity
from support.chat import error_body
from support.faults import RETRIES, mind, pairs
from support.misbehavior import always, http_error, says
from support.ragas_llms import KEY, KINDS, evaluated_by
from support.ragas_runs import COLUMNS
from support.server import ScriptedServer

ASKED = [kind for kind in KINDS if kind != "LangChain wrapped"]


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
