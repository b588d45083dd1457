"""Do broken systems pass a gate in silence, and are sound ones stopped?

    python tests/benchmarks/broken_systems.py [--gate files] [--kind TEXT]

A kind of `data/broken_systems.json` changes the contexts, answers or references of all rows of a
working system, or of three in five, or its judge, or rows are missing; of 20 rows and 40. A judge
takes each sentence for a claim, and a text says what it holds word for word. In the working
system every third answer repeats a rumor of its first chunk: a mean of 0.11.

A gate stops a broken system (``-``), tells something (``told``: a sign, a count, a warning) or is
``SILENT``; ``limits`` is the Python gate with at least 80% of the claims correct and at most 10%
in no text. A sound system is ``STOPPED`` where it is not measured. Promptfoo's ``assertion`` sees
one row, and fails where that has nothing to measure; ``promptfoo`` is with the gate over the file
of its run. A line is printed for each kind with a word in capitals; exit status 1
if a sound system is stopped.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from zlib import crc32

import ground
import pytest

from gates.runners import deepeval_cases, mlflow_run
from gates.test_row_hosts import inspect
from gates.ways import UNKNOWN, Row
from noisesense import LLMJudge, Summary, Usage, gate_run, summarize
from noisesense.judging.calls import SampleRun
from noisesense.judging.prompts import Premise
from noisesense.judging.protocol import TextKind
from noisesense.judging.sentences import sentences
from noisesense.verdicts.form import Cell
from noisesense_adapters.cli import main as noisesense
from noisesense_adapters.datasets.score import score_dataset
from support.datasets import write_jsonl
from support.mlflow_fixtures import SETTINGS
from support.scripted_llm import ScriptedLLM

LIMIT = 0.3
MOST_NOISE = 0.4
"""Of one row: a noisy answer of the working system has 1 / 3."""
FILE = Path(__file__).parent / "data" / "broken_systems.json"
LISTED: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
FIELDS = ("question", "response", "reference", "contexts")
TELLS = re.compile(
    "a sign that|claims? nothing|was retrieved|nothing (can be|to) measure|failed|no answer"
    "|word for word|left (\\d+ )?open|count as one|missing|expected|only in [AB]|fewer correct"
    "|are the same|twice|no chunk supports|neither the reference|never says no"
    "|not limited",
    re.IGNORECASE,
)
CELLS = {"no": False, "yes": True, "": None}


def filled(template: Any, number: int, names: Mapping[str, Any]) -> Any:
    """The template with what stands in a row; None where the row is to keep its own."""
    if isinstance(template, dict):
        turns = template["turns"]
        return filled(turns[number % len(turns)], number, names)
    if isinstance(template, list):
        return [filled(each, number, names) for each in template]
    return template and template.format_map(names)


def texts_of(number: int) -> SimpleNamespace:
    working = LISTED["working"].items()
    return SimpleNamespace(**{name: filled(said, number, {"n": number}) for name, said in working})


def rows_of(change: Mapping[str, Any], count: int, first: int | None = None) -> list[Row]:
    """The working system, with a change in the first so many rows or in all."""
    known = [texts_of(number) for number in range(count)]
    corpus = " ".join(" ".join(each.contexts) for each in known)
    rows: list[Row] = []
    for number, own in enumerate(known):
        places = {"next": number + 1, "far": 7 * number + 3, "back": -1 - number, "first": 0}
        names: dict[str, Any] = {name: known[place % count] for name, place in places.items()}
        names |= {"row": own, "pair": known[number - number % 2], "corpus": corpus}
        fields = {name: getattr(own, name) for name in FIELDS}
        for name, template in change.items() if number < (first or count) else ():
            changed = filled(template, number, names)
            fields[name] = fields[name] if changed is None else changed
        rows.append(Row(number, **fields))
    return rows


def plain(text: str) -> str:
    return " ".join(["", *re.findall(r"[^\W_]+", text), ""])


class Scripted(LLMJudge):
    """Asks by the usual plan; its model says what is so, or what the kind has instead."""

    def __init__(self, kind: Mapping[str, Any]) -> None:
        super().__init__(ScriptedLLM(str))
        self.kind = kind

    async def find(self, run: SampleRun, which: TextKind, text: str, question: str) -> list[str]:
        run.usage += Usage(calls=1)
        if text.startswith(("{", "[")):
            return [plain(part) for part in text.split(", ")]
        return self.kind.get("claims", [] if text == UNKNOWN else sentences(text))

    async def check(self, run: SampleRun, premise: Premise, claims: Sequence[str]) -> list[Cell]:
        word = self.kind.get("reference" if premise.question else "chunk")
        cells: list[Cell] = []
        for claim in claims:
            is_said = plain(claim) in plain(premise.text or claim)
            if word == "chance":
                is_said = crc32(f"{premise}{claim}".encode()) % 2 == 0
            cells.append(CELLS[word] if word in CELLS and premise.text else is_said)
        return cells


class System(NamedTuple):
    """What it did, how many rows there should be, and who judges."""

    name: str
    rows: list[Row]
    expected: int
    kind: Mapping[str, Any] = {}

    @property
    def judge(self) -> LLMJudge:
        return Scripted(self.kind)


def systems(count: int) -> Iterator[System]:
    parts = {"all": count, "most": 3 * count // 5}
    for place, part in product(("contexts", "response", "reference"), parts):
        for name, template in LISTED[place].items():
            rows = rows_of({place: template}, count, parts[part])
            yield System(f"{place}, {part}: {name}", rows, count)
    rows = rows_of({}, count)
    for name, kind in LISTED["judge"].items():
        yield System(f"judge: {name}", rows, count, kind)
    noisy = [row for row in rows if row.number % 3 == 0]
    for name, kept in {
        "the noisy ones dropped": [row for row in rows if row not in noisy],
        "four noisy ones dropped": [row for row in rows if row not in noisy[:4]],
        "the first half twice": rows[: count // 2] * 2,
        "of another run": rows_of({}, 2 * count)[count:],
    }.items():
        yield System(f"rows: {name}", kept, count)
    for name, change in LISTED["sound"].items():
        size = change.pop("count", count)
        yield System(f"sound: {name}", rows_of(change, size), size)


class Seen(NamedTuple):
    """How a gate ended, and what stood on the screen."""

    outcome: str
    shown: str


def gated(summary: Summary, system: System, **limits: Any) -> Seen:
    found = gate_run(summary, LIMIT, min_samples=system.expected, **limits)
    return Seen(found.outcome, "\n".join([found.reason, *summary.warnings]))


def command(*arguments: str | Path) -> Seen:
    """``noisesense`` in this process."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(out):
        patch.setattr("sys.argv", ["noisesense", *map(str, arguments)])
        try:
            noisesense()
        except SystemExit as ended:
            outcomes = {0: "pass", 1: "fail", 4: "undecided"}
            return Seen(outcomes.get(int(ended.code or 0), "not measured"), out.getvalue())


