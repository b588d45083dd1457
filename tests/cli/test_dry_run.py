"""``noisesense score --dry-run``: what it counts is what a run then asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisesense import Sample, Verdicts
from support.command_here import Done, run_here
from support.datasets import write_jsonl
from support.mind import Mind
from support.server import ScriptedServer
from support.tables import Shape, random_pairs, sample_of

Capsys = pytest.CaptureFixture[str]
Pairs = list[tuple[Sample, Verdicts]]


def table(right: bool, chunks: int, name: str) -> tuple[Sample, Verdicts]:
    """Two claims, both right or both wrong."""
    verdicts = Verdicts.from_matrices(
        [right] * 2,
        [[True] * chunks] * 2,
        [[True] * chunks],
        response_claims=[f"{name} says claim {i}." for i in "12"],
        reference_claims=[f"{name} is known for a fact."],
        chunks=[f"Passage {i} on {name}." for i in range(chunks)],
    )
    return sample_of(verdicts, f"Who is {name}?"), verdicts


RIGHT = [table(True, 4, name) for name in ("Alba", "Bruno", "Carla")]
WRONG = [table(False, 4, name) for name in ("Dora", "Emil", "Fritz")]
# By name: the samples, further options, and what the two ends are by hand, where that is simple.
# A sample needs 3 calls, and with wrong claims one more for each chunk.
CASES: dict[str, tuple[Pairs, str, tuple[int, int] | None]] = {
    "all right": (RIGHT, "", (9, 21)),
    "all wrong": (WRONG, "", (9, 21)),
    "both": ([*RIGHT, *WRONG], "", (18, 42)),
    "every cell": (RIGHT, "--plan full", (21, 21)),
    "votes": (WRONG, "--votes 3", (3 * (2 + 3), 3 * (2 + 3 + 4 * 3))),
    "twice, kept": ([*WRONG, *WRONG], "--store STORE", (9, 21)),
    "twice": ([*WRONG, *WRONG], "", (18, 42)),
    "labels": (
        list(random_pairs(8, seed=1, shape=Shape((1, 4), (1, 3), (1, 4), labeled=1.0))),
        "",
        None,
    ),
    "random": (list(random_pairs(8, seed=2, shape=Shape((1, 4), (1, 3), (1, 4)))), "", None),
    "no chunks": (list(random_pairs(8, seed=3, shape=Shape((1, 3), (1, 3), (0, 1)))), "", None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_calls_made_are_within_what_it_says(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, more, by_hand = CASES[name]
    data = write_jsonl(tmp_path / "data.jsonl", [s.model_dump(mode="json") for s, _ in pairs])
    options = more.replace("STORE", str(tmp_path / "calls.db")).split()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedServer(Mind(pairs)) as server:
        command = ["score", data, "--judge", "openai:m", "--base-url", server.base_url, *options]
        done = run_here(capsys, *command, "--dry-run", "--json")
        assert done.status == 0
        assert server.log.calls == 0
        assert run_here(capsys, *command).status == 0
        made = server.log.calls
        if "--store" in options:
            known = run_here(capsys, *command, "--dry-run", "--json")
            assert calls(json.loads(known.out)) == (0, 0)
    found = json.loads(done.out)
    least, most = calls(found)
    assert least <= made <= most
    assert found["least"]["tokens"] <= found["most"]["tokens"]
    assert by_hand in (None, (least, most))
    by_name = {"all right": least, "all wrong": most}
    assert made == by_name.get(name, made)


def test_it_promises_fewer_calls_only_where_there_may_be(tmp_path: Path, capsys: Capsys) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [RIGHT[0][0].model_dump(mode="json")])
    command = ("score", data, "--judge", "openai:m", "--dry-run")
    assert (
        "3 to 7 calls if every reply can be used: the more claims"
        in run_here(capsys, *command).out
    )
    every_cell = run_here(capsys, *command, "--plan", "full")
    assert "\n7 calls if every reply can be used.\n" in every_cell.out


def test_it_says_how_many_calls_are_only_made_as_nothing_is_kept(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Three samples, each twice: at least 3 calls of a sample are asked for again."""
    lines = [sample.model_dump(mode="json") for sample, _ in [*RIGHT, *RIGHT]]
    data = write_jsonl(tmp_path / "data.jsonl", lines)
    command = ("score", data, "--judge", "openai:m", "--dry-run")
    said = run_here(capsys, *command).out
    assert "18 to 42 calls" in said
    assert "With --out or --store at least 9 calls fewer: " in said
    kept = run_here(capsys, *command, "--out", tmp_path / "out.jsonl").out
    assert "9 to 21 calls" in kept
    assert "fewer" not in kept


