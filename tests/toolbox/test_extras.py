"""A framework of an unsupported version is named with the range, before it can fail by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

from noisesense_adapters.toolbox.extras import needs_extra

ROOT = Path(__file__).parents[2]

try:
    WRITTEN = requires("noisesense") or []
except PackageNotFoundError:
    pytest.skip("a checkout that is not installed has no ranges", allow_module_level=True)


def _imported(folder: Path, module: str) -> str:
    """What importing an adapter says with a folder of packages before all others."""
    paths = [str(folder), str(ROOT / "core"), str(ROOT / "adapters")]
    done = subprocess.run(
        [sys.executable, "-c", f"import noisesense_adapters.{module}"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "RAGAS_DO_NOT_TRACK": "true",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stderr.strip().splitlines()[-1] if done.stderr else ""


def _distribution(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


UNSUPPORTED = [
    ("ragas", "ragas", "0.3.9", ">=0.4.0,!=0.4.2,<0.5"),
    ("ragas", "ragas", "0.4.2", ">=0.4.0,!=0.4.2,<0.5"),
    ("ragas", "ragas", "0.5.0", ">=0.4.0,!=0.4.2,<0.5"),
    ("ragas", "langchain-community", "0.4.2", ">=0.3.31,<0.4.2"),
    ("ragas", "instructor", "1.3.2", ">=1.10"),
    ("deepeval", "deepeval", "4.0.9", ">=4.1.4,<5"),
    ("deepeval", "deepeval", "3.9.10", ">=4.1.4,<5"),
    ("deepeval", "deepeval", "5", ">=4.1.4,<5"),
    ("langchain", "langchain-core", "0.2.43", ">=0.3"),
    ("validmind", "validmind", "2.8.22", ">=2.15"),
]


@pytest.mark.parametrize(("module", "name", "version", "supported"), UNSUPPORTED)
def test_an_unsupported_version(
    tmp_path: Path, module: str, name: str, version: str, supported: str
) -> None:
    _distribution(tmp_path, name, version)
    assert _imported(tmp_path, module) == (
        f"noisesense.errors.MissingExtraError: {name} {version} is installed; NoiseSense supports"
        f" {supported}: pip install '{name}{supported}'"
    )


@pytest.mark.parametrize(
    ("extra", "name", "version"),
    [
        ("ragas", "ragas", "0.4.0"),
        ("ragas", "ragas", "0.4.10"),  # ten is more than two
        ("ragas", "ragas", "0.4.4.dev1+g12"),
        ("deepeval", "deepeval", "4.1.4"),
        ("deepeval", "deepeval", "4.10"),
        ("langchain", "langchain-core", "0.3.0rc1"),
        ("validmind", "validmind", "2.15.0"),
    ],
)
def test_a_supported_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str, name: str, version: str
) -> None:
    _distribution(tmp_path, name, version)
    monkeypatch.syspath_prepend(tmp_path)
    with needs_extra(extra, name.replace("-", "_")):
        pass


def test_the_ranges_are_those_of_the_extras() -> None:
    """What the tests above expect is written in pyproject.toml, and nowhere else."""
    for _, name, _, supported in UNSUPPORTED:
        (bounds,) = {
            each.partition(";")[0].removeprefix(name)
            for each in WRITTEN
            if each.startswith(name) and each[len(name)] in "<>=!"
        }
        assert set(bounds.strip().split(",")) == set(supported.split(","))


@pytest.mark.parametrize(
    ("module", "code", "error"),
    [
        ("ragas", "import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("deepeval", "raise OSError('disk')", "OSError: disk"),
        ("deepeval", "from os import nothing", "ImportError: cannot import name 'nothing' from"),
    ],
)
def test_a_broken_framework_keeps_its_own_error(
    tmp_path: Path, module: str, code: str, error: str
) -> None:
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(code, encoding="utf-8")
    _distribution(tmp_path, module, {"ragas": "0.4.3", "deepeval": "4.3.1"}[module])
    assert _imported(tmp_path, module).startswith(error)


def test_a_package_without_metadata_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "validmind.py").write_text("raise OSError('alone')", encoding="utf-8")
    assert _imported(tmp_path, "validmind") == "OSError: alone"
