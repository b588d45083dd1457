"""The frameworks offline and quiet, as in their own folders."""

from __future__ import annotations

import os
import warnings

# Read when the frameworks are imported.
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ragas._analytics import get_userid

    # It leaves a file open when it is first called.
    get_userid()
