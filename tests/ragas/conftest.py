"""ragas is imported quietly, before any test."""

from __future__ import annotations

import support.ragas_offline  # noqa: F401
from support.first_loop import no_loop_seen_yet

__all__ = ["no_loop_seen_yet"]
