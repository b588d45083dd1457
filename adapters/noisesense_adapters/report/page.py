"""The report: figures, plots and samples in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from noisesense import (
    Comparison,
    Offender,
    Offenders,
    Result,
    Tally,
    Trust,
    __version__,
    offenders,
    read_results,
)
from noisesense.ablation import Ablation, Cause
from noisesense.errors import encodable
from noisesense.jsonl import as_path, write_whole
from noisesense.scoring.definitions import DEFINITIONS
from noisesense.scoring.outcomes import extent
from noisesense.scoring.scoring import NO_JUDGE
from noisesense.stats.interval import interval_text
from noisesense_adapters.evaluate.tables import (
    ablation_tables,
    comparison_table,
    sample_table,
    trust_tables,
)
from noisesense_adapters.evaluate.wording import (
    ablation_sentences,
    headline,
    standing,
    trust_sentence,
)
from noisesense_adapters.report.samples import Samples

_DOCUMENTS = 25


def _allowed(text: str) -> str:
    """Return the source of a style or script, as a content security policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


_PAGE = Path(__file__).parent / "page"
_STYLE = (_PAGE / "report.css").read_text("utf-8")
_SCRIPT = (_PAGE / "detail.js").read_text("utf-8") + (_PAGE / "table.js").read_text("utf-8")
_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_PAGE),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# The page may fetch nothing, and only its own style and script are allowed.
_POLICY = (
    f"default-src 'none'; style-src {_allowed(_STYLE)}; script-src {_allowed(_SCRIPT)}; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
_ALWAYS: dict[str, Any] = {
    "version": __version__,
    "style": Markup(_STYLE),
    "script": Markup(_SCRIPT),
    "policy": _POLICY,
    "ablation_sentences": ablation_sentences,
    "ablation_tables": ablation_tables,
    "comparison_table": comparison_table,
    "extent": extent,
    "headline": headline,
    "interval_text": interval_text,
    "sample_table": sample_table,
    "standing": standing,
    "trust_sentence": trust_sentence,
    "trust_tables": trust_tables,
}
_TEMPLATE = _ENVIRONMENT.get_template("report.html", globals=_ALWAYS)
_DATA = "<data-here>"
"""Stands for the samples. Users' texts are escaped, so that none contains it."""


def write_report(
    results: Iterable[Result] | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    saved_as: str = "results.jsonl",
    baseline: Comparison | None = None,
    trust: Sequence[Trust] = (),
    ablation: Ablation | None = None,
) -> Path:
    """Write the report: one HTML file that needs no network.

    Its first screen has both means with their intervals, the worst document with some of its
    claims, and what to do next. Below are warnings, the documents that mislead, the partition,
    and a table of samples, each of which opens to its claims and chunks. The same results give
    the same bytes.

    Args:
        results: results, or the path of a file that `noisesense.read_results` reads. They are
            read once; memory grows with the texts.
        path: the file to write, completely or not at all.
        saved_as: the name of the results' file in the command that the page shows. Not used if
            ``results`` is a path, whose name it then is.
        title: the heading; by default ``Noise sensitivity``, of a path with its file's name.
        baseline: the comparison of an earlier run with this one; see `noisesense.compare`.
        trust: how far to trust the judge or several judges; see `noisesense.trust`.
        ablation: the effect of the chunks; see `noisesense.ablation`.

    Returns:
        The path.

    Raises:
        InputError: results of several definitions, or a report that cannot be written.
        RecordingError: a file that cannot be read.
    """
    if isinstance(results, (str, os.PathLike)):
        saved_as = as_path(results).name
        title = title or f"Noise sensitivity: {saved_as}"
        results = read_results(results)
    tally = Tally()
    samples = Samples()
    judges: dict[str, None] = {}
    ranking = offenders(_collect(results, tally, samples, judges))
    summary = tally.summary()
    warnings = list(summary.warnings)
    if baseline is not None:
        for warning in baseline.warnings:
            warnings.append(f"Of the comparison of A, the earlier run, and B, this one: {warning}")
    causes = () if ablation is None else ablation.causes
    page = _TEMPLATE.render(
        summary=summary,
        definition=summary.definition and DEFINITIONS[summary.definition],
        baseline=baseline,
        trust=trust,
        ablation=ablation,
        title=title or "Noise sensitivity",
        saved_as=quote(saved_as),
        offenders=ranking.documents[:_DOCUMENTS],
        worst=_worst(ranking, causes),
        judges=judges,
        warnings=warnings,
        data=Markup(_DATA),
    )
    before, after = encodable(page).split(_DATA)
    write_whole(as_path(path), [before, *samples.elements(), after])
    return Path(path)


def _collect(
    results: Iterable[Result], tally: Tally, samples: Samples, judges: dict[str, None]
) -> Iterator[Result]:
    """Yield the results, and add each to the tally, the samples and the judges."""
    for result in results:
        tally.add(result)
        samples.add(result)
        if result.judge not in (None, NO_JUDGE):
            judges[result.judge] = None
        yield result


def _worst(ranking: Offenders, causes: Sequence[Cause]) -> Offender | None:
    """Return the document that the first screen names, of those that mislead for certain.

    The one without which most claims vanish by the ablation, else the first by rank.
    """
    certain = {each.document: each for each in ranking.documents if each.claims}
    for cause in causes:
        if cause.is_shown and cause.document in certain:
            return certain[cause.document]
    return next(iter(certain.values()), None)
