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

    An error is one line on stderr, never a traceback. The statuses:

    - 0: done, and every requested check passed;
    - 1: a check failed (a mean is above ``--fail-above``, B is worse, the demo disagrees);
    - 2: an error;
    - 3: done, but some samples failed or some lines could not be read;
    - 4: a check cannot be decided: it depends on open verdicts, or there is no mean;
    - 5: more than ``--max-unanswered`` of the verdicts that the score needs have no answer, or a
      model found no claim in any response;
    - 6: too few samples are in both runs (``--min-paired``);
    - 130: interrupted.

    If several apply, the first of 1, 4, 5, 3.
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
