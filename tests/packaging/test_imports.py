"""Frameworks → noisesense_adapters → noisesense → pydantic and the standard library."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import noisesense

ROOT = Path(__file__).parents[2]
DEPENDENCIES = {"pydantic", "pydantic_core", "typing_extensions", "msgspec"}

# What the adapters may import beside pydantic, the core and each other. One folder is one
# framework's; what is not here may import nothing more.
FRAMEWORKS: dict[str, set[str]] = {
    "cli": {"click", "rich"},
    "datasets": {"pyarrow", "filelock", "charset_normalizer"},
    "deepeval": {"deepeval", "tenacity"},  # DeepEval retries with tenacity
    "extras.py": {"packaging"},  # where a framework has brought it
    "factory.py": {"langchain_core"},  # its type only
    "inspect_ai": {"inspect_ai"},
    "langchain": {"langchain_core"},
    "langfuse": {"langfuse"},
    "mlflow": {"mlflow"},
    "openai": {"openai"},
    "opik": {"opik"},
    "phoenix": {"phoenix"},
    "pydantic_evals": {"pydantic_evals", "pydantic_ai"},
    "ragas": {"ragas", "langchain_core", "instructor"},  # ragas' two kinds of LLM
    "report": {"jinja2", "markupsafe"},
    "table": {"pyarrow", "narwhals"},
    "validmind": {"validmind", "pandas", "plotly"},
}


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every imported module, also inside functions and for type checkers only."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: a relative import"
            yield node.lineno, node.module or ""


def _beyond(folder: Path, allowed: set[str]) -> list[str]:
    allowed = allowed | sys.stdlib_module_names
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    return [
        f"{path.relative_to(ROOT)}, line {line}: {module}"
        for path in paths
        for line, module in _imports(path)
        if module.partition(".")[0] not in allowed
    ]


def test_the_core_imports_pydantic_msgspec_and_the_standard_library() -> None:
    assert _beyond(ROOT / "core", {"noisesense", *DEPENDENCIES}) == []


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted((ROOT / "adapters" / "noisesense_adapters").iterdir())
        if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")
    ],
    ids=lambda path: path.name,
)
def test_an_adapter_imports_only_its_own_framework_and_ours(path: Path) -> None:
    ours = {"noisesense", "noisesense_adapters", *DEPENDENCIES}
    assert _beyond(path, ours | FRAMEWORKS.get(path.name, set())) == []


LIGHT = {"noisesense", "noisesense_adapters", "annotated_types", "typing_extensions"}
LIGHT |= DEPENDENCIES | {"typing_inspection"}

# In a process of its own: what this process has loaded proves nothing.
LOADED = """
import json, sys
before = set(sys.modules)
{code}
print(json.dumps(sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})))
"""


@pytest.mark.parametrize(
    "code",
    [
        "import noisesense",
        "from noisesense import *",
        "from noisesense.fixtures import reference_examples; reference_examples()",
        "import noisesense.stats.compare, noisesense.stats.labels, noisesense.stats.offenders",
        "import noisesense_adapters.promptfoo",
        "import noisesense_adapters.openai",
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    """Not even pydantic by the package or the assertion alone."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(code=code)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout)) - sys.stdlib_module_names
    # The platform's build settings, a part of the standard library under a name of its own.
    heavy = {name for name in loaded - LIGHT if not name.startswith("_sysconfigdata")}
    assert heavy == set()
    if code in ("import noisesense", "import noisesense_adapters.promptfoo"):
        assert "pydantic" not in loaded


@pytest.mark.parametrize("package", ["numpy", "scipy"])
def test_a_comparison_without_numpy_or_scipy_names_the_extra(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    noisy = noisesense.score(noisesense.Verdicts.from_matrices([False], [[True]], [[True]]))
    results = [noisesense.Result(str(i), noisy) for i in range(6)]
    with pytest.raises(noisesense.MissingExtraError, match=rf"{package}.*noisesense\[stats\]"):
        noisesense.compare(results, results)
    assert noisy.relevant == 1.0
