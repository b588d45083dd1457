"""One run at a time writes a results file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from noisesense.errors import InputError
from noisesense_adapters.toolbox.extras import needs_extra


@contextmanager
def only_writer(target: Path) -> Generator[None, None, None]:
    """Hold the lock of a results file: ``TARGET.lock``, an empty file.

    The system lets go of it when a process dies: a lock file that is left over stops nobody.

    Raises:
        InputError: another run holds it, or it cannot be written, or holds something else.
        MissingExtraError: filelock is not installed.
    """
    with needs_extra("cli", "filelock"):
        from filelock import FileLock, Timeout

    path = Path(f"{target}.lock")
    if path.exists() and (not path.is_file() or path.stat().st_size):
        hint = "it was not touched; choose another file for the results, or move it"
        got = "a file that holds something else"
        raise InputError("no file, or one of an earlier run", got, where=str(path), hint=hint)
    lock: Any = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        expected = "one run at a time with these results"
        hint = "wait until it ends, or choose another file for the results"
        raise InputError(expected, "another run", where=str(target), hint=hint) from None
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield
    finally:
        # While it is held: who opens it now finds that the file is gone. Windows refuses.
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()


def refused(path: Path, error: OSError) -> InputError:
    got = error.strerror or type(error).__name__
    return InputError("a file that can be written", got, where=str(path))
