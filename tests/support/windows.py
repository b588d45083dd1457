"""Servers with a small context window: one refuses a longer prompt, others cut it in front.

A sample whose chunk has 12,000 characters, and a mind that knows only what it reads::

    with ScriptedServer(Reader(cut=True), script=window(cut_to=2048)) as server: ...
"""

from __future__ import annotations

import json
from typing import Any

from noisesense import Sample, score
from noisesense.judging.protocol import Judgement
from support.chat import error_body, tokens
from support.mind import data_of, reply_of
from support.misbehavior import Misbehavior, Script

WINDOW = 2048
FIRST = "The bell of Arle was cast in 1480."
MIDDLE = "The bell hangs in the north tower."
LAST = "It weighs nine tons."
NOWHERE = "A crow lives in the bell."


def sample(name: str = "Arle") -> Sample:
    """By hand: no claim is in the reference. The chunk has the reference's only claim, so it is
    relevant, and two of the three claims of the response: one at its start, one at its end."""
    filler = [f"In year {year} the tower of the town was painted again." for year in range(1, 230)]
    middle = len(filler) // 2
    chunk = " ".join([FIRST, *filler[:middle], MIDDLE, *filler[middle:], LAST])
    return Sample(
        user_input=f"What is known of the bell of {name}?",
        response=f"{FIRST} {LAST} {NOWHERE}".replace("Arle", name),
        reference=MIDDLE,
        retrieved_contexts=[chunk[:11_990].replace("Arle", name) + " " + LAST],
    )


def assert_right(judgement: Judgement) -> None:
    """Two of three claims are relevant noise, the third is a hallucination."""
    assert judgement.unanswered == 0
    cells = [claim.entailed_by for claim in judgement.verdicts.response_claims]
    assert cells == [(0,), (0,), ()]
    found = score(judgement.verdicts)
    assert found.relevant == 2 / 3
    assert found.irrelevant == 0


class Reader:
    """Finds the sentences of a text, and a statement in a text that has its words.

    To it each statement gives information on its question.

    Args:
        most: tokens that it reads of a longer prompt: its end.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most

    def answer(self, prompt: str) -> str:
        if self._most is not None and tokens(prompt) > WINDOW:
            prompt = 'Text: "' + prompt[-4 * self._most :]
        data = data_of(prompt)
        if "text" in data:
            sentences = data["text"].replace(". ", ".\n").split("\n")
            return json.dumps({"claims": sentences})
        premise = data.get("premise")
        said = {n: premise is None or claim in premise for n, claim in data["claims"].items()}
        if "one" in data:
            word = "yes" if all(said.values()) else "no"
            return json.dumps({"answer": word})
        return reply_of([{"id": number, "entailed": cell} for number, cell in said.items()])


def refusing(index: int, prompt: str) -> Misbehavior | None:
    """As llama.cpp's server says it."""
    count = tokens(prompt)
    if count <= WINDOW:
        return None
    said = f"request ({count} tokens) exceeds the available context size ({WINDOW} tokens)"
    body = error_body(f"{said}, try increasing it", "exceed_context_size_error")
    return Misbehavior("too long", status=400, body=body)


def cutting(most: int) -> Script:
    """So many tokens are read of a prompt beyond the window, and reported."""

    def reshape(completion: dict[str, Any]) -> dict[str, Any]:
        usage = {**completion["usage"], "prompt_tokens": most}
        return {**completion, "usage": usage}

    def script(index: int, prompt: str) -> Misbehavior | None:
        return Misbehavior("cut", reshape=reshape) if tokens(prompt) > WINDOW else None

    return script


SERVERS: dict[str, tuple[Reader, Script]] = {
    "refuses": (Reader(), refusing),
    "cuts to its window": (Reader(WINDOW), cutting(WINDOW)),
    "cuts to half of it": (Reader(WINDOW // 2 + 2), cutting(WINDOW // 2 + 2)),
}
"""By what they do with a longer prompt; the second as old versions of Ollama, the third as new."""
