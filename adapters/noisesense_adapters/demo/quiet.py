"""Frameworks without telemetry, caches on disk, progress bars and log lines."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

OFFLINE = {
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGCHAIN_TRACING_V2": "false",  # ragas' evaluate() would send its runs to LangSmith
    "LANGSMITH_TRACING": "false",
    "LANGFUSE_BASE_URL": "http://127.0.0.1:9",
    "OTEL_SDK_DISABLED": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "CONFIDENT_API_KEY": "",  # with it, DeepEval's evaluate() uploads its results
    "DEEPEVAL_RESULTS_FOLDER": "",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_DISABLE_ERROR_LOG": "1",
    "PROMPTFOO_DISABLE_DEBUG_LOG": "1",
}


@contextmanager
def quiet() -> Generator[None, None, None]:
    """Nothing the frameworks print or log gets through; their telemetry is off.

    For a process of one's own: the environment variables stay set afterwards, because the
    frameworks read some of them when they are imported and others later.
    """
    os.environ.update(OFFLINE)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
