"""MLflow on a database in the test's folder; no server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

SETTINGS = {
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_GENAI_EVAL_SKIP_TRACE_VALIDATION": "true",
    "TQDM_DISABLE": "1",
    "MLFLOW_GENAI_EVAL_MAX_WORKERS": "3",  # ten writers lock SQLite out
}


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One database for a module's tests: making its tables takes MLflow seconds."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        import mlflow

        folder = tmp_path_factory.mktemp("mlflow")
        patch.chdir(folder)  # it writes runs' artifacts to where it is
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        # Left so: MLflow goes on to trace other hosts' spans, and would write where they run.
        yield
