"""Each target with its corpus, what was found before, and some inputs made up on the spot.

``python tests/fuzz/run.py`` does this for as long as one likes, and guided by coverage.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.inputs import inputs_of
from fuzz.targets import TARGETS, corpus, run


@pytest.mark.parametrize("name", TARGETS)
def test_corpus(name: str) -> None:
    assert corpus(name)
    for data in corpus(name):
        for cut in (len(data), len(data) // 2, len(data) - 1, 1, 0):
            run(name, data[:cut])


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_made_up(name: str, data: st.DataObject) -> None:
    run(name, data.draw(inputs_of(name)))
