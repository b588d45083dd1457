"""A score in the form Promptfoo takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from noisesense.errors import NoiseSenseError, ReplyError, encodable
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import ClaimOutcome, GateOutcome
from noisesense.scoring.scoring import Score
from noisesense_adapters.evaluate.evaluator import score_name

if TYPE_CHECKING:
    from noisesense.judging.protocol import Judgement, Usage

_NO_THIRD_OUTCOME = (
    "Shown as failed, since an assertion has no third outcome: this says nothing of the answer."
)


def as_result(
    score: Score,
    mode: Mode,
    max_noise: float,
    judgement: Judgement | None,
    *,
    record: dict[str, Any],
) -> dict[str, Any]:
    """Return what the assertion returns. An undefined or undetermined value has no named score.

    Claims are in the metadata: the web view counts every component as an assertion. Promptfoo
    averages equal names, so any definition but the default is part of the name.
    """
    gate = score.gate(mode, max_noise)
    values = {name: score.value(name) for name in MODES}
    named: dict[str, float] = {}
    for name, value in values.items():
        if value is not None:
            named[score_name(name, score.definition)] = value
    status = score.status(mode)
    metadata: dict[str, Any] = {
        **_claims(score, mode),
        "claims": [claim.sentence for claim in score.claims],
        "status": "scored" if status == "determined" else status,
        "gate": gate,
        "maxNoise": max_noise,
        "definition": score.definition,
        "noiseSensitivity": values,
        "bounds": {name: score.bounds(name) for name in MODES},
        "partition": score.partition._asdict(),
        "chunkRelevance": score.chunk_relevance,
        **record,
    }
    place = record.get("contextsFrom")
    source = f" Chunks: {place}." if place else ""
    outcome = (
        _passed(score, mode, max_noise) if gate == "pass" else _outcome(score, gate, max_noise)
    )
    result: dict[str, Any] = {
        "pass": gate == "pass",
        "score": _certain_robustness(score, mode, gate),
        "reason": f"{score.reason(mode)} {outcome}{source}",
        "namedScores": named,
        "metadata": metadata,
    }
    if judgement is not None:
        usage = judgement.usage
        asked = {"calls": usage.calls, "cachedCalls": usage.cached_calls, "reasks": usage.reasks}
        metadata["judge"] = {**asked, "unanswered": judgement.unanswered}
        # In the form that `verdicts` takes, so that what was paid for can be used again.
        metadata["verdicts"] = judgement.verdicts.model_dump(
            mode="json", exclude_defaults=True, exclude={"chunks"}
        )
        result["tokensUsed"] = _tokens(usage)
    return _writable(result)


def _claims(score: Score, mode: Mode) -> dict[str, Any]:
    """Return the claims, as Promptfoo's unmerged assertion names them."""
    incorrect = [claim.text for claim in score.claims if claim.correct is False]
    counted = [claim.text for claim in score.claims if getattr(claim, mode)]
    return {
        "mode": mode,
        "totalClaims": len(score.claims),
        "incorrectClaimsCount": len(incorrect),
        "noiseInfluencedClaimsCount": len(counted),
        "incorrectClaims": incorrect,
        "noiseInfluencedClaims": counted,
        "claimAnalyses": [_analysis(score, claim) for claim in score.claims],
    }


FAILED = "Noise sensitivity could not be computed: "
"""How the reason of an assertion without a score begins."""


def failure_in(result: Mapping[str, Any]) -> str | None:
    """Return why an assertion gave no score; None if it gave one, or is not ours."""
    reason = result.get("reason")
    if not isinstance(reason, str) or not reason.startswith(FAILED):
        return None
    return reason.removeprefix(FAILED).removesuffix(f" {_NO_THIRD_OUTCOME}")


def as_failure(error: NoiseSenseError) -> dict[str, Any]:
    """Return what the assertion returns if there is no score: the reason, and no named score."""
    cause = str(error).removesuffix(".")
    status = "undetermined" if isinstance(error, ReplyError) else "error"
    result: dict[str, Any] = {
        "pass": False,
        "score": 0.0,
        "reason": f"{FAILED}{cause}. {_NO_THIRD_OUTCOME}",
        "metadata": {"status": status},
    }
    usage: Any = getattr(error, "usage", None)
    if usage is not None:
        result["tokensUsed"] = _tokens(usage)
    return _writable(result)


def _certain_robustness(score: Score, mode: Mode, gate: GateOutcome) -> float:
    """The share of claims that certainly do not count; 0 where there is neither value nor pass.

    By the upper bound, whatever ``undetermined`` chose: Promptfoo's thresholds are gates, too.
    """
    if score.value(mode) is None and gate != "pass":
        return 0.0
    return replace(score, undetermined="high").robustness(mode) or 0.0


def _passed(score: Score, mode: Mode, max_noise: float) -> str:
    """Say what passes, and what this assertion does not limit."""
    said = f"At most {max_noise:g} passes."
    other: Mode = "irrelevant" if mode == "relevant" else "relevant"
    value = score.value(other) or 0
    if value > max_noise:
        said += f" Not limited by this assertion: {other}, {value:g}."
    unsupported = score.partition.hallucination
    if unsupported:
        of = f"{unsupported} of {len(score.claims)}"
        said += f" Claims in neither the reference nor a chunk: {of}."
    return said


def _outcome(score: Score, gate: GateOutcome, max_noise: float) -> str:
    if gate == "fail":
        return f"Above {max_noise:g}."
    if gate == "undecided":
        return f"Whether it is at most {max_noise:g} is undecided. {_NO_THIRD_OUTCOME}"
    hint = "" if score.claims else " config.empty: zero would pass it as free of noise."
    return f"{_NO_THIRD_OUTCOME}{hint}"


def _analysis(score: Score, claim: ClaimOutcome) -> dict[str, Any]:
    analysis: dict[str, Any] = {"claim": claim.text, "isCorrect": claim.correct}
    analysis["category"] = claim.category
    chunks = score.verdicts.chunks
    entailing = score.verdicts.response_claims[claim.index].entailed_by
    first = min((*entailing, *claim.undetermined_chunks), default=None)
    # Where an earlier chunk may entail the claim, too, its source is open.
    if claim.correct is False and first in entailing:
        source: dict[str, Any] = {"index": first, "relevant": score.chunk_relevance[first]}
        source["text"] = chunks[first].text if chunks else ""
        if chunks and chunks[first].id is not None:
            source["id"] = chunks[first].id
        analysis["sourceChunk"] = source
    return analysis


def _writable(result: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it. Promptfoo's wrapper writes UTF-8, which halves of surrogate pairs lack."""
    text = encodable(json.dumps(result, ensure_ascii=False))
    written: dict[str, Any] = json.loads(text)
    return written


def _tokens(usage: Usage) -> dict[str, int]:
    prompt = usage.input_tokens
    completion = usage.output_tokens
    tokens = {"total": prompt + completion, "prompt": prompt, "completion": completion}
    return {**tokens, "numRequests": usage.calls}
