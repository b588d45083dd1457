"""``mlflow.genai.evaluate``, and the gate over `noisesense_adapters.mlflow.run_summary`."""

from __future__ import annotations

import pytest

from gates.runners import by_mlflow, check
from gates.ways import WAYS, WORKING, honest
from support.mlflow_fixtures import tracking  # noqa: F401

pytestmark = [
    pytest.mark.filterwarnings("default"),  # MLflow warns of its own type hints
    pytest.mark.usefixtures("tracking"),
]


def test_the_working_system_passes() -> None:
    assert by_mlflow(WORKING, honest) == (True, "")


@pytest.mark.parametrize("name", WAYS)
def test_no_broken_system_passes_in_silence(name: str) -> None:
    check(name, by_mlflow)
