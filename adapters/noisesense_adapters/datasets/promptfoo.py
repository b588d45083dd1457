"""Promptfoo's results: which system answered, what a result is called, what ran several times."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from noisesense.errors import InputError
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.toolbox.given import as_object, named

_KEYS = {"testCase", "testIdx", "promptIdx", "vars"}


class _System(NamedTuple):
    """What answered: a provider with one of its prompts, by Promptfoo's number."""

    provider: str
    prompt: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _System:
        provider = as_object(row.get("provider"))
        name = provider.get("label") or provider.get("id") or "provider"
        return cls(str(name), str(row["promptIdx"]))


def is_result(row: object) -> bool:
    """Is it one of Promptfoo's results?"""
    return as_object(row).keys() >= _KEYS


def result_name(row: Mapping[str, Any]) -> str:
    """The same for the same test, prompt and provider in every run, also where it failed."""
    provider, prompt = _System.of(row)
    return f"test {row['testIdx']}, prompt {prompt}, {provider}"


def of_one_system(rows: Iterable[Raw], provider: str | None) -> list[Raw]:
    """The results of one provider and prompt: several have no mean in common.

    Where a test ran several times (``--repeat``), each has a ``cluster``, its test: answers to
    one question are not independent.

    Args:
        rows: all in a file.
        provider: which; None if there is only one. A provider with several prompts is named with
            the number of one: ``"A, prompt 1"``.

    Raises:
        InputError: no such provider, or several and none chosen.
    """
    every = list(rows)
    results = [raw for raw in every if is_result(raw.data)]
    names = _names(dict.fromkeys(_System.of(raw.data) for raw in results))
    known = named(names.values())
    if provider is None and len(names) > 1:
        hint = "choose one: --provider NAME, in Python provider=…; compare takes what --out wrote"
        raise InputError("results of one provider and prompt", known, where="provider", hint=hint)
    if provider is not None and provider not in names.values():
        raise InputError(f"one of {known}", repr(provider), where="provider")
    kept = [raw for raw in results if provider in (None, names[_System.of(raw.data)])]
    tests = [_test(raw.data) for raw in kept]
    if max(Counter(tests).values(), default=0) > 1:
        kept = [Raw(place, {**data, "cluster": _test(data)}) for place, data in kept]
    others = [raw for raw in every if not is_result(raw.data)]
    return [*kept, *others]


def _test(row: Mapping[str, Any]) -> str:
    """The same for each repetition, which has a number of its own."""
    given = json.dumps(row["vars"], sort_keys=True)
    return f"test {hashlib.sha256(given.encode()).hexdigest()[:12]}"


def _names(systems: Iterable[_System]) -> dict[_System, str]:
    """The provider's name, with the number of its prompt if it has several."""
    systems = list(systems)
    prompts = Counter(each.provider for each in systems)
    names: dict[_System, str] = {}
    for each in systems:
        suffix = f", prompt {each.prompt}" if prompts[each.provider] > 1 else ""
        names[each] = f"{each.provider}{suffix}"
    return names
