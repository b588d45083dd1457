"""For every area."""

from __future__ import annotations

import functools
import gc
import os
import signal
import ssl
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

HOSTS = {"deepeval", "mlflow", "ragas"}
"""Those of several files that take seconds to import."""

# A shell starts what it puts in the background with Ctrl-C ignored, and every process we start to
# interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline, as machines differ; nothing kept on disk. Fewer than the usual examples: the fuzzer
# (tests/fuzz) tries millions.
for name, examples in (("few", 25), ("many", 50)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("few")

# In each process pydantic looks for its plugins in all packages, which are hundreds here.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

# Every client of a model makes a TLS context or two, which read all certificates: most of what
# such a test took. Tests speak plain HTTP on loopback.
ssl.create_default_context = functools.cache(ssl.create_default_context)


def pytest_configure(config: pytest.Config) -> None:
    """More examples where the broad tests run. Side by side, files are taken in order: by size,
    some of the slowest would come last."""
    # pytest-xdist gives its workers a terminal's width, to which what we print would be folded.
    os.environ.pop("COLUMNS", None)
    if config.option.markexpr != "not broad":
        settings.load_profile("many")
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
        # From Python 3.14 on, hypothesis looks for who holds its own generator of random numbers,
        # and what is frozen is not found.
        if sys.version_info < (3, 14):
            gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A reply of many levels is read near the end of the stack, where the clients that other tests
    left have no room to be finalized."""
    if "levels" not in item.name:
        return (yield)
    gc.collect()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than processors: tests wait for the processes and the timeouts they start."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Each file is run by one process, and all files of a host by the same: most of what its
    tests take is its import."""
    from xdist.scheduler import LoadFileScheduling

    class ByHost(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = Path(nodeid.split("::", 1)[0])
            names = {file.parent.name, file.stem.removeprefix("test_")} & HOSTS
            return names.pop() if names else str(file)

    return ByHost(config, log)
