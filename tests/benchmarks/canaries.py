"""A secret, however it is given and whatever the endpoint does, in nothing that a run leaves.

    python tests/benchmarks/canaries.py [--event NAME] [--way NAME]

Each way to give a model its secret, through real clients to a server on loopback, meets each
event: the endpoint answers well, repeats the secret, sends elsewhere, goes away. Two samples are
scored, of which the event strikes one. Then the secret is looked for in each place that a person
or a file gets to see. Prints the number of checks and each find. Exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import logging
import os
import pickle
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ground  # noqa: F401
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

from noisesense import LLMJudge, VerdictStore, read_results, summarize
from noisesense.errors import InputError, NoiseSenseError
from noisesense_adapters.datasets import score_dataset
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.models import running
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.report import write_report
from support import misbehavior as bad
from support.faults import STRUCK, mind, pairs
from support.misbehavior import Misbehavior
from support.server import ScriptedServer

KEY = "sk-canary-5f2e9c71d8a04b36"


def ours(url: str, key: str = "k", **options: Any) -> OpenAILLM:
    return OpenAILLM("m", base_url=url, api_key=key, max_retries=0, **options)


def clients(url: str, **options: Any) -> OpenAILLM:
    made: Any = {"base_url": url, "api_key": "k", "max_retries": 0, **options}
    return OpenAILLM("m", client=AsyncOpenAI(**made))


def chat_client(url: str, key: str = "k") -> OpenAILLM:
    return OpenAILLM("m", client=ChatClient(base_url=url, api_key=key, max_retries=0))


def chain(url: str, **options: Any) -> ChatOpenAI:
    made: Any = {"model": "m", "base_url": url, "api_key": "k", "max_retries": 0, **options}
    return ChatOpenAI(**made)


def langchain(url: str, **options: Any) -> LangChainLLM:
    return LangChainLLM(chain(url, **options))


def ragas(url: str) -> Any:
    from ragas.llms import LangchainLLMWrapper
    from ragas.run_config import RunConfig

    from noisesense_adapters.ragas.llm import bridge_over

    model = LangchainLLMWrapper(chain(url, api_key=KEY), RunConfig(max_retries=1))
    return bridge_over(model)


def ragas_factory(url: str) -> Any:
    from ragas.llms import llm_factory

    from noisesense_adapters.ragas.llm import bridge_over

    client = AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)
    return bridge_over(llm_factory("m", client=client))


def deepeval(url: str) -> Any:
    from noisesense_adapters.deepeval.llm import DeepEvalLLM
    from support.deepeval_run import OpenAIModel

    return DeepEvalLLM(OpenAIModel("gpt-4o", base_url=url, api_key=KEY))


def in_path(url: str) -> str:
    return url.replace("/v1", f"/{KEY}/v1")


def as_password(url: str) -> str:
    return url.replace("://", f"://user:{KEY}@")


WAYS: dict[str, Callable[[str], Any]] = {
    "key": lambda url: ours(url, KEY),
    "key, with a line end": lambda url: ours(url, f"{KEY}\n"),
    "environment": lambda url: OpenAILLM("m", base_url=url, max_retries=0),
    "path": lambda url: ours(in_path(url)),
    "password": lambda url: ours(as_password(url)),
    "header": lambda url: ours(url, params={"extra_headers": {"X-Api-Key": KEY}}),
    "query": lambda url: ours(url, params={"extra_query": {"signature": KEY}}),
    "body": lambda url: ours(url, params={"extra_body": {"credential": KEY}}),
    "client": lambda url: clients(url, api_key=KEY),
    "client, header": lambda url: clients(url, default_headers={"X-Api-Key": KEY}),
    "client, query": lambda url: clients(url, default_query={"sig": KEY}),
    "client, path": lambda url: clients(in_path(url)),
    "our client": lambda url: chat_client(url, KEY),
    "our client, path": lambda url: chat_client(in_path(url)),
    "our client, password": lambda url: chat_client(as_password(url)),
    "LangChain": lambda url: langchain(url, api_key=KEY),
    "LangChain, header": lambda url: langchain(url, default_headers={"X-Api-Key": KEY}),
    "LangChain, query": lambda url: langchain(url, default_query={"sig": KEY}),
    "LangChain, path": lambda url: langchain(in_path(url)),
    "ragas": ragas,
    "ragas, factory": ragas_factory,
    "deepeval": deepeval,
}

_ECHO = json.dumps({"error": {"message": f"key {KEY}", "code": KEY, "type": KEY, "param": KEY}})
EVENTS: dict[str, Misbehavior] = {
    "well": Misbehavior("none"),
    "400": bad.http_error(400, message=_ECHO),
    "401": bad.http_error(401, message=_ECHO),
    "500": bad.http_error(500, message=_ECHO),
    "said": bad.says(f"Your key is {KEY}."),
    "HTML": Misbehavior("HTML", body=f"<html>{KEY}</html>"),
    "cut": bad.CUT_MID_REPLY,
    "elsewhere": bad.http_error(307),
}


class Heard(logging.Handler):
    """What our loggers say at all, and others from a warning on."""

    def __init__(self) -> None:
        super().__init__()
        self.text = io.StringIO()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("noisesense") or record.levelno >= logging.WARNING:
            self.text.write(self.format(record))


def everything_of(error: BaseException) -> str:
    """What is printed of an error, and what hangs on it and on the errors behind it."""
    parts = traceback.format_exception(type(error), error, error.__traceback__)
    link: BaseException | None = error
    while link is not None:
        parts += [repr(link), repr(vars(link)), repr(link.args), *locals_of(link)]
        link = link.__cause__ or link.__context__
    return "".join(parts)


def locals_of(error: BaseException) -> Iterator[str]:
    """What pytest -l, or a service that collects errors, shows of the package's own frames."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_globals["__name__"].startswith("noisesense"):
            yield repr(frame.f_locals)


