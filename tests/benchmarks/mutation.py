"""Which small faults in the arithmetic would the tests not notice?

    nice -n 19 python tests/benchmarks/mutation.py [stats.interval scoring.scoring …]
        [--every 5]

A mutant is a module with one small fault: another comparison, operator, number or condition, an
operand or a statement left out, nothing returned. It is killed if a test of the module's area
fails. Prints the share killed for each module and every survivor; the exit status is 1 if a module
is below 95%. Survivors that no test can kill, since they compute the same, stand in
``mutants_survive.toml`` with the reason, and count as explained.

Tests that take more than a second are left out, and property tests always try the same examples:
what is killed is killed every time, in any test run.

Why not a tool: mutmut 3 changes functions only, and the definitions of the metric are a table of a
module; cosmic-ray starts Python and pytest for every mutant, which takes seconds. Here one process
collects the tests of an area, and each mutant is a fork of it, in which the changed functions get
their new code and the tests that reach the changed statement run, first those that killed the
mutants before it, then the quickest. Where the fault
is in what a module computes once, the fork loads everything anew. Needs ``os.fork``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.util
import inspect
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).parents[2]
SURVIVORS = Path(__file__).with_name("mutants_survive.toml")
SCORING = ("tests/scoring", "tests/core/test_fixtures.py")
STATS = ("tests/stats",)
TESTS: dict[str, tuple[str, ...]] = {
    "verdicts.verdicts": ("tests/verdicts", "tests/scoring"),
    **{f"scoring.{name}": SCORING for name in ("definitions", "scoring", "outcomes")},
    **{
        f"stats.{name}": STATS
        for name in (
            "compare", "interval", "labels", "labels_cells", "labels_mean",
            "offenders", "pairing",
            "resampling", "sensitivity",
            "stability", "summarize", "summary",
        )
    },
}  # fmt: skip
AIM = 0.95
_KILLERS = 8
"""How many of the tests that killed a mutant most recently are tried first on the next."""
_NO_TESTS = int(pytest.ExitCode.NO_TESTS_COLLECTED)
SLOW = 1.0
"""Seconds of processor time after which a test is left out."""


class Mutant(NamedTuple):
    lines: range
    name: str
    """Where and what, without the line: ``function: old → new``."""
    code: CodeType
    kept: bool
    """Is the line run once only: when the module is loaded, or in or by a cached function?"""
    loaded: bool
    """Is it run when the module is loaded?"""


# ------------------------------------------------------------------ the faults

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_OPERATOR: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift,
}  # fmt: skip
_OTHER_CALL = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}
_NO_CALL = {"abs", "round", "sorted", "sqrt", "set", "len"}


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node. The node itself is not changed."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in _COMPARE[type(op)]:
                yield ast.Compare(
                    node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators
                )
    elif isinstance(node, ast.BinOp):
        yield ast.BinOp(node.left, _OPERATOR[type(node.op)](), node.right)
        yield node.left
    elif isinstance(node, ast.AugAssign):
        yield ast.AugAssign(node.target, _OPERATOR[type(node.op)](), node.value)
        yield ast.Pass()
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        if len(node.values) > 1:
            for i in range(len(node.values)):
                rest = node.values[:i] + node.values[i + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in _OTHER_CALL:
            func = copy.deepcopy(node.func)
            setattr(func, "id" if isinstance(func, ast.Name) else "attr", _OTHER_CALL[name])
            yield ast.Call(func, node.args, node.keywords)
        elif name in _NO_CALL and node.args:
            yield node.args[0]
    elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(
        node.test, ast.Compare | ast.BoolOp | ast.UnaryOp
    ):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield changed


class _Place(NamedTuple):
    """Where a node is."""

    name: str = ""
    kept: bool = True
    loaded: bool = True
    lines: range = range(0)
    """Of the statement it is in: the first; of the defaults of a function: all of its lines."""


def _cached(tree: ast.AST) -> set[str]:
    """The names of cached functions, and of what they call."""
    functions = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef)
        and any(ast.unparse(one) == "cache" for one in each.decorator_list)
    ]
    calls = (call for each in functions for call in ast.walk(each) if isinstance(call, ast.Call))
    return {each.name for each in functions} | {ast.unparse(call.func) for call in calls}


def _places(
    node: ast.AST, place: _Place, cached: set[str]
) -> Iterator[tuple[ast.AST, str, ast.AST, _Place]]:
    """Every node that may have a fault, with its parent, field and place."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_idle(child, field):
                continue
            inner = place
            if isinstance(child, ast.stmt):
                inner = inner._replace(lines=range(child.lineno, child.lineno + 1))
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = inner._replace(name=f"{place.name}.{child.name}".lstrip("."))
            if isinstance(child, ast.FunctionDef):
                inner = inner._replace(kept=child.name in cached, loaded=False)
            if isinstance(child, ast.arguments) and isinstance(node, ast.FunctionDef):
                inner = inner._replace(lines=range(node.lineno, (node.end_lineno or 0) + 1))
            yield node, field, child, inner
            yield from _places(child, inner, cached)