def scored(system: System, out: Path) -> Summary:
    data = write_jsonl(out.with_suffix(".rows.jsonl"), map(asdict, system.rows))
    return score_dataset(data, judge=system.judge, out=out)


def by_files(system: System, folder: Path) -> dict[str, Seen]:
    path = folder / "results.jsonl"
    path.unlink(missing_ok=True)
    summary = scored(system, path)
    before = path
    if "sound" not in system.name:
        before = folder / "before.jsonl"
        scored(System("", rows_of({}, system.expected), 0), before)
    checks = ("--fail-above", str(LIMIT), "--expect", str(system.expected))
    return {
        "python": gated(summary, system),
        "limits": gated(summary, system, min_correct=0.8, max_hallucinated=0.1),
        "score": command("score", path, *checks),
        "gate": command("gate", path, *checks),
        "compare": command("compare", before, path, "--fail-if-worse"),
    }


def by_deepeval(system: System, folder: Path) -> dict[str, Seen]:
    from noisesense_adapters.deepeval import NoiseSensitivityMetric
    from support.deepeval_run import run

    kept: list[Any] = []
    metric = NoiseSensitivityMetric(threshold=LIMIT, judge=system.judge, results=kept)
    run(deepeval_cases(system.rows), [metric])
    return {"deepeval": gated(summarize(kept), system)}


