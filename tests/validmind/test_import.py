"""Without ValidMind. With it: `nox -f tests/noxfile.py -s validmind-latest`."""

from __future__ import annotations

from pathlib import Path

from support.missing import error_without

ROOT = Path(__file__).parents[2]


def test_the_error_names_the_extra_and_where_to_install_it() -> None:
    problem, _, hint = error_without("validmind").partition(". Hint: ")
    assert problem == "the package 'validmind' is not installed"
    assert hint.startswith("pip install 'noisesense[validmind]' in an environment of its own")


def test_no_other_module_imports_the_test() -> None:
    folder = ROOT / "adapters" / "noisesense_adapters"
    others = [path for path in folder.rglob("*.py") if path.parent.name != "validmind"]
    others += (ROOT / "core").rglob("*.py")
    assert len(others) > 100
    assert [p for p in others if "noisesense_adapters.validmind" in p.read_text("utf-8")] == []
