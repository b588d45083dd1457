"""Which small faults in the arithmetic would the tests not notice?

    nice -n 19 python tests/benchmarks/mutation.py [stats.interval scoring.scoring …]
        [--every 5]

A mutant is a module with one small fault: another comparison, operator, number or condition, an
operand or a statement left out, nothing returned. It is killed if a test of the module's area
fails. Prints the share killed for each module and every survivor; the exit status is 1 if a module
is below 95%. Survivors that no test can kill, since they compute the same, stand in
``mutants_survive.toml`` with the reason, and count as explained.

Slow tests are left out, and property tests always try the same examples: what is killed is killed
every time, in any test run.

Why not a tool: mutmut 3 changes functions only, and the definitions of the metric are a table of a
module; cosmic-ray starts Python and pytest for every mutant, which takes seconds. Here each mutant
is a fork of one process in which everything but our own code is loaded. It runs the tests that
call the changed function, first those that killed the mutants before it, then the quickest. Needs
``os.fork``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType
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
AREAS: dict[tuple[str, ...], list[str]] = {
    ("tests/verdicts", "tests/scoring"): ["verdicts.verdicts"],
    SCORING: [f"scoring.{name}" for name in ("definitions", "scoring", "outcomes")],
    ("tests/stats",): [
        f"stats.{path.stem}"
        for path in sorted((ROOT / "core/noisesense/stats").glob("*.py"))
        if path.stem != "__init__"
    ],
}
AIM = 0.95
SLOW = 1.5
"""Seconds of processor time from which on a test is left out."""


class Mutant(NamedTuple):
    line: int
    head: range
    """The lines of the head of its function; none if it is run when the module is loaded."""
    name: str
    """Where and what, without the line: ``function: old → new``."""
    code: CodeType


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
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor",
}  # fmt: skip
_NO_CALL = {"abs", "round", "sorted", "sqrt", "set", "len"}


def _other_comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for i, op in enumerate(node.ops):
        for other in _COMPARE[type(op)]:
            ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)


def _other_operators(node: ast.BinOp) -> Iterator[ast.AST]:
    yield ast.BinOp(node.left, _OPERATOR[type(node.op)](), node.right)
    yield node.left


def _other_sums(node: ast.AugAssign) -> Iterator[ast.AST]:
    yield ast.AugAssign(node.target, _OPERATOR[type(node.op)](), node.value)
    yield ast.Pass()


def _other_conditions(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    for i in range(len(node.values)):
        rest = node.values[:i] + node.values[i + 1 :]
        yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _without_sign(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _other_constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name in _OTHER_CALL:
        func = copy.deepcopy(node.func)
        setattr(func, "id" if isinstance(func, ast.Name) else "attr", _OTHER_CALL[name])
        yield ast.Call(func, node.args, node.keywords)
    elif name in _NO_CALL and node.args:
        yield node.args[0]


def _no_return(node: ast.Return) -> Iterator[ast.AST]:
    if node.value and ast.unparse(node.value) != "None":
        yield ast.Return(ast.Constant(None))


def _no_statement(node: ast.Expr) -> Iterator[ast.AST]:
    if isinstance(node.value, ast.Call):
        yield ast.Pass()


def _other_branch(node: Any) -> Iterator[ast.AST]:
    """Comparisons and the like in the test have faults of their own."""
    if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield changed


_FAULTS: dict[type[ast.AST], Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _other_comparisons,
    ast.BinOp: _other_operators,
    ast.AugAssign: _other_sums,
    ast.BoolOp: _other_conditions,
    ast.UnaryOp: _without_sign,
    ast.Constant: _other_constants,
    ast.Call: _other_calls,
    ast.Return: _no_return,
    ast.Expr: _no_statement,
    ast.If: _other_branch,
    ast.IfExp: _other_branch,
    ast.While: _other_branch,
}


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node. The node itself is not changed."""
    if type(node) in _FAULTS:
        yield from _FAULTS[type(node)](node)


Place = tuple[ast.AST, str, ast.AST, str, range]
"""A node that may have a fault: its parent, the parent's field, itself, its function, `head`."""


def _places(node: ast.AST, name: str = "", head: range = range(0)) -> Iterator[Place]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_idle(child, field):
                continue
            inner = name
            within = head
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef):
                first = min(each.lineno for each in [child, *child.decorator_list])
                within = range(first, child.body[0].lineno)
            yield node, field, child, inner, within
            yield from _places(child, inner, within)


