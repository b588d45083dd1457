"""The report: figures, plots and samples in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from noisesense import Comparison, Result, Tally, __version__, compare, offenders, read_results
from noisesense.ablation import Ablation
from noisesense.errors import encodable
from noisesense.jsonl import as_path, write_whole
from noisesense.scoring.definitions import DEFINITIONS, MODES
from noisesense.scoring.outcomes import extent
from noisesense.stats.offenders import culprit
from noisesense.stats.summary import headline
from noisesense_adapters.report.growth import growth_svg
from noisesense_adapters.report.plots import plots
from noisesense_adapters.report.samples import (
    KINDS,
    MODE_WORDS,
    NO_VALUES,
    Samples,
    left_out,
    since,
)
from noisesense_adapters.toolbox.judges import untested

Results = Iterable[Result] | str | os.PathLike[str]

_DOCUMENTS, _CLAIMS_EACH = 25, 20


def opened(results: Results) -> Iterable[Result]:
    """The results; a file is read one result at a time."""
    return read_results(results) if isinstance(results, (str, os.PathLike)) else results


def source_name(results: Results) -> str:
    """The name of the file that the results come from, if there is one."""
    return as_path(results).name if isinstance(results, (str, os.PathLike)) else ""


_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("detail.js", "table.js")
_DATA = ("rows", "details", "chunks")


@cache
def _template() -> Template:
    """Compiled once: it takes as long as a small report's plots."""
    environment = Environment(
        loader=FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")


def write_report(
    results: Results,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    confidence: float = 0.95,
    baseline: Results | Comparison | None = None,
    trust: Sequence[str] = (),
    ablation: Ablation | None = None,
) -> Path:
    """Write the report: one HTML file with everything in it, which needs no network.

    It shows both modes' figures with intervals, warnings, histograms,
    box plots, the partition, the documents that mislead, and a table of samples,
    each of which opens to its claims and chunks. The same results give the same bytes (with the
    same matplotlib).

    Args:
        results: results, or the path of a file that `noisesense.read_results` reads. Read once;
            memory grows with the texts.
        path: the file to write; it appears whole or not at all.
        title: the heading; by default ``Noise sensitivity``.
        confidence: of the intervals.
        baseline: an earlier run over the same samples, or the comparison with it; the report
            says what is worse since. With a run, the results must be a file or a list: they are
            read twice.
        trust: what `Trust.sentence` says of the judge, or of several.
        ablation: what the chunks did, see `noisesense.ablation`.

    Returns:
        The path.

    Raises:
        InputError: results of several definitions, a number out of range, or a report that
            cannot be written.
        PairingError: fewer than 90% of the samples are in the baseline, too.
        RecordingError: a file that cannot be read.
    """
    earlier = None
    if baseline is not None:
        name = "" if isinstance(baseline, Comparison) else source_name(baseline)
        if not isinstance(baseline, Comparison):
            baseline = compare(opened(baseline), opened(results), confidence=confidence)
        modes = [each for mode in MODES if (each := baseline.mode(mode))]
        earlier = since(name or "the earlier run", modes)
    tally, samples, judges, wrong = Tally(), Samples(), dict[str, None](), 0

    def collecting() -> Iterator[Result]:
        nonlocal wrong
        for result in opened(results):
            wrong += result.score.from_chunks.noisy if result.score else 0
            tally.add(result)
            samples.add(result)
            if result.judge is not None:
                judges[result.judge] = None
            yield result

    ranked = offenders(collecting(), top=_DOCUMENTS, examples=_CLAIMS_EACH)
    summary = tally.summary(confidence=confidence)
    style = _source("report.css")
    scripts = [_source(name) for name in _SCRIPTS]
    page = _template().render(
        title=title or "Noise sensitivity",
        source=source_name(results),
        earlier=earlier,
        trust=trust,
        ablation=ablation,
        growth=growth_svg(ablation) if ablation else None,
        version=__version__,
        summary=summary,
        modes=[figures for mode in MODES if (figures := summary.mode(mode))],
        mode_words=MODE_WORDS,
        definition=DEFINITIONS[summary.definition] if summary.definition else None,
        headline=headline(summary),
        kinds=KINDS,
        no_values=NO_VALUES,
        extent=extent,
        left_out=left_out,
        plots=plots(summary),
        offenders=ranked,
        culprit=culprit(ranked),
        wrong=wrong,
        judges=judges,
        warnings=(*summary.warnings, *([] if trust else untested(judges))),
        policy=_policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        # Too large to be copied: they are written where these elements stand.
        data={name: Markup(f"<{name}-here>") for name in _DATA},
    )
    write_whole(as_path(path), _pieces(encodable(page).rstrip("\n"), samples))
    return Path(path)


def _pieces(page: str, samples: Samples) -> Iterator[str]:
    """The page with its data. What a user wrote is escaped, and holds no such element."""
    for name in _DATA:
        before, page = page.split(f"<{name}-here>")
        yield before
        yield from getattr(samples, name).packs()
    yield page


def _source(name: str) -> str:
    """A file of the page, as it goes between its tags."""
    return "\n" + (_PAGE / name).read_text(encoding="utf-8")


def _policy(style: str, scripts: Iterable[str]) -> str:
    """Nothing may be fetched, and only the page's own style and scripts may run."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {allowed}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