@pytest.mark.parametrize(
    "response", ["What do you mean? Which invoice?", "Yes. One can.", "N/A. None."]
)
def test_an_answer_of_odd_sentences_is_counted(
    response: str, tmp_path: Path, capsys: Capsys
) -> None:
    """Its sentences may be no claims. 3 calls or more, as each is asked about once at least."""
    row = {
        "user_input": "May one pay later?",
        "response": response,
        "reference": "Bills may be paid until May.",
        "retrieved_contexts": ["Bills may be paid until May."],
    }
    data = write_jsonl(tmp_path / "data.jsonl", [row])
    done = run_here(capsys, "score", data, "--judge", "openai:m", "--dry-run", "--json")
    assert done.status == 0
    least, most = calls(json.loads(done.out))
    assert 3 <= least <= most <= 3 + 2 * 2 + 1


def test_a_question_that_was_not_read_is_missed(tmp_path: Path, capsys: Capsys) -> None:
    sample, verdicts = RIGHT[0]
    row = sample.model_dump(mode="json")
    row["Customer asks"] = row.pop("user_input")
    data = write_jsonl(tmp_path / "data.jsonl", [row])
    note = "note: no question was read; --map user_input=COLUMN names its column"
    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        asked = ["score", data, "--judge", "openai:m", "--base-url", server.base_url]
        named = ["--map", "user_input=Customer asks"]
        for more in ([], ["--dry-run"]):
            assert note in run_here(capsys, *asked, *more).err
            assert note not in run_here(capsys, *asked, *named, *more).err

    # Also where the contexts can be read only as the command says.
    table = tmp_path / "data.csv"
    table.write_text("said,right,found\nIt is so.,It is so.,One. | Two.\n", "utf-8")
    columns = [f"--map={each}" for each in ("response=said", "reference=right")]
    columns += ["--map=retrieved_contexts=found", "--split-contexts", " | "]
    assert (
        note in run_here(capsys, "score", table, "--judge", "openai:m", "--dry-run", *columns).err
    )


def test_nothing_is_kept_of_calls_that_were_not_made(tmp_path: Path, capsys: Capsys) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [WRONG[0][0].model_dump(mode="json")])
    command = ("score", data, "--judge", "openai:m", "--store", tmp_path / "calls.db")
    assert run_here(capsys, *command, "--dry-run").status == 0
    assert not (tmp_path / "calls.db").exists()


def test_it_says_so_in_words_and_needs_a_model(tmp_path: Path, capsys: Capsys) -> None:
    sample, _ = WRONG[0]
    data = write_jsonl(tmp_path / "data.jsonl", [sample.model_dump(mode="json"), {"a": 1}])
    done = run_here(capsys, "score", data, "--judge", "openai:m", "--dry-run", "--rate", "2")
    first, calls, _, minutes = done.out.splitlines()
    assert first == "data.jsonl: 1 sample, 4 chunks, 1 row that cannot be read"
    assert calls.startswith("3 to 7 calls if every reply can be used")
    assert minutes == "1.5 to 3.5 minutes at 2 calls a minute (--rate). Nothing was asked."
    for judge in ([], ["--judge", "local:m"]):
        refused = run_here(capsys, "score", data, *judge, "--dry-run")
        assert refused.status == 2
        assert "--dry-run: expected --judge" in refused.err