def _is_idle(node: ast.AST, field: str) -> bool:
    """Does it compute nothing? Types, errors, texts, checks that arguments have equal lengths."""
    return (
        field in ("annotation", "returns", "decorator_list", "bases")
        or isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr)
        or (isinstance(node, ast.keyword) and node.arg == "strict")
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases))
    )


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    for parent, field, node, name, head in list(_places(tree)):
        if not name and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            continue  # a type, as in ``Truth = bool | None``
        for fault in _faults(node):
            old = getattr(parent, field)
            ast.copy_location(fault, node)
            is_list = isinstance(old, list)
            new = [fault if each is node else each for each in old] if is_list else fault
            setattr(parent, field, new)
            ast.fix_missing_locations(tree)
            with contextlib.suppress(SyntaxError):
                code = compile(tree, str(path), "exec")
                what = f"{name or 'module'}: {_short(node)} → {_short(fault)}"
                yield Mutant(getattr(node, "lineno", 0), head, what, code)
            setattr(parent, field, old)


def _short(node: ast.AST) -> str:
    if isinstance(node, ast.If | ast.While):
        return f"if {ast.unparse(node.test)}"
    return " ".join(ast.unparse(node).split())


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the mutant in place of the module."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name = name
        self._code = code

    def find_spec(self, fullname: str, *_: object) -> Any:
        if fullname != self._name:
            return None
        path = self._code.co_filename
        return importlib.util.spec_from_file_location(fullname, path, loader=self)

    def exec_module(self, module: Any) -> None:
        exec(self._code, module.__dict__)


# ------------------------------------------------------------------ running the tests


def forked(work: Callable[[], Any], cpu: float = 3600) -> Any:
    """What it returns in a fork of this process; None if that dies, or takes too long."""
    with tempfile.TemporaryFile() as answer:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            status = 99
            try:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.dup2(null, 2)
                limit = int(time.process_time() + cpu) + 1
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                pickle.dump(work(), answer)
                answer.flush()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        return pickle.load(answer) if status == 0 else None


