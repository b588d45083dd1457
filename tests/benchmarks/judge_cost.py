"""What judging costs: ragas' own noise sensitivity and ours, on one scripted server.

    python tests/benchmarks/judge_cost.py [--latency 0.05] [--json | --markdown]

One server process speaks OpenAI chat completions and takes 50 ms a call; langchain-openai asks
it in ragas' ``evaluate()``. Both modes of one sample are scored, for C = 1, 5, 10 and 20 chunks,
then a run of 200 samples of 5 chunks, and its floor: a metric of ragas' own kind that makes the
same requests and judges nothing. Ours has both plans: lazy, the default, for the
fewest calls and tokens; full for every verdict, in the fewest rounds. Prints calls, rounds (calls
one after another), characters sent and received, and the wall time (the middle one of three; the
run once). Needs ragas; asserts only that both find the same scores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing.connection import Connection
from typing import Any

from ground import show

from noisesense import Sample, score
from noisesense.scoring.definitions import MODES
from support.cost_workload import CHUNKS, RUN_CHUNKS, RUN_SAMPLES, make_mind, pair, run_pairs
from support.ragas_peer import ragas_row
from support.server import ScriptedServer

WHOSE = ("ragas", "ours", "ours, full")
FLOOR = "the floor"
MODEL = "gpt-4o-mini"
ROUNDS = 3

Scores = list[list[float]]
Contender = Callable[[str, Sequence[Sample]], Awaitable[Scores]]


@dataclass(frozen=True)
class Row:
    """One measurement."""

    case: str
    whose: str
    calls: int
    rounds: int
    prompt_chars: int
    completion_chars: int
    seconds: float

    @property
    def chars(self) -> int:
        return self.prompt_chars + self.completion_chars


async def evaluate(metric: Any, url: str, samples: Sequence[Sample], **options: Any) -> Scores:
    """Both modes in one ``evaluate()``, with ragas' wrapper of a ChatOpenAI."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, aevaluate
    from ragas.llms import LangchainLLMWrapper

    model = ChatOpenAI(model=MODEL, base_url=url, api_key="none")
    result = await aevaluate(
        EvaluationDataset.from_list([ragas_row(sample) for sample in samples]),
        metrics=[metric(mode=mode, **options) for mode in MODES],
        llm=LangchainLLMWrapper(model),
        show_progress=False,
        raise_exceptions=True,
    )
    return [[row[f"noise_sensitivity(mode={mode})"] for mode in MODES] for row in result.scores]


def contenders() -> dict[str, Contender]:
    from ragas.metrics import NoiseSensitivity as Theirs

    from noisesense_adapters.ragas import NoiseSensitivity as Ours

    full = {"plan": "full"}
    runs = (partial(evaluate, Theirs), partial(evaluate, Ours))
    return dict(zip(WHOSE, (*runs, partial(evaluate, Ours, judge_options=full)), strict=True))


async def measure(
    server: Server, case: str, pairs: Sequence[tuple[Any, Any]], names: Sequence[str], runs: int
) -> list[Row]:
    """Each contender on the same samples. The first of several runs only warms up."""
    known = contenders()
    samples = [sample for sample, _ in pairs]
    true = [[score(verdicts).value(mode) for mode in MODES] for _, verdicts in pairs]
    rows: list[Row] = []
    for whose in names:
        seconds: list[float] = []
        for _ in range(runs):
            server.figures()
            start = time.perf_counter()
            found = await known[whose](server.url, samples)
            seconds.append(time.perf_counter() - start)
            assert found == true, f"{whose}, {case}: {found[0]} and not {true[0]}"
        rows.append(Row(case, whose, **server.figures(), seconds=statistics.median(seconds[-3:])))
        print(".", end="", file=sys.stderr, flush=True)
    return rows


