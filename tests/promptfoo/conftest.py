"""Each version of Promptfoo is installed once and runs the suite's one config once."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from support.made_once import made_once
from support.mind import Mind
from support.npm import npm_cache
from support.promptfoo_cli import VERSIONS, Run, evaluate, install
from support.promptfoo_suite import EXAMPLES, write_suite
from support.server import ScriptedServer


def pytest_collection_finish(session: pytest.Session) -> None:
    """The first run's installation, which takes minutes, begins beside the first tests."""
    calls = (item.callspec.params for item in session.items if hasattr(item, "callspec"))
    versions = {params["commands"] for params in calls if "commands" in params}

    def begin() -> None:
        with suppress(BaseException):  # whoever needs it meets the same
            for version in sorted(versions):
                install(version, npm_cache(session.config))

    if versions and not session.config.option.collectonly:
        threading.Thread(target=begin, daemon=True).start()


@pytest.fixture(scope="session", params=VERSIONS)
def commands(request: pytest.FixtureRequest) -> Path:
    """The folder of Promptfoo's commands."""
    return install(request.param, npm_cache(request.config))


@pytest.fixture(scope="session")
def run(
    commands: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Run:
    """The suite's results, the same for all of the run's processes."""

    def make() -> Run:
        folder = tmp_path_factory.mktemp("suite")
        mind = Mind([(example.sample, example.verdicts) for example in EXAMPLES])
        with ScriptedServer(mind) as server:
            env = write_suite(folder, server.base_url)
            evaluation = evaluate(commands, folder, env=env)
        config = (folder / "promptfooconfig.json").read_text("utf-8")
        return Run(evaluation, server.log.requests, config)

    return made_once(f"promptfoo-{commands.parents[1].name}", tmp_path_factory, make)
