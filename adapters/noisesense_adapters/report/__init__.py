"""The report of a run: one HTML file that needs nothing else.

>>> from noisesense_adapters.report import write_report  # doctest: +SKIP
>>> write_report("results.jsonl", "report.html")  # doctest: +SKIP
PosixPath('report.html')
"""

from __future__ import annotations

from noisesense_adapters.extras import needs_extra

with needs_extra("report", "jinja2"):
    from noisesense_adapters.report.page import write_report

__all__ = ["write_report"]
