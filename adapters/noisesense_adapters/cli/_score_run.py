"""``noisesense score``: what it does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from noisesense import LLMJudge, Summary, ragchecker_aggregates
from noisesense.definitions import DefinitionName, Mode
from noisesense.errors import InputError, describe
from noisesense.scoring import Empty, Undetermined
from noisesense_adapters.cli._checks import (
    SOME_FAILED,
    check_answers,
    check_gate,
    check_limit,
    worst,
)
from noisesense_adapters.cli._output import console, show_lines
from noisesense_adapters.cli._pictures import check_pictures
from noisesense_adapters.cli._progress import RunProgress
from noisesense_adapters.cli._summary import show_summary
from noisesense_adapters.scoring import model_judge, partial_of, results_of, score_dataset

__all__ = ["JudgeOptions", "ScoreOptions", "run_score"]


@dataclass(frozen=True)
class JudgeOptions:
    """Who judges, and how."""

    model: str | None
    base_url: str | None
    api_key_env: str | None
    temperature: float | None
    plan: str
    votes: int
    concurrency: int
    store: Path | None

    def judge(self) -> LLMJudge | None:
        """The judge; None if none is asked for. Raises `InputError`, `JudgeError`."""
        if self.model is None:
            for name in ("base_url", "api_key_env", "temperature", "store"):
                if getattr(self, name) is not None:
                    option = f"--{name.replace('_', '-')}"
                    raise InputError("--judge as well", f"only {option}", where="score")
            return None
        return model_judge(
            self.model,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            temperature=self.temperature,
            plan=self.plan,
            votes=self.votes,
            concurrency=self.concurrency,
            store=self.store,
        )


@dataclass(frozen=True)
class ScoreOptions:
    """What the command was given."""

    dataset: Path
    mapping: list[str]
    names: dict[str, str | None]
    definition: DefinitionName | None
    empty: Empty | None
    undetermined: Undetermined | None
    verdicts: Path | None
    judge: JudgeOptions
    out: Path | None
    report: Path | None
    png: Path | None
    ragchecker: bool
    as_json: bool
    fail_above: float | None
    mode: Mode | None
    max_unanswered: float

    def columns(self) -> dict[str, str]:
        """Fields and their columns. Raises `InputError`."""
        found = {name: column for name, column in self.names.items() if column is not None}
        for each in self.mapping:
            field, equals, column = each.partition("=")
            if not (field and equals and column):
                raise InputError("FIELD=COLUMN", describe(each), where="--map")
            if field in found:
                raise InputError("each field once", describe(field), where="--map")
            found[field] = column
        return found


def run_score(options: ScoreOptions) -> int:
    """Score, write, show. Returns the exit status."""
    check_limit(options.fail_above)
    check_pictures(options.report, options.png, options.dataset)
    if options.ragchecker and options.definition not in (None, "ragas"):
        got = repr(options.definition)
        raise InputError("definition 'ragas'", got, where="--ragchecker-aggregates")
    with TemporaryDirectory(prefix="noisesense-") as scratch:
        again = options.report or options.png or options.ragchecker
        # Whatever reads the results once more reads them from a file.
        results = options.out or (Path(scratch, "results.jsonl") if again else None)
        progress = RunProgress(options.dataset)
        try:
            with progress:
                summary = score_dataset(
                    options.dataset,
                    columns=options.columns(),
                    verdicts=options.verdicts,
                    judge=options.judge.judge(),
                    definition=options.definition,
                    empty=options.empty,
                    undetermined=options.undetermined,
                    out=results,
                    concurrency=options.judge.concurrency,
                    on_done=progress.add,
                )
        except KeyboardInterrupt:
            _tell_interrupted(options, progress)
            raise
        without_claims = summary.failed - progress.failed
        if without_claims > 0:
            progress.say(f"failed: {without_claims:,} responses without claims (--empty error)")
        aggregates = None
        if results is not None:
            _write_pictures(options, results)
            if options.ragchecker:
                aggregates = ragchecker_aggregates(results_of(results))
    _show(options, summary, aggregates)
    return worst(
        check_gate(summary, options.fail_above, options.mode),
        check_answers(summary, options.max_unanswered, judged=options.judge.model is not None),
        SOME_FAILED if summary.failed else 0,
    )


def _tell_interrupted(options: ScoreOptions, progress: RunProgress) -> None:
    done = progress.done - progress.failed
    kept = options.out and options.judge.model and partial_of(options.out)
    if kept and kept.exists():
        progress.say(f"interrupted: {done:,} samples are done and kept in {kept};")
        progress.say("the same command goes on from there")
    elif options.judge.model:
        progress.say("interrupted: nothing is kept without --out (but in the --store, if given)")


def _write_pictures(options: ScoreOptions, results: Path) -> None:
    if options.report is None and options.png is None:
        return
    from noisesense_adapters.report import write_png, write_report

    title = f"Noise sensitivity: {options.dataset.name}"
    if options.report is not None:
        write_report(results_of(results), options.report, title=title)
    if options.png is not None:
        write_png(results_of(results), options.png)


def _show(
    options: ScoreOptions, summary: Summary, aggregates: dict[str, float | None] | None
) -> None:
    written = [path for path in (options.out, options.report, options.png) if path]
    if options.as_json:
        data: dict[str, Any] = {"input": str(options.dataset), **summary.to_dict()}
        if aggregates is not None:
            data["ragchecker_aggregates"] = aggregates
        print(json.dumps(data, indent=2))
        return
    out = console()
    show_summary(out, options.dataset.name, summary, aggregates)
    if written:
        out.print()
        show_lines(out, [f"wrote {path}" for path in written])
