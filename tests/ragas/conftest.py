"""ragas is imported quietly, before any test."""

from __future__ import annotations

import support.ragas_offline  # noqa: F401
