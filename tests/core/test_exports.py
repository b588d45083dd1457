"""The public names are imported when they are first used, and are what type checkers are told."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import noisesense

STUB = ast.parse(Path(noisesense.__file__).with_suffix(".pyi").read_text("utf-8"))
IMPORTS = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]
TOLD = {alias.name: str(node.module) for node in IMPORTS for alias in node.names}
"""Each name that the stub imports, with its module."""


def test_every_public_name_is_told_and_is_what_its_module_has() -> None:
    # `import X as X` is what makes a name public to a type checker.
    assert all(alias.asname == alias.name for node in IMPORTS for alias in node.names)
    assert sorted(noisesense.__all__) == sorted({*TOLD, "__version__"})
    for name, module in TOLD.items():
        assert name in dir(noisesense)
        assert getattr(noisesense, name) is getattr(import_module(module), name)


def test_another_name_is_an_attribute_error_of_the_package() -> None:
    package: Any = noisesense
    with pytest.raises(AttributeError, match="'noisesense' has no attribute 'Verdict'"):
        _ = package.Verdict