async def floor(server: Server, case: str, samples: Sequence[Sample]) -> Row:
    """A metric of ragas' that makes the calls which ours has just made, in as many rounds, through
    ragas' wrapper, and judges nothing."""
    from langchain_core.prompt_values import StringPromptValue
    from langchain_openai import ChatOpenAI
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import NoiseSensitivity as Theirs

    def asking(form: str) -> Any:
        kwargs = {"response_format": json.loads(form)}
        model = ChatOpenAI(model=MODEL, base_url=server.url, api_key="none", model_kwargs=kwargs)
        return LangchainLLMWrapper(model)

    wrapped = cache(asking)
    bodies = server.bodies()
    turns = iter([bodies[number :: len(samples)] for number in range(len(samples))])

    class Floor(Theirs):
        async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:
            asked = next(turns) if self.mode == MODES[0] else []
            for first in range(ROUNDS):
                calls: list[Any] = []
                for body in asked[first::ROUNDS]:
                    text = StringPromptValue(text=body["messages"][0]["content"])
                    model = wrapped(json.dumps(body["response_format"]))
                    calls.append(model.generate(text, callbacks=callbacks))
                await asyncio.gather(*calls)
            return 0.0

    start = time.perf_counter()
    await evaluate(Floor, server.url, samples)
    seconds = time.perf_counter() - start
    return Row(case, FLOOR, **server.figures(), seconds=seconds)


async def everything(server: Server, samples: int) -> list[Row]:
    rows: list[Row] = []
    for chunks in CHUNKS:
        rows += await measure(server, f"C = {chunks}", [pair(chunks)], WHOSE, 4)
    rows += await measure(server, "C = 10, nothing wrong", [pair(10, wrong=False)], WHOSE, 4)
    if samples:
        case = f"{samples} samples, C = {RUN_CHUNKS}"
        pairs = run_pairs()[:samples]
        for whose in WHOSE:
            rows += await measure(server, case, pairs, [whose], 1)
            if whose == "ours":
                rows.append(await floor(server, case, [sample for sample, _ in pairs]))
    return rows


def _serve(asked: Connection, latency: float) -> None:
    """Say the base URL; then, when asked, the figures since the last time, or the requests."""
    bodies: list[dict[str, Any]] = []
    with ScriptedServer(make_mind(), latency=latency) as running:
        asked.send(running.base_url)
        while wanted := asked.recv():
            if wanted == "bodies":
                asked.send(bodies)
                continue
            asked.send(running.log.figures())
            bodies = [request.body for request in running.log.requests]
            running.log.clear()


class Server:
    """A server in a process of its own, until the block ends."""

    def __init__(self, latency: float) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_serve, args=(theirs, latency))

    def __enter__(self) -> Server:
        self._process.start()
        self.url = self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send("")
        self._process.join()

    def figures(self) -> dict[str, int]:
        """Since the last time."""
        self._pipe.send("figures")
        return self._pipe.recv()

    def bodies(self) -> list[dict[str, Any]]:
        """Of the calls of which the last figures are."""
        self._pipe.send("bodies")
        return self._pipe.recv()


HEAD = ("case", "whose", "calls", "rounds", "sent", "received", "seconds", "ratios")


def lines_of(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Rows of text; ours with its ratios to ragas' in the same case."""
    ragas = {row.case: row for row in rows if row.whose == "ragas"}
    floors = {row.case: row.seconds for row in rows if row.whose == FLOOR}
    for row in rows:
        ratios = ""
        peer = ragas[row.case]
        if row is not peer:
            calls = peer.calls / row.calls
            time_ = peer.seconds / row.seconds
            ratios = f"{calls:.1f}× fewer calls, {row.chars / peer.chars:.0%} of the characters, "
            ratios += f"{time_:.1f}× faster"
        if row.whose == "ours" and row.case in floors:
            ratios += f", {row.seconds / floors[row.case]:.2f}× the floor"
        figures = (row.calls, row.rounds, row.prompt_chars, row.completion_chars)
        shown = [f"{figure:,}" for figure in figures]
        yield row.case, row.whose, *shown, f"{row.seconds:.2f}", ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="What judging costs, ragas' own way and ours.")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds a call takes")
    parser.add_argument("--samples", type=int, default=RUN_SAMPLES, help="of the run; 0: no run")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with Server(options.latency) as server:
        rows = asyncio.run(everything(server, options.samples))
    print(file=sys.stderr)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        show(HEAD, lines_of(rows), markdown=options.markdown, right=range(2, 7))


if __name__ == "__main__":
    main()