def _is_idle(node: ast.AST, field: str) -> bool:
    """Does it compute nothing? Types, errors, texts, checks that arguments have equal lengths."""
    return (
        field in ("annotation", "returns", "decorator_list", "bases")
        or isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr)
        or (isinstance(node, ast.keyword) and node.arg == "strict")
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases))
    )


def mutants(source: str, path: str) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(source)
    for parent, field, node, place in list(_places(tree, _Place(), _cached(tree))):
        if place.loaded and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            continue  # a type, as in ``Truth = bool | None``
        for fault in _faults(node):
            old = getattr(parent, field)
            ast.copy_location(fault, node)
            if isinstance(old, list):
                i = next(i for i, each in enumerate(old) if each is node)
                setattr(parent, field, [*old[:i], fault, *old[i + 1 :]])
            else:
                setattr(parent, field, fault)
            ast.fix_missing_locations(tree)
            with contextlib.suppress(SyntaxError):
                code = compile(tree, path, "exec")
                name = f"{place.name or 'module'}: {_short(node)} → {_short(fault)}"
                yield Mutant(place.lines, name, code, place.kept, place.loaded)
            setattr(parent, field, old)


class _Watched(ast.NodeTransformer):
    """Calls ``__reached__(line)`` before each statement of a function."""

    def __init__(self) -> None:
        self._depth = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        self._depth += is_function
        super().generic_visit(node)
        for field, value in ast.iter_fields(node) if self._depth else ():
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                both = [each for stmt in value for each in (_reached(stmt), stmt)]
                setattr(node, field, both)
        self._depth -= is_function
        return node


def _reached(statement: ast.stmt) -> ast.stmt:
    call = ast.parse(f"__reached__({statement.lineno})").body[0]
    return ast.fix_missing_locations(ast.copy_location(call, statement))


def watched(source: str, path: str) -> CodeType:
    return compile(_Watched().visit(ast.parse(source)), path, "exec")


def _short(node: ast.AST) -> str:
    if isinstance(node, ast.If | ast.While):
        return f"if {ast.unparse(node.test)}"
    return " ".join(ast.unparse(node).split())


# ------------------------------------------------------------------ putting a mutant in place


def put(module: ModuleType, code: CodeType) -> None:
    """Give the functions of a module the code they have in the mutant; everybody who has imported
    them has it then."""
    fresh = ModuleType(module.__name__)
    fresh.__file__ = module.__file__
    exec(code, fresh.__dict__)
    _put(vars(module), vars(fresh), code.co_filename)


def _put(old: Any, new: Any, path: str) -> None:
    for name, value in list(old.items()):
        other = new.get(name)
        if inspect.isclass(value) and inspect.isclass(other):
            if value.__module__ == other.__module__ == old.get("__name__", value.__module__):
                _put(vars(value), vars(other), path)
            continue
        for mine, its in zip(_functions(value), _functions(other), strict=False):
            if mine.__code__.co_filename == its.__code__.co_filename == path:
                mine.__code__ = its.__code__
                mine.__defaults__, mine.__kwdefaults__ = its.__defaults__, its.__kwdefaults__


