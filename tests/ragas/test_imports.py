"""What is imported when, and what is said where ragas is not there. In processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r} or name.startswith({name!r} + '.'):
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
sys.meta_path.insert(0, Absent())
"""
IMPORT = """
try:
    import noisesense_adapters.{module}
except ImportError as error:
    print(type(error).__name__, error)
"""


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
        env={"RAGAS_DO_NOT_TRACK": "true", "HOME": "/nonexistent", "PATH": ""},
    )
    return done.stdout.strip()


def test_without_ragas_the_error_names_the_extra() -> None:
    said = _python(BLOCK.format(name="ragas") + IMPORT.format(module="ragas"))
    assert said == (
        "MissingExtraError the package 'ragas' is not installed. "
        "Hint: pip install 'noisesense[ragas]'"
    )


@pytest.mark.broad
def test_with_a_langchain_community_that_ragas_cannot_be_imported_with() -> None:
    """What a plain `pip install ragas` gives today."""
    broken = "langchain_community.chat_models.vertexai"
    said = _python(BLOCK.format(name=broken) + IMPORT.format(module="ragas"))
    assert said.startswith("MissingExtraError the installed package 'langchain_community' has no")
    assert said.endswith("pip install 'noisesense[ragas]'")


def test_the_package_alone_loads_no_ragas() -> None:
    code = (
        "import noisesense, noisesense.judging.sharing, noisesense_adapters\n"
        "print(sorted(set(sys.modules) & {'ragas', 'numpy', 'langchain_core', 'openai'}))"
    )
    assert _python(code) == "[]"


@pytest.mark.broad
def test_the_adapter_alone_does_not_load_the_judge() -> None:
    code = (
        "import noisesense_adapters.ragas\n"
        "print('noisesense.judging.llm' in sys.modules, 'noisesense.judging.store' in sys.modules)"
    )
    assert _python(code) == "False False"
