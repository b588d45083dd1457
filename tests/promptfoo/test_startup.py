"""What an assertion's process loads: no framework, no client library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.bad_inputs import GOOD_SAMPLE
from support.command import environment
from support.faults import mind, pairs
from support.server import ScriptedServer

HEAVY = {
    *("pydantic", "pydantic_core", "numpy", "scipy", "sqlite3", "httpx", "openai", "instructor"),
    *("ragas", "deepeval", "langchain_core", "datasets", "click", "rich", "hashlib", "tempfile"),
}
# What Promptfoo's wrapper loads before it calls any assertion is no cost of ours.
WRAPPER = "import asyncio, importlib.util, inspect, json, os, sys\n"


def loaded(script: str) -> set[str]:
    """The modules a script loads beyond what Promptfoo's wrapper does."""
    code = (
        f"{WRAPPER}\nbefore = set(sys.modules)\n{script}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_assertion_loads_nothing_heavy() -> None:
    found = loaded("from noisesense_adapters.promptfoo import get_assert")

    assert "noisesense_adapters.promptfoo" in found
    assert {name.partition(".")[0] for name in found} & HEAVY == set()
    assert not any(name.startswith("asyncio") for name in found)


def _assess(config: Any, given: Any, response: str = GOOD_SAMPLE["response"]) -> str:
    context = {"vars": given, "config": config, "test": {}, "provider": {}}
    return (
        "from noisesense_adapters.promptfoo import get_assert\n"
        f"result = get_assert({response!r}, {context!r})\n"
        "assert result['metadata']['status'] == 'scored', result"
    )


def test_a_model_is_asked_without_a_client_library(tmp_path: Path) -> None:
    """Pydantic is most of it; openai or httpx alone would be more."""
    sample, _ = pairs()[0]
    given = {
        "reference": sample.reference,
        "contextChunks": [{"text": chunk.text} for chunk in sample.retrieved_contexts],
    }
    with ScriptedServer(mind()) as server:
        judge = {"baseUrl": server.base_url, "store": str(tmp_path / "noise.db"), "model": "m"}
        script = "import os\nos.environ['OPENAI_API_KEY'] = 'k'\n" + _assess(
            {"judge": judge}, {**given, "query": sample.user_input}, sample.response
        )
        asked = loaded(script)
        stored = loaded(script)
        assert server.log.calls == 6
    libraries = HEAVY - {"pydantic", "pydantic_core", "sqlite3", "hashlib", "tempfile"}
    assert {name.partition(".")[0] for name in asked} & libraries == set()
    assert "urllib.request" in asked
    assert {"urllib.request", "http.client"} & stored == set()
