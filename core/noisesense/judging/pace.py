"""How fast a provider takes calls: one pause for all, and a rate that adapts to its limit."""

from __future__ import annotations

import asyncio
import math
import threading
import time

_FIRST_PAUSE = 0.5
_LONGER = 1.25  # each pause: so at most a fifth of all the waiting is in vain
_SHORTEST_PAUSE = 0.1  # that a provider may ask for; some ask for 0 seconds, and mean nothing
_LONGEST_PAUSE = 60.0  # seconds; beyond, a single call asks whether it is over
_BELOW = 0.92
"""The share of the rate that was taken, to go on with."""
_POLL = 0.05
_CATCH_UP = 0.25
_GROWTH = 0.01
"""Of the rate, each second."""


class Pace:
    """Says when the calls of a judge may start: across tasks, threads and event loops.

    Until the provider refuses a call (HTTP 429 or 503), at once. Then all wait as long as it asks
    for, or half a second and a quarter more each time, at most a minute; one call asks whether it
    is over; and the rest follow a little more slowly than the provider has taken them so far.
    Without a refusal the rate grows by 1% a second.

    Args:
        most_wait: seconds to wait in a row for a provider that takes no call. After that calls
            start at once, and a refused one is not made again, until one is taken.
    """

    def __init__(self, most_wait: float) -> None:
        self._most_wait = most_wait
        self._lock = threading.Lock()
        self._rate = math.inf  # calls a second, as of `_measured_from`
        self._taken = 0  # calls that the provider took since `_measured_from`
        self._measured_from = math.inf  # until it has taken one
        self._next_start = 0.0
        self._refused_since: float | None = None  # None: the provider takes calls
        self._refusals = 0
        self._paused_at = 0.0
        self._paused_until = 0.0
        self._probing = False

    @property
    def waiting(self) -> float:
        """Seconds that the pause after a refused call still lasts; 0 if none does."""
        if self._refused_since is None:
            return 0.0
        return max(self._paused_until - time.monotonic(), 0.0)

    async def turn(self) -> float:
        """Wait until a call may start. Return that time, by `time.monotonic`."""
        while (seconds := self._take_turn()) > 0:
            await asyncio.sleep(min(seconds, 1.0))
        return time.monotonic()

    def _take_turn(self) -> float:
        """Take the turn and return 0; or, if no call may start yet, how many seconds to wait."""
        with self._lock:
            now = time.monotonic()
            if self._refused_since is None:
                if now < self._next_start:
                    return self._next_start - now
                self._next_start = max(self._next_start, now - _CATCH_UP) + 1 / self._rate_at(now)
                return 0.0
            if self._is_given_up():
                return 0.0
            if now < self._paused_until:
                return self._paused_until - now
            if self._probing:
                return _POLL
            self._probing = True
            return 0.0

    def _rate_at(self, now: float) -> float:
        seconds = max(now - self._measured_from, 0.0)
        return self._rate * (1 + _GROWTH * seconds)

    def _is_given_up(self) -> bool:
        started = self._refused_since
        return started is not None and self._paused_until - started > self._most_wait

    def taken(self, started: float) -> None:
        """Note that the provider took a call.

        If a pause is on and the call started after it began, the pause is over: calls go on, a
        little more slowly than they were taken before.

        Args:
            started: when the call started, as `turn` returned it.
        """
        with self._lock:
            now = time.monotonic()
            # Not from the first call on, which loads its client.
            self._measured_from = min(self._measured_from, now)
            since = self._refused_since
            if since is not None and started >= self._paused_at:
                # At a rate a little below that at which calls were taken before the pause.
                seconds = since - self._measured_from
                if seconds > 0:
                    taken_rate = self._taken / seconds
                    self._rate = _BELOW * min(taken_rate, self._rate_at(since))
                self._taken = self._refusals = 0
                self._refused_since = None
                self._probing = False
                self._measured_from = self._next_start = now
            self._taken += 1

    def left(self, started: float) -> None:
        """Note that a call ended that says nothing about the provider: given up, or failed.

        If it was to ask whether a pause is over, another call may ask.
        """
        with self._lock:
            if started >= self._paused_at:
                self._probing = False

    def refused(self, first: float, started: float, asked_for: float | None) -> bool:
        """Note that the provider refused a call. Return whether to ask again.

        Args:
            first: when the call was first made: others may be taken while this one never is.
            started: when it was made last. If before the pause, it is part of the pause's cause.
            asked_for: the seconds that the provider asks to wait. Ignored if None or less than
                0.1; of more than 60, 60 are waited.
        """
        with self._lock:
            now = time.monotonic()
            if self._refused_since is None or started >= self._paused_at:
                self._pause(now, asked_for)
            return not self._is_given_up() and self._paused_until - first <= self._most_wait

    def _pause(self, now: float, asked_for: float | None) -> None:
        self._probing = False
        self._refusals += 1
        growth = _LONGER ** min(self._refusals - 1, 30)
        pause = _FIRST_PAUSE * growth
        if asked_for is not None and asked_for >= _SHORTEST_PAUSE:
            pause = asked_for
        if self._refused_since is None:
            self._refused_since = now
        self._paused_at = now
        self._paused_until = now + min(pause, _LONGEST_PAUSE)
