from __future__ import annotations

from support.first_loop import no_loop_seen_yet

__all__ = ["no_loop_seen_yet"]
