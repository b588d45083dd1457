"""One evaluation for the hosts of rows: judge once, score, both modes as figures.

A host is a map of names (where its users keep the texts) and a result made of each `Figure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from typing_extensions import TypedDict, Unpack

from noisesense import Judge, Result, Sample, StructuredLLM, Summary, Verdicts, score, summarize
from noisesense.errors import InputError, NoiseSenseError, describe, located
from noisesense.judging.protocol import Judgement, Usage
from noisesense.judging.sharing import judge_once, sharing_key
from noisesense.scoring.definitions import (
    MODES,
    DefinitionName,
    Mode,
    check_definition,
)
from noisesense.scoring.scoring import Empty, Score, Undetermined, check_empty, check_undetermined
from noisesense_adapters.toolbox.given import Column, Places, Usual
from noisesense_adapters.toolbox.judges import given_judge, judge_over, unasked

Modes = Literal["relevant", "irrelevant", "both"]


class Arguments(TypedDict, total=False):
    """What every host's evaluator takes.

    Attributes:
        judge: a `noisesense.Judge`, or the path of a recording.
        model: the host's model, or its name; a LangChain chat model; or a
            `noisesense.StructuredLLM`. Not beside a judge.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"`` (the default).
        definition: see `noisesense.score`. Any but ``"ragas"`` is part of the scores' names.
        empty: see `noisesense.score`.
        undetermined: likewise.
        store: a `VerdictStore`, or the path of one, that keeps the model's replies.
        judge_options: further arguments of `LLMJudge`.
        contexts: where a row holds the retrieved texts or documents: a name, a dotted path such
            as ``"outputs.retrieval.documents"``, or a function of the row.
        reference: likewise.
        response: likewise.
        user_input: likewise.
    """

    judge: Any
    model: Any
    mode: Modes
    definition: DefinitionName
    empty: Empty
    undetermined: Undetermined
    store: Any
    judge_options: Mapping[str, Any] | None
    contexts: Column | None
    reference: Column | None
    response: Column | None
    user_input: Column | None


def suffix(definition: DefinitionName) -> str:
    """What a score's name ends with: nothing, or of another definition e.g. ``_paper``.

    Scores of different definitions must not share a name: hosts average what does.
    """
    return "" if definition == "ragas" else f"_{definition}"


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
        arguments: see `Arguments`.

    Raises:
        InputError: an unknown mode, definition or place, neither judge nor model, or something
            beside a judge.
    """

    def __init__(
        self,
        usual: Usual,
        bridge: Callable[[Any], StructuredLLM],
        **arguments: Unpack[Arguments],
    ) -> None:
        for name in arguments:
            if name not in Arguments.__annotations__:
                raise TypeError(f"noise sensitivity has no argument {name!r}")
        judge, model = arguments.get("judge"), arguments.get("model")
        if judge is None and model is None:
            hint = "model='openai:gpt-4.1-mini', or judge='recording.jsonl'"
            raise InputError("a judge or a model", "neither", where="noise_sensitivity", hint=hint)
        self.definition: DefinitionName = arguments.get("definition", "ragas")
        self.modes = check_modes(arguments.get("mode", "both"), self.definition)
        self.empty: Empty = check_empty(arguments.get("empty", "undefined"))
        self.undetermined: Undetermined = check_undetermined(arguments.get("undetermined", "none"))
        self.places = Places(
            usual,
            {
                "response": arguments.get("response"),
                "reference": arguments.get("reference"),
                "contexts": arguments.get("contexts"),
                "user_input": arguments.get("user_input"),
            },
        )
        store, options = arguments.get("store"), arguments.get("judge_options")
        self._judge = given_judge(judge, model=model, store=store, judge_options=options)
        self._model = (model, bridge, store, options)
        self._results: dict[object, list[Result]] | None = None

    def name(self, mode: str) -> str:
        """Of a score: ``noise_sensitivity_relevant``, or ``noise_sensitivity_relevant_paper``."""
        return f"noise_sensitivity_{mode}{suffix(self.definition)}"

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
            UndefinedScoreError: nothing to measure and ``empty="error"``.
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
        elif nothing := unasked(sample, self.definition):
            judgement, name = nothing, "none"
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
            sample, _ = self.places.texts(row)
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


class Mean(NamedTuple):
    """A run's mean of one mode, as hosts show it.

    Attributes:
        mode: of the score.
        value: None where open verdicts do not decide it, or there is nothing to measure.
        status: ``"determined"``, ``"undetermined"`` or ``"undefined"``.
        sentence: with its range, its interval and what is not in it.
    """

    mode: Mode
    value: float | None
    status: str
    sentence: str


def mean_of(summary: Summary, mode: Mode) -> Mean:
    """A run's mean of one mode."""
    figures = summary.mode(mode)
    if figures is None:
        sentence = f"The definition {summary.definition} has no {mode} mode."
        return Mean(mode, None, "undefined", sentence)
    parts = [f"{figures.determined} of {summary.samples} samples have a value"]
    for count, what in (
        (figures.undetermined, "undetermined"),
        (figures.undefined, "undefined"),
        (summary.failed, "failed"),
    ):
        if count:
            parts.append(f"{count} {what}")
    status, mean = "undefined", "undefined"
    value = figures.mean.value if figures.mean else None
    if value is not None:
        status, mean = "determined", f"{value:.4g}"
    elif figures.mean is not None:
        status, mean = "undetermined", "between {:.4g} and {:.4g}".format(*figures.mean)
    interval = ""
    if figures.interval is not None:
        low, high = figures.interval.low, figures.interval.high
        interval = f" ({summary.confidence:.0%} interval {low:.4g} to {high:.4g})"
    counts = ", ".join(parts)
    sentence = f"Mean noise sensitivity ({mode}): {mean}{interval}; {counts}. Lower is better."
    return Mean(mode, value, status, sentence)
