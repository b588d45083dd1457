"""A framework of an unsupported version is named with the range, before it can fail by itself."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

from noisesense.errors import MissingExtraError
from noisesense_adapters.toolbox.extras import needs_extra
from support.command import ROOTS, environment

try:
    requires("noisesense")
except PackageNotFoundError:
    pytest.skip("a checkout that is not installed has no ranges", allow_module_level=True)


def _distribution(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("package", "version", "supported"),
    [
        ("ragas", "0.4.2", "!=0.4.2,<0.5,>=0.4.0"),
        ("ragas", "0.4.10", ""),  # ten is more than two
        ("langchain_core", "0.2.43", ">=0.3"),
    ],
)
def test_the_range_of_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, version: str, supported: str
) -> None:
    name = package.replace("_", "-")
    _distribution(tmp_path, name, version)
    monkeypatch.syspath_prepend(tmp_path)
    error = ""
    try:
        with needs_extra(name.removesuffix("-core"), package):
            pass
    except MissingExtraError as raised:
        error = str(raised)
    expected = f"{name} {version} is installed; NoiseSense supports {supported}:"
    assert error == (supported and f"{expected} pip install '{name}{supported}'")


@pytest.mark.parametrize(
    ("module", "version", "code", "error"),
    [
        ("deepeval", "4.0.9", "raise OSError", "noisesense.errors.MissingExtraError: deepeval 4"),
        # A broken framework keeps its own error.
        ("ragas", "0.4.3", "import no_such", "ModuleNotFoundError: No module named 'no_such'"),
        # A package without metadata is not judged.
        ("validmind", "", "raise OSError('alone')", "OSError: alone"),
    ],
)
def test_what_an_import_says(
    tmp_path: Path, module: str, version: str, code: str, error: str
) -> None:
    (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    if version:
        _distribution(tmp_path, module, version)
    done = subprocess.run(
        [sys.executable, "-c", f"import noisesense_adapters.{module}"],
        env={**environment([tmp_path, *ROOTS]), "DEEPEVAL_TELEMETRY_OPT_OUT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip().splitlines()[-1].startswith(error)


def test_a_missing_module_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "the installed 'noisesense' has no 'noisesense.nothing', which cli needs"
    with pytest.raises(MissingExtraError, match=says), needs_extra("cli", "noisesense"):
        import_module("noisesense.nothing")
    monkeypatch.setitem(sys.modules, "openai", None)
    with (
        pytest.raises(MissingExtraError, match=r"pip install 'noisesense\[openai\]'"),
        needs_extra("openai"),
    ):
        import openai  # noqa: F401