def pickled(value: object) -> str:
    return pickle.dumps(value).decode("latin-1")


def pickled_model(llm: object) -> str:
    """Empty where it is refused."""
    with suppress(InputError):
        return pickled(llm)
    return ""


def places(make: Callable[[str], Any], event: Misbehavior, folder: Path) -> dict[str, str]:
    """All that a run leaves, by where it is."""
    out = folder / "out.jsonl"
    with ScriptedServer(mind()) as other:
        if event.status == 307:
            event = bad.Misbehavior("moved", 307, {"location": f"{other.base_url}/{KEY}"})

        def script(index: int, prompt: str) -> Misbehavior | None:
            return event if STRUCK in prompt else None

        with ScriptedServer(mind(), script=script) as server:
            llm = make(server.base_url)
            found = places_of_a_run(llm, folder, out)
        found["another host"] = "".join(other.log.prompts)
        assert not other.log.prompts
    found["model"] = repr(llm)
    found["model, pickled"] = pickled_model(llm)
    found["name"] = str(llm.name)
    found["identity"] = str(llm.identity)
    found["store"] = "".join(p.read_bytes().decode("latin-1") for p in folder.glob("store*"))
    if out.exists():
        found |= places_of_results(out, folder / "report.html")
    found["environment"] = repr({k: v for k, v in os.environ.items() if k != "OPENAI_API_KEY"})
    return found


def places_of_a_run(llm: Any, folder: Path, out: Path) -> dict[str, str]:
    """Score two samples, and judge the one that the event strikes: what is raised and returned."""
    found: dict[str, str] = {}
    samples = [sample for sample, _ in pairs()]
    data = folder / "data.jsonl"
    data.write_text("".join(sample.model_dump_json() + "\n" for sample in samples), "utf-8")
    with VerdictStore(folder / "store.db") as store:
        judge = LLMJudge(llm, store=store, model="m", max_wait=0.0)
        try:
            score_dataset(data, judge=judge, out=out)
        except NoiseSenseError as error:
            found["error of a run"] = everything_of(error)
        try:
            judgement = asyncio.run(judge.judge_detailed(samples[1]))
            found["judgement"] = repr(judgement) + pickled(judgement)
        except NoiseSenseError as error:
            found["error"] = everything_of(error)
            found["error, pickled"] = pickled(error)
        found["judge"] = repr(judge) + repr(judge.usage) + repr(store)
        found["judge's name"] = judge.name
    return found


def places_of_results(out: Path, report: Path) -> dict[str, str]:
    """The results file, what is read from it, and the report on it."""
    write_report(out, report)
    results = list(read_results(out))
    return {
        "results": out.read_text("utf-8"),
        "results, read": repr(results),
        "results, pickled": pickled([result.to_dict() for result in results]),
        "summary": repr(summarize(results)),
        "report": report.read_text("utf-8"),
    }


def checked(way: str, event: str) -> dict[str, bool]:
    """Whether the secret is in each place."""
    heard = Heard()
    shown = io.StringIO()
    root = logging.getLogger()
    root.addHandler(heard)
    running._first = None  # as in a new process
    try:
        with TemporaryDirectory() as folder, redirect_stdout(shown), redirect_stderr(shown):
            found = places(WAYS[way], EVENTS[event], Path(folder))
    finally:
        root.removeHandler(heard)
    found["log"] = heard.text.getvalue()
    found["output"] = shown.getvalue()
    return {place: KEY in text for place, text in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--event", choices=EVENTS, action="append", help="only this one")
    parser.add_argument("--way", choices=WAYS, action="append", help="only this one")
    given = parser.parse_args()
    logging.getLogger("noisesense").setLevel(logging.DEBUG)
    os.environ["OPENAI_API_KEY"] = KEY
    checks: Counter[str] = Counter()
    finds = 0
    for way in given.way or WAYS:
        for event in given.event or EVENTS:
            for place, is_there in checked(way, event).items():
                checks[place] += 1
                if is_there:
                    finds += 1
                    print(f"FOUND: {way}, {event}: in {place}", flush=True)
    for place, number in checks.items():
        print(f"{place:24}{number:>6} checks")
    print(f"{sum(checks.values()):,} checks, {finds} found")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
