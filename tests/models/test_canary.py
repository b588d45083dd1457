"""No key and no prompt in anything that a person or a file gets to see."""

from __future__ import annotations

import json
import logging
import traceback
from pathlib import Path

import pytest

from noisesense import LLMJudge, VerdictStore, score
from noisesense.errors import NoiseSenseError
from noisesense.judging.prompts import DEFAULT_PROMPTS
from noisesense.judging.protocol import Judgement
from support import misbehavior as bad
from support.bridges import BRIDGES, KEY, Make, judged
from support.faults import FAULTS, STRUCK, Fault, mind
from support.server import ScriptedServer

INSTRUCTIONS = (DEFAULT_PROMPTS.decompose[:30], DEFAULT_PROMPTS.verify[:30])
TEXT = f"{STRUCK} says claim 1."  # of the sample: may stand in reasons, not in errors

# An endpoint, a proxy or a model that repeats what it was sent.
_ECHO = json.dumps({"error": {"message": f"{KEY} {TEXT}", "code": KEY, "type": TEXT}})
_SAID = (
    f"{KEY} {TEXT}",
    json.dumps({"claims": [KEY, {TEXT: KEY}]}),
    f'{{"claims": ["{KEY}", "{TEXT}',
)
ECHOES = [
    *(
        Fault(f"echo {status}", bad.http_error(status, message=_ECHO), "failed", 6)
        for status in (400, 401, 404, 422, 429, 500)
    ),
    *(Fault(f"echo {said[:12]}", bad.says(said), "unusable", 6) for said in _SAID),
]


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.broad)])
@pytest.mark.parametrize("make", BRIDGES.values(), ids=BRIDGES.keys())
def test_nothing_leaks(
    make: Make,
    every: int,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = Seen()
    lasting = [fault for fault in FAULTS if fault.times is None]
    for i, fault in enumerate([*ECHOES, *lasting[::every]]):
        seen.judge(make, fault, tmp_path / f"{i}.sqlite")
    assert seen.keys == {KEY}
    assert seen.errors >= len(ECHOES)
    texts = [*seen.texts, *capfd.readouterr()]
    texts += [record.getMessage() for record in caplog.records if record.name == "noisesense"]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    everything = "\n".join(texts)
    for canary in (KEY, *INSTRUCTIONS):
        assert canary not in everything


class Seen:
    """What a person sees of judgings, and the keys that the endpoints saw."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.keys: set[str] = set()
        self.errors = 0

    def judge(self, make: Make, fault: Fault, path: Path) -> None:
        with ScriptedServer(mind(), script=fault.script()) as server, VerdictStore(path) as store:
            # A busy machine is not given up on: only where no reply ever comes is the wait short.
            llm = make(server, timeout=0.5 if fault.misbehavior.hang else 300)
            judge = LLMJudge(llm, store=store, max_wait=0.0)
            for result in judged(judge):
                self.add(result)
            self.texts += [repr(llm), repr(judge), repr(store), str(getattr(llm, "name", ""))]
            self.keys |= {request.key for request in server.log.requests}

    def add(self, result: Judgement | BaseException) -> None:
        if isinstance(result, Judgement):
            found = score(result.verdicts)
            shown = [repr(result.usage), found.reason("relevant"), str(found.to_dict())]
            self.texts += shown
        else:
            self.errors += 1
            told = _everything_of(result)
            assert TEXT not in told
            self.texts.append(told)


def _everything_of(error: BaseException) -> str:
    """What is printed of an error, and what hangs on it and on the errors behind it."""
    parts = traceback.format_exception(error)
    link: BaseException | None = error
    while link is not None:
        assert isinstance(link, NoiseSenseError), f"{type(link).__name__} hangs on {error!r}"
        parts += [repr(link), repr(vars(link)), repr(link.args)]
        link = link.__cause__ or link.__context__
    return "\n".join(parts)
