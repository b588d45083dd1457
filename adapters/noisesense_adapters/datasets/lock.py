"""One run at a time writes a results file."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from noisesense.errors import InputError

_MARK = b'{"noisesense_lock"'


@contextmanager
def only_writer(target: Path) -> Generator[None, None, None]:
    """Hold the lock of a results file: ``TARGET.lock``.

    The system lets go of it when a process dies: a lock file that is left over stops nobody.

    Raises:
        InputError: another run holds it (the error says which), or it cannot be written.
    """
    path = Path(f"{target}.lock")
    try:
        file = _locked(path)
        try:
            started = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
            owner = {"noisesense_lock": 1, "pid": os.getpid(), "host": socket.gethostname()}
            file.truncate(0)
            file.write(json.dumps({**owner, "started": started}).encode())
        except BaseException:
            _unlock(file, path)
            raise
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield
    finally:
        _unlock(file, path)


def _locked(path: Path) -> IO[bytes]:
    """The lock file, locked. Raises `InputError` or OSError."""
    while True:
        _check_regular(path)
        file = path.open("a+b", buffering=0)
        try:
            file.seek(0)
            held = file.read(1000)
            if held and not held.startswith(_MARK):
                raise _something_else(path)
            if not _lock(file):
                raise InputError(
                    "one run at a time with these results",
                    _owner(held),
                    where=str(path).removesuffix(".lock"),
                    hint="wait until it ends, or choose another file for the results",
                )
            # Else its holder ended and removed it meanwhile.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: IO[bytes]) -> bool:
    """Is the file ours now? Where the file system knows no locks, it is."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # others can read what is not locked
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
    return True


def _unlock(file: IO[bytes], path: Path) -> None:
    if sys.platform == "win32":  # where an open file cannot be removed
        file.close()
    with suppress(OSError):
        path.unlink(missing_ok=True)
    file.close()


def _owner(held: bytes) -> str:
    try:
        owner = json.loads(held)
        return (
            f"another run: process {owner['pid']} on {owner['host']}, "
            f"started at {owner['started']}"
        )
    except (ValueError, KeyError, TypeError):  # it has not yet written its name
        return "another run"


def _check_regular(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise _something_else(path)


def _something_else(path: Path) -> InputError:
    hint = "it was not touched; choose another file for the results, or move it"
    return InputError(
        "no file, or one of an earlier run",
        "a file that holds something else",
        where=str(path),
        hint=hint,
    )


def refused(path: Path, error: OSError) -> InputError:
    got = error.strerror or type(error).__name__
    return InputError("a file that can be written", got, where=str(path))
