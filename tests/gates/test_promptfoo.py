"""``promptfoo eval`` with the assertion in both modes: a test that fails, fails the command."""

from __future__ import annotations

import pytest

from gates.runners import Ended, check, promptfoo_runs
from gates.ways import WAYS
from support.made_once import made_once
from support.npm import npm_cache

pytestmark = pytest.mark.broad
OF_THE_LIST_OF_CASES = {"half of the questions gone", "stopped after three"}
"""What a gate of single cases cannot see: that there are fewer of them. They stand in the config,
and Promptfoo shows how many ran."""


@pytest.fixture(scope="module")
def ended(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Ended]:
    return made_once(
        "promptfoo-gates",
        tmp_path_factory,
        lambda: promptfoo_runs(npm_cache(request.config), tmp_path_factory.mktemp("gates")),
    )


def test_the_working_system_passes(ended: dict[str, Ended]) -> None:
    assert ended["working"].passed


@pytest.mark.parametrize("name", [name for name in WAYS if name not in OF_THE_LIST_OF_CASES])
def test_no_broken_system_passes_in_silence(name: str, ended: dict[str, Ended]) -> None:
    check(name, lambda rows, judging: ended[name])
