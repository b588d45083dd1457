"""The language model's side of ragas' own noise sensitivity, answered from true verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from noisesense import Sample, Verdicts
from support.mind import Mind

Pairs = Iterable[tuple[Sample, Verdicts]]
_INPUT = "\ninput: "
"""Before the input at the end of a ragas prompt; inside its JSON a newline is always escaped."""


class RagasMind:
    """Answers every prompt of ragas' NoiseSensitivity, old API and collections, truthfully.

    A prompt is recognized by the texts in it: nothing is remembered between calls, so that it
    can stand behind an HTTP server and answer in any order. Every verdict must be a yes or a no,
    and the same texts must not have two; ragas knows no labels, so none may say other than the
    verdicts.

    Args:
        pairs: the samples, with the verdicts to answer with.
        reason: the reason given for each verdict; ragas does not use it.
    """

    def __init__(self, pairs: Pairs, *, reason: str = "") -> None:
        self._reason = reason
        self._known: dict[tuple[Any, str], list[Any]] = {}
        for sample, verdicts in pairs:
            self._learn(sample, verdicts.with_sample(sample))

    def _learn(self, sample: Sample, verdicts: Verdicts) -> None:
        table = verdicts.to_matrices()
        response = [claim.text for claim in verdicts.response_claims]
        reference = [claim.text for claim in verdicts.reference_claims]
        self._put(sample.user_input, sample.response, response)
        self._put(sample.user_input, sample.reference, reference)
        self._put(tuple(response), sample.reference, table["reference_to_response"])
        for j, chunk in enumerate(verdicts.chunks or ()):
            useful = [row[j] for row in table["chunks_to_reference"] or []]
            self._put(tuple(response), chunk.text, [row[j] for row in table["chunks_to_response"]])
            self._put(tuple(reference), chunk.text, useful)
            assert chunk.relevant in (None, any(useful)), "a label differs from the verdicts"

    def _put(self, about: Any, text: str, answer: list[Any]) -> None:
        assert None not in answer, "ragas knows only yes and no"
        assert self._known.setdefault((about, text), answer) == answer, "two answers"

    def answer(self, prompt: str) -> str:
        """The JSON text that ragas expects as the reply to this prompt of its own."""
        request, _ = json.JSONDecoder().raw_decode(prompt.rpartition(_INPUT)[2])
        if "statements" not in request:
            return json.dumps({"statements": self._known[request["question"], request["answer"]]})
        statements = request["statements"]
        verdicts = self._known[tuple(statements), request["context"]] if statements else []
        rows = [
            {"statement": statement, "reason": self._reason, "verdict": int(verdict)}
            for statement, verdict in zip(statements, verdicts, strict=True)
        ]
        return json.dumps({"statements": rows}, ensure_ascii=False)


class EitherMind:
    """Answers ragas' prompts and ours."""

    def __init__(self, pairs: Pairs, *, reason: str = "") -> None:
        pairs = list(pairs)
        self._ours, self._ragas = Mind(pairs), RagasMind(pairs, reason=reason)

    def answer(self, prompt: str) -> str:
        return (self._ragas if _INPUT in prompt else self._ours).answer(prompt)
