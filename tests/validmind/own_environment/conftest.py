"""ValidMind offline: no key, no account, and any attempt at the network fails at once."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts, write_recording
from noisesense.fixtures import reference_examples

for name in list(os.environ):
    if name.endswith(("_API_KEY", "_API_SECRET")) or name.startswith(("AZURE_OPENAI", "VM_")):
        del os.environ[name]

# tiktoken would fetch its tables while ValidMind is imported, and go on without them.
for name in ("HTTP_PROXY", "HTTPS_PROXY"):
    os.environ[name] = os.environ[name.lower()] = "http://127.0.0.1:9"


def _refuse(self: socket.socket, address: Any) -> None:
    raise OSError(f"these tests have no network, and something connects to {address}")


socket.socket.connect = socket.socket.connect_ex = _refuse  # type: ignore[method-assign]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pandas as pd
    import validmind as vm

    from noisesense_adapters.validmind import TEST_ID

Pairs = list[tuple[Sample, Verdicts]]
Run = Callable[..., Any]


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return [(example.sample, example.verdicts) for example in reference_examples()]


@pytest.fixture
def recording(pairs: Pairs, tmp_path: Path) -> Path:
    path = tmp_path / "verdicts.jsonl"
    write_recording(path, pairs)
    return path


@pytest.fixture
def table(pairs: Pairs) -> pd.DataFrame:
    """The samples' texts, in the columns that the test looks for."""
    rows = [sample.model_dump(mode="json") for sample, _ in pairs]
    for row in rows:
        row["retrieved_contexts"] = [chunk["text"] for chunk in row["retrieved_contexts"]]
    return pd.DataFrame(rows)


@pytest.fixture
def run() -> Run:
    """``run_test`` on a table, or on a dataset."""

    def run_test(data: Any, **params: Any) -> Any:
        if isinstance(data, pd.DataFrame):
            data = vm.init_dataset(dataset=data, input_id="answers", __log=False)
        return vm.tests.run_test(
            TEST_ID,
            inputs={"dataset": data},
            params=params,
            show=False,
            generate_description=False,
        )

    return run_test
