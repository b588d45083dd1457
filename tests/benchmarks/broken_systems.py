"""Do broken systems pass a gate in silence, and are sound ones stopped?

    python tests/benchmarks/broken_systems.py [--gate NAME] [--kind TEXT] [--all]

Twenty and forty rows about cities, of which three in ten repeat a rumor of their first chunk. A
kind of `data/broken_systems.json` puts other contexts, answers or references in place of all or
of every second one, or another judge; or some rows are missing. A model takes each sentence for
a claim, and a text says what it holds word for word. The sound systems are odd or small.

Of broken systems a gate *stops* one, or it passes and *tells*: a sign, a count or a warning; or
it is *SILENT*, which the last column repeats with the page's limits: at least 80% of the claims
correct and at most 10% in no text. Of sound ones it *passes*, *fails* by a mean, or is *STOPPED*.
Only lines with a word in capitals are printed, or ``--all``. Exit status 1 if a sound system is
stopped, or a broken one passes in silence with the limits as well.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import ground
import pytest

from gates.runners import by_mlflow
from gates.test_row_hosts import inspect
from gates.ways import UNKNOWN, Row
from noisesense import LLMJudge, Sample, Summary, Verdicts, gate_run, summarize
from noisesense.judging.calls import run_blocking
from noisesense.judging.sentences import sentences
from noisesense_adapters.cli import main as noisesense
from noisesense_adapters.datasets.score import score_dataset
from support.datasets import write_jsonl
from support.mind import data_of
from support.scripted_llm import ScriptedLLM

LIMIT = 0.3
FILE = Path(__file__).parent / "data" / "broken_systems.json"
LISTED: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
_YES = ("no", "yes")
CITIES = ("Lyon", "Oslo", "Kyoto", "Quito", "Turin", "Accra", "Delhi", "Perth", "Sofia", "Tunis")
TELLS = re.compile(
    "a sign that|claims? nothing|was retrieved|nothing (can be|to) measure|failed|no answer"
    "|word for word|left open|count as one|missing|expected|only in [AB]|fewer correct",
    re.IGNORECASE,
)


class City(Row):
    """What is true of one, and a rumor."""

    @property
    def city(self) -> str:
        return f"{CITIES[self.number % 10]} {self.number}"

    @property
    def bridges(self) -> int:
        return 1_000 + 7 * self.number

    @property
    def fact(self) -> str:
        return f"{self.city} has {self.bridges} bridges."

    @property
    def more(self) -> str:
        return f"{self.city} lies on a river."

    @property
    def rumor(self) -> str:
        return f"{self.city} was founded by wolves."


def city(number: int) -> City:
    row = City(number, "", "", "", [])
    answer = f"{row.fact} {row.more}"
    return replace(
        row,
        question=f"What is known of {row.city}?",
        response=f"{answer} {row.rumor}" if number % 10 in (0, 3, 6) else answer,
        reference=f"{answer} {row.city} is large.",
        contexts=[f"{answer} {row.rumor}", f"Elsewhere than in {row.city} it rains."],
    )


@dataclass(frozen=True)
class System:
    """A kind of system: what it did, and who judges."""

    name: str
    rows: list[City]
    expected: int
    model: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_sound(self) -> bool:
        return self.name.startswith("sound")

    @property
    def judge(self) -> LLMJudge:
        return LLMJudge(ScriptedLLM(Model(self.model, self.rows).answer))

    def judging(self, sample: Sample) -> Verdicts:
        """As hosts have it, which know no judge of placebos."""
        return run_blocking(self.judge.judge(sample))


def filled(template: Any, number: int, names: Mapping[str, Any]) -> Any:
    """The template with what stands in a row; None where the row is to keep its own."""
    if isinstance(template, dict):
        turns = template["turns"]
        return filled(turns[number % len(turns)], number, names)
    if isinstance(template, list):
        return [filled(each, number, names) for each in template]
    return template and template.format_map(names)


def changed(fields: Mapping[str, Any], count: int, first: int | None = None) -> list[City]:
    """The first so many rows, or all, with other fields."""
    rows = [city(number) for number in range(count)]
    corpus = " ".join(text for row in rows for text in row.contexts or [])
    found = list(rows)
    for number in range(count)[:first]:
        others = {"next": number + 1, "far": 7 * number + 3, "back": -1 - number, "first": 0}
        others |= {"row": number, "pair": number - number % 2}
        names = {name: rows[place % count] for name, place in others.items()}
        for place, template in fields.items():
            value = filled(template, number, {**names, "corpus": corpus})
            if value is not None:
                found[number] = replace(found[number], **{place: value})
    return found


def words(text: str) -> str:
    """Without the marks between them."""
    return " ".join(["", *re.findall(r"[^\W_]+", text), ""])


class Model:
    """The mind of a judge, sound but for what the kind says."""

    def __init__(self, kind: Mapping[str, Any], rows: list[City]) -> None:
        self.kind = kind
        self.asked = 0
        texts = [[row.reference, *(row.contexts or ())] for row in rows]
        self.others = {
            text: other
            for row, following in zip(texts, texts[1:] + texts[:1], strict=True)
            for text, other in zip(row, following, strict=False)
        }

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": self.claims(data["text"])})
        if "premise" not in data:
            listed = data.get("listed", data["claims"].values())
            return json.dumps(
                {name: _YES[said in listed] for name, said in data["claims"].items()}
            )
        premise = data["premise"]
        is_answer = prompt.startswith("Question: ")
        kind = self.kind.get("reference" if is_answer else "chunk", "sound")
        if kind == "other":
            premise = self.others.get(premise, premise)
        found: dict[str, str] = {}
        for name, said in data["claims"].items():
            question, _, told = said.rpartition("? ")
            is_said = words(told) in words(premise) and (
                not is_answer or prompt.count(question) > 1
            )
            found[name] = self.word(kind, is_said, said + premise)
        return json.dumps({name: word for name, word in found.items() if word})

    def claims(self, text: str) -> list[str]:
        listed = self.kind.get("claims", sentences(text))
        if listed == "first word":
            return text.split()[:1]
        if text.startswith(("{", "[")):
            return [words(each) for each in text.split(", ")]
        return [] if text == UNKNOWN else listed

    def word(self, kind: str, is_said: bool, asked: str) -> str:
        self.asked += 1
        if kind == "chance":
            is_said = crc32(asked.encode()) % 2 == 0
        elif kind == "turns":
            is_said = self.asked % 2 == 0
        elif kind == "opposite":
            is_said = not is_said
        elif kind in ("yes", "no", ""):
            return kind
        return _YES[is_said]


def systems(count: int) -> Iterator[System]:
    for place in ("contexts", "response", "reference"):
        for name, template in LISTED[place].items():
            for part, first in (("all", count), ("most", 3 * count // 5)):
                rows = changed({place: template}, count, first)
                yield System(f"{place}, {part}: {name}", rows, count)
    rows = changed({}, count)
    for name, kind in LISTED["judge"].items():
        yield System(f"judge: {name}", rows, count, kind)
    noisy = [row for row in rows if row.rumor in row.response]
    for name, kept in {
        "the noisy ones dropped": [row for row in rows if row not in noisy],
        "four noisy ones dropped": [row for row in rows if row not in noisy[:4]],
        "half": rows[: count // 2],
        "three": rows[:3],
        "the first half twice": rows[: count // 2] * 2,
        "of another run": [city(row.number + 100) for row in rows],
    }.items():
        yield System(f"rows: {name}", kept, count)
    for name, kind in LISTED["sound"].items():
        fields = dict(kind)
        size = fields.pop("count", count)
        yield System(f"sound: {name}", changed(fields, size), size)


# ------------------------------------------------------------------ gates


class Seen(NamedTuple):
    """How a gate ended, and what stood on the screen."""

    outcome: str
    shown: str


def gated(summary: Summary, system: System, share: int = 1, **limits: float) -> Seen:
    found = gate_run(summary, LIMIT, min_samples=system.expected // share, **limits)
    return Seen(found.outcome, "\n".join([found.reason, *summary.warnings]))


def command(*arguments: str | Path) -> Seen:
    """``noisesense`` in this process."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr("sys.argv", ["noisesense", *map(str, arguments)])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            noisesense()
    outcomes = {0: "pass", 1: "fail", 4: "undecided"}
    return Seen(outcomes.get(ended.value.code, f"status {ended.value.code}"), out.getvalue())


