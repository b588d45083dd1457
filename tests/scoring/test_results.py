"""Results files: what is written is read, and what is broken is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisesense import (
    Chunk,
    InputError,
    RecordingError,
    Result,
    Sample,
    Usage,
    Verdicts,
    read_results,
    score,
    write_recording,
    write_results,
)
from noisesense.judging.protocol import ClaimChange, Placebos
from noisesense.scoring.results import figures_of
from support.tables import Shape, random_pairs

SAMPLE = Sample(
    user_input="Who painted it?",
    response="Leonardo did, in 1400.",
    reference="Leonardo did, about 1503.",
    retrieved_contexts=["Leonardo painted it.", "It is from 1400."],
)
VERDICTS = Verdicts.model_validate(
    {
        "response_claims": [
            {"text": "Leonardo painted it", "correct": True, "entailed_by": [0]},
            {"text": "It is from 1400", "correct": False, "entailed_by": [1]},
        ],
        "reference_claims": [{"text": "Leonardo painted it", "entailed_by": [0]}],
    }
)
BESIDE = VERDICTS.with_sample(SAMPLE)


def test_a_line_holds_verdicts_and_the_numbers_that_follow() -> None:
    result = Result("q1", score(BESIDE), None, SAMPLE, "art", 2, Usage(calls=5), judge="m")
    line = json.loads(result.to_json())
    assert line.pop("sample")["user_input"] == "Who painted it?"
    assert "chunks" not in line.pop("verdicts"), "the sample has them"
    assert line.pop("usage")["calls"] == 5
    # One claim of two is wrong and comes from the second chunk, which entails no reference claim.
    kinds = {"correct": 1, "relevant": 0, "irrelevant": 1, "hallucination": 0, "undetermined": 0}
    assert line.pop("partition") == kinds
    assert line.pop("bounds") == {"relevant": [0.0, 0.0], "irrelevant": [0.5, 0.5]}
    assert line.pop("status") == dict.fromkeys(("relevant", "irrelevant"), "determined")
    names = {
        "id": "q1",
        "cluster": "art",
        "judge": "m",
        "definition": "ragas",
        "empty": "undefined",
    }
    assert line == {**names, "relevant": 0.0, "irrelevant": 0.5, "unanswered": 2}
    assert Result.from_json(result.to_json()) == result


def test_a_failed_sample_holds_its_error() -> None:
    result = Result("q2", error="the judge timed out", sample=SAMPLE)
    assert json.loads(result.to_json()).keys() == {"id", "error", "sample"}
    assert Result.from_json(result.to_json()) == result
    with pytest.raises(ValueError, match="got both"):
        replace(result, score=score(BESIDE))


def test_many_results_survive_a_file(tmp_path: Path) -> None:
    bare = score(Verdicts.from_matrices([False], [[True]], [[True]]), undetermined="low")
    changes = (ClaimChange("wrong", "response", "stray"),)
    broken = SAMPLE.model_copy(update={"user_input": "half a surrogate pair \ud800"})
    results = [
        Result("no texts", bare, changes=changes, placebos=Placebos(5, 1)),
        Result("q", error="no", sample=broken),
    ]
    for sample, verdicts in random_pairs(50, shape=Shape(undetermined=0.2, labeled=0.3)):
        results.append(Result(sample.key, score(verdicts.with_sample(sample)), sample=sample))
    write_results(tmp_path / "results.jsonl", results)
    assert list(read_results(tmp_path / "results.jsonl")) == results


def test_a_file_that_was_cut_off_is_no_smaller_run(tmp_path: Path) -> None:
    """Its last line says how many results there are, so a cut at a line's end is noticed."""
    path = tmp_path / "results.jsonl"
    write_results(path, [Result(f"q{i}", score(BESIDE), sample=SAMPLE) for i in range(3)])
    first, second, last = path.read_text("utf-8").splitlines()
    assert json.loads(last)["results"] == 3
    assert "results" not in json.loads(first)
    for lines, got in (
        ([first, second], "got none, after line 2"),
        ([first, last], "expected 3 results, got 2"),
        ([first, second, last, first], "got none, after line 1"),
    ):
        path.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(RecordingError, match=got):
            list(read_results(path))
    path.write_text("\n".join([first, second, last] * 2), encoding="utf-8")
    assert len(list(read_results(path))) == 6, "two whole files, one after the other"


def test_a_recording_is_read_as_results(tmp_path: Path) -> None:
    write_recording(tmp_path / "recording.jsonl", [(SAMPLE, VERDICTS)])
    (result,) = read_results(tmp_path / "recording.jsonl")
    assert result.id == SAMPLE.key
    assert result.sample == SAMPLE
    assert result.score == score(BESIDE)


