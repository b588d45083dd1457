"""What ``noisesense promptfoo-check`` finds in a config before anything is paid for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from noisesense.errors import InputError, JudgeError, NoiseSenseError
from noisesense_adapters.promptfoo.llm import check_judge_settings
from noisesense_adapters.promptfoo.metric import read_config, read_settings
from noisesense_adapters.promptfoo.sample import CHUNKS, Inputs
from noisesense_adapters.toolbox.documents import as_list, as_object
from noisesense_adapters.toolbox.extras import needs_extra

_OURS = "noisesense_adapters.promptfoo"


class Checked(NamedTuple):
    """What is wrong with a config, and what it would cost."""

    problems: list[str]
    assertions: int
    """Of ours, over all tests, prompts and providers."""
    calls: int
    """Of a model, at most, re-asks aside; those with verdicts need none."""
    is_most: bool
    """False where the number of chunks is known only when the provider has answered."""


def check_config(path: str | os.PathLike[str]) -> Checked:
    """Check the assertions of ours in a Promptfoo config of YAML or JSON.

    Raises:
        InputError: the file cannot be read, is neither, or has no assertion of ours.
        MissingExtraError: PyYAML is not installed, and the config is YAML.
    """
    path = Path(path)
    config = _read(path)
    tests = as_list(config.get("tests"))
    if not tests:
        got = type(config.get("tests")).__name__
        raise InputError("a list of tests", got, where=f"{path}, tests")
    times = _count(config.get("prompts")) * _count(config.get("providers"))
    problems: list[str] = []
    assertions = calls = 0
    is_most = True
    for number, test in enumerate(tests):
        context = _merged(as_object(config.get("defaultTest")), as_object(test))
        name = context["description"] or f"test {number}"
        ours = [each for each in context["assert"] if _is_ours(each, path.parent)]
        found = [problem for each in ours for problem in _problems(each, context, path.parent)]
        problems += [f"{name}: {problem}" for problem in dict.fromkeys(found)]
        assertions += times * len(ours)
        for each in ours:
            needed = _calls(as_object(each.get("config")), context)
            calls += times * (needed or 0)
            is_most = is_most and needed is not None
    if not assertions:
        hint = f"an assertion of type python whose file imports {_OURS}"
        raise InputError("an assertion of ours", "none", where=str(path), hint=hint)
    return Checked(problems, assertions, calls, is_most)


def _read(path: Path) -> dict[str, Any]:
    where = str(path)
    try:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".json":
            return as_object(json.loads(text))
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or type(error).__name__
        raise InputError("a readable config", str(got), where=where) from None
    with needs_extra("cli", "yaml"):
        yaml: Any = import_module("yaml")
    try:
        return as_object(yaml.safe_load(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        got = f"an error at line {mark.line + 1}" if mark else "an error"
        raise InputError("YAML", got, where=where) from None


def _count(value: object) -> int:
    return len(cast("list[object]", value)) if isinstance(value, list) else 1


def _merged(default: dict[str, Any], test: dict[str, Any]) -> dict[str, Any]:
    """The test as Promptfoo sees it."""
    return {
        "description": test.get("description"),
        "vars": {**as_object(default.get("vars")), **as_object(test.get("vars"))},
        "options": {**as_object(default.get("options")), **as_object(test.get("options"))},
        "assert": [*_assertions(test.get("assert")), *_assertions(default.get("assert"))],
    }


def _assertions(value: Any) -> Iterator[dict[str, Any]]:
    for each in as_list(value):
        yield as_object(each)
        yield from _assertions(as_object(each).get("assert"))


def _is_ours(assertion: dict[str, Any], folder: Path) -> bool:
    value = assertion.get("value")
    if assertion.get("type") not in ("python", "not-python") or not isinstance(value, str):
        return False
    if not value.startswith("file://"):
        return _OURS in value
    try:
        script = folder / value.removeprefix("file://").rpartition(".py")[0]
        return _OURS in script.with_suffix(".py").read_text("utf-8")
    except (OSError, ValueError):
        return False


def _problems(assertion: dict[str, Any], test: dict[str, Any], folder: Path) -> Iterator[str]:
    for name in CHUNKS:
        value: Any = test["vars"].get(name)
        texts = any(isinstance(item, str) for item in as_list(value))
        if texts and not test["options"].get("disableVarExpansion"):
            yield (
                f"vars.{name} is a list of texts, of which Promptfoo makes a test each: write the"
                " chunks as `- text: …`, or set options.disableVarExpansion"
            )
    try:
        config = read_config({"config": assertion.get("config")})
        read_settings(config)
        inputs = Inputs("-", {"vars": test["vars"]}, config)
        given = inputs.verdicts
        if given is None:
            context = {"test": {"options": test["options"]}}
            check_judge_settings(config, context)
        elif isinstance(given[1], str) and not _exists(given[1], folder):
            yield f"{given[0]}: expected a readable file, got No such file: {given[1]}"
        _ = inputs.sample
    except (InputError, JudgeError) as error:
        if not _may_come_from_the_provider(error, config=as_object(assertion.get("config"))):
            yield str(error)
    except NoiseSenseError as error:
        yield str(error)


def _exists(name: str, folder: Path) -> bool:
    path = name.removeprefix("file://")
    return name.lstrip().startswith("{") or any((f / path).exists() for f in (folder, Path.cwd()))


def _may_come_from_the_provider(error: NoiseSenseError, config: dict[str, Any]) -> bool:
    """A path into the output leads nowhere before there is one."""
    return getattr(error, "where", "") == "config.contextPath" and isinstance(
        config.get("contextPath"), str
    )


def _calls(config: dict[str, Any], test: dict[str, Any]) -> int | None:
    """C + 3 at most for C chunks; None if C is not known, 0 with verdicts."""
    try:
        inputs = Inputs("-", {"vars": test["vars"]}, config)
        if inputs.verdicts is not None:
            return 0
        contexts = inputs.contexts
    except NoiseSenseError:
        return None
    return None if contexts is None else len(contexts) + 3
