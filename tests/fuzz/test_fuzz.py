"""Each target with its corpus, what was found before, and some inputs made up on the spot.

``FUZZ_EXAMPLES`` says how many for each target.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.inputs import inputs_of
from fuzz.targets import TARGETS, corpus, run


@pytest.mark.parametrize("name", TARGETS)
def test_an_input_of_the_corpus_even_cut_gives_only_our_errors(name: str) -> None:
    assert corpus(name)
    for data in corpus(name):
        for cut in (len(data), len(data) // 2, len(data) - 1, 1, 0):
            run(name, data[:cut])


@pytest.mark.parametrize("name", TARGETS)
@settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "15")),
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_a_made_up_input_gives_only_our_errors(name: str, data: st.DataObject) -> None:
    run(name, data.draw(inputs_of(name)))
