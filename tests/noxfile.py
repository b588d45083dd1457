"""The matrix: every supported version of every host, each in an environment of its own.

    pip install 'nox[uv]'
    nox -f tests/noxfile.py                      # all of it, then the table
    nox -f tests/noxfile.py -s ragas-0.4.0       # one version
    nox -f tests/noxfile.py -- -m ''             # with the tests marked as broad
    nox -f tests/noxfile.py -s extras            # each extra by its name, from the built wheel
    nox -f tests/noxfile.py -s table             # only the table, from the record

What passed is recorded in ``matrix.json`` beside this file; a test compares the page with the
tested versions with it. A version that fails stays in the record as failed until it passes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.local_index import environment_with, local_index  # noqa: E402
from support.matrix import PLANNED, Planned, Record, check, table_of  # noqa: E402

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.envdir = str(ROOT / ".nox")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # many processes would each compile everything
nox.options.sessions = [each.name for each in PLANNED] + ["extras", "table"]

TOOLS = (
    "pytest>=8.4",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "jsonschema>=4.20",
    "numpy",
)


def interpreter(version: str) -> str | None:
    """Of a Python that is here: on the path, or one of pyenv's."""
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for path in (which(f"python{version}"), *map(str, kept)):
        # A shim of pyenv's may be on the path for a version that is not.
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def session_of(planned: Planned) -> Callable[[nox.Session], None]:
    python = interpreter(planned.python) if planned.python else sys.executable

    def run(session: nox.Session) -> None:
        session.chdir(ROOT)
        if python is None:
            Record.add(planned, "not found")
            session.skip(f"there is no Python {planned.python} here")
        if planned.npm and not which("npm"):
            Record.add(planned, "not found")
            session.skip("there is no npm here")
        versions: dict[str, str] = {}
        try:
            _install(session, planned)
            versions = _versions(session, planned)
            _test(session, planned)
        except CommandFailed:
            Record.add(planned, "failed", versions)
            raise
        Record.add(planned, "passed", versions)

    run.__doc__ = planned.title
    nox.session(name=planned.name, python=python)(run)
    return run


def _install(session: nox.Session, planned: Planned) -> None:
    extras = f"[{','.join(planned.extras)}]" if planned.extras else ""
    if planned.wheel:
        folder = Path(session.create_tmp())
        session.run("uv", "build", "-q", "--wheel", "--out-dir", str(folder), external=True)
        (wheel,) = folder.glob("*.whl")
        session.install("-q", f"{wheel}{extras}", *TOOLS, *planned.needs)
    elif planned.lowest:
        session.install("-q", "-e", f".{extras}", "--resolution", "lowest-direct")
        session.install("-q", *TOOLS, *planned.needs)
    else:
        session.install("-q", "-e", f".{extras}", *TOOLS, *planned.needs)


def _versions(session: nox.Session, planned: Planned) -> dict[str, str]:
    """What is installed of what the session is about."""
    script = (
        "import sys, platform; from importlib.metadata import version; "
        "print('python', platform.python_version()); "
        "[print(name, version(name)) for name in sys.argv[1:]]"
    )
    printed = session.run("python", "-c", script, *planned.shown, silent=True, log=False)
    return dict(line.split() for line in str(printed).splitlines())


def _test(session: nox.Session, planned: Planned) -> None:
    # Of a wheel, run from elsewhere: what is tested is not the checkout.
    where = session.create_tmp() if planned.wheel else str(ROOT)
    options = ["-q", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    options += ["-p", "no:cacheprovider", "-o", "norecursedirs=node_modules"]
    if planned.wheel:
        options += ["-o", f"pythonpath={ROOT / 'tests'}"]
    if planned.lowest:  # old packages warn of newer ones that they use
        options += ["-W", "ignore::DeprecationWarning"]
    selected = ["-m", "", "-k", planned.only] if planned.only else []
    paths = [str(ROOT / path) for path in planned.tests]
    with session.chdir(where):
        if planned.wheel and "cli" in planned.extras:
            session.run("noisesense", "demo", "--force", silent=True)
        session.run("python", "-m", "pytest", *options, *selected, *paths, *session.posargs)


for _planned in PLANNED:
    session_of(_planned)


# Not for users, and all of them.
_OTHER_EXTRAS = {"test", "real-model", "all"}


@nox.session(venv_backend="none")
def extras(session: nox.Session) -> None:
    """Each extra by its name, from an index with the built wheel, in an empty environment."""
    project = nox.project.load_toml(ROOT / "pyproject.toml")["project"]
    folder = Path(session.create_tmp())
    index = local_index(folder / "index")
    for extra in sorted({*project["optional-dependencies"]} - _OTHER_EXTRAS):
        python = environment_with([f"noisesense[{extra}]"], folder / extra, index)
        room = "cli.app" if extra == "cli" else extra.replace("-", "_")
        session.run(str(python), "-c", f"import noisesense_adapters.{room}", external=True)


@nox.session(venv_backend="none")
def table(session: nox.Session) -> None:
    """Print what passed, and fail if a listed version failed."""
    record = Record.read()
    print(table_of(record))
    problems = check(record)
    if problems:
        session.error("; ".join(problems))
