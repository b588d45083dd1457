"""The command line ``noisesense``: see ``noisesense --help``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, NoReturn

import noisesense
from noisesense.errors import InputError, MissingExtraError, NoiseSenseError, PairingError
from noisesense_adapters.cli.terminal import prepare_streams, show, visible
from noisesense_adapters.extras import needs_extra

__all__ = ["main"]

_ERROR = 2
_UNPAIRED = 6
_PIPE_CLOSED = 128 + 13
"""The exit status of a Unix tool whose reader is gone: 128 and the number of SIGPIPE."""


def main() -> NoReturn:
    """Run the command line and exit.

    An error is said on stderr, with a command to copy where columns must be chosen. A fault of
    ours shows a traceback. ``noisesense --help`` names the exit statuses.
    """
    prepare_streams()
    # A CI runner or `timeout` ends a job with SIGTERM. As an interrupt it leaves files whole.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # numpy would start a thread for each core, and an interval multiplies too little for them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        status = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        # At once, as Python would report at exit that nobody reads the rest.
        os._exit(_PIPE_CLOSED)
    sys.exit(status)


def _run() -> int:
    """Run the command, say on stderr what it raises, and return the exit status."""
    try:
        with needs_extra("cli", "click"):
            from noisesense_adapters.cli.app import run
        return run(sys.argv[1:])
    except BrokenPipeError:
        raise
    except MissingExtraError as error:
        if sys.argv[1:] == ["--version"]:
            print(f"noisesense {noisesense.__version__}")
            return 0
        show(f"error: {error}", sys.stderr)
        return _ERROR
    except (NoiseSenseError, OSError) as error:
        proposal: Any = getattr(error, "proposal", None)  # of columns that are asked for
        lines: list[str] = [] if proposal is None else proposal.lines(sys.argv[1:])
        if isinstance(error, InputError) and lines:  # they say what its hint says
            error = InputError(error.expected, error.got, where=error.where)
        show(f"error: {error}", sys.stderr)
        for line in lines:
            print(visible(line), file=sys.stderr)  # a command that is folded cannot be pasted
        return _UNPAIRED if isinstance(error, PairingError) else _ERROR
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - Python's status for it, 1, is a failed check's
        sys.excepthook(type(error), error, error.__traceback__)
        return _ERROR
