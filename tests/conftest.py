"""For every area."""

from __future__ import annotations

import signal

# A shell starts what it puts in the background with Ctrl-C ignored, and every process we start to
# interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
