"""Many lines at once give what lines one by one give: the same bits, the same errors in order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, Result, Tally, Usage, Verdicts, score
from noisesense_adapters.datasets import files, recorded
from noisesense_adapters.datasets.files import jsonl_lines
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.recorded import recorded_tally
from noisesense_adapters.datasets.results import choices, recorded_results
from noisesense_adapters.datasets.score import score_dataset
from support.tables import Shape, random_pair

SHAPE = Shape(response_claims=(0, 6), chunks=(1, 6), undetermined=0.15, labelled=0.4)


def line_of(seed: int) -> dict[str, Any]:
    """A line as a results file, a recording or a file of verdicts alone holds it."""
    rng = random.Random(seed)
    sample, verdicts = random_pair(seed, SHAPE)
    if rng.random() < 0.3:  # labels beside the sample's own
        verdicts = Verdicts.model_validate(
            {
                **verdicts.model_dump(),
                "chunks": [
                    {"text": "", "relevant": rng.choice([None, True, False])}
                    for _ in sample.retrieved_contexts
                ],
            }
        )
    usage = Usage(calls=seed, cost=rng.choice([None, 0.1, 0.3]))
    result = Result(
        f"sample {seed}",
        score(verdicts.beside(sample) if rng.random() < 0.9 else verdicts, empty="zero"),
        sample=sample,
        usage=usage if rng.random() < 0.5 else Usage(),
        unanswered=rng.randrange(3),
    )
    line: dict[str, Any] = json.loads(result.to_json())
    kind = rng.random()
    if kind < 0.3:
        line = {"sample": line["sample"], "verdicts": line["verdicts"]}
    elif kind < 0.5:
        del line["sample"]
        if rng.random() < 0.7 and "chunks" in line["verdicts"]:
            del line["verdicts"]["chunks"]
    if kind > 0.9:
        line["cluster"] = f"document {seed % 7}"
    return line


def each_way(path: Path, workers: int, **chosen: Any) -> list[Any]:
    """One by one, at once, and by so many: the tally, or the error; and what had failed."""
    found: list[Any] = []
    for processes in (0, 1, workers)[: 1 + workers]:
        failed: list[str | None] = []

        def told(result: Result | None, failed: list[str | None] = failed) -> None:
            if result is not None and result.error is not None:
                failed.append(result.error)

        tally: Any = Tally()
        try:
            if processes:
                tally = recorded_tally(path, choices(**chosen), told, None, processes)
            else:
                for result in recorded_results(read_rows(path), choices(**chosen)):
                    told(result)
                    tally.add(result)
        except InputError as error:
            tally = str(error)
        found.append((tally, failed))
    return found


def check(path: Path, workers: int = 1, **chosen: Any) -> Any:
    slow, *others = each_way(path, workers, **chosen)
    assert others == [slow] * len(others)
    return slow[0]


@pytest.fixture
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes share out small files, too."""
    monkeypatch.setattr(recorded, "_PART_SIZE", 4000)
    monkeypatch.setattr(recorded, "_BLOCK", 1000)


CHOICES: list[dict[str, Any]] = [
    {},
    {"definition": "paper", "undetermined": "high"},
    {"definition": "promptfoo", "empty": "error"},
    {"definition": "validmind", "empty": "undefined", "undetermined": "low"},
    {"definition": "ragas", "empty": "zero"},
]


@pytest.mark.parametrize("chosen", CHOICES, ids=lambda chosen: ", ".join(chosen.values()))
def test_the_same_tally(tmp_path: Path, chosen: dict[str, Any]) -> None:
    path = tmp_path / "lines.jsonl"
    lines = [json.dumps(line_of(seed)) for seed in range(400)]
    path.write_text("\n".join([*lines, ""]))
    tally = check(path, **chosen)
    assert tally.scored > 320


