"""``noisesense score`` where the judge does not say: ranges, and an exit status for each case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts, read_results
from support.command_here import run_here
from support.datasets import rows, write_jsonl
from support.mind import Mind, data_of, items_of, reply_of
from support.misbehavior import (
    EMPTY,
    FILTERED,
    INVALID_JSON,
    REFUSAL,
    Misbehavior,
    Script,
    always,
    mutated,
    says,
    when,
)
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

Capsys = pytest.CaptureFixture[str]

CHUNKS = 4


def pair(number: int, wrong: int, *, open_ones: int = 0) -> tuple[Sample, Verdicts]:
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
    sample = Sample.model_validate(
        {
            "user_input": f"What of {name}?",
            "response": f"The answer {name}.",
            "reference": f"The truth {name}.",
            "retrieved_contexts": [
                {"text": f"Passage {j} of {name}.", "relevant": True} for j in range(CHUNKS)
            ],
        }
    )
    verdicts = Verdicts.model_validate({"response_claims": claims, "reference_claims": []})
    return sample, verdicts


def recorded(folder: Path, pairs: Any) -> Path:
    return write_jsonl(folder / "run.jsonl", rows(list(pairs)))


# Forty samples: ten with a noisy claim, of `open_ones` it is open.
# Truth lies between 10 / 160 and (10 + open) / 160, and each open claim leaves 4 cells open.
def forty(open_claims: int) -> Iterator[tuple[Sample, Verdicts]]:
    for i in range(40):
        yield pair(i, int(i < 10), open_ones=int(i < open_claims))


LOW = 10 / 160
ALL = ("--max-unanswered", "1")
CHECKS: dict[str, tuple[int, tuple[str, ...], int, tuple[str, ...]]] = {
    "nothing is open": (0, ("--fail-above", "0.0625"), 0, ()),
    "the range is below": (8, (*ALL, "--fail-above", "0.1125"), 0, ()),
    "the limit is inside": (
        8,
        (*ALL, "--fail-above", "0.1"),
        4,
        ("cannot be decided: the relevant mean lies between 0.0625 and 0.1125", "above 0.1"),
    ),
    "the limit is the low end": (8, (*ALL, "--fail-above", "0.0625"), 4, ("cannot be decided",)),
    "the range is above": (
        8,
        (*ALL, "--fail-above", "0.05"),
        1,
        ("check failed: the relevant mean, 0.0625 to 0.1125, is above 0.05",),
    ),
    # 160 verdicts on correctness, and 4 chunks for each claim that is incorrect.
    "more is open than may be": (
        8,
        (),
        5,
        ("too many verdicts have no answer: 32 of 232 that the score needs (13.8%)", "5.0%"),
    ),
    "a little is open": (2, (), 0, ()),
    "a little more than may be": (2, ("--max-unanswered", "0.038"), 5, ("8 of 208", "3.8%")),
    "undecided comes before unanswered": (8, ("--fail-above", "0.1"), 4, ("cannot", "too many")),
    "above comes first": (8, ("--fail-above", "0.05"), 1, ("check failed", "too many")),
    "the other mode is decided": (8, (*ALL, "--fail-above", "0", "--mode", "irrelevant"), 0, ()),
    # No choice of a value moves a check.
    "counted as no noise": (
        8,
        (*ALL, "--fail-above", "0.1", "--undetermined", "low"),
        4,
        ("lies between 0.0625 and 0.1125",),
    ),
    "counted as noise": (
        8,
        (*ALL, "--fail-above", "0.1", "--undetermined", "high"),
        4,
        ("lies between 0.0625 and 0.1125",),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_exit_statuses(name: str, tmp_path: Path, capsys: Capsys) -> None:
    open_claims, options, status, told = CHECKS[name]
    done = run_here(capsys, "score", recorded(tmp_path, forty(open_claims)), *options)
    assert done.status == status
    assert [part for part in told if part not in done.err] == []
    if not status:
        assert "decided" not in done.err
        assert "failed" not in done.err


def test_some_failed_is_told_last(tmp_path: Path, capsys: Capsys) -> None:
    for open_claims, status in ((0, 3), (8, 5)):
        path = recorded(tmp_path, forty(open_claims))
        path.write_text(path.read_text(encoding="utf-8") + "{\n", encoding="utf-8")
        assert run_here(capsys, "score", path).status == status
        assert run_here(capsys, "score", path, "--fail-above", "0").status == 1


def test_a_share_that_is_none(tmp_path: Path, capsys: Capsys) -> None:
    done = run_here(capsys, "score", recorded(tmp_path, forty(0)), "--max-unanswered", "5")
    assert done.status == 2
    assert "--max-unanswered" in done.err


def shown(out: str) -> dict[str, list[str]]:
    """The table: labels and figures."""
    found: dict[str, list[str]] = {}
    for line in out.splitlines():
        label, *figures = re.split("  +", line.strip())
        found.setdefault(label, figures)
    return found


def test_the_figures_are_ranges(tmp_path: Path, capsys: Capsys) -> None:
    """Of 40 samples 8 are open: 0.25 to 0.5; two are 0.25 and thirty are 0."""
    path = recorded(tmp_path, forty(8))
    done = run_here(capsys, "score", path, *ALL)
    lines = shown(done.out)
    assert lines["mean"][0] == "0.0625 to 0.1125"
    assert lines["samples undetermined"][0] == "8"
    assert "samples undefined" not in lines  # there are none
    assert lines["maximum"][0] == "0.2500 to 0.5000"
    assert lines["median"][0] == "0.0000"
    assert lines["mean over all claims"][0] == "0.0625 to 0.1125"
    low, high = map(float, lines["95% interval"][0].split(" to "))
    assert low < 0.0625
    assert high > 0.1125
    # Every chunk is labelled relevant: the irrelevant mode is decided, and a single number.
    data = json.loads(run_here(capsys, "score", path, "--json", *ALL).out)
    mean = data["relevant"]["mean"]
    assert (mean["low"], mean["high"]) == pytest.approx((0.0625, 0.1125))
    assert mean["value"] is None
    assert data["irrelevant"]["mean"]["value"] == 0
    assert (data["needed_cells"], data["open_cells"]) == (232, 32)
    assert (data["relevant"]["determined"], data["relevant"]["undetermined"]) == (32, 8)
    assert data["relevant"]["undefined"] == 0


@pytest.mark.parametrize(("choice", "mean"), [("low", 0.0625), ("high", 0.1125)])
def test_a_value_that_was_chosen_says_so(
    choice: str, mean: float, tmp_path: Path, capsys: Capsys
) -> None:
    path, out = recorded(tmp_path, forty(8)), tmp_path / "out.jsonl"
    done = run_here(capsys, "score", path, "--undetermined", choice, "--out", out, *ALL)
    lines = shown(done.out)
    assert lines["mean"][0] == "0.0625 to 0.1125"
    assert lines["samples undetermined"][0] == "8"
    values = [result.score.relevant for result in read_results(out) if result.score]
    assert sum(value for value in values if value is not None) / 40 == pytest.approx(mean)
    refused = run_here(capsys, "score", path, "--undetermined", "zero")
    assert refused.status == 2
    assert "'none', 'low' or 'high', got 'zero'" in refused.err


TRUTH = [
    (sample, verdicts)
    for sample, verdicts in random_pairs(
        6, seed=4100, shape=Shape(response_claims=(3, 6), chunks=(2, 5), reference_claims=(1, 3))
    )
]
CHUNK_TEXTS = {c.text for sample, _ in TRUTH for c in sample.retrieved_contexts}


def of_chunks(prompt: str) -> bool:
    return data_of(prompt).get("premise") in CHUNK_TEXTS


def _kept(keep: Callable[[dict[str, Any]], bool]) -> Misbehavior:
    def mutate(text: str) -> str:
        return reply_of([each for each in items_of(text) if keep(each)])

    return mutated("leaves some out", mutate)


NOTHING = says("{}")
SILENT: dict[str, Script] = {
    "garbage": always(INVALID_JSON),
    "prose": always(says("I would rather not.")),
    "empty replies": always(EMPTY),
    "refusals": always(REFUSAL),
    "a content filter": always(FILTERED),
    "no claims in anything": always(says('{"claims": []}')),
    "no verdicts at all": when(lambda prompt: "text" not in data_of(prompt), NOTHING),
    "no verdicts on chunks": when(of_chunks, NOTHING),
    "refused chunks": when(of_chunks, REFUSAL),
    "only the yes on chunks": when(of_chunks, _kept(lambda each: each["entailed"])),
    "only the no on chunks": when(of_chunks, _kept(lambda each: not each["entailed"])),
    "verdicts on other claims": when(of_chunks, says('{"99": "no"}')),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_judge_that_withholds_never_exits_0(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is asked for: with a limit that the truth would pass, and without one."""
    data = write_jsonl(
        tmp_path / "texts.jsonl", [sample.model_dump(mode="json") for sample, _ in TRUTH]
    )
    monkeypatch.setenv("KEY", "x")
    with ScriptedServer(Mind(TRUTH), script=SILENT[name]) as server:
        store = tmp_path / "calls.db"
        command = ["score", data, "--judge", "openai:scripted", "--base-url", server.base_url]
        for options in ((), ("--fail-above", "0.9"), ("--undetermined", "low", "--json")):
            out = tmp_path / f"{len(options)}.jsonl"
            kept = ("--api-key-env", "KEY", "--store", store, "--out", out)
            done = run_here(capsys, *command, *kept, *options)
            assert done.status in (2, 3, 4, 5), (options, done)
            assert any(
                word in done.err
                for word in ("failed: ", "no answer", "cannot be decided", "no claim in any")
            )
            if out.exists() and not options:
                _inside_the_truth(out)


def _inside_the_truth(out: Path) -> None:
    """No value but the true one, and bounds that hold it."""
    from noisesense import score

    for result, (sample, verdicts) in zip(read_results(out), TRUTH, strict=True):
        truth = score(verdicts.beside(sample))
        if result.score is None:
            continue
        for mode in ("relevant", "irrelevant"):
            value, bounds = result.score.value(mode), result.score.bounds(mode)  # type: ignore[arg-type]
            true = truth.value(mode)  # type: ignore[arg-type]
            assert true is not None
            if bounds is not None:
                assert bounds[0] <= true <= bounds[1]
            assert value is None or value == true
