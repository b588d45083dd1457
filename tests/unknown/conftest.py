"""The frameworks offline and quiet, as in their own folders."""

from __future__ import annotations

import os

import support.ragas_offline  # noqa: F401

# Read when it is imported.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"
