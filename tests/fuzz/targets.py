"""Everything that reads from outside, as functions of bytes. Only NoiseSense errors may come out.

Each target takes any bytes, reads them as its part of the product does, and uses what was read. A
`NoiseSenseError` is an answer; every other exception is a finding.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from noisesense import (
    JudgeError,
    LLMJudge,
    NoiseSenseError,
    RecordedJudge,
    ReplyError,
    Result,
    Sample,
    Usage,
    Verdicts,
    VerdictStore,
    read_recording,
    read_results,
    score,
    summarize,
)
from noisesense.judging.prompts import Answer, Claims, answers_form
from noisesense_adapters.datasets import read_rows, results_of
from noisesense_adapters.datasets.files import count_rows
from noisesense_adapters.models.replies import read_reply
from noisesense_adapters.promptfoo import get_assert
from noisesense_adapters.promptfoo import llm as promptfoo_llm

CORPUS = Path(__file__).parent / "corpus"
Target = Callable[[bytes], None]
_FOLDER = Path(tempfile.gettempdir()) / f"noisesense-fuzz-{os.getpid()}"
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)

PAIR = (
    Sample(
        user_input="Capital?",
        response="Paris. Large.",
        reference="Paris.",
        retrieved_contexts=["Paris.", "Large."],
    ),
    Verdicts(
        response_claims=[
            {"text": "Paris.", "correct": True, "entailed_by": [0]},
            {"text": "Large.", "correct": False, "entailed_by": [1]},
        ],
        reference_claims=[{"text": "Paris.", "entailed_by": [0]}],
    ),
)
UNASKED = PAIR[0].model_copy(update={"user_input": ""})
"""Without the question, which would stand before a claim of one word."""


def _file(name: str, data: bytes) -> Path:
    _FOLDER.mkdir(exist_ok=True)
    path = _FOLDER / name
    path.write_bytes(data)
    return path


def _used(results: list[Result]) -> None:
    for result in results:
        result.to_json()
    summarize(results)


def verdicts(data: bytes) -> None:
    """The JSON of verdicts, and of a sample."""
    for kind in (Verdicts, Sample):
        with contextlib.suppress(NoiseSenseError):
            read = kind.model_validate_json(data)
            if isinstance(read, Verdicts):
                found = score(read)
                found.reason("relevant"), found.reason("irrelevant"), found.to_dict()
            else:
                assert len(read.key) == 64


def recording(data: bytes) -> None:
    path = _file("recording.jsonl", data)
    with contextlib.suppress(NoiseSenseError):
        for line in read_recording(path):
            score(line.verdicts)
    judge = RecordedJudge(path)
    asyncio.run(judge.judge(PAIR[0]))


def results(data: bytes) -> None:
    path = _file("results.jsonl", data)
    _used(list(results_of(path)))
    _used(list(read_results(path)))


def _dataset(suffix: str) -> Target:
    def read(data: bytes) -> None:
        path = _file(f"data{suffix}", data)
        with contextlib.suppress(NoiseSenseError):
            count_rows(path)
        with contextlib.suppress(NoiseSenseError):
            list(read_rows(path, verdicts=False))
        _used(list(results_of(path)))

    return read


def promptfoo(data: bytes) -> None:
    """``{"output": …, "context": …}``; no model is asked."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(given, dict) and "/" not in data.decode(errors="replace"):
        json.dumps(get_assert(given.get("output"), given.get("context")))


def reply(data: bytes) -> None:
    """A model's text, as every form."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    for form in (Claims, Answer, answers_form(2)):
        with contextlib.suppress(ReplyError):
            read_reply(text, form, Usage(calls=1)).model_dump()


def judged_reply(data: bytes) -> None:
    """The same text as the reply to every call of a judge with a store."""
    text = data.decode("utf-8", "replace")

    with VerdictStore(_file("judged.db", b"")) as store:
        store.transact(lambda file: file.execute("DELETE FROM calls"))
        judge = LLMJudge(_Says(text), store=store, max_reasks=1)
        found = score(asyncio.run(judge.judge(PAIR[0])))
        found.reason("relevant")


def store(data: bytes) -> None:
    """A store with some bytes of its file changed."""
    path = _file("store.db", _flipped(_sound_store(), data))
    for each in ("-wal", "-shm"):
        path.with_name(path.name + each).unlink(missing_ok=True)
    with VerdictStore(path) as opened:
        for deed in (
            lambda: asyncio.run(opened.claim("a")) and asyncio.run(opened.release("a")),
            lambda: asyncio.run(LLMJudge(_Says(), store=opened).judge(UNASKED)),
        ):
            with contextlib.suppress(NoiseSenseError):
                deed()


class _Says:
    """The same reply whatever it is asked, or none."""

    name = "fuzzed"
    identity = "fuzz"

    def __init__(self, text: str | None = None) -> None:
        self._text = text

    async def generate(self, prompt: str, schema: Any) -> Any:
        if self._text is None:
            raise JudgeError("nobody is asked")
        return read_reply(self._text, schema, Usage(calls=1)), Usage(calls=1)


@cache
def _sound_store() -> bytes:
    from support.scripted_llm import scripted

    path = _file("sound.db", b"")
    llm = scripted((UNASKED, PAIR[1]), name=_Says.name)
    llm.identity = _Says.identity  # type: ignore[attr-defined]
    with VerdictStore(path) as opened:
        asyncio.run(LLMJudge(llm, store=opened).judge(UNASKED))
        asyncio.run(opened.claim("under way"))
    return path.read_bytes()


def _flipped(sound: bytes, data: bytes) -> bytes:
    content = bytearray(sound)
    for at in range(0, len(data) - 2, 3):
        content[int.from_bytes(data[at : at + 2], "big") % len(content)] = data[at + 2]
    return bytes(content)


def _nobody(*_: object, **__: object) -> Any:
    raise JudgeError("no model is asked here")


TARGETS: dict[str, Target] = {
    "verdicts": verdicts,
    "recording": recording,
    "results": results,
    "jsonl": _dataset(".jsonl"),
    "json": _dataset(".json"),
    "csv": _dataset(".csv"),
    "parquet": _dataset(".parquet"),
    "promptfoo": promptfoo,
    "reply": reply,
    "judged_reply": judged_reply,
    "store": store,
}


def corpus(name: str) -> list[bytes]:
    """Inputs to begin with: sound files, and what was found before."""
    folder = CORPUS / name
    found = [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []
    if name == "reply":  # 200 that small real models gave, to old prompts and new
        lines = (CORPUS / "model_replies.jsonl").read_text("utf-8").splitlines()
        found += [json.loads(line).encode("utf-8", "surrogatepass") for line in lines]
    return found


def run(name: str, data: bytes) -> None:
    """One input. Raises what is a finding."""
    replaced = patch.object(promptfoo_llm, "judge_of", _nobody)
    with replaced, contextlib.suppress(NoiseSenseError):
        TARGETS[name](data)
