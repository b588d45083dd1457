"""The public names are imported when they are first used, and are what type checkers are told."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import noisesense


def _told_to_type_checkers() -> dict[str, str]:
    """Each name that the stub imports, with its module."""
    stub = Path(noisesense.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    # `import X as X` is what makes a name public to a type checker.
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


TOLD = _told_to_type_checkers()


def test_every_public_name_is_told() -> None:
    assert {*TOLD, "__version__"} == set(noisesense.__all__)
    assert sorted(noisesense.__all__) == sorted({*noisesense.__all__})


@pytest.mark.parametrize("name", sorted(TOLD))
def test_each_name_is_what_its_module_has(name: str) -> None:
    assert getattr(noisesense, name) is getattr(import_module(TOLD[name]), name)
    assert name in dir(noisesense)


def test_modules_are_attributes() -> None:
    assert noisesense.scoring is import_module("noisesense.scoring")
    assert noisesense.errors is import_module("noisesense.errors")


def test_another_name_is_an_attribute_error() -> None:
    package: Any = noisesense
    with pytest.raises(AttributeError, match="no attribute 'Verdict'"):
        _ = package.Verdict
