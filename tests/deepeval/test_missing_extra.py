"""Without DeepEval the adapter names the extra, and core works."""

from __future__ import annotations

from support.missing import error_without


def test_the_error_names_the_extra() -> None:
    expected = "the package 'deepeval' is not installed. Hint: pip install 'noisesense[deepeval]'"
    assert error_without("deepeval") == expected
