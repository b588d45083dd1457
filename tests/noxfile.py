"""The matrix of every host's supported versions, each in its own environment, and the release.

    pip install 'nox[uv]'
    nox -f tests/noxfile.py                      # the whole matrix, then its table
    nox -f tests/noxfile.py -s ragas-0.4.0       # one version
    nox -f tests/noxfile.py -s changed           # oldest and newest host of each changed adapter
    nox -f tests/noxfile.py -- -m ''             # with the tests marked as broad
    nox -f tests/noxfile.py -s table             # only the table, from the record
    nox -f tests/noxfile.py -s release -- NAME   # what is published by NAME, in dist/

What passed is recorded in ``matrix.json`` beside this file; a test compares the page with the
tested versions with it. A version that fails stays in the record as failed until it passes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.matrix import PLANNED, Planned, Record, changed_hosts, check, table_of  # noqa: E402

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.envdir = str(ROOT / ".nox")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # many processes would each compile everything
nox.options.sessions = [each.name for each in PLANNED] + ["table"]

TOOLS = (
    "pytest>=8.4",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "jsonschema>=4.20",
    "numpy",
)


def interpreter(version: str) -> str | None:
    """Find a Python that is here: on the path, or one of pyenv's."""
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for path in (shutil.which(f"python{version}"), *map(str, kept)):
        # A shim of pyenv's may be on the path for a version that is not.
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def run_readme(session: nox.Session) -> None:
    """Run the README's first command of ours, in the session's environment and a new folder."""
    readme = (ROOT / "README.md").read_text("utf-8")
    command = re.search(r"^noisesense demo.*", readme, re.MULTILINE)
    assert command is not None
    folder = Path(session.create_tmp(), "readme")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with session.chdir(folder):
        session.run("bash", "-ec", command[0], external=True, silent=True)


def session_of(planned: Planned) -> Callable[[nox.Session], None]:
    python = interpreter(planned.python) if planned.python else sys.executable

    def run(session: nox.Session) -> None:
        session.chdir(ROOT)
        if python is None:
            Record.add(planned, "not found")
            session.skip(f"there is no Python {planned.python} here")
        if planned.npm and not shutil.which("npm"):
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
    """Ask for the versions of what the session is about."""
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
    if planned.python:
        run_readme(session)
    with session.chdir(where):
        session.run("python", "-m", "pytest", *options, *selected, *paths, *session.posargs)


for _planned in PLANNED:
    session_of(_planned)


@nox.session(venv_backend="none")
def changed(session: nox.Session) -> None:
    """Run the oldest and the newest version of each host whose adapter changed since it passed."""
    for planned in changed_hosts(Record.read()):
        session.notify(planned.name)


@nox.session(venv_backend="none")
def table(session: nox.Session) -> None:
    """Print what passed, and fail if a listed version failed."""
    record = Record.read()
    print(table_of(record))
    problems = check(record)
    if problems:
        session.error("; ".join(problems))


DIST = ROOT / "dist"


@nox.session
def release(session: nox.Session) -> None:
    """Build the last commit for an owner, who is named behind ``--``, check it, and try it."""
    owner = "".join(session.posargs)
    if owner == "OWNER" or not re.fullmatch(r"[A-Za-z0-9-]+", owner):
        session.error("Who owns the repository? nox -f tests/noxfile.py -s release -- NAME")
    source = Path(session.create_tmp(), "source")
    archive = source.with_suffix(".tar")
    for folder in (source, DIST):
        shutil.rmtree(folder, ignore_errors=True)
    session.run("git", "-C", str(ROOT), "archive", "-o", str(archive), "HEAD", external=True)
    shutil.unpack_archive(archive, source)
    project = source / "pyproject.toml"
    named = project.read_text("utf-8").replace("OWNER/noisesense", f"{owner}/noisesense")
    project.write_text(named, "utf-8")
    session.run("uv", "build", "-q", "-o", str(DIST), str(source), external=True)
    session.install("-q", "twine")
    session.run("twine", "check", "--strict", *map(str, built_files("*")))
    for following in ("built-wheel", "built-sdist", "licenses"):
        session.notify(following)


def built_files(pattern: str) -> list[Path]:
    """List what `release` built."""
    return sorted(DIST.glob(f"noisesense-{pattern}"))


def try_built(session: nox.Session, pattern: str) -> None:
    """Install a built file in an empty environment, and run the README's commands there."""
    (file,) = built_files(pattern)
    session.install("-q", f"{file}[cli,report,openai]")
    script = "from importlib.metadata import metadata; print(metadata('noisesense').as_string())"
    if "OWNER" in str(session.run("python", "-c", script, silent=True)):
        session.error("The metadata names OWNER.")
    run_readme(session)


@nox.session(name="built-wheel")
def built_wheel(session: nox.Session) -> None:
    """Try the wheel."""
    try_built(session, "*.whl")


@nox.session(name="built-sdist")
def built_sdist(session: nox.Session) -> None:
    """Try the sdist."""
    try_built(session, "*.tar.gz")


@nox.session
def licenses(session: nox.Session) -> None:
    """List the licenses of what ``noisesense[all]`` installs."""
    (wheel,) = built_files("*.whl")
    session.install("-q", f"{wheel}[all]")
    session.run("uvx", "-q", "pip-licenses", f"--python={session.bin}/python", "--order=license")
