"""``noisesense score`` of recorded verdicts: figures, files, messages and exit statuses."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts, read_results
from noisesense.fixtures import reference_examples
from support.command import run
from support.command_here import assert_error, run_here
from support.datasets import rows, write_jsonl
from support.report_page import packed_lines
from support.tables import Shape, random_pairs

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
Capsys = pytest.CaptureFixture[str]
CHUNKS = 4


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "examples.jsonl", rows(PAIRS))


def test_the_summary_has_the_claims_the_means_and_their_intervals(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Two samples with figures that are easy to check: 1 of 2 claims, and 0 of 1."""
    lines = rows([PAIRS[0], PAIRS[0]])
    lines[1]["response"] = "Leonardo da Vinci painted it."
    lines[1]["user_input"] = "And who painted it?"
    del lines[1]["verdicts"]["response_claims"][1]
    path = write_jsonl(tmp_path / "two.jsonl", lines)
    done = run_here(capsys, "score", path, "--out", tmp_path / "out.jsonl")
    assert done.status == 0
    said = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "1 of 3 claims is wrong and came from a retrieved document." in said
    assert "1 from relevant documents, 0 from irrelevant ones." in said
    assert "mean of samples 0.2500 0.0000" in said
    assert "95% interval 0.01 to 0.83 0.00 to 0.74" in said
    wide = run_here(capsys, "score", path, "--confidence", "0.995")
    assert "\n99.5% interval  " in wide.out, "it was called a 100% interval"


def test_columns_definition_and_clusters_are_as_they_were_chosen(
    tmp_path: Path, capsys: Capsys
) -> None:
    lines = [{**row, "meta": {"doc": i % 3}} for i, row in enumerate(rows(PAIRS))]
    for line in lines:
        line["gold"] = line.pop("reference")
    path = write_jsonl(tmp_path / "d.jsonl", lines)
    out = tmp_path / "out.jsonl"
    options = [f"--map={each}" for each in ("reference=gold", "id=user_input", "cluster=meta.doc")]
    done = run_here(
        capsys, "score", path, *options, "--definition", "promptfoo", "--out", out, "--json"
    )
    assert done.status == 0
    assert json.loads(done.out)["clusters"] == 3
    for result, example in zip(read_results(out), EXAMPLES, strict=True):
        assert result.id == example.sample.user_input
        assert result.score is not None
        values = (result.score.relevant, result.score.irrelevant)
        assert values == pytest.approx(example.expected["promptfoo"], abs=1e-12)


def test_a_report_replaces_no_file_of_somebody_elses(
    examples: Path, tmp_path: Path, capsys: Capsys
) -> None:
    path = tmp_path / "index.html"
    path.write_bytes(b"mine")
    done = run_here(capsys, "score", examples, "--report", path)
    assert done.status == 2
    assert "nothing was overwritten" in done.err
    assert path.read_bytes() == b"mine"
    path.unlink()
    os.mkfifo(path)  # to read one would wait for somebody to write
    done = run_here(capsys, "score", examples, "--report", path)
    assert done.status == 2
    assert "nothing was overwritten" in done.err


def test_a_report_replaces_its_own_of_before(
    examples: Path, tmp_path: Path, capsys: Capsys
) -> None:
    path = tmp_path / "r.html"
    for _ in range(2):
        assert run_here(capsys, "score", examples, "--report", path).status == 0
        text = path.read_text("utf-8")
        path.write_text(text[:4096], "utf-8")
    assert "Leonardo da Vinci painted the Mona Lisa" in str(packed_lines(text, "details"))


def test_what_cannot_be_read_is_told_and_the_rest_kept(
    examples: Path, tmp_path: Path, capsys: Capsys
) -> None:
    good = examples.read_text("utf-8").splitlines()
    bad = ["{", json.dumps({**json.loads(good[0]), "reference": ""})] * 11
    examples.write_text("\n".join([good[0], *bad, *good[1:]]), "utf-8")
    out = tmp_path / "out.jsonl"
    done = run_here(capsys, "score", examples, "--out", out)
    assert done.status == 3
    limits = ("--fail-above", "1", "--max-undefined")
    assert [run_here(capsys, "score", examples, *limits, most).status for most in "01"] == [5, 0]
    first, second, *_ = done.err.splitlines()
    assert first.startswith("failed: examples.jsonl, line 2: ")
    found = {result.id: result.error for result in read_results(out) if result.error}
    assert len(found) == 22
    assert [*found][:2] == ["examples.jsonl, line 2", "examples.jsonl, line 3"]
    assert f"failed: {found['examples.jsonl, line 3']}" == second
    assert done.err.count("\nfailed: ") == 19
    assert done.err.count("\nmore failed; ") == 1
    assert "28 samples, 6 measured, 22 failed, 16 chunks" in done.out


