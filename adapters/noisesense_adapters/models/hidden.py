"""A value that neither a pickle nor the locals of a frame show: keys, headers, requests."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Hidden(Generic[T]):
    """Hold a value for those who ask for it by name."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a model with its key cannot be pickled: make it anew in each process")
