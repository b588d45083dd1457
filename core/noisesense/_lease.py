"""Who is making a call: named so that others can tell whether it still runs."""

from __future__ import annotations

import os
import socket
import uuid

__all__ = ["believed_alive", "this_process"]

_own: tuple[int, str] = (-1, "")


def this_process() -> str:
    """``host/pid/token``, which no other process ever has; a forked child gets its own."""
    global _own
    pid = os.getpid()
    if _own[0] != pid:
        _own = pid, f"{socket.gethostname()}/{pid}/{uuid.uuid4().hex}"
    return _own[1]


def believed_alive(name: object) -> bool:
    """Does the process of that name still run? False only if it certainly does not."""
    own = this_process()
    if name == own:
        return True
    host, pid, *_ = [*(name if isinstance(name, str) else "").rsplit("/", 2), "", ""]
    # Elsewhere there is nobody to ask, nor is there about a name that is damaged; and
    # os.kill(pid, 0) would end a process on Windows.
    if host != own.rsplit("/", 2)[0] or os.name != "posix" or not _is_number(pid):
        return True
    # Our own number under another name is a process that ended before this one began.
    return int(pid) != os.getpid() and _runs(int(pid))


def _is_number(pid: str) -> bool:
    return pid.isascii() and pid.isdecimal() and 0 < len(pid) < 10 and int(pid) > 0


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
