"""Does any regular expression of core or adapters take more than linear time?

    python tests/benchmarks/patterns.py
    python tests/benchmarks/patterns.py --most 16384 --only judging
    python tests/benchmarks/patterns.py --pattern '\\s+$'

Every call of `re` in the sources is found, and its pattern is built as the module builds it. Texts
that a pattern matches are made from its parts. Each of their beginnings is repeated, and so is
each single character behind what stands before it, up to 64 kB, with ends that fit and that do
not. A pattern is too slow if a text takes it more than 50 ms, and more than six times as long as
a quarter of the text. A pattern that is only used at one place of a text is asked to match there;
all others are looked for everywhere. The status is 1 if one is too slow.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ground import ROOT, show

if sys.version_info >= (3, 11):
    from re import _parser as parser
else:
    import sre_parse as parser

SIZES = (16, 22, 64, 256, 1024, 4096, 16384, 65536)
"""Small ones first: a pattern that doubles its time with each character is found at 22."""
SLOW = 0.05
GROWTH = 6.0
ANCHORED = {"match", "fullmatch"}
IN_DATA = {
    "cause.words": "[cause.words for cause in _CAUSES]",
    r"normal(stem) + '(\\d{1,9})'": r"'context(\\d{1,9})'",
}
"""Patterns that stand in a table: as a call names them, and all of them."""


class Site(NamedTuple):
    """A pattern, where it stands, and how it is used: by `match`, `fullmatch` or `finditer`."""

    where: str
    pattern: re.Pattern[str]
    method: str

    def seconds(self, text: str) -> float:
        """The processor's time for one text."""
        start = time.process_time()
        if self.method in ANCHORED:
            getattr(self.pattern, self.method)(text)
        else:
            deque(self.pattern.finditer(text), maxlen=0)
        return time.process_time() - start


class Fault(NamedTuple):
    """A text that takes too long."""

    where: str
    pattern: str
    text: str
    size: int
    seconds: float
    growth: float


