"""Without ValidMind. With it: `nox -f tests/noxfile.py -s validmind-latest`."""

from __future__ import annotations

from support.missing import error_without


def test_the_error_names_the_extra_and_where_to_install_it() -> None:
    problem, _, hint = error_without("validmind").partition(". Hint: ")
    assert problem == "the package 'validmind' is not installed"
    assert hint.startswith("pip install 'noisesense[validmind]' in an environment of its own")