def _functions(value: Any) -> list[FunctionType]:
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    elif isinstance(value, staticmethod | classmethod):
        value = value.__func__
    value = inspect.unwrap(value) if callable(value) else value
    return [value] if isinstance(value, FunctionType) else []


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the mutant in place of the module."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name, self._code = name, code

    def find_spec(self, fullname: str, *_: object) -> Any:
        path = self._code.co_filename
        if fullname == self._name:
            return importlib.util.spec_from_file_location(fullname, path, loader=self)
        return None

    def exec_module(self, module: Any) -> None:
        exec(self._code, module.__dict__)


_OURS = ("noisesense", "support", "test_", "tests", "conftest")


def load_anew(name: str, code: CodeType) -> None:
    """Forget everything of ours, and have the mutant loaded."""
    for each in [each for each in sys.modules if each.startswith(_OURS)]:
        del sys.modules[each]
    sys.meta_path.insert(0, _Finder(name, code))


# ------------------------------------------------------------------ running the tests


def _fork(work: Callable[[], object], *, cpu: float | None = None, quiet: bool = True) -> Any:
    """What it returns in a fork of this process; None if that dies, or takes too long."""
    with tempfile.TemporaryFile() as answer:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            status = 99
            try:
                if quiet:
                    null = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(null, 1)
                    os.dup2(null, 2)
                if cpu is not None:
                    limit = int(time.process_time() + cpu) + 1
                    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                pickle.dump(work(), answer)
                answer.flush()
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        return pickle.load(answer) if status == 0 else None


_Reach = dict[str, tuple[float, dict[str, frozenset[int]]]]
"""By test: its seconds, and by file the lines it reaches."""


class _Measure:
    """Which statements of these modules each test reaches, and how long it takes."""

    def __init__(self, modules: list[str]) -> None:
        self._lines: dict[str, set[int]] = {}
        for short in modules:
            path, module = _path(short), sys.modules[f"noisesense.{short}"]
            reached = self._lines[str(path)] = set()
            vars(module)["__reached__"] = reached.add
            put(module, watched(path.read_text(encoding="utf-8"), str(path)))
        self.found: _Reach = {}
        self.failed: list[str] = []
        self._late = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        for lines in self._lines.values():
            lines.clear()
        self._late = False
        self._start = time.process_time()
        signal.signal(signal.SIGVTALRM, self._too_slow)
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call":
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if report.failed and not self._late:
            self.failed.append(report.nodeid)
        if report.when == "call" and report.passed:
            lines = {path: frozenset(each) for path, each in self._lines.items()}
            self.found[report.nodeid] = (time.process_time() - self._start, lines)

    def _too_slow(self, *_: object) -> None:
        self._late = True
        pytest.skip("takes too long")


