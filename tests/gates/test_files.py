"""`noisesense score`, `noisesense compare` and the page's pytest recipe."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gates.runners import by_compare, by_recipe, by_score, check
from gates.ways import WAYS, WORKING, honest

Capsys = pytest.CaptureFixture[str]


def test_the_working_system_passes_all_three_gates(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert by_score(WORKING, honest, tmp_path, capsys).passed
    assert by_compare(WORKING, honest, tmp_path, capsys).passed
    assert by_recipe(WORKING, honest, tmp_path, monkeypatch) == (True, "")


@pytest.mark.parametrize("name", WAYS)
def test_score_passes_no_broken_system_in_silence(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    check(name, partial(by_score, folder=tmp_path, capsys=capsys))


@pytest.mark.parametrize("name", WAYS)
def test_compare_passes_no_broken_system_in_silence(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    check(name, partial(by_compare, folder=tmp_path, capsys=capsys))


@pytest.mark.parametrize("name", WAYS)
def test_the_pytest_recipe_passes_no_broken_system_in_silence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, partial(by_recipe, folder=tmp_path, monkeypatch=monkeypatch))
