"""For every area."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A shell starts what it puts in the background with Ctrl-C ignored, and every process we start to
# interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline, as machines differ; nothing kept on disk.
settings.register_profile(
    "noisesense", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("noisesense")