def _spoiled(line: dict[str, Any], rng: random.Random) -> str:
    """A line with something odd in it: wrong, or right and seldom."""
    verdicts = line["verdicts"]
    claims = verdicts["response_claims"]
    if not claims:
        claims.append({"text": "a", "correct": False, "entailed_by": []})
    claim = rng.choice(claims)
    changes: list[Callable[[], Any]] = [
        lambda: claim.pop("correct"),
        lambda: claim.pop("entailed_by"),
        lambda: claim.pop("text"),
        lambda: claim.update(correct=rng.choice([1, "true", None, "no"])),
        lambda: claim.update(entailed_by=rng.choice([[0, 0], [-1], [99], [1.0], [True], None, 5])),
        lambda: claim.update(entailed_by=[1, 0]),
        lambda: claim.update(entailed_by=[0], undetermined=[0]),
        lambda: claim.update(undetermined=rng.choice([None, [0, 0], [2**40], ["0"]])),
        lambda: claim.update(note="x"),
        lambda: claim.update(text=None),
        lambda: claim.update(text="half \ud800 of a pair"),
        lambda: verdicts.update(chunks=rng.choice([[], [5], ["a", {"text": "b"}], None])),
        lambda: verdicts.update(reference_claims=rng.choice([None, [], [{}], {}])),
        lambda: verdicts.pop("response_claims"),
        lambda: line.update(verdicts=rng.choice([None, [], "x", {}])),
        lambda: line.update(sample=rng.choice([None, [], {}])),
        lambda: line.update(error=rng.choice(["no answer", "", None, 5])),
        lambda: line.update(unanswered=rng.choice([-1, 1.0, None, 10**30, "3"])),
        lambda: line.update(usage=rng.choice([{}, None, {"calls": "5"}, {"cost": 1}, {"x": 1}])),
        lambda: line.update(usage={"calls": -5}),
        lambda: line.update(definition=rng.choice(["ragas", None, "x"])),
        lambda: line.update(empty=rng.choice(["zero", "error", None, "x"])),
        lambda: line.update(bounds=rng.choice([{"relevant": [0, 1]}, {"relevant": ["0", 1]}, 5])),
        lambda: line.update(status={"relevant": rng.choice(["determined", "?", None])}),
        lambda: line.update(relevant=rng.choice([True, "0.5", 1, None])),
        lambda: line.update(partition=rng.choice([{"correct": 1.0}, {"a": None}, {"b": 2}])),
        lambda: line.update(extra=1),
        lambda: line.pop("id", None),
        lambda: line.update(id=rng.choice([5, None, ""])),
        lambda: line.update(cluster=rng.choice(["", None, 3])),
        lambda: line.get("sample", {}).update(response=" "),
        lambda: line.get("sample", {}).update(retrieved_contexts=[]),
        lambda: line.get("sample", {}).update(user_input=None),
    ]
    rng.choice(changes)()
    text = json.dumps(line)
    kind = rng.random()
    if kind < 0.05:
        return text[: rng.randrange(len(text))]
    if kind < 0.1:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice('{}[],:"\t\x01x0\\') + text[at + 1 :]
    if kind < 0.13:
        return text.replace("}", ',"text":"twice"}', 1)
    if kind < 0.15:
        return rng.choice(["", "   ", "null", "[]", "5", "NaN", "{}", "﻿" + text])
    return text


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.broad) for seed in range(4, 8))]
)
@pytest.mark.usefixtures("many_parts")
def test_the_same_errors_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(recorded, "_AT_ONCE", 37)
    rng = random.Random(seed)
    lines = [
        _spoiled(line_of(i), rng) if i and rng.random() < 0.3 else json.dumps(line_of(i))
        for i in range(200 * seed, 200 * seed + 200)
    ]
    path = tmp_path / "lines.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    for chosen in ({}, {"definition": "paper", "empty": "error", "undetermined": "low"}):
        check(path, 1 if seed else 2, **chosen)


@pytest.mark.parametrize("at", [0, 3, 40, 55])
@pytest.mark.usefixtures("many_parts")
def test_another_definition_is_the_same_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(recorded, "_AT_ONCE", 20)
    lines = [line_of(seed) for seed in range(60)]
    for number, line in enumerate(lines):
        line |= {"id": str(number), "definition": "paper" if number == at else "ragas"}
    # A line for the models in the same batch, and one of another definition there.
    lines[at + 2]["unanswered"] = 10**20
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert "of one definition" in check(path, 1 if at != 40 else 2)
    lines[at + 1] |= {"definition": "promptfoo", "unanswered": 10**20}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert "of one definition" in check(path)


