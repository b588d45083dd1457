"""Was a prompt cut? Some servers cut what is longer than their context window, and say nothing.

Only the number of prompt tokens that comes with the reply tells. What the model has not read, it
does not find: its answer would be a "no".
"""

from __future__ import annotations

import re

_SHARE = 0.9
"""Of the tokens that a prompt needs at least: fewer were not read."""

_MOST_SHARE = 3
"""As many times the least tokens a text has in most languages, at most."""

_SMALLEST_WINDOW = 256
"""Tokens that every model takes: of fewer, nothing was cut."""

_OLLAMA_WINDOW = 2048
"""The smallest window that Ollama sets by itself. Short prompts have such numbers by chance."""

# Scripts without spaces between words, by how many characters a token may hold at most in a long
# text: Chinese and Japanese have 1.2 to 2; Thai, Lao, Burmese and Khmer 2 to 4.
_UNSPACED = (
    (2.5, re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    (6.0, re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")),
)
_PUNCTUATION = re.compile(r"[.,;:!?](?<=\S.)(?!\S)")
"""The last sign of a word."""


def least_tokens(prompt: str) -> int:
    """Return how many tokens the prompt has at least, in any model's vocabulary.

    Counted are words between spaces, punctuation behind a word, and letters of scripts without
    spaces, 2.5 (Chinese, Japanese) or 6 (Thai and its like) to a token. No token reaches over a
    space or from a word into the punctuation behind it. English has some 1.15 times as many,
    German twice.
    """
    spaced = len(prompt.split()) + len(_PUNCTUATION.findall(prompt))
    if prompt.isascii():
        return spaced
    unspaced = sum(len(script.findall(prompt)) / most for most, script in _UNSPACED)
    return spaced + int(unspaced)


class TokenCheck:
    """Finds replies to prompts that were cut, by the prompt tokens reported with them.

    Some servers report only what no cache had. That is told apart by other replies of the same
    model: a server that cuts a prompt to its window, or to half of it, never reports less than
    half of what it has reported of another prompt. Replies that cannot be cut calibrate: where
    they report less than their prompts need, less is expected from then on.
    """

    def __init__(self) -> None:
        self._share = _SHARE
        self._most = 0

    def is_cut(self, prompt: str, tokens: int) -> bool:
        """Tell whether the model read less than the prompt. The count is noted, for later replies.

        A number that is exactly a power of two, 2,048 or more, and not far above what the prompt
        needs, is a window's size, to which Ollama cuts. A whole prompt of so many tokens is rare,
        and only split for nothing.

        Args:
            prompt: as it was sent.
            tokens: the prompt tokens that were reported. 0 (nobody reports them) and up to 255
                never tell of a cut.
        """
        if tokens <= 0:
            return False
        needed = least_tokens(prompt)
        if needed <= 0:
            return False
        # Less than any window holds, or than half of what this one held before: not its edge.
        is_whole = tokens < _SMALLEST_WINDOW or 2 * tokens < self._most
        self._most = max(self._most, tokens)
        if is_whole:
            self._share = min(self._share, tokens / needed)
            return False
        is_power = tokens >= _OLLAMA_WINDOW and tokens & (tokens - 1) == 0
        is_window = is_power and tokens < _MOST_SHARE * needed
        return is_window or tokens < self._share * needed
