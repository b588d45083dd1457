"""A row is read once: each value is opened, compared and made a chunk one time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense.errors import InputError
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.reading import row
from support.reading_hosts import HOSTS, seen


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()

    def count(name: str) -> None:
        real: Callable[..., Any] = getattr(row, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(row, name, counting)

    for name in ("chunks_of", "text_of"):
        count(name)
    return counted


@pytest.mark.parametrize("host", ["ragas", "deepeval", "promptfoo", "langfuse", "file"])
def test_a_rows_chunks_and_texts_are_each_read_once(host: str, calls: Counter[str]) -> None:
    assert isinstance(seen(host), tuple)
    assert calls == {"chunks_of": 1, "text_of": 3}  # response, reference and question
    assert host in HOSTS


def test_the_first_rows_of_a_file_are_not_read_twice(calls: Counter[str], tmp_path: Path) -> None:
    line = {"question": "Who?", "answer": "Ada.", "ground_truth": "Ada.", "contexts": ["c"]}
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(json.dumps({**line, "id": str(i)}) for i in range(30)))
    assert len(list(read_rows(path))) == 30
    assert calls == {"chunks_of": 30, "text_of": 90}


def test_a_document_beside_a_passage_is_its_name() -> None:
    named = {"document": "fees.pdf", "passage": "A bin costs 5 euros."}
    with pytest.raises(InputError, match=r"one text, got 'fees.pdf' and"):
        row.chunks_of([{"document": "fees.pdf", "excerpt": "A bin costs 5 euros."}])
    assert [chunk["id"] for chunk in row.chunks_of([named, {"document": "A text."}])] == [
        "fees.pdf",
        None,
    ]
