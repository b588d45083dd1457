"""What the loopback server saw: one record a request, and the figures drawn from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

SECRET_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "cookie"})


@dataclass
class Request:
    """One call of the model. Times are seconds of `time.monotonic` in the server."""

    index: int
    prompt: str
    started: float
    model: str = ""
    body: dict[str, Any] = field(default_factory=dict[str, Any])
    form: str = "text"  # text, json_object, json_schema or tools
    headers: dict[str, str] = field(default_factory=dict)  # secret ones show "***"
    key: str = ""  # the bearer token, to check that the right one was sent
    ended: float | None = None  # None: still running, or the client went away
    status: int | None = None
    completion: str = ""
    fault: str = ""
    aborted: bool = False  # the client closed the connection before the reply


class RequestLog:
    """The requests in the order in which they arrived. Safe to read from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []

    def add(self, make: Callable[[int], Request]) -> Request:
        with self._lock:
            request = make(len(self._requests))
            self._requests.append(request)
            return request

    def clear(self) -> None:
        with self._lock:
            self._requests = []

    @property
    def requests(self) -> list[Request]:
        with self._lock:
            return list(self._requests)

    @property
    def calls(self) -> int:
        """Requests of the model, the client's own retries included."""
        return len(self.requests)

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.requests]

    @property
    def rounds(self) -> int:
        return longest_chain(_spans(self.requests))

    @property
    def concurrency(self) -> int:
        return most_at_once(_spans(self.requests))

    def figures(self) -> dict[str, int]:
        return {
            "calls": self.calls,
            "rounds": self.rounds,
            "prompt_chars": sum(len(request.prompt) for request in self.requests),
            "completion_chars": sum(len(request.completion) for request in self.requests),
        }


def _spans(requests: Sequence[Request]) -> list[tuple[float, float]]:
    return [(r.started, r.ended) for r in requests if r.ended is not None]


def longest_chain(spans: Sequence[tuple[float, float]]) -> int:
    """The most spans of which each starts after the one before it ended: sequential rounds."""
    chain = 0
    free_from = float("-inf")
    for started, ended in sorted(spans, key=lambda span: span[1]):
        if started >= free_from:
            chain = chain + 1
            free_from = ended
    return chain


def most_at_once(spans: Sequence[tuple[float, float]]) -> int:
    """The most spans that overlap at one moment."""
    edges = sorted([(s, 1) for s, _ in spans] + [(e, -1) for _, e in spans])
    running = most = 0
    for _, change in edges:
        running += change
        most = max(most, running)
    return most