class Area:
    """A plugin that collects the tests of an area and, instead of running them, tries mutants."""

    def __init__(self, modules: list[str], explained: dict[str, Any], every: int) -> None:
        self._modules, self._explained, self._every = modules, explained, every
        self._killers: list[str] = []
        """The tests that have killed a mutant, the latest first: likely to kill the next one."""
        self.low = False

    def pytest_configure(self) -> None:
        same = settings(
            settings.get_profile("few"),
            derandomize=True,
            max_examples=30,
            phases=[Phase.explicit, Phase.generate],
        )
        settings.register_profile("mutation", same)
        settings.load_profile("mutation")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._reach: _Reach = _fork(self._measure, quiet=True)
        for short in self._modules:
            self._try(short)
        return True

    def _measure(self) -> _Reach:
        measure = _Measure(self._modules)
        plugins = next(iter(self._items.values())).config.pluginmanager
        plugins.register(measure)
        self._failing(list(self._items), all_of_them=True)
        if measure.failed:
            raise SystemExit(f"tests fail without a fault: {measure.failed}")
        return measure.found

    def _failing(self, names: list[str], *, all_of_them: bool = False) -> list[str]:
        """Those that fail: the first one or, with ``all_of_them``, every one."""
        failed: list[str] = []

        class Watch:
            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed:
                    failed.append(report.nodeid)

        items = [self._items[name] for name in names]
        items[0].config.pluginmanager.register(Watch())
        for i, item in enumerate(items):
            following = items[i + 1] if i + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if failed and not all_of_them:
                break
        return failed

    def _try(self, short: str) -> None:
        start = time.monotonic()
        path = _path(short)
        all_of_them = list(mutants(path.read_text(encoding="utf-8"), str(path)))[:: self._every]
        survivors = [each for each in all_of_them if not self._killed(short, each)]
        reasons = self._explained.get(short, {})
        unknown = [each for each in survivors if each.name not in reasons]
        known = len(survivors) - len(unknown)
        killed, counting = len(all_of_them) - len(survivors), len(all_of_them) - known
        share = killed / counting if counting else 1.0
        self.low |= share < AIM
        print(
            f"{short:27} {len(all_of_them):7} {killed:6} {known:9} {len(unknown):7} {share:7.1%} "
            f"{time.monotonic() - start:8.0f}"
        )
        for each in unknown:
            print(f"    {each.lines.start}: {each.name}")
        sys.stdout.flush()

    def _killed(self, short: str, mutant: Mutant) -> bool:
        path, name = str(_path(short)), f"noisesense.{short}"
        reach = {
            test: seconds
            for test, (seconds, lines) in self._reach.items()
            if mutant.kept or not lines[path].isdisjoint(mutant.lines)
        }
        if not reach:
            return False
        first = [each for each in self._killers if each in reach][:_KILLERS]
        order = list(dict.fromkeys([*first, *sorted(reach, key=reach.__getitem__)]))

        def in_place() -> list[str]:
            put(sys.modules[name], mutant.code)
            return self._failing(order)

        def anew() -> list[str]:
            load_anew(name, mutant.code)
            chosen = _Chosen(order)
            # File by file: the one of the last killers mostly kills, without the others loaded.
            for file in dict.fromkeys(test.partition("::")[0] for test in order):
                if _pytest([str(ROOT / file)], chosen, "-x") not in (0, _NO_TESTS):
                    return [*chosen.failed, ""]
            return []

        work = anew if mutant.loaded else in_place
        failed = _fork(work, cpu=10 + 3 * sum(reach.values()))
        for killer in failed or ():
            self._killers = list(dict.fromkeys([killer, *self._killers]))
        return failed != []


class _Chosen:
    """Runs these tests, in this order."""

    def __init__(self, names: list[str]) -> None:
        self._order = {name: i for i, name in enumerate(names)}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        chosen = [item for item in items if item.nodeid in self._order]
        items[:] = sorted(chosen, key=lambda item: self._order[item.nodeid])


def _pytest(files: list[str], plugin: object, *options: str) -> int:
    fixed = ("-qq", "-s", "--no-summary", "-p", "no:cacheprovider", "--rootdir", str(ROOT))
    return int(pytest.main([*fixed, *options, *files], plugins=[plugin]))


def _path(short: str) -> Path:
    return ROOT / "core" / "noisesense" / f"{short.replace('.', '/')}.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="module", help="e.g. stats.interval")
    parser.add_argument("--every", type=int, default=1, help="only every n-th mutant")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.dont_write_bytecode = True
    explained = tomllib.loads(SURVIVORS.read_text(encoding="utf-8")) if SURVIVORS.exists() else {}
    areas: dict[tuple[str, ...], list[str]] = {}
    for short in options.modules or TESTS:
        areas.setdefault(TESTS[short], []).append(short)
    low = False
    print(f"{'module':27} mutants killed explained survive  killed  seconds")
    for files, modules in areas.items():
        area = Area(modules, explained, options.every)

        def work(area: Area = area, files: tuple[str, ...] = files) -> tuple[int, bool]:
            return _pytest([str(ROOT / each) for each in files], area), area.low

        found = _fork(work, quiet=False)
        if found is None or found[0] != 0:
            raise SystemExit(f"{', '.join(files)}: the tests do not run")
        low |= found[1]
    raise SystemExit(int(low))


if __name__ == "__main__":
    main()
