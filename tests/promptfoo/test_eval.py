"""The real ``promptfoo eval``, each supported version, one config with everything in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.promptfoo_cli import Run
from support.promptfoo_suite import CANARIES, EXAMPLES

ERROR_CASES = {
    "error: sample not recorded": ("recording.jsonl", "a recording of"),
    "error: judge out of reach": ("m at 127.0.0.1:9/v1", "cannot be reached"),
    "error: no reference": ("'vars.reference'", "'vars.query'", "'vars.contextChunks'"),
    "error: contextTransform": ("contextChunks: '{{output.docs}}'",),
    "error: output is no text": ("expected the response at 'output'",),
}


def test_a_supported_version_ran_and_ended_with_status_100(run: Run) -> None:
    assert run.evaluation.version.startswith(("0.118.", "0.121.", "0.123."))
    assert run.evaluation.status == 100


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_a_recording_gives_the_documented_figures_pass_and_score(run: Run, example: Any) -> None:
    graded = run.evaluation.only(f"{example.id}, promptfoo")
    relevant, irrelevant = example.expected["promptfoo"]

    assert graded.figures == pytest.approx((relevant, irrelevant), abs=1e-12)
    assert graded.result["pass"] is (relevant <= 0.2)  # the default of maxNoise
    assert graded.result["score"] == pytest.approx(1 - relevant, abs=1e-12)


def test_metadata_has_the_unmerged_assertions_keys_and_ours(run: Run) -> None:
    """Paris is correct; Berlin is not, and the irrelevant chunk 1 says it: 1 of 2 either way."""
    result = run.evaluation.only("capital-of-france, promptfoo").result
    assert result["pass"] is False
    assert result["score"] == 0.5
    assert result["reason"].endswith("Above 0.2. Chunks: vars.contextChunks.")

    paris = "The capital of France is Paris."
    berlin = "Berlin is the capital of Germany."
    source = {"index": 1, "text": berlin, "relevant": False}
    correct = {"claim": paris, "isCorrect": True, "category": "correct"}
    noisy = {"claim": berlin, "isCorrect": False, "category": "irrelevant", "sourceChunk": source}
    kinds = {"correct": 1, "relevant": 0, "irrelevant": 1, "hallucination": 0, "undetermined": 0}
    metadata = result["metadata"]
    assert [berlin in claim for claim in metadata.pop("claims")] == [False, True]
    # What was judged, for who reads the results: the variables may be names of files there.
    assert metadata.pop("contextsFrom") == "vars.contextChunks"
    assert metadata.pop("sample")["retrieved_contexts"][1]["text"] == berlin
    assert metadata == {
        **{"mode": "relevant", "totalClaims": 2, "claimAnalyses": [correct, noisy]},
        **{"incorrectClaimsCount": 1, "incorrectClaims": [berlin]},
        **{"noiseInfluencedClaimsCount": 1, "noiseInfluencedClaims": [berlin]},
        **{"status": "scored", "gate": "fail", "definition": "promptfoo", "maxNoise": 0.2},
        "noiseSensitivity": {"relevant": 0.5, "irrelevant": 0.5},
        "bounds": {"relevant": [0.5, 0.5], "irrelevant": [0.5, 0.5]},
        "partition": kinds,
        "chunkRelevance": [True, False],
    }


def test_shim_function_async_and_inline_give_the_same(run: Run) -> None:
    shim, *others = run.evaluation.assertions("forms")

    assert len(others) == 3
    assert shim.figures == (0, 0.2)
    for other in others:
        assert other.figures == shim.figures
        assert other.reason == shim.reason
        assert other.result["metadata"]["partition"] == shim.result["metadata"]["partition"]


def test_a_native_threshold_of_0_8_is_at_most_0_2_noise(run: Run) -> None:
    exact, above = (run.evaluation.only(f"threshold {limit}") for limit in ("0.8", "0.81"))

    assert exact.result["pass"] is True
    assert exact.result["score"] == 0.8
    assert above.result["pass"] is False
    assert above.result["score"] == 0.8
    assert above.reason.startswith("Python score 0.8 is less than threshold 0.81: Noise sens")


@pytest.mark.parametrize("source", ["template", "metadata", "transformed output"])
def test_labels_and_verdicts_are_read_from_each_source(run: Run, source: str) -> None:
    """One of two claims is not supported by the reference and comes from the chunk labeled "
    "irrelevant."""
    graded = run.evaluation.only(f"source: {source}")
    assert graded.figures == (0, 0.5)
    assert graded.result["metadata"]["chunkRelevance"] == [True, False]


def test_the_unmerged_assertions_configuration_is_understood(run: Run) -> None:
    graded = run.evaluation.only("unmerged")

    assert graded.result["pass"] is True
    assert graded.result["score"] == 0.5
    assert graded.figures == (0.5, 0.5)
    assert graded.result["metadata"]["mode"] == "irrelevant"


@pytest.mark.parametrize("case", ERROR_CASES)
def test_errors_say_what_is_wrong(run: Run, case: str) -> None:
    graded = run.evaluation.only(case)

    assert graded.result["pass"] is False
    assert graded.result["score"] == 0
    assert [name for name in ERROR_CASES[case] if name not in graded.reason] == []
    assert "could not be computed" in graded.reason
    assert "Traceback" not in graded.reason
    assert "namedScores" not in graded.result
    assert graded.result["metadata"] == {"status": "error"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_texts_are_judged_to_the_documented_figures(run: Run, example: Any) -> None:
    """Of the first, both modes' assertions run at once, in processes that share one store."""
    found = run.evaluation.assertions(f"judged: {example.id}")

    assert len(found) == (2 if example is EXAMPLES[0] else 1)
    for graded in found:
        assert graded.figures == pytest.approx(example.expected["ragas"], abs=1e-12)
        assert graded.result["metadata"]["judge"]["unanswered"] == 0
    calls = sum(graded.result["metadata"]["judge"]["calls"] for graded in found)
    # One more where nothing supports a claim: does it give information on the question?
    claims = example.verdicts.response_claims
    is_alone = any(not claim.correct and not claim.entailed_by for claim in claims)
    assert 3 <= calls <= len(example.sample.retrieved_contexts) + 3 + is_alone
    assert sum(graded.result["tokensUsed"]["numRequests"] for graded in found) == calls


def test_no_call_is_paid_for_twice(run: Run) -> None:
    prompts = [ask.prompt for ask in run.requests if ask.key == CANARIES["judge"]]

    assert len(prompts) >= 3 * len(EXAMPLES)
    assert len({*prompts}) == len(prompts)


@pytest.mark.parametrize("place", CANARIES)
def test_no_key_appears_in_anything_written(run: Run, place: str) -> None:
    canary = CANARIES[place]
    written = run.evaluation.written
    if run.evaluation.is_0_118:  # writes the keys of its configuration: what is ours has none
        written = {"what is ours": json.dumps(run.evaluation.returned)}
    holders = [name for name, text in written.items() if canary in text]

    assert holders == []
    # The keys that are used did arrive, so their absence is no accident.
    assert canary in run.config or canary in {ask.key for ask in run.requests}
