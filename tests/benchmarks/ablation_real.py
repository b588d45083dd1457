"""A real generator, wrong chunks planted on purpose: what did they do?

Sixty-four invented things, so that no model knows them: each has a right chunk, a wrong one that
names another year, and one that names none. A real model answers from all three;
`noisesense.ablation` then lets it answer again. The judge reads years, which are exact here: a
response claims each year that it names, and a text entails a year that it names. So every figure
is the generator's doing.

    python tests/benchmarks/ablation_real.py --base-url http://127.0.0.1:8080/v1 [--answers FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from random import Random

import ground  # noqa: F401

from noisesense import Chunk, Result, Sample, score
from noisesense.ablation import Ablation
from noisesense_adapters.datasets import ablate
from noisesense_adapters.evaluate.tables import ablation_tables
from noisesense_adapters.evaluate.wording import ablation_sentences
from support.ablation_world import Mind

NAMES = [
    start + end
    for start in (
        *("Adr", "Orv", "Tess", "Malb", "Quenn", "Harr", "Vint", "Ost"),
        *("Bram", "Cald", "Dunn", "Elv", "Farl", "Garr", "Jorm", "Kest"),
    )
    for end in ("el", "ane", "ick", "ourne")
]
THINGS = ("bridge", "lighthouse", "museum", "observatory", "railway", "harbor", "library", "mill")
VARIANTS = ("without", "without-other", "relevant-only", "plus-2", "plus-4")
PROMPT = (
    "Answer the question from the context alone, with the year only.\n\n"
    "Context:\n{contexts}\n\nQuestion: {question}\nAnswer:"
)


def years(text: str) -> list[str]:
    """The claims of a text, each once. One that names no year claims nothing."""
    return list(dict.fromkeys(re.findall(r"\b[12]\d\d\d\b", text)))


def samples(seed: int) -> list[tuple[str, str, str, list[Chunk]]]:
    """Name, question, reference and chunks of each."""
    random = Random(seed)
    rows = []
    for i, name in enumerate(NAMES):
        thing = THINGS[i % len(THINGS)]
        right, wrong = random.sample(range(1820, 1990), 2)
        true = f"The {name} {thing} was opened in {right}."
        false = f"According to the travel guide, the {name} {thing} opened in {wrong}."
        plain = f"The {name} {thing} is built of granite."
        chunks = [
            Chunk(text=true, id=f"{name}-register"),
            Chunk(text=false, id="travel-guide"),
            Chunk(text=plain, id="list-of-monuments"),
        ]
        random.shuffle(chunks)
        question = f"In which year was the {name} {thing} opened?"
        rows.append((name, question, f"The {name} {thing} was opened in {right}.", chunks))
    return rows


class Generator:
    """The real model behind an OpenAI-compatible endpoint."""

    def __init__(self, base_url: str, model: str, temperature: float) -> None:
        self._url = f"{base_url}/chat/completions"
        self._model = model
        self._temperature = temperature
        self.calls = 0

    def __call__(self, question: str, contexts: list[str]) -> str:
        self.calls += 1
        listed = "\n".join(f"- {text}" for text in contexts)
        prompt = PROMPT.format(contexts=listed, question=question)
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": self._temperature,
            "max_tokens": 12,
            # Another answer to the same question, and the same ones in another run.
            "seed": self.calls,
        }
        request = urllib.request.Request(
            self._url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)["choices"][0]["message"]["content"].strip() or "no answer"


async def run(
    generator: Generator, seed: int, variants: Sequence[str], answers: str | None
) -> tuple[list[Result], Ablation]:
    judge = Mind(claims_of=years)
    results = []
    first = None if answers is None else Path(f"{answers}.first")
    kept = json.loads(first.read_text("utf-8")) if first and first.exists() else {}
    generator.calls = len(kept)
    if answers and Path(answers).exists():
        generator.calls += Path(answers).read_text("utf-8").count('"variant"')
    for name, question, reference, chunks in samples(seed):
        if name not in kept:
            kept[name] = generator(question, [chunk.text for chunk in chunks])
            if first:
                first.write_text(json.dumps(kept), "utf-8")
        texts = {"user_input": question, "response": kept[name], "reference": reference}
        sample = Sample(**texts, retrieved_contexts=chunks)
        results.append(Result(name, score(await judge.judge(sample)), sample=sample))
    found = await ablate(
        results, generator, judge, variants=variants, max_concurrency=2, answers=answers
    )
    return results, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", default="local")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--answers", help="keeps the answers: a run that was killed goes on")
    options = parser.parse_args()
    generator = Generator(options.base_url.rstrip("/"), options.model, options.temperature)
    results, found = asyncio.run(
        run(generator, options.seed, options.variants.split(","), options.answers)
    )
    print(
        f"{len(results)} samples, {generator.calls} generations, temperature {options.temperature}"
    )
    print(*ablation_sentences(found), sep="\n")
    for table in ablation_tables(found):
        print(f"\n{table.caption}")
        widths = [max(map(len, column)) for column in zip(table.titles, *table.rows, strict=True)]
        for row in (table.titles, *table.rows):
            print("  ".join(map(str.ljust, row, widths)).rstrip())


if __name__ == "__main__":
    main()
