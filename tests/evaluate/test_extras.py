"""A framework of an unsupported version is named with the range, before it can fail by itself."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

from noisesense.errors import MissingExtraError
from noisesense_adapters.extras import needs_extra

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
        ("deepeval", "4.1.3", "<5,>=4.1.4"),
        ("validmind", "", ""),  # without metadata it is not judged
    ],
)
def test_an_unsupported_version_is_named_with_the_range_any_other_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, version: str, supported: str
) -> None:
    if version:
        _distribution(tmp_path, package, version)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((MissingExtraError, OSError)) as raised, needs_extra(package):
        raise OSError("its own")
    told = f"{package} {version} is installed; NoiseSense supports {supported}:"
    expected = f"{told} pip install '{package}{supported}'" if supported else "its own"
    assert str(raised.value) == expected


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
    # What a framework lacks itself is left as it is.
    with pytest.raises(ModuleNotFoundError, match="'no_such'"), needs_extra("openai"):
        import_module("no_such")
