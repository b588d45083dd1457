"""MLflow on a database in the test's folder."""

from __future__ import annotations

from support.mlflow_fixtures import tracking

__all__ = ["tracking"]