def test_another_definition_needs_no_judge_and_corrected_verdicts_no_figures() -> None:
    line = json.loads(Result("q1", score(BESIDE)).to_json())
    # ValidMind counts every incorrect claim and knows no irrelevant mode.
    other = Result.from_json(json.dumps(line), definition="validmind").score
    assert other.relevant == 0.5
    assert other.irrelevant is None
    line["verdicts"]["response_claims"][1]["correct"] = True
    # The line still says 0.5, and what makes it up.
    figures = ("relevant", "irrelevant", "status", "bounds", "partition")
    for stale in ("irrelevant", "bounds", "partition"):
        kept = {key: line[key] for key in line if key not in figures or key == stale}
        with pytest.raises(ValueError, match=f"{stale}: expected .* follows from the verdicts"):
            Result.from_json(json.dumps(kept))
    bare = {key: line[key] for key in line if key not in figures}
    assert Result.from_json(json.dumps(bare)).score.irrelevant == 0.0


def test_no_flipped_bit_of_a_line_gives_another_number() -> None:
    """The wrong claim is from the first chunk; from the second it would be irrelevant noise."""
    result = Result("q", score(Verdicts.from_matrices([False], [[True, False]], [[True, False]])))
    line = result.to_json().encode()
    refused = 0
    for place in range(len(line)):
        for bit in range(8):
            flipped = bytearray(line)
            flipped[place] ^= 1 << bit
            try:
                read = Result.from_json(flipped.decode())
            except ValueError:
                refused += 1
                continue
            assert read.error is not None or figures_of(read.score) == figures_of(result.score)
    assert refused > 1_000


def test_figures_that_another_program_rounded_or_left_empty_are_no_damage() -> None:
    verdicts = Verdicts.from_matrices([False] * 3, [[True], [False], [False]], [[True]])
    third = Result("q", score(verdicts))
    line = json.loads(third.to_json())
    assert line["relevant"] == 1 / 3
    line["relevant"] = 0.333333
    assert Result.from_json(json.dumps(line)) == third
    # pandas gives every line the columns of the others.
    line["relevant"] = line["status"] = None
    assert Result.from_json(json.dumps(line)) == third


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a"', "one JSON object a line"),
        ('{"error": "no"}', "the field 'id', got neither an id nor a sample"),
        ('{"id": "a"}', "a score, or an error that says why there is none, got neither"),
        ('{"id": "a", "error": "no", "verdicts": {"response_claims": []}}', "got both"),
        ('{"id": "a", "error": "no", "scores": 1}', "remove or rename 'scores'"),
        ('{"id": "a", "error": "no", "unanswered": -1}', "unanswered"),
        ('{"id": "a", "definition": "mine", "error": "no"}', "definition"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "results.jsonl"
    good = Result("good", error="none")
    path.write_text(f"{good.to_json()}\n\n{line}\n", encoding="utf-8")
    results = read_results(path)
    assert next(results) == good
    with pytest.raises(RecordingError) as caught:
        next(results)
    assert f"{path}, line 3" in str(caught.value)
    assert message in str(caught.value)


def test_a_score_beside_a_sample_is_of_its_chunks() -> None:
    """Without them the label is not in the score, and a file of it could not be read again."""
    sample = SAMPLE.model_copy(update={"retrieved_contexts": (Chunk(text="c", relevant=False),)})
    verdicts = Verdicts(
        response_claims=[{"text": "wrong", "correct": False, "entailed_by": [0]}],
        reference_claims=[{"text": "right", "entailed_by": [0]}],
    )
    with pytest.raises(InputError, match="result 'q': expected a score of the sample's chunks"):
        Result("q", score(verdicts), sample=sample)
    fitting = Result("q", score(verdicts.with_sample(sample)), sample=sample)
    assert fitting.score.irrelevant == 1.0
    assert Result.from_json(fitting.to_json()) == fitting
    for chunk in (Chunk(text="c"), Chunk(text="another", relevant=False)):
        other = verdicts.model_copy(update={"chunks": (chunk,)})
        with pytest.raises(InputError, match="with their texts and labels"):
            Result("q", score(other), sample=sample)
    silent = Verdicts.from_matrices([False], [[False]], [[False]], response_claims=["wrong"])
    plain = SAMPLE.model_copy(update={"retrieved_contexts": (Chunk(text="c"),)})
    with pytest.raises(InputError, match="with their texts and labels"):
        Result("q", score(silent), sample=plain)
