"""The reference examples in every installed framework, side by side."""

from noisesense_adapters.demo.compare import (
    Place,
    Report,
    Row,
    as_documented,
    as_printed,
    notes,
    to_dict,
    verdict,
)
from noisesense_adapters.demo.run import FRAMEWORKS, run_demo

__all__ = [
    "FRAMEWORKS",
    "Place",
    "Report",
    "Row",
    "as_documented",
    "as_printed",
    "notes",
    "run_demo",
    "to_dict",
    "verdict",
]
