"""Which process is making a call, and whether it has ended."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import lru_cache
from pathlib import Path


def this_process() -> str:
    """``host/number/start``; a forked child has its own."""
    return _named(os.getpid())


@lru_cache(maxsize=4)
def _named(pid: int) -> str:
    host = socket.gethostname()
    with suppress(OSError):  # containers may share a host's name, and not its numbers
        host += f" {Path('/proc/self/ns/pid').readlink()}"
    return f"{host.replace('/', ' ')}/{pid}/{_state_and_start(pid)[1]}"


def has_ended(owner: str) -> bool:
    """Has the process whose name it begins with ended? True only if it certainly has."""
    host, number, start, *_ = [*owner.split("/"), "", ""]
    sound = number.isascii() and number.isdecimal() and 0 < len(number) < 10 and int(number) > 0
    # Elsewhere there is nobody to ask, nor is there about a name that is damaged; and
    # os.kill(pid, 0) would end a process on Windows.
    if host != this_process().split("/")[0] or os.name != "posix" or not sound:
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    state, its_start = _state_and_start(int(number))
    # It has ended and nobody has asked after it (a zombie); or the number is used again.
    return state in ("Z", "X") or bool(start and its_start and start != its_start)


def _state_and_start(pid: int) -> tuple[str, str]:
    """A process' state and when it began, as Linux tells; elsewhere empty."""
    try:
        # Behind the program's name, which may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
