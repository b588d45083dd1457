"""Words and sentences: which word a reply is and how probable, and where sentences end."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from noisesense.errors import ReplyError
from noisesense.judging.protocol import Usage
from noisesense_adapters.toolbox.given import as_list
from noisesense_adapters.toolbox.replies import UnreadableError, answer_in

_WORD_FIRST = re.compile(r"[\s*_\"'`(]*([^\W_]+)(?=[\s*_\"'`)]*(?:[.,:;!]|\Z|\n))")
_TAKEN_BACK = {"wait", "actually", "but", "however", "correction", "rather", "hmm", "sorry"}


def read_word(text: str, words: Sequence[str], usage: Usage) -> str:
    """Which of the words a plain reply is: the word alone, or a sentence that begins with it.

    A reply of a few tokens often breaks off in the sentence behind the word ("No. The text does
    not say"). One that names two of the words, or takes the first back, is none.

    Raises:
        ReplyError: it is none of the words.
    """
    problem = f"it is none of {', '.join(words)}"
    try:
        answer = answer_in(text).casefold()
        said = re.findall(r"\w+", answer)
        named = [word for word in words if word.casefold() in said]
        sentence = _WORD_FIRST.match(answer)
        alone = sentence and [sentence[1]] == [word.casefold() for word in named]
        if alone and _TAKEN_BACK.isdisjoint(said):
            return named[0]
    except UnreadableError as error:
        problem = str(error)
    raise ReplyError(f"the reply is no answer: {problem}", usage)


def share_of_first(tokens: object, words: Sequence[str]) -> float | None:
    """The probability of the first word among the words, where a plain reply begins with one.

    Args:
        tokens: of the reply, each with its ``top_logprobs``, as a chat completion tells them.

    Returns:
        p(first) / (p(first) + p(others)), 0 to 1, over all spellings of a word that are tokens;
        None where the endpoint does not tell, or the reply's first word is another.
    """
    spoken: Any = next((token for token in as_list(tokens) if _bare(token)), None)
    shares = dict.fromkeys((word.casefold() for word in words), 0.0)
    if _bare(spoken) not in shares:
        return None
    for token in as_list(getattr(spoken, "top_logprobs", None)):
        word, logprob = _bare(token), getattr(token, "logprob", None)
        if word in shares and isinstance(logprob, (int, float)) and logprob <= 0:
            shares[word] += math.exp(logprob)
    total = sum(shares.values())
    return shares[words[0].casefold()] / total if total > 0 else None


def _bare(token: object) -> str:
    text = getattr(token, "token", None)
    return text.strip(" \t\r\n.,:;!*_\"'`Ġ▁").casefold() if isinstance(text, str) else ""


# After a Western mark there is a space; after an East Asian one there need not be.
_END = re.compile(r"[.!?…؟۔।]+[\"'”’»)\]]*(?=\s)|[。！？｡]+[\"'”’」』）)]*|\n+")
_NEXT = re.compile(r"\s*(\S?)")
_ABBREVIATIONS = {
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "al", "e.g", "i.e", "cf",
    "fig", "no", "vol", "pp", "inc", "ltd", "co", "corp", "approx",
}  # fmt: skip


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without the white space around it.

    A sentence ends at a line's end, at an East Asian full stop, and at a Western one before white
    space and anything but a small letter; not after initials ("J. K. Rowling") and a few
    abbreviations ("Dr.", "e.g."). What holds no letter and no digit is no sentence.
    """
    start = 0
    for end in [*_ends(text), len(text)]:
        part = text[start:end]
        if any(map(str.isalnum, part)):
            yield start + len(part) - len(part.lstrip()), start + len(part.rstrip())
        start = end


def sentences(text: str) -> list[str]:
    """The sentences themselves."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match[0][0] in "。！？｡\n":
            yield match.end()
            continue
        following = _NEXT.match(text, match.end())
        if following is not None and following[1].islower():
            continue
        word = text[max(match.start() - 20, 0) : match.start()].split()[-1:]
        if match[0][0] == "." and word and _is_short(word[0].strip("\"'“‘(["), text[match.end()]):
            continue
        yield match.end()


def _is_short(word: str, space: str) -> bool:
    """An abbreviation or an initial: a single capital letter, or "U.S"."""
    initial = re.fullmatch(r"(\w\.)*[^\W\d_]", word) is not None and word[-1].isupper()
    return space != "\n" and (initial or word.lower() in _ABBREVIATIONS)