def sites(only: str = "") -> Iterator[Site]:
    """All patterns in the sources whose path holds this."""
    for folder in ("core", "adapters"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if only in str(path):
                yield from sites_of(path, path.relative_to(ROOT / folder))


def sites_of(path: Path, inside: Path) -> Iterator[Site]:
    tree = ast.parse(path.read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if is_call_of_re(node)]
    if not calls:
        return
    module = importlib.import_module(".".join(inside.with_suffix("").parts))
    methods = methods_by_line(tree)
    for call in calls:
        used = methods.get(call.lineno, {call.func.attr})
        method = next(iter(used)) if len(used) == 1 and used <= ANCHORED else "finditer"
        for pattern in patterns_of(call, module):
            yield Site(f"{inside}:{call.lineno}", pattern, method)


def is_call_of_re(node: ast.AST) -> bool:
    """Is it a call such as `re.compile(…)`, but of a pattern, not of a flag?"""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    is_of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
    return is_of_re and node.func.attr not in ("escape", "purge")


def methods_by_line(tree: ast.Module) -> dict[int, set[str]]:
    """How the patterns that have a name are used in their own module, by their first line."""
    used: defaultdict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used[node.value.id].add(node.attr)
    lines: dict[int, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            lines[node.value.lineno] = used[node.targets[0].id]
    return lines


def patterns_of(call: ast.Call, module: ModuleType) -> list[re.Pattern[str]]:
    """The pattern that a call is of, or all of a table."""
    source = ast.unparse(call.args[0])
    given = evaluated(IN_DATA.get(source, source), module)
    flags = re.RegexFlag(0)
    for argument in [*call.args[1:], *(keyword.value for keyword in call.keywords)]:
        if re.fullmatch(r"re\.[A-Z]+(\s*\|\s*re\.[A-Z]+)*", ast.unparse(argument)):
            flags |= evaluated(ast.unparse(argument), module)
    return [re.compile(each, flags) for each in ([given] if isinstance(given, str) else given)]


def evaluated(source: str, module: ModuleType) -> Any:
    return eval(source, vars(module))


def examples(pattern: re.Pattern[str]) -> list[str]:
    """Texts that it matches, or nearly: what stands around a place is not looked at."""
    return [text for text in parts(parser.parse(pattern.pattern, pattern.flags)) if text]


MOST_EXAMPLES = 12


def parts(tree: Iterable[tuple[Any, Any]]) -> list[str]:
    """One text for each way through alternatives, as far as they do not multiply."""
    found = [""]
    for kind, value in tree:
        ways = ways_of(str(kind), value)
        count = max(len(found), len(ways))
        found = [
            found[min(at, len(found) - 1)] + ways[min(at, len(ways) - 1)] for at in range(count)
        ]
    return found[:MOST_EXAMPLES]


def ways_of(kind: str, value: Any) -> list[str]:
    if kind.endswith("_REPEAT"):
        least, _, tree = value
        return [way * max(1, min(least, 20)) for way in parts(tree)]
    if kind == "SUBPATTERN":
        return parts(value[-1])
    if kind == "ATOMIC_GROUP":
        return parts(value)
    if kind == "BRANCH":
        return [way for tree in value[1] for way in parts(tree)]
    if kind == "ASSERT":
        return ["", *parts(value[1])]
    if kind == "IN":
        return characters(value)
    return {
        "LITERAL": lambda: [chr(value)],
        "NOT_LITERAL": lambda: ["a" if value != ord("a") else "b"],
        "ANY": lambda: ["a", " "],
    }.get(kind, lambda: [""])()


PROBES = "a1 .\n-\"'{[(<我"
CATEGORIES = {
    "CATEGORY_DIGIT": "1",
    "CATEGORY_SPACE": " \n",
    "CATEGORY_WORD": "a1",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_SPACE": "a.",
    "CATEGORY_NOT_WORD": ". ",
}


def characters(members: Sequence[tuple[Any, Any]]) -> list[str]:
    """Some characters of a class; of one that says what is not in it, some others."""
    own = ""
    for kind, value in members:
        if str(kind) == "LITERAL":
            own += chr(value)
        elif str(kind) == "RANGE":
            own += chr(value[0])
        elif str(kind) == "CATEGORY":
            own += CATEGORIES[str(value)]
    is_negated = str(members[0][0]) == "NEGATE"
    return [each for each in PROBES if each not in own] if is_negated else list(own[:6])


MOST_BEGINNINGS = 24


def attacks(pattern: re.Pattern[str]) -> set[tuple[str, str, str]]:
    """What stands at the head, what is repeated, and what stands at the end."""
    found: set[tuple[str, str, str]] = set()
    for example in examples(pattern):
        for at in range(1, min(len(example), MOST_BEGINNINGS) + 1):
            before, last = example[: at - 1], example[at - 1]
            for end in ("", "\0", "\n\n\0"):
                found |= {("", example[:at], end), (before, last, end)}
    return found


def fault(site: Site, most: int) -> Fault | None:
    """The first text found that takes the pattern too long."""
    for head, repeated, end in sorted(attacks(site.pattern)):
        for size in SIZES:
            text = head + repeated * (size // len(repeated)) + end
            if size > most:
                break
            seconds = site.seconds(text)
            if seconds <= SLOW:
                continue
            quarter = head + repeated * (size // 4 // len(repeated)) + end
            seconds = min(seconds, site.seconds(text))
            growth = seconds / max(site.seconds(quarter), 1e-9)
            if seconds > SLOW and growth > GROWTH:
                shown = f"{head!r} {repeated!r} * n {end!r}"
                return Fault(site.where, site.pattern.pattern, shown, size, seconds, growth)
            break
    return None


def main() -> int:
    options_parser = argparse.ArgumentParser(
        description="Patterns that take more than linear time."
    )
    options_parser.add_argument("--most", type=int, default=SIZES[-1], help="characters of a text")
    options_parser.add_argument("--only", default="", help="sources whose path holds this")
    options_parser.add_argument("--pattern", help="this one instead, looked for everywhere")
    options = options_parser.parse_args()
    if options.pattern is None:
        given = list(sites(options.only))
    else:
        given = [Site("--pattern", re.compile(options.pattern), "finditer")]
    faults: list[Fault] = []
    for site in given:
        found = fault(site, options.most)
        if found is not None:
            faults.append(found)
    count = sum(len(attacks(site.pattern)) for site in given)
    print(f"{len(given)} patterns, {count:,} texts, {len(faults)} too slow")
    if faults:
        rows = [(f.where, f.text, f.size, f"{f.seconds:.2f}", f"{f.growth:.0f}") for f in faults]
        show(("pattern", "text", "characters", "s", "times a quarter's"), rows)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
