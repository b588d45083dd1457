"""The wheel holds the two packages and their data, and nothing of the source tree's layout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pydantic
import pytest

import noisesense

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, the wheel, and under ``again`` the wheel built from the sdist."""
    if find_spec("hatch_fancy_pypi_readme") is None:
        if os.environ.get("CI"):
            pytest.fail("hatch-fancy-pypi-readme is missing")
        pytest.skip("hatchling builds the wheel: pip install hatchling hatch-fancy-pypi-readme")
    folder = tmp_path_factory.mktemp("dist")
    _build(ROOT, folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    _build(source, folder / "again")
    return folder


def _build(source: Path, target: Path) -> None:
    # In this environment, so that no test needs the network.
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _wheel(folder: Path) -> zipfile.ZipFile:
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def _contents(wheel: zipfile.ZipFile) -> dict[str, str]:
    return {name: sha256(wheel.read(name)).hexdigest() for name in wheel.namelist()}


def test_the_wheel_holds_every_source_and_data_file_and_no_other(built: Path) -> None:
    expected = {"noisesense/py.typed", "noisesense_adapters/py.typed"}
    for root in ("core", "adapters"):
        for path in (ROOT / root).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add(path.relative_to(ROOT / root).as_posix())
    for path in (ROOT / "compat_fixtures").iterdir():
        expected.add(f"noisesense/compat_fixtures/{path.name}")
    for name in ("verdicts", "sample", "recording"):
        assert f"noisesense/verdicts/schemas/{name}.v{noisesense.SCHEMA_VERSION}.json" in expected
    with _wheel(built) as wheel:
        info = f"noisesense-{noisesense.__version__}.dist-info/"
        names = {name for name in wheel.namelist() if not name.startswith(info)}
    assert names == expected


def test_the_wheel_from_the_sdist_is_the_same(built: Path) -> None:
    with _wheel(built) as wheel, _wheel(built / "again") as again:
        assert _contents(wheel) == _contents(again)


def test_the_metadata_has_version_python_license_and_two_dependencies(built: Path) -> None:
    metadata = Parser().parsestr(_in_dist_info(built, "METADATA"))
    shown = {"Version": noisesense.__version__, "Requires-Python": ">=3.10"}
    shown["License-Expression"] = "Apache-2.0"
    assert {name: metadata[name] for name in shown} == shown
    required = metadata.get_all("Requires-Dist") or []
    base = [requirement for requirement in required if "extra ==" not in requirement]
    names = [re.split("[<>]", requirement)[0] for requirement in base]
    assert sorted(names) == ["msgspec", "pydantic"]
    assert "ruff" not in str(required)  # developers' tools are nobody's dependency


def test_the_wheel_has_the_command_and_the_license(built: Path) -> None:
    scripts = _in_dist_info(built, "entry_points.txt")
    assert "noisesense = noisesense_adapters.cli:main" in scripts
    assert "Apache License" in _in_dist_info(built, "licenses/LICENSE")


def _in_dist_info(built: Path, file: str) -> str:
    with _wheel(built) as wheel:
        (name,) = [each for each in wheel.namelist() if each.endswith(f".dist-info/{file}")]
        return wheel.read(name).decode()


INSTALLED = """
import sys
from importlib.util import find_spec
sys.path[:0] = sys.argv[1:]
import noisesense, noisesense_adapters.promptfoo
from noisesense.fixtures import fixture_folder, reference_examples
assert noisesense.__file__.startswith(sys.argv[1]), noisesense.__file__
for name in ("core", "adapters", "compat_fixtures", "tests", "support"):
    assert find_spec(name) is None, name
assert fixture_folder().parent.name == "noisesense"
assert len(reference_examples()) == 6
assert sum("deviations" in path.name for path in fixture_folder().iterdir()) == 2
assert (fixture_folder() / "ragchecker_examples.json").exists()
assert noisesense.json_schema()["title"] == "Verdicts"
assert noisesense.score(reference_examples()[0].verdicts).relevant == 0.5
"""


def test_the_installed_wheel_works_without_the_source_tree(built: Path, tmp_path: Path) -> None:
    with _wheel(built) as wheel:
        wheel.extractall(tmp_path / "site")
    # -S: this environment's own paths (an editable install) are not read; pydantic's folder is.
    folders = [str(tmp_path / "site"), str(Path(pydantic.__file__).parents[1])]
    command = [sys.executable, "-I", "-S", "-c", INSTALLED, *folders]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_version_is_in_the_changelog() -> None:
    assert f"## {noisesense.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_page_of_the_package_has_no_link_into_the_source_tree(built: Path) -> None:
    """PyPI shows the README alone: a relative link or picture would lead nowhere."""
    with _wheel(built) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Description-Content-Type"] == "text/markdown"
    page = metadata.get_payload()
    assert isinstance(page, str)
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(links) == len(re.findall(r"\]\(([^)\s]+)\)", readme)) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    pictures = re.findall(r"!\[[^]]*\]\(([^)\s]+)\)", page)
    assert all(link.startswith("https://raw.githubusercontent.com/") for link in pictures)