BROKEN: list[dict[str, Any]] = [{"sample": {}, "verdicts": {}}] * 3


def test_a_run_in_which_all_failed_is_written_where_nothing_is_lost(
    examples: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out.jsonl"
    broken = write_jsonl(tmp_path / "broken.jsonl", BROKEN)
    command = ("score", broken, "--out", out, "--report", tmp_path / "r.html")
    for _ in range(2):  # no file, and an empty one
        assert run_here(capsys, *command).status == 5
        assert len(list(read_results(out))) == 3
        out.write_bytes(b"")
    assert run_here(capsys, "score", examples, "--out", out).status == 0
    good = out.read_bytes()
    done = run_here(capsys, *command)
    assert done.status == 5
    assert out.read_bytes() == good
    assert not (tmp_path / "r.html").exists()
    assert "nothing was measured: 3 of 3 samples failed" in done.err
    assert [each.name for each in tmp_path.iterdir() if "out" in each.name] == ["out.jsonl"]


# By name: options beside `score texts.jsonl`, and what its one line on stderr names.
ERRORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "a missing column": ("--map reference=gold", ("texts.jsonl", "'gold'")),
    "no verdicts": ("", ("texts.jsonl", "judge=", "--judge")),
    "a mapping twice": ("--map id=a --map id=b", ("--map", "'id'")),
    "no such definition": ("--definition ragsa", ("'ragas'", "'ragsa'")),
    "no such limit": ("--fail-above 20", ("--fail-above", "20.0")),
    "no such option": ("--nonsense", ("--nonsense",)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("texts.jsonl"), [{**row, "verdicts": None} for row in rows(PAIRS)])
    options, named = ERRORS[name]
    assert_error(run_here(capsys, "score", "texts.jsonl", *options.split()), named)


def pair(number: int, wrong: int, open_ones: int) -> tuple[Sample, Verdicts]:
    """Four claims, the first ``wrong`` of them incorrect and from the first, relevant chunk.

    Of the ``open_ones`` after these it is known that they are incorrect, and not what entails
    them: the relevant mode lies between ``wrong / 4`` and ``(wrong + open_ones) / 4``.
    """
    name = f"({number})"
    known = wrong + open_ones
    claims = [
        {
            "text": f"Claim {i} of {name}.",
            "correct": i >= known,
            "entailed_by": [0] if i < wrong else [],
            "undetermined": list(range(CHUNKS)) if wrong <= i < known else [],
        }
        for i in range(4)
    ]
    texts = {
        "user_input": f"What of {name}?",
        "response": f"The answer {name}.",
        "reference": f"The truth {name}.",
        "retrieved_contexts": [{"text": f"Passage {j}", "relevant": True} for j in range(CHUNKS)],
    }
    return Sample.model_validate(texts), Verdicts.model_validate({"response_claims": claims})


def forty(folder: Path, open_claims: int) -> Path:
    """Ten of forty samples have a noisy claim; so many claims are open, each with four cells."""
    pairs = [pair(i, int(i < 10), int(i < open_claims)) for i in range(40)]
    return write_jsonl(folder / "run.jsonl", rows(pairs))


# By name: open claims, options, exit status, and what stderr says. The mean lies between 10 / 160
# and (10 + open) / 160; of 160 + 4 × (10 + open) verdicts 4 × open are open.
ALL = "--max-unanswered 1"
UNDECIDED = "cannot be decided: the relevant mean lies between 0.0625 and 0.1125"
CHECKS: dict[str, tuple[int, str, int, tuple[str, ...]]] = {
    "nothing is open": (0, "--fail-above 0.0625", 0, ()),
    "above": (0, "--fail-above 0.06", 1, ("the relevant mean, 0.0625, is above 0.06",)),
    "no such mode there": (0, "--fail-above 0.0625 --definition validmind", 0, ()),
    "asked for all the same": (
        *(0, "--fail-above 0.5 --definition validmind --mode irrelevant", 5),
        ("not measured: the irrelevant mean is undefined",),
    ),
    "the range is below": (8, f"{ALL} --fail-above 0.1125", 0, ()),
    "the limit is inside": (8, f"{ALL} --fail-above 0.1", 4, (UNDECIDED, "above 0.1")),
    "the range is above": (
        *(8, f"{ALL} --fail-above 0.05", 1),
        ("check failed: the relevant mean, 0.0625 to 0.1125, is above 0.05",),
    ),
    "more is open than may be": (8, "", 5, ("no answer: 32 of 232 that the score", "at most 5%")),
    "undecided comes before unanswered": (8, "--fail-above 0.1", 4, ("cannot", "too many")),
    "above comes first": (8, "--fail-above 0.05", 1, ("check failed", "too many")),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_limit_ends_with_its_status_and_says_why(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    open_claims, options, status, said = CHECKS[name]
    command = "gate" if ALL in options else "score"
    done = run_here(capsys, command, forty(tmp_path, open_claims), *options.split())
    assert done.status == status
    assert [part for part in said if part not in done.err] == []
    assert status or not re.search("decided|failed", done.err)


def test_a_gate_needs_a_check(tmp_path: Path, capsys: Capsys) -> None:
    path = forty(tmp_path, 0)
    done = run_here(capsys, "gate", path)
    assert done.status == 2
    assert "expected --fail-above, --min-correct, --max-hallucinated or --expect" in done.err
    assert run_here(capsys, "gate", path, "--expect", "40").status == 0
    assert run_here(capsys, "gate", path, "--expect", "41").status == 5


def test_some_failed_is_the_status_only_where_no_graver_one_is(
    tmp_path: Path, capsys: Capsys
) -> None:
    for open_claims, status in ((0, 3), (8, 5)):
        path = forty(tmp_path, open_claims)
        path.write_text(path.read_text("utf-8") + "{\n", "utf-8")
        assert run_here(capsys, "score", path).status == status
        assert run_here(capsys, "score", path, "--fail-above", "0").status == 1


def test_what_has_no_interval_or_is_undefined_passes_no_check(
    tmp_path: Path, capsys: Capsys
) -> None:
    one = write_jsonl(tmp_path / "one.jsonl", rows(PAIRS[:1]))
    done = run_here(capsys, "score", one, "--fail-above", "0.9", "--confidence", "0.9")
    assert done.status == 4
    assert "mean has no interval: it needs two samples" in done.err
    pairs = list(random_pairs(3, shape=Shape(response_claims=(0, 0))))
    path = write_jsonl(tmp_path / "d.jsonl", rows(pairs))
    done = run_here(capsys, "score", path, "--fail-above", "1")
    assert done.status == 5
    assert "nothing was measured: 3 of 3 answers claim nothing" in done.err
    assert run_here(capsys, "score", path, "--fail-above", "0").status == 5


def test_in_a_process_of_its_own_it_is_quiet_and_needs_no_extra(
    examples: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    log = tmp_path / "network.log"
    hidden = ("pyarrow", "langchain", "openai", "jinja2", "pandas")
    done = run("score", examples, "--out", out, hidden=hidden, network_log=log)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("note: ")] == []
    assert "\x1b" not in done.stdout
    assert not log.exists()
    found = [result.score for result in read_results(out)]
    assert sum(score.relevant or 0 for score in found if score) == pytest.approx(7 / 6)


def test_the_proposed_command_runs_as_it_stands(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is folded into a narrow terminal cannot be pasted."""
    path = tmp_path / "hr.csv"
    cells = "How many days?,Bob said 25.,It is 30.,[old.pdf] It is 25. ||| [new.pdf] It is 30."
    path.write_text(f"Question,Bot reply,Right answer,Sources\n{cells}\n")
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ["score", str(path), "--dry-run", "--judge", "openai:any"]
    monkeypatch.setattr("sys.argv", ["noisesense", *arguments])
    asked = run_here(capsys, *arguments)
    assert asked.status == 2
    program, *proposed = shlex.split(asked.err.splitlines()[-1])
    assert program == "noisesense"
    assert "1 sample, 2 chunks" in run_here(capsys, *proposed).out