class Chosen:
    """A plugin that runs these tests in this order, or all, with the same examples each time."""

    def __init__(self, order: list[str] | None = None) -> None:
        self._order = order
        self.failed: list[str] = []

    def pytest_configure(self) -> None:
        phases = [Phase.explicit, Phase.generate]
        few = settings.get_profile("few")
        same = settings(few, derandomize=True, max_examples=30, phases=phases)
        settings.register_profile("mutation", same)
        settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self._order is not None:
            known = {item.nodeid: item for item in items}
            items[:] = [known[name] for name in self._order if name in known]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def run(self, *files: str) -> list[str]:
        """Those that fail: the first, or all where all are run."""
        options = ["-qq", "-s", "--no-summary", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
        status = pytest.main([*options, *(["-x"] if self._order else []), *files], plugins=[self])
        if status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            return self.failed or ["collecting"]
        return []


class Reach(NamedTuple):
    """Of the tests of an area, without a fault."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], set[str]]
    """By file and first line of a function; "" if it runs while tests are collected or set up."""
    failed: list[str]
    imported: list[str]


class Measure(Chosen):
    """Notes the functions of the core that each test calls, and how long it takes."""

    def __init__(self) -> None:
        super().__init__()
        self._test = ""
        self._late: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._tests: dict[tuple[str, int], set[str]] = defaultdict(set)

    def _note_call(self, frame: Any, *_: object) -> None:
        code = frame.f_code
        if "/core/noisesense/" in code.co_filename:
            self._tests[code.co_filename, code.co_firstlineno].add(self._test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        for module in [each for each in sys.modules if each.startswith("noisesense.")]:
            for value in vars(sys.modules[module]).values():
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()  # else what it computes is reached by the first test alone
        sys.settrace(self._note_call)  # a skip that is raised within it has ended it
        self._test, start = item.nodeid, time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
        try:
            yield
            self._seconds[item.nodeid] = time.process_time() - start
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self._test = ""

    def _too_slow(self, *_: object) -> None:
        self._late.add(self._test)
        pytest.skip("takes too long")

    def reach(self, *files: str) -> Reach:
        signal.signal(signal.SIGVTALRM, self._too_slow)
        sys.settrace(self._note_call)
        failed = [each for each in self.run(*files) if each not in self._late]
        sys.settrace(None)
        ours = ("noisesense", "support", "test_", "tests", "conftest", "pytest", "_pytest", "__")
        imported = [name for name in sys.modules if not name.startswith(ours)]
        return Reach(self._seconds, dict(self._tests), failed, imported)


def failing(module: str, code: CodeType, order: list[str]) -> list[str]:
    """The tests that fail, up to the first, with the module's code changed."""
    sys.meta_path.insert(0, Finder(f"noisesense.{module}", code))
    # File by file: the one of the last killers mostly kills, without the others loaded.
    files = dict.fromkeys(test.partition("::")[0] for test in order)
    return next((failed for file in files if (failed := Chosen(order).run(file))), [])


def tried(module: str, reach: Reach, every: int, killers: list[str]) -> tuple[int, list[Mutant]]:
    """How many mutants of a module there are, and the survivors."""
    path = ROOT / "core" / "noisesense" / f"{module.replace('.', '/')}.py"
    sound = Mutant(0, range(0), "", compile(path.read_bytes(), str(path), "exec"))
    all_of_them = [sound, *list(mutants(path))[::every]]
    survivors: list[Mutant] = []
    for mutant in all_of_them:
        tests = set[str]().union(*(reach.tests.get((str(path), n), ()) for n in mutant.head))
        near = reach.seconds.keys() & tests
        if not mutant.head or "" in tests:
            near = reach.seconds.keys()
        quickest = sorted(near, key=reach.seconds.__getitem__)
        order = [*(each for each in killers if each in near), *quickest]
        limit = 20 + 3 * sum(reach.seconds[test] for test in near)
        work = partial(failing, module, mutant.code, list(dict.fromkeys(order)))
        failed = forked(work, limit) if near else []
        if failed == []:
            survivors.append(mutant)
        elif failed:
            killers[:] = list(dict.fromkeys([failed[0], *killers]))[:8]
    assert survivors[:1] == [sound], f"tests fail without a fault: {failed}"
    return len(all_of_them) - 1, survivors[1:]


class Area:
    """Modules and the tests that reach them."""

    def __init__(self, files: tuple[str, ...], every: int) -> None:
        self.every = every
        self.killers: list[str] = []
        reach: Reach | None = forked(lambda: Measure().reach(*files))
        if reach is None or reach.failed:
            raise SystemExit(f"tests fail without a fault: {reach and reach.failed}")
        self.reach = reach
        for name in reach.imported:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        assert not any(name.startswith("noisesense") for name in sys.modules)

    def share_killed(self, module: str, explained: dict[str, str]) -> float:
        """Of the mutants that change something. Prints the figures and who survived."""
        start = time.monotonic()
        count, survivors = tried(module, self.reach, self.every, self.killers)
        unknown = [each for each in survivors if each.name not in explained]
        known = len(survivors) - len(unknown)
        share = 1 - len(unknown) / max(1, count - known)
        killed = count - len(survivors)
        figures = f"{count:7} {killed:6} {known:9} {len(unknown):7} {share:7.1%}"
        print(f"{module:27} {figures} {time.monotonic() - start:8.0f}")
        for each in unknown:
            print(f"    {each.line}: {each.name}")
        if self.every == 1:
            for stale in {*explained} - {each.name for each in survivors}:
                print(f"    explained, but does not survive: {stale}")
        return share


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="module", help="e.g. stats.interval")
    parser.add_argument("--every", type=int, default=1, help="only every n-th mutant")
    options = parser.parse_args()
    os.chdir(ROOT)
    del sys.path[0]  # this folder, in which coverage.py would hide a package
    explained: dict[str, Any] = tomllib.loads(SURVIVORS.read_text("utf-8"))
    lowest = 1.0
    print(f"{'module':27} mutants killed explained survive  killed  seconds")
    for files, all_of_them in AREAS.items():
        modules = [each for each in all_of_them if each in (options.modules or all_of_them)]
        if not modules:
            continue
        area = Area(files, options.every)
        for module in modules:
            lowest = min(lowest, area.share_killed(module, explained.get(module, {})))
    return int(lowest < AIM)


if __name__ == "__main__":
    sys.exit(main())
