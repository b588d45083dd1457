"""Errors. Each says what was expected, what was given, where, and a hint."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound="NoiseSenseError")
Bad = TypeVar("Bad", bound="InputError")

_MAX_SHOWN = 80


def describe(value: object) -> str:
    """Return the repr of a value for an error, cut to 80 characters, the last of them "…"."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep, or a number too long to print
        text = f"{type(value).__name__} too long to show"
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def kind_of(value: object) -> str:
    """Return the name of a value's type, for an error; of a class, ``the class …``."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


class NoiseSenseError(Exception):
    """Base of all errors that NoiseSense raises on purpose."""

    def within(self: E, place: str) -> E:
        """Return a copy of the error whose message begins with its place: a file and line."""
        other = copy(self)
        other.args = (f"{place}: {self}",)
        return other


class InputError(NoiseSenseError, ValueError):
    """Bad input. The message reads ``where: expected …, got …. Hint: …``."""

    def __init__(self, expected: str, got: str, *, where: str = "", hint: str = "") -> None:
        self.expected = expected
        self.got = got
        self.where = where
        self.hint = hint
        message = f"expected {expected}, got {got}"
        if where:
            message = f"{where}: {message}"
        if hint:
            message = f"{message}. Hint: {hint}"
        super().__init__(message)

    def within(self: Bad, place: str) -> Bad:
        """Same as in the base class: the copy's ``where`` begins with the place."""
        where = f"{place}, {self.where}" if self.where else place
        return type(self)(self.expected, self.got, where=where, hint=self.hint)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are pickled by their args, which hold only the finished message.
        factory = partial(type(self), where=self.where, hint=self.hint)
        return factory, (self.expected, self.got)


@contextmanager
def error_context(place: str) -> Generator[None, None, None]:
    """Add the place to each `NoiseSenseError` raised inside, as `NoiseSenseError.within` does."""
    try:
        yield
    except NoiseSenseError as error:
        raise error.within(place) from error.__cause__


def check_choice(value: object, options: tuple[T, ...], where: str) -> T:
    """Return the option that equals the value. Raises `InputError` if none does."""
    if value in options:
        return options[options.index(value)]
    *others, last = map(repr, options)
    raise InputError(f"{', '.join(others)} or {last}", describe(value), where=where)


def check_whole(value: object, least: int, where: str) -> None:
    """Raise `InputError` unless the value is an int (no bool, no 3.0) of at least ``least``."""
    if type(value) is not int or value < least:
        raise InputError(f"a whole number of {least} or more", describe(value), where=where)


class PairingError(InputError):
    """Two runs have too few samples in common; the message says how many."""


class RecordingError(InputError):
    """A recording cannot be read; the message names the file and the line."""


class SampleNotRecordedError(RecordingError, LookupError):
    """The recording has no verdicts on the sample."""


class StoreError(InputError):
    """A `VerdictStore` cannot be read or written (damaged, other format, disk full, no access)."""


class UndefinedScoreError(NoiseSenseError, ValueError):
    """The score is undefined and the caller asked for an error (``empty="error"``).

    ``usage`` is what judging cost; None if nobody was asked.
    """

    usage: object = None


class JudgeError(NoiseSenseError, RuntimeError):
    """The judge could not be asked (no key, endpoint unreachable, access refused, timeout)."""


class JudgeSetupError(JudgeError):
    """No call can succeed as it is set up: no key, access refused, no such model or address."""


class PromptTooLongError(JudgeError):
    """The prompt is longer than the model's context: refused, or cut by its server."""


class BusyError(JudgeError):
    """The provider takes no calls now (a rate limit, an overload): the judge asks again later.

    ``wait`` is how many seconds it asks for; None if it does not say.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class ReplyError(JudgeError):
    """The model's reply is unusable (malformed, truncated, empty or a refusal).

    ``usage`` is what it cost.
    """

    def __init__(self, message: str, usage: object = None) -> None:
        super().__init__(message)
        self.usage = usage


class MissingExtraError(NoiseSenseError, ImportError):
    """An optional package is missing, or its version is not supported."""


def encodable(text: str) -> str:
    """Return the text with "?" for each surrogate: some tokenizers leave one, UTF-8 has none."""
    return text.encode("utf-8", "replace").decode("utf-8")
