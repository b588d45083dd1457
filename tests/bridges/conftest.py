"""All hosts' models in one process, quiet and offline."""

from __future__ import annotations

import os

import support.ragas_offline  # noqa: F401
from support.deepeval_fixtures import loop, offline
from support.first_loop import no_loop_seen_yet

__all__ = ["loop", "no_loop_seen_yet", "offline"]

# Read when it is imported.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"