def scored(rows: list[City], judge: LLMJudge, out: Path) -> Summary:
    lines = [
        {
            "user_input": row.question,
            "response": row.response,
            "reference": row.reference,
            "retrieved_contexts": row.contexts,
        }
        for row in rows
    ]
    return score_dataset(write_jsonl(out.with_suffix(".rows.jsonl"), lines), judge=judge, out=out)


def by_files(system: System, folder: Path) -> Iterator[tuple[str, Seen]]:
    path = folder / "results.jsonl"
    path.unlink(missing_ok=True)
    summary = scored(system.rows, system.judge, path)
    yield "python", gated(summary, system)
    yield "limits", gated(summary, system, min_correct=0.8, max_hallucinated=0.1)
    expect = ("--fail-above", str(LIMIT), "--expect", str(system.expected))
    yield "score", command("score", path, *expect)
    yield "gate", command("gate", path, *expect)
    before = path
    if not system.is_sound:
        before = folder / f"working {system.expected}.jsonl"
        if not before.exists():
            rows = changed({}, system.expected)
            scored(rows, System("working", rows, len(rows)).judge, before)
    yield "compare", command("compare", before, path, "--fail-if-worse")


def by_deepeval(system: System, folder: Path) -> Iterator[tuple[str, Seen]]:
    """As the page has a gate over a run."""
    from gates.runners import deepeval_cases
    from noisesense_adapters.deepeval import NoiseSensitivityMetric
    from support.deepeval_run import run

    kept: list[Any] = []
    metric = NoiseSensitivityMetric(threshold=LIMIT, judge=system.judge, results=kept)
    run(deepeval_cases(system.rows), [metric])
    yield "deepeval", gated(summarize(kept), system)


