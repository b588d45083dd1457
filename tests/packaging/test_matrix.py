"""The page's tested versions and the declared ranges are what the matrix' record says."""

from __future__ import annotations

import re
import sys

import pytest

from support.matrix import PLANNED, ROOT, VERSIONS_PAGE, Record, cells

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RECORD = Record.read()
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))[
    "project"
]["optional-dependencies"]


def test_the_page_shows_the_versions_that_passed() -> None:
    page = VERSIONS_PAGE.read_text("utf-8")
    for host, versions in cells(RECORD).items():
        if host not in ("Python", "Floors"):
            assert re.search(rf"^\| {host}\b[^|]*\| {re.escape(versions)} \|", page, re.M), host


def test_no_listed_version_failed() -> None:
    failed = [each.title for each in PLANNED if RECORD.of(each)["result"] == "failed"]
    assert failed == []


HOSTS = ["ragas", "deepeval", "mlflow", "langsmith", "langfuse", "pydantic-evals", "validmind"]
HOSTS += ["phoenix", "opik", "inspect-ai"]
PACKAGES = {"langchain": "langchain-core", "phoenix": "arize-phoenix-evals"}


@pytest.mark.parametrize("extra", [*HOSTS, "langchain"])
def test_the_oldest_version_of_a_declared_range_passed(extra: str) -> None:
    package = PACKAGES.get(extra, extra)
    (declared,) = (each for each in EXTRAS[extra] if re.match(rf"{package}\b(?!-)", each))
    oldest = re.search(r">=([\d.]+)", declared)
    planned = [each for each in PLANNED if package in each.shown]
    if [each.label for each in planned] == ["latest"]:
        return
    tested = [each for each in planned if f"{each.label}.".startswith(f"{oldest[1]}.")]
    assert tested, f"{declared} is not planned"
    assert {RECORD.of(each)["result"] for each in tested} == {"passed"}
