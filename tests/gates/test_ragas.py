"""ragas' ``evaluate()``, and the gate over `noisesense_adapters.ragas.summarize`."""

from __future__ import annotations

import pytest

import support.ragas_offline  # noqa: F401
from gates.runners import by_ragas, check
from gates.ways import WAYS, WORKING, honest


def test_the_working_system_passes() -> None:
    assert by_ragas(WORKING, honest) == (True, "")


@pytest.mark.parametrize("name", WAYS)
def test_no_broken_system_passes_in_silence(name: str) -> None:
    check(name, by_ragas)
