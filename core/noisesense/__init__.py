"""NoiseSense: how far retrieval noise misleads a RAG system, computed from structured verdicts.

>>> from noisesense import Verdicts, score
>>> verdicts = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
>>> score(verdicts).relevant
0.5
"""

from importlib import import_module
from typing import Any

# A literal: reading it from the installed metadata would cost every import 12 ms.
__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """By public name the module it is in, as ``__init__.pyi`` says."""
    with open(f"{__file__}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib costs 10 ms
        imports = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in imports}


# Each name is loaded when it is first used: a process that scores given verdicts (one Promptfoo
# assertion) then never loads pydantic, which costs more than all the rest of it.
_HOMES = _homes()
_PACKAGES = {".".join(module.split(".")[:2]) for module in _HOMES.values()}
__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if f"{__name__}.{name}" in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
