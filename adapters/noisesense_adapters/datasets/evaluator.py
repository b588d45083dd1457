"""What evaluators of rows share: a host's row as a sample, one judging, both modes as figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast, get_args

from noisesense import (
    Judge,
    Result,
    Sample,
    StructuredLLM,
    Summary,
    Verdicts,
    score,
    summarize,
)
from noisesense.errors import InputError, NoiseSenseError, describe, located
from noisesense.judging.protocol import Judgement, Usage
from noisesense.judging.sharing import judge_once, sharing_key
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.scoring.scoring import Empty, Score, Undetermined, check_empty, check_undetermined
from noisesense_adapters.datasets.rows import Column, pick, without_nulls
from noisesense_adapters.toolbox.given import chunks_of, plain
from noisesense_adapters.toolbox.judges import (
    NOTHING_RETRIEVED,
    STAND_IN,
    given_judge,
    judge_over,
    nothing_retrieved,
    verdicts_given,
)

Modes = Literal["relevant", "irrelevant", "both"]

Usual = Mapping[str, tuple[str, ...]]
"""Of each text, the paths at which the host's users keep it, the commonest first."""

_TEXTS = ("response", "reference", "contexts", "user_input")
_DATA = ("chunk_labels", "verdicts")
_KINDS: dict[str, Any] = {"chunk_labels": (list, tuple, str), "verdicts": (Mapping, str)}
_OPTIONAL = ("user_input", *_DATA)