def test_auto_is_between_one_list_and_one_call_a_sentence(tmp_path: Path, capsys: Capsys) -> None:
    """By hand, 2 claims, 1 of the reference, 4 chunks: 2 lists, 1 check; 2, 2 and 4 x 3 checks."""
    data = write_jsonl(tmp_path / "data.jsonl", [WRONG[0][0].model_dump(mode="json")])
    arguments = ("score", data, "--judge", "openai:m", "--check", "auto", "--dry-run", "--json")
    found = json.loads(run_here(capsys, *arguments).out)
    assert calls(found) == (3, 2 + 2 + 4 * 3)


def calls(found: dict[str, dict[str, int]]) -> tuple[int, int]:
    return found["least"]["calls"], found["most"]["calls"]


@pytest.mark.parametrize("more", ["", "--check each", "--votes 2", "--plan full"])
def test_what_the_store_has_is_not_counted(more: str, tmp_path: Path, capsys: Capsys) -> None:
    """Of a new sample all is counted, and where only a claim is new what hangs on it."""
    pairs = [*RIGHT, *WRONG]
    lines = [sample.model_dump(mode="json") for sample, _ in pairs]
    data = write_jsonl(tmp_path / "data.jsonl", lines)
    new, _ = table(False, 4, "Greta")
    changed = {**lines[0], "reference": "Alba is known for another fact."}
    with ScriptedServer(Mind(pairs)) as server:
        command = ["--judge", "openai:m", "--base-url", server.base_url, *more.split()]
        command += ["--out", str(tmp_path / "out.jsonl")]
        assert run_here(capsys, "score", data, *command).status == 0
        store = tmp_path / "out.jsonl.db"
        before = run_here(capsys, "store", "show", store).out.splitlines()[1:]
        done = run_here(capsys, "score", data, *command, "--dry-run")
        said = "0 calls if every reply can be used."
        assert f"{said}\nWhat {store} holds is not asked again, and not counted." in done.out
        other = run_here(capsys, "score", data, *command, "--temperature", "1", "--dry-run")
        assert "\n0 calls" not in other.out  # another judge's
        one = write_jsonl(tmp_path / "one.jsonl", [new.model_dump(mode="json")])
        alone = run_here(capsys, "score", one, *command, "--dry-run", "--json")
        both = write_jsonl(tmp_path / "both.jsonl", [*lines, new.model_dump(mode="json")])
        together = run_here(capsys, "score", both, *command, "--dry-run", "--json")
        assert calls(json.loads(together.out)) == calls(json.loads(alone.out)) != (0, 0)
        edited = write_jsonl(tmp_path / "edited.jsonl", [changed])
        found = run_here(capsys, "score", edited, *command, "--dry-run", "--json")
        if not more:
            # The reference is taken apart and the claims are held against it; if they are wrong,
            # each of four chunks is asked. The response's claims are known.
            assert calls(json.loads(found.out)) == (2, 6)
    assert run_here(capsys, "store", "show", store).out.splitlines()[1:] == before


SPLIT = Sample(
    user_input="What does it cost?",
    response="It costs 20 euros.",
    reference="It costs 10 euros.",
    retrieved_contexts=["It costs 20 euros.", "It costs 10 euros."],
)
SPLIT_VERDICTS = Verdicts.from_matrices(
    [False],
    [[True, False]],
    [[False, True]],
    response_claims=["It costs 20 euros."],
    reference_claims=["It costs 10 euros."],
    chunks=[chunk.text for chunk in SPLIT.retrieved_contexts],
)
UNSPLIT = {
    "question": "What does it cost?",
    "answer": "It costs 20 euros.",
    "reference": "It costs 10 euros.",
    "contexts": "It costs 20 euros. | It costs 10 euros.",
}
LISTED = {**UNSPLIT, "contexts": ["It costs 20 euros.", "It costs 10 euros."]}
NOT_RETRIEVED = {**UNSPLIT, "contexts": []}
NO_ANSWER = {**LISTED, "answer": " "}


