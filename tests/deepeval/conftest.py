"""DeepEval offline: no telemetry, no .env, no key, and its files in a folder of the test's."""

from __future__ import annotations

import os

from support.deepeval_fixtures import loop, offline

__all__ = ["loop", "offline"]

# Read when DeepEval is imported.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"
