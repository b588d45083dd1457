"""ValidMind and what comes with it. None of it has types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noisesense_adapters.toolbox.extras import needs_extra

__all__ = ["express", "figure_class", "logger", "pandas", "vm"]

_WHERE = "in an environment of its own: ValidMind holds back what other frameworks need"

with needs_extra("validmind", where=_WHERE):
    vm: Any = import_module("validmind")
    logger: Any = import_module("validmind.logging").get_logger("noisesense")
# ValidMind brings both.
pandas: Any = import_module("pandas")
express: Any = import_module("plotly.express")
figure_class: Any = import_module("plotly.graph_objects").Figure