def by_inspect(system: System, folder: Path) -> dict[str, Seen]:
    rows = [replace(row, number=0) for row in system.rows]  # it takes every fourth number
    return {"inspect": gated(inspect(rows, system.judge, folder).summary, system)}


def by_mlflow(system: System, folder: Path) -> dict[str, Seen]:
    os.environ.update(SETTINGS)
    os.chdir(folder)  # it writes runs' artifacts to where it is
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    rows = [replace(row, number=number) for number, row in enumerate(system.rows)]
    return {"mlflow": gated(mlflow_run(rows, system.judge), system)}


def by_promptfoo(system: System, folder: Path) -> dict[str, Seen]:
    """The assertion with each row, and the command over the file that Promptfoo writes then."""
    rows = [asserted(row, system.judge) for row in system.rows]
    graded = [row["gradingResult"]["componentResults"][0] for row in rows]
    shown = "\n".join(each["reason"] for each in graded)
    passed = all(each["pass"] for each in graded)
    path = folder / "out.json"
    path.write_text(json.dumps({"results": {"results": rows}}), "utf-8")
    checks = ("--fail-above", str(LIMIT), "--expect", str(system.expected))
    alone = Seen("pass" if passed else "fail", shown)
    run = command("score", path, *checks)
    both = Seen(alone.outcome, f"{shown}\n{run.shown}") if run.outcome == "pass" else run
    return {"assertion": alone, "promptfoo": both}


def asserted(row: Row, judge: LLMJudge) -> dict[str, Any]:
    """A result as Promptfoo writes it."""
    from noisesense_adapters.promptfoo import get_assert, metric

    chunks = [{"text": text} for text in row.contexts or ()]
    given = {"query": row.question, "reference": row.reference, "contextChunks": chunks}
    config = {"maxNoise": MOST_NOISE}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metric, "_judge", lambda *_: judge)
        graded = get_assert(row.response, {"vars": given, "config": config})
    return {
        "testIdx": row.number,
        "promptIdx": 0,
        "testCase": {"assert": [{"type": "python", "config": config}]},
        "vars": given,
        "response": {"output": row.response},
        "gradingResult": {"componentResults": [graded]},
    }


GATES: dict[str, Callable[[System, Path], dict[str, Seen]]] = {
    "files": by_files,
    "deepeval": by_deepeval,
    "inspect": by_inspect,
    "mlflow": by_mlflow,
    "promptfoo": by_promptfoo,
}


def word(system: System, seen: Seen) -> str:
    if "sound" in system.name:
        return "STOPPED" if seen.outcome == "not measured" else seen.outcome
    if seen.outcome not in ("pass", "warn"):
        return "-"
    return "told" if TELLS.search(seen.shown) else "SILENT"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gate", choices=GATES, default="files")
    parser.add_argument("--kind", default="", help="only kinds whose name holds this")
    asked = parser.parse_args()
    totals: Counter[str] = Counter()
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for system in (*systems(20), *systems(40)):
            if asked.kind not in system.name:
                continue
            try:
                with redirect_stdout(sys.stderr):
                    seen = GATES[asked.gate](system, Path(folder))
            except Exception as error:  # noqa: BLE001 - whatever ends a run fails a job
                seen = {asked.gate: Seen("an error", str(error))}
            found = {name: word(system, each) for name, each in seen.items()}
            totals.update(f"{name} {said}" for name, said in found.items())
            if any(map(str.isupper, found.values())):
                cells = [f"{name} {said}" for name, said in found.items()]
                lines.append([system.name, str(system.expected), " ".join(cells)])
    ground.show(["kind", "rows", "gates"], lines)
    ground.show(["gate and outcome", "times"], sorted(totals.items()))
    return int(any("STOPPED" in said for said in totals))


if __name__ == "__main__":
    sys.exit(main())
