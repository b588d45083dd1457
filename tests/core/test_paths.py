"""Paths that no file can have, or that cannot be used: one error that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    RecordedJudge,
    RecordingError,
    Sample,
    StoreError,
    Verdicts,
    VerdictStore,
    read_recording,
    read_results,
    write_recording,
    write_results,
)
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS

Use = Callable[[Any], object]
READERS: list[Use] = [
    RecordedJudge,
    lambda path: list(read_recording(path)),
    lambda path: list(read_results(path)),
]
WRITERS: list[Use] = [lambda path: write_recording(path, []), lambda path: write_results(path, [])]
STORES: list[Use] = [VerdictStore]
ALL = [
    *((use, RecordingError) for use in READERS),
    *((use, InputError) for use in WRITERS),
    *((use, StoreError) for use in STORES),
]


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"recording.jsonl"


NO_NAMES = {"a\0b": "null", "half \ud800": "surrogates not allowed", "long" * 100: "name too long"}


@pytest.mark.parametrize(("use", "kind"), ALL)
def test_no_path_or_an_impossible_name_is_an_error_that_shows_it(
    use: Use, kind: type[InputError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    no_paths: list[Any] = [None, 3, [], b"bytes", BytesPath()]
    for path in (*no_paths, *NO_NAMES, *map(Path, NO_NAMES)):
        with pytest.raises(InputError, match="path: expected a path, got ") as caught:
            use(path)
        assert type(caught.value) is kind
        if path not in no_paths:
            assert NO_NAMES[str(path)] in str(caught.value)
            assert repr(str(path))[:50] in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("use", "kind"), ALL)
def test_a_place_where_no_file_can_be_is_an_error_that_names_it(
    use: Use, kind: type[InputError], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    for place in ("folder", "nowhere/file.jsonl", "file/below.jsonl"):
        with pytest.raises(InputError) as caught:
            use(tmp_path / place)
        assert type(caught.value) is kind
        assert str(caught.value).startswith(f"{tmp_path / place}: expected ")
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "file", tmp_path / "folder"]


def test_an_error_of_the_caller_is_not_taken_for_one_of_the_file(tmp_path: Path) -> None:
    def failing() -> Iterator[Any]:
        yield Sample.model_validate(GOOD_SAMPLE), Verdicts.model_validate(GOOD_VERDICTS)
        raise ConnectionResetError("the caller's own")

    # A folder is refused before anything is made.
    with pytest.raises(InputError, match=r"expected a file that can be written, got Is a dir"):
        write_recording(tmp_path, failing())
    with pytest.raises(ConnectionResetError, match="the caller's own"):
        write_recording(tmp_path / "recording.jsonl", failing())
    assert list(tmp_path.iterdir()) == []
