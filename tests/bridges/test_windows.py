"""A chunk longer than the model's context, through every host's model: judged rightly in parts."""

from __future__ import annotations

import pytest

from noisesense import LLMJudge
from noisesense.judging.protocol import Judgement
from support.host_bridges import BRIDGES
from support.langchain_models import run
from support.server import ScriptedServer
from support.windows import SERVERS, assert_right, sample

TOLD = [name for name in BRIDGES if name != "deepeval, local"]
"""Whose hosts tell the tokens of a prompt. DeepEval's LocalModel does not: its page says so."""


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("refuses", name) for name in BRIDGES),
        *((kind, name) for kind in SERVERS if kind != "refuses" for name in TOLD),
    ],
)
def test_a_chunk_longer_than_the_context_is_judged_rightly_in_parts(kind: str, name: str) -> None:
    async def judge(server: ScriptedServer) -> Judgement:
        async with BRIDGES[name](server) as llm:
            return await LLMJudge(llm).judge_detailed(sample())

    mind, script = SERVERS[kind]
    with ScriptedServer(mind, script=script) as server:
        assert_right(run(judge(server)))