@pytest.mark.usefixtures("many_parts")
def test_parts_of_two_definitions_are_the_same_error(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with path.open("w") as file:
        for number in range(60):
            definition = "ragas" if number < 31 else "paper"
            line = {**line_of(number), "id": str(number), "definition": definition}
            file.write(f"{json.dumps(line)}{' ' * 5000}\n")  # a part each
    assert "result '31': expected results of one definition" in check(path, 2)


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(recorded, "_PART_SIZE", rng.randint(1, 60))
    monkeypatch.setattr(recorded, "_BLOCK", rng.randint(1, 30))
    monkeypatch.setattr(files, "LARGEST", rng.choice([3, 1000]))
    path = tmp_path / "lines.jsonl"
    path.write_bytes(bytes(rng.choices(b"ab \n\r", (20, 4, 1, rng.randint(1, 9), 1), k=200)))
    parts = list(recorded._parts(path))
    lines = [line for part in parts for line in jsonl_lines(path, *part)]
    assert lines == list(jsonl_lines(path))
    assert [part.start for part in parts] == [0, *(part.end for part in parts)][:-1]
    assert all(part.end for part in parts)


def test_several_processes_tell_of_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many_parts: None
) -> None:
    # What lies in the working directory is nobody's module.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    # What a user's start-up code prints is no answer.
    start_up = tmp_path / "start_up"
    start_up.mkdir()
    (start_up / "sitecustomize.py").write_text("print('Hello', end='')")
    monkeypatch.setenv("PYTHONPATH", str(start_up))
    path = tmp_path / "lines.jsonl"
    lines = [json.dumps(line_of(seed)) for seed in range(60)]
    lines[30] = "{"
    path.write_text("\n".join(lines))
    made: list[Result | None] = []
    counts: list[int] = []
    tally = recorded_tally(path, choices(), made.append, counts.append, 3)
    assert tally is not None
    assert (tally.samples, sum(counts), len(counts) > 3) == (60, 59, True)
    assert [result and result.id for result in made] == ["lines.jsonl, line 31"]


def test_what_a_process_fails_on_is_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short_of_memory(*_: object) -> None:
        raise MemoryError

    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(line_of(1)))
    found = recorded._part_tally(path, choices(), recorded._Part())
    assert found is not None
    assert found.tally.samples == 1
    monkeypatch.setattr(recorded, "_count", short_of_memory)
    assert recorded._part_tally(path, choices(), recorded._Part()) is None


def test_what_processes_do_not_share(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(f"{json.dumps(line_of(1))}\n")
    for options in ({"out": tmp_path / "out.jsonl"}, {"columns": {"id": "id"}}):
        with pytest.raises(InputError, match=r"workers: expected 1, got 2.*JSON lines"):
            score_dataset(path, workers=2, **options)  # type: ignore[arg-type]  # of several types
    with pytest.raises(InputError, match="workers: expected a whole number of 1 or more"):
        score_dataset(path, workers=0)
    assert score_dataset(path, workers=5) == score_dataset(path)


def test_other_files_go_the_other_way(tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"response": "a", "reference": "b", "retrieved_contexts": ["c"]}\n')
    assert recorded_tally(texts, choices(), None, None) is None
    assert recorded_tally(tmp_path / "nothing.jsonl", choices(), None, None) is None
    with pytest.raises(InputError, match="verdicts in the file"):
        score_dataset(texts)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(InputError, match="at least one row"):
        score_dataset(empty)
    lines = tmp_path / "lines.jsonl"
    lines.write_text(f"{json.dumps(line_of(1))}\n")
    whole = score_dataset(lines)
    assert whole == score_dataset(lines, on_done=lambda _: None)
    assert whole == score_dataset(lines, out=tmp_path / "out.jsonl")


def test_the_confidence_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(line_of(seed))}\n" for seed in range(60)))
    slow = score_dataset(path, confidence=0.5, on_done=lambda _: None)
    fast = score_dataset(path, confidence=0.5)
    assert fast == slow
    assert fast.confidence == 0.5
