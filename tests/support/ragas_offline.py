"""ragas is imported here once, quietly: what it imports warns about things that are not ours."""

from __future__ import annotations

import os
import warnings

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ragas._analytics import get_userid

    # It leaves a file open when it is first called.
    get_userid()
