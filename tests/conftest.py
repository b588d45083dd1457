"""For every area."""

from __future__ import annotations

import functools
import gc
import os
import signal
import ssl
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# A shell starts what it puts in the background with Ctrl-C ignored, and every process we start to
# interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline, as machines differ; nothing kept on disk. Half of the usual examples: the fuzzer
# (tests/fuzz) tries millions.
settings.register_profile(
    "noisesense",
    max_examples=50,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("noisesense")

# Every client of a model makes a TLS context or two, which read all certificates: most of what
# such a test took. Tests speak plain HTTP on loopback.
ssl.create_default_context = functools.cache(ssl.create_default_context)


def pytest_configure(config: pytest.Config) -> None:
    """Side by side, files are taken in order: by size, some of the slowest would come last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing of what all frameworks bring is ever garbage: it is not gone through again and
    again while they are imported, nor whenever a test collects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than processors: tests wait for the processes and the timeouts they start."""
    return (os.cpu_count() or 1) + 1
