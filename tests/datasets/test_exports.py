"""Files as people have them: read at the first try, or an error names the option."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import InputError
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow
from noisesense_adapters.datasets.tables import UnsettledError
from support.exports import EXPORTS, TEXTS


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_as_it_is_as_proposed_or_as_its_error_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    export = EXPORTS[name]
    path = tmp_path / export.name
    export.write(path)
    if export.error:
        with pytest.raises(InputError) as raised:
            texts(path)
        assert export.error in str(raised.value)
        if export.options:
            assert texts(path, **export.options) == TEXTS
        return
    if not export.asks:
        assert texts(path) == TEXTS
        return
    with pytest.raises(UnsettledError) as asked:
        read_rows(path)
    assert (
        texts(
            path,
            columns=asked.value.proposal.columns,
            split_contexts=asked.value.proposal.separator,
        )
        == TEXTS
    )
    assert texts(path, guess=True) == TEXTS


def texts(path: Path, **options: object) -> list[tuple[str, str, list[str]]]:
    found: list[tuple[str, str, list[str]]] = []
    for row in read_rows(path, **options):  # type: ignore[arg-type]
        if isinstance(row, BadRow):
            raise row.error
        assert row.sample is not None
        chunks = [chunk.text for chunk in row.sample.retrieved_contexts]
        found.append((row.sample.response, row.sample.reference, chunks))
    return found