@dataclass(frozen=True)
class Places:
    """Where a row holds the texts of its sample.

    Attributes:
        usual: by default; the first path that leads to a text counts, of contexts the first that
            leads to anything: what is no list of texts is an error, never nothing.
        chosen: what the user named instead: a name, a dotted path, or a function of the row.
    """

    usual: Usual
    chosen: Mapping[str, Column | None]

    def __post_init__(self) -> None:
        for field, column in self.chosen.items():
            if column is not None and not isinstance(column, str) and not callable(column):
                expected = "a name, a dotted path or a function of the row"
                raise InputError(expected, describe(column), where=field)

    def read(self, row: Mapping[str, Any]) -> tuple[Sample, Verdicts | None]:
        """The sample, and the verdicts that the row brings or that follow from it, if any.

        They follow where nothing was retrieved. The sample then holds a stand-in for its chunks.

        Raises:
            InputError: a text is missing or malformed. It names the field and where it was
                looked for.
        """
        sample, retrieved, verdicts = self.texts(row)
        if verdicts is not None:
            verdicts = without_nulls(verdicts)
            return sample, verdicts_given(verdicts, sample, "verdicts", retrieved=retrieved)
        return sample, None if retrieved else nothing_retrieved(sample.response)

    def texts(self, row: Mapping[str, Any]) -> tuple[Sample, bool, Any]:
        """The sample, whether anything was retrieved, and the row's verdicts, not yet read.

        Raises `InputError` as `read`, but for verdicts.
        """
        # A host's row may hold more than the texts, such as a whole trace.
        data = {name: plain(row[name]) for name in self._names() if name in row}
        found = {field: self._value(field, data, row) for field in (*_TEXTS, *_DATA)}
        with located("contexts"):
            chunks = chunks_of(found["contexts"], labels=found["chunk_labels"])
        sample = Sample.model_validate(
            {
                "user_input": found["user_input"] or "",
                "response": found["response"],
                "reference": found["reference"],
                "retrieved_contexts": chunks or STAND_IN,
            }
        )
        return sample, bool(chunks), found["verdicts"]

    def _names(self) -> set[str]:
        """What a path may begin with. A name may itself have dots."""
        columns = (column for column in self.chosen.values() if isinstance(column, str))
        paths = {*columns, *(path for usual in self.usual.values() for path in usual)}
        return paths | {path.partition(".")[0] for path in paths}

    def _value(self, field: str, data: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
        column, usual = self.chosen.get(field), self.usual.get(field, ())
        if callable(column):
            return plain(pick(row, column))
        if column is None:
            for path in usual:
                value = _at(data, path)
                if isinstance(value, InputError):
                    raise value
                if field == "contexts" and value is not None:
                    return self._contexts(value, path)
                if isinstance(value, _KINDS.get(field, str)):
                    return value
            if field in _OPTIONAL:
                return None
            raise self._missing(field, " or ".join(map(repr, usual)), row)
        # A name stands for itself, or for a field of whatever usually holds such texts.
        homes = dict.fromkeys(path.partition(".")[0] for path in usual)
        for path in (column, *(f"{home}.{column}" for home in homes)):
            value = _at(data, path)
            if value is not None:
                return value
        raise self._missing(field, repr(column), row)

    def _contexts(self, value: Any, path: str) -> list[Any]:
        with located(repr(path)):
            return chunks_of(value)

    def _missing(self, field: str, expected: str, row: Mapping[str, Any]) -> InputError:
        names = ", ".join(map(repr, _paths(row)))
        hint = f"{field}= takes a name, a dotted path or a function of the row"
        got = f"only {names}" if names else "an empty row"
        return InputError(f"the {field} at {expected}", got, where=field, hint=hint)


def _at(data: Any, path: str) -> Any:
    try:
        return pick(data, path)
    except InputError:
        return None


def _paths(row: Mapping[str, Any]) -> list[str]:
    """The names two levels deep, for messages."""
    names: list[str] = []
    for name, value in ((name, plain(value)) for name, value in row.items()):
        if isinstance(value, Mapping):
            names += [f"{name}.{inner}" for inner in cast("Mapping[str, Any]", value)]
        elif value is not None:
            names.append(name)
    return names


class Figure(NamedTuple):
    """One mode of one row, as hosts show it.

    Attributes:
        mode: of the score.
        value: from 0 to 1, lower is better; None where it is undefined or undetermined.
        reason: the sentence for people; it says that lower is better.
        metadata: status, bounds, definition and judge; in a row's first figure also what judging
            cost, so that a sum over figures counts it once.
    """

    mode: Mode
    value: float | None
    reason: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Evaluated:
    """A row's score with the verdicts behind it."""

    score: Score
    judgement: Judgement
    judge: str
    modes: tuple[Mode, ...]

    def figures(self) -> list[Figure]:
        """One for each mode that was asked for."""
        figures = [self._figure(mode) for mode in self.modes]
        figures[0].metadata.update(_cost(self.judgement.usage))
        return figures

    def result(self, id: str, sample: Sample | None = None) -> Result:  # noqa: A002 - its field
        """The row as results files hold it."""
        return Result(
            id,
            self.score,
            sample=sample,
            unanswered=self.judgement.unanswered,
            usage=self.judgement.usage,
            judge=self.judge,
        )

    def _figure(self, mode: Mode) -> Figure:
        reason = self.score.reason(mode)
        if "lower is better" not in reason:
            reason = f"{reason} Lower is better."
        if self.score.verdicts.chunks == ():
            reason = f"{reason} {NOTHING_RETRIEVED}"
        bounds = self.score.bounds(mode)
        metadata: dict[str, Any] = {
            "status": self.score.status(mode),
            "bounds": None if bounds is None else list(bounds),
            "definition": self.score.definition,
            "judge": self.judge,
        }
        if self.judgement.unanswered:
            metadata["unanswered"] = self.judgement.unanswered
        return Figure(mode, self.score.value(mode), reason, metadata)


def _cost(usage: Usage) -> dict[str, Any]:
    names = ("calls", "cached_calls", "input_tokens", "output_tokens", "cost")
    costs = {name: getattr(usage, name) for name in names}
    return {name: value for name, value in costs.items() if value}


class RowEvaluator:
    """Evaluates a host's rows: each is judged once, for both modes.

    Args:
        usual: where the host's users keep the texts.
        bridge: makes a `noisesense.StructuredLLM` over the model.
        judge: a `noisesense.Judge`, or the path of a recording.
        model: the host's model, if there is no judge.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"``.
        definition: see `noisesense.score`.
        empty: likewise.
        undetermined: likewise.
        store: a `VerdictStore`, or the path of one, for the model's replies.
        judge_options: further arguments of the `LLMJudge` over the model.
        contexts: where a row holds the retrieved texts: a name, a dotted path or a function of the
            row; None for the usual.
        reference: likewise.
        response: likewise.
        user_input: likewise.

    Raises:
        InputError: an unknown mode, definition or place, neither judge nor model, or something
            beside a judge.
    """

    def __init__(
        self,
        usual: Usual,
        bridge: Callable[[Any], StructuredLLM],
        *,
        judge: Any = None,
        model: Any = None,
        mode: Modes = "both",
        definition: DefinitionName = "ragas",
        empty: Empty = "undefined",
        undetermined: Undetermined = "none",
        store: Any = None,
        judge_options: Mapping[str, Any] | None = None,
        contexts: Column | None = None,
        reference: Column | None = None,
        response: Column | None = None,
        user_input: Column | None = None,
    ) -> None:
        if judge is None and model is None:
            hint = "model='openai:gpt-4.1-mini', or judge='recording.jsonl'"
            raise InputError("a judge or a model", "neither", where="noise_sensitivity", hint=hint)
        self.modes = check_modes(mode, definition)
        self.definition: DefinitionName = definition
        self.empty: Empty = check_empty(empty)
        self.undetermined: Undetermined = check_undetermined(undetermined)
        chosen: dict[str, Column | None] = {"response": response, "reference": reference}
        self.places = Places(usual, {**chosen, "contexts": contexts, "user_input": user_input})
        self._judge = given_judge(judge, model=model, store=store, judge_options=judge_options)
        self._model = (model, bridge, store, judge_options)
        self._results: dict[object, list[Result]] | None = None

    def judge(self) -> Judge:
        """The judge; one over a model is made when the first row needs it."""
        if self._judge is not None:
            return self._judge
        model, bridge, store, options = self._model
        return judge_over(model, lambda: bridge(model), bridge, store=store, options=options)

    async def evaluate(self, row: Mapping[str, Any], place: str) -> Evaluated:
        """Judge and score one row. A row that comes again is judged again.

        Args:
            row: the host's names for inputs, outputs and so on, with what they hold.
            place: what the host calls the row, for errors.

        Raises:
            InputError: a text is missing or malformed.
            JudgeError: the judge could not be asked.
            UndefinedScoreError: no response claims and ``empty="error"``.
        """
        with located(place):
            sample, verdicts = self.places.read(row)
        try:
            with located(place):
                evaluated = await self._evaluated(sample, verdicts)
        except NoiseSenseError as error:
            self._collect(sample, Result(sample.key, error=str(error), sample=sample))
            raise
        self._collect(sample, evaluated.result(sample.key, sample))
        return evaluated

    async def _evaluated(self, sample: Sample, verdicts: Verdicts | None) -> Evaluated:
        if verdicts is not None:
            judgement, name = Judgement(verdicts), "given verdicts"
        else:
            judge = self.judge()
            judgement = await judge_once(judge, sample, metric=None, share=False)
            name = str(getattr(judge, "name", type(judge).__name__))
        scored = score(
            judgement.verdicts,
            definition=self.definition,
            empty=self.empty,
            undetermined=self.undetermined,
        )
        return Evaluated(scored, judgement, name, self.modes)

    def collect(self) -> None:
        """From now on, keep each result until `summary` asks for it."""
        self._results = {} if self._results is None else self._results

    def _collect(self, sample: Sample, result: Result) -> None:
        if self._results is not None:
            self._results.setdefault(sharing_key(sample), []).append(result)

    def summary(self, rows: Iterable[Mapping[str, Any]]) -> Summary:
        """The figures of a run's rows: of each its latest result, which is then forgotten.

        A row without a result counts as failed. What a run that broke off left behind is not
        used for rows that were evaluated since.
        """
        return summarize([self._result(number, row) for number, row in enumerate(rows)])

    def _result(self, number: int, row: Mapping[str, Any]) -> Result:
        try:
            sample, *_ = self.places.texts(row)
        except InputError as error:
            return Result(str(number), error=str(error))
        results = (self._results or {}).get(sharing_key(sample))
        return results.pop() if results else Result(str(number), error="it was not evaluated")


def rows_of(evaluator: object) -> RowEvaluator:
    """What an evaluator found from now on, for a summary of the run.

    Args:
        evaluator: a function that a host's factory made, with its rows as the attribute ``rows``.

    Raises:
        InputError: some other function.
    """
    rows = getattr(evaluator, "rows", None)
    if not isinstance(rows, RowEvaluator):
        expected = "an evaluator made by noise_sensitivity(…)"
        raise InputError(expected, describe(evaluator), where="evaluator")
    rows.collect()
    return rows


def check_modes(mode: Modes, definition: DefinitionName) -> tuple[Mode, ...]:
    """The modes asked for; of both, those that the definition has. Raises `InputError`."""
    has_irrelevant = check_definition(definition).irrelevant is not None
    if mode not in get_args(Modes):
        expected = f"one of {', '.join(map(repr, get_args(Modes)))}"
        raise InputError(expected, describe(mode), where="mode")
    if mode == "both":
        return MODES if has_irrelevant else ("relevant",)
    return (mode,)


def mean_sentence(summary: Summary, mode: Mode) -> str:
    """A run's mean of one mode with its range, its interval and what is not in it."""
    figures = summary.mode(mode)
    if figures is None:
        return f"The definition {summary.definition} has no {mode} mode."
    parts = [f"{figures.determined} of {summary.samples} samples have a value"]
    for count, what in (
        (figures.undetermined, "undetermined"),
        (figures.undefined, "undefined"),
        (summary.failed, "failed"),
    ):
        if count:
            parts.append(f"{count} {what}")
    mean = "undefined"
    if figures.mean and figures.mean.value is not None:
        mean = f"{figures.mean.value:.4g}"
    elif figures.mean is not None:
        mean = "between {:.4g} and {:.4g}".format(*figures.mean)
    interval = ""
    if figures.interval is not None:
        low, high = figures.interval.low, figures.interval.high
        interval = f" ({summary.confidence:.0%} interval {low:.4g} to {high:.4g})"
    counts = ", ".join(parts)
    return f"Mean noise sensitivity ({mode}): {mean}{interval}; {counts}. Lower is better."
