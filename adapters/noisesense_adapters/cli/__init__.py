"""The command line ``noisesense``: see ``noisesense --help``."""

from __future__ import annotations

import sys
from typing import NoReturn

from noisesense.errors import NoiseSenseError, PairingError
from noisesense_adapters.toolbox.extras import needs_extra

__all__ = ["main"]

_ERROR, _UNPAIRED = 2, 6


def main() -> NoReturn:
    """Run the command line and exit.

    An error is one line on stderr, never a traceback. ``noisesense --help`` names the statuses.
    """
    try:
        with needs_extra("cli", "typer", "rich"):
            from noisesense_adapters.cli.app import app

            app(prog_name="noisesense")
    except (NoiseSenseError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(_UNPAIRED if isinstance(error, PairingError) else _ERROR)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)
