"""The report of a run: one HTML file that needs nothing else, and its plots for papers.

>>> from noisesense_adapters.report import write_png, write_report  # doctest: +SKIP
>>> write_report("results.jsonl", "report.html")  # doctest: +SKIP
PosixPath('report.html')
"""

from __future__ import annotations

from noisesense_adapters.extras import needs_extra

with needs_extra("report", "matplotlib", "jinja2"):
    from noisesense_adapters.report.page import write_report
    from noisesense_adapters.report.plots import write_png

__all__ = ["write_png", "write_report"]