@pytest.mark.parametrize(
    ("rows", "status", "head"),
    [
        ([LISTED], 0, "1 sample, 2 chunks"),
        ([UNSPLIT, LISTED, UNSPLIT], 3, "1 sample, 2 chunks, 2 rows that cannot be read"),
        ([UNSPLIT, NO_ANSWER, LISTED], 3, "1 sample, 2 chunks, 2 rows that cannot be read"),
        ([NO_ANSWER, NO_ANSWER], 5, "0 samples, 0 chunks, 2 rows that cannot be read"),
        ([UNSPLIT, NOT_RETRIEVED], 5, "1 sample, 0 chunks, 1 row that cannot be read"),
        ([NOT_RETRIEVED], 5, "1 sample, 0 chunks"),
    ],
)
def test_what_fails_is_told_before_as_in_the_run(
    rows: list[dict[str, object]], status: int, head: str, tmp_path: Path, capsys: Capsys
) -> None:
    """It said "15 rows that cannot be read", without a reason, and ended with 0."""
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    mind = Mind([(SPLIT, SPLIT_VERDICTS)])
    with ScriptedServer(mind) as server:
        command = ["score", data, "--judge", "openai:m", "--base-url", server.base_url]
        before = run_here(capsys, *command, "--dry-run")
        assert server.log.calls == 0
        done = run_here(capsys, *command)
    assert before.status == status, done.err
    assert done.status == status, done.err
    assert before.out.startswith(f"data.jsonl: {head}\n")
    assert ("There is nothing to judge" in before.out) == (status == 5)
    told = [line for line in before.err.splitlines() if not line.startswith("note: ")]
    assert told == failures_in(done)
    assert ("--split-contexts SEP" in before.err) == (UNSPLIT in rows)


def failures_in(done: Done) -> list[str]:
    lines = done.err.splitlines()
    return [line for line in lines if line.startswith("failed: ") or "more failed" in line]


def test_the_least_is_not_above_the_most(tmp_path: Path, capsys: Capsys) -> None:
    """It said "About 3,135 to 3,123 tokens": "yes" is a longer reply than "no"."""
    rows = [
        {**LISTED, "contexts": [f"It costs {n} euros."], "answer": "It is 5. It is 6. It is 7."}
        for n in range(4)
    ]
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    for options in ((), ("--check", "auto"), ("--check", "each"), ("--plan", "full")):
        command = ("score", data, "--judge", "openai:m", "--dry-run", *options)
        found = json.loads(run_here(capsys, *command, "--json").out)
        for what in ("calls", "tokens", "minutes"):
            assert found["least"][what] <= found["most"][what], (options, what)
        told = run_here(capsys, *command).out
        assert ("the more claims" in told) == (found["least"]["calls"] < found["most"]["calls"])


def test_the_test_of_a_model_is_told(tmp_path: Path, capsys: Capsys) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [RIGHT[0][0].model_dump(mode="json")])
    command = ("score", data, "--judge", "openai:m", "--dry-run")
    told = "The test of the model comes on top: some 30 calls, once."
    assert told in run_here(capsys, *command, "--check", "auto").out
    assert told not in run_here(capsys, *command).out


def test_a_limit_of_no_characters_is_the_runs_error(tmp_path: Path, capsys: Capsys) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [RIGHT[0][0].model_dump(mode="json")])
    command = ("score", data, "--judge", "openai:m", "--dry-run", "--text-chars", "0")
    done = run_here(capsys, *command)
    assert done.status == 2
    assert "whole number of 1 or more, got 0" in done.err
