"""A run whose every text tries to break out of the page that shows it."""

from __future__ import annotations

from typing import Any

from noisesense import Result, Sample, Verdicts, score

ATTACKS = (
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "\"><svg onload=window.owned=3>' onfocus='window.owned=4' autofocus x='",
    "<!--<script> ]]> &lt;b&gt; {{ 7 * 7 }} \u2028 \u2029 \x00 \\u003c",
)


def hostile_run() -> list[Result]:
    """One sample for each attack, in all fields; and a failed one."""
    found: list[Result] = []
    for i, attack in enumerate(ATTACKS):
        chunks: Any = [{"text": f"{attack} chunk", "id": f"{attack} document"}]
        names = ("user_input", "response", "reference")
        texts: Any = {name: f"{attack} {name}" for name in names}
        sample = Sample(**texts, retrieved_contexts=chunks)
        claim = {"text": f"{attack} claim", "correct": False, "entailed_by": [0]}
        fact = {"text": f"{attack} fact", "entailed_by": [0]}
        verdicts = {"response_claims": [claim], "reference_claims": [fact], "chunks": chunks}
        scored = score(Verdicts.model_validate(verdicts))
        about = {"cluster": f"{attack} cluster", "judge": f"{attack} judge"}
        found.append(Result(f"{attack} {i}", scored, sample=sample, **about))
    return [*found, Result("failed", error=f"{ATTACKS[0]} error")]
