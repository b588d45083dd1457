"""The fault table through ``evaluate()`` and ragas' real clients, asked on loopback."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from typing import Any

import pytest

from noisesense import JudgeError, ReplyError, score
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.chat import error_body
from support.faults import CALLS, RETRIES, STRUCK, TRUTH, Fault, faults_through, mind, pairs
from support.misbehavior import always, http_error, says
from support.ragas_llms import KEY, KINDS, asked, evaluated_by
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS
from support.server import ScriptedServer

ASKED = [kind for kind in KINDS if kind != "LangChain wrapped"]
each_llm = pytest.mark.parametrize("llm", ASKED)


def _rows(llm: str, server: ScriptedServer, **options: Any) -> dict[str, list[float]]:
    """The scores of both modes, by the name in the question."""
    samples = [sample for sample, _ in pairs()]
    metrics = [NoiseSensitivity(mode) for mode in MODES]
    client = {"max_retries": RETRIES, "on_demand": True, **options}
    result = evaluated_by(llm, server, samples, metrics, client=client)
    traces = json.dumps(result.traces, default=str)
    assert KEY not in traces
    assert "Reply in JSON" not in traces
    return {
        sample.user_input[7:-1]: [row[name] for name in COLUMNS.values()]
        for sample, row in zip(samples, result.scores, strict=True)
    }


@pytest.mark.parametrize(
    ("fault", "llm"),
    faults_through({kind: kind for kind in ASKED}, every=("async client",), half=1),
)
def test_fault(fault: Fault, llm: str, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(mind(), script=fault.script(), api_key=KEY) as server:
        with caplog.at_level(logging.INFO):
            found = _rows(llm, server)
        assert sum(STRUCK in prompt for prompt in server.log.prompts) <= fault.requests
    struck = found.pop(STRUCK)
    for name, both in found.items():
        assert both == [TRUTH, TRUTH], name
    assert KEY not in caplog.text
    assert "Reply in JSON" not in caplog.text
    if fault.outcome == "safe" and not isinstance(struck[0], ScoredFloat):
        assert "Error(" in caplog.text
        return
    if fault.outcome in ("failed", "unusable"):
        kind = JudgeError if fault.outcome == "failed" else ReplyError
        assert all(math.isnan(value) and type(value) is float for value in struck)
        assert caplog.text.count(f": {kind.__name__}(") == 2
        return
    assert "Exception raised" not in caplog.text
    for mode, value in zip(MODES, struck, strict=True):
        assert isinstance(value, ScoredFloat)
        if fault.outcome == "exact":
            assert value == TRUTH
        elif fault.outcome == "undefined":
            assert math.isnan(value)
        low, high = value.score.bounds(mode) or (0.0, 1.0)
        assert low <= TRUTH <= high
        exact = value.judgement.unanswered == 0
        assert fault.outcome == "safe" or exact is (fault.outcome == "exact")


@each_llm
def test_connection_refused(llm: str, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(mind()) as server:
        pass
    found = _rows(llm, server)
    assert all(math.isnan(value) for both in found.values() for value in both)
    assert caplog.text.count("cannot be reached") == 4


@each_llm
def test_a_wrong_key(llm: str, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(mind(), api_key="another") as server:
        found = _rows(llm, server)
    assert all(math.isnan(value) for both in found.values() for value in both)
    assert caplog.text.count("HTTP 401, invalid_api_key. Hint: check the API key") == 4
    assert KEY not in caplog.text


@each_llm
def test_no_more_is_asked_below_the_handler_in_which_ragas_score_runs(llm: str) -> None:
    """``score()`` starts its loop where "no running event loop" is handled: that error is then
    in the context of every later one, and is no connection that was lost."""
    sample = pairs()[0][0]
    with ScriptedServer(mind(), api_key="another") as server:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            with pytest.raises(JudgeError, match="401"):
                asked(
                    llm,
                    server,
                    lambda model: NoiseSensitivity(llm=model).ascore(**ragas_row(sample)),
                )
        assert server.log.calls <= 2  # the two texts are decomposed at once


@each_llm
@pytest.mark.parametrize("status", [200, 400, 500])
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


@each_llm
def test_no_fault_no_further_call(llm: str) -> None:
    with ScriptedServer(mind()) as server:
        found = _rows(llm, server)
        assert server.log.calls == len(pairs()) * CALLS
    assert [score(verdicts).relevant for _, verdicts in pairs()] == [TRUTH] * len(pairs())
    assert list(found.values()) == [[TRUTH, TRUTH]] * len(pairs())