def by_inspect_ai(system: System, folder: Path) -> Iterator[tuple[str, Seen]]:
    summary = inspect(system.rows, system.judging, folder).summary
    yield "inspect", gated(summary, system, 4)


def by_mlflow_runs(system: System, folder: Path) -> Iterator[tuple[str, Seen]]:
    ended = by_mlflow(list(system.rows), system.judging, system.expected // 4)
    yield "mlflow", Seen("pass" if ended.passed else "not measured", ended.shown)


Gate = Callable[[System, Path], Iterator[tuple[str, Seen]]]
GATES: dict[str, Gate] = {
    "files": by_files,
    "deepeval": by_deepeval,
    "inspect": by_inspect_ai,
    "mlflow": by_mlflow_runs,
}


def word(system: System, seen: Seen) -> str:
    passed = seen.outcome in ("pass", "warn")
    if system.is_sound:
        return (
            "STOPPED"
            if seen.outcome in ("not measured", "error", "status 3", "status 5")
            else seen.outcome
        )
    if not passed:
        return "stops"
    return "tells" if TELLS.search(seen.shown) else "SILENT"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gate", choices=GATES, action="append", help="only this one")
    parser.add_argument("--kind", default="", help="only kinds whose name holds this")
    parser.add_argument("--all", action="store_true", help="print what is well, too")
    parser.add_argument("--screens", action="store_true", help="print what a gate shows, too")
    asked = parser.parse_args()
    logging.disable()
    totals: Counter[str] = Counter()
    lines: list[list[str]] = []
    names: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (20, 40):
            for system in systems(count):
                if asked.kind not in system.name:
                    continue
                words: dict[str, str] = {}
                for name in asked.gate or ["files"]:
                    try:
                        seen = dict(GATES[name](system, Path(folder)))
                    except Exception as error:  # noqa: BLE001 - whatever ends a run fails a job
                        seen = {name: Seen("error", repr(error))}
                    words |= {gate: word(system, each) for gate, each in seen.items()}
                    if asked.screens:
                        for gate, each in seen.items():
                            print("=====", system.name, count, gate, each.outcome)
                            print(each.shown)
                names.append([*words])
                totals.update(f"{word} {gate}" for gate, word in words.items())
                if asked.all or any(map(str.isupper, words.values())):
                    lines.append([system.name, str(count), *words.values()])
    head = ["kind", "rows", *max(names, key=len)]
    ground.show(head, [line + [""] * (len(head) - len(line)) for line in lines])
    print(totals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
