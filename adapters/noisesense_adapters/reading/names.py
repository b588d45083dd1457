"""What the words of a name or a path speak of. They ask and propose, and decide nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from noisesense_adapters.reading import places
from noisesense_adapters.reading.paths import parse, step_of

GOLD = {*places.GOLD.split()}
OTHER_LISTS = GOLD | {*places.OTHER_LISTS.split()}
NO_TEXTS = {*places.NO_TEXTS.split()}
NAMED = {*places.NAMED.split()}
FIELDS = {word: field for field, known in places.WORDS.items() for word in known.split()}
NOT_MEANT = {*places.NOT_MEANT.split()}


@lru_cache(maxsize=4096)  # every row has the same paths
def field_of(path: str) -> str | None:
    """Return the field of which the words of a path speak; None if they speak of none.

    None, too, of what holds no text of a sample, such as ``context_id`` or ``wrong_answer``.
    ``"answer"`` if the words do not say whether the response or the reference is meant. Raises
    `InputError` for what is no path.
    """
    steps = [words_in(name) for name in ".".join(parse(path)[0]).split(".")]
    last = steps[-1]
    # Promptfoo calls a column as its prompt.
    if "{{" in path or NOT_MEANT.intersection(last) or NO_TEXTS.intersection(last[-1:]):
        return None
    gold = [number for number, step in enumerate(steps) if not GOLD.isdisjoint(step)]
    # What stands around a gold answer is only its home.
    spoken = _last_spoken(steps[gold[-1] :] if gold else steps)
    if gold and spoken != "user_input":
        return "reference" if spoken in (None, "response", "answer") else None
    return spoken


def _last_spoken(steps: Sequence[Sequence[str]]) -> str | None:
    """Return the field of the last step that speaks of one; None if none does.

    ``answer`` gives way to another field in its step: a predicted answer is a response.
    """
    for step in reversed(steps):
        fields = [FIELDS[word] for word in reversed(step) if word in FIELDS]
        if fields:
            return min(fields, key="answer".__eq__)
    return None


def speaks(name: str, field: str) -> bool:
    """Tell whether the words of a name speak of a field; those of an answer do of a response."""
    spoken = field_of(step_of(name))
    return spoken == field or (spoken, field) == ("answer", "response")


def words_in(name: str) -> list[str]:
    """Return the words of ``groundTruth`` or ``ground_truth_2``, in lower case, without digits."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_\d]+", " ", split).lower().split()
