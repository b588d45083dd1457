"""Rows of a host: each is judged once, and both modes are scored.

A host's adapter says where its users keep the texts, and makes the host's result of a `Figure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, get_args

from typing_extensions import TypedDict

from noisesense import Judge, Result, Sample, StructuredLLM, Summary, Usage, Verdicts, summarize
from noisesense.errors import InputError, NoiseSenseError, check_choice, describe, error_context
from noisesense.judging.sharing import sharing_key
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, modes_of
from noisesense.scoring.outcomes import extent, percent_text
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense.stats.clusters import cluster_of
from noisesense.stats.interval import interval_text
from noisesense_adapters.evaluate.evaluator import Evaluator, Settings, score_name
from noisesense_adapters.evaluate.judges import given_judge, judge_over
from noisesense_adapters.reading.paths import Column
from noisesense_adapters.reading.row import Reader
from noisesense_adapters.reading.values import as_object

Modes = Literal["relevant", "irrelevant", "both"]
_SHORT = 60
_BEGINNING = 16
"""Of a text that is shortened: enough to tell a page in HTML."""


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


class Figure(NamedTuple):
    """One mode of a row's score, or its mean over a run, for a host to show.

    Attributes:
        mode: of the score.
        value: from 0 to 1, lower is better; None where it is undefined or undetermined.
        reason: the value in a sentence, which also says that lower is better.
        metadata: the status; for a row also bounds, definition and judge. The first figure of a
            row also has what judging cost, so that a sum over figures counts it once.
    """

    mode: Mode
    value: float | None
    reason: str
    metadata: dict[str, Any]


class RowEvaluator:
    """Evaluates a host's rows: each is judged once, for both modes.

    Args:
        places: where the host keeps the texts; see `noisesense_adapters.reading.places`.
        bridge: makes a `noisesense.StructuredLLM` over the model.
        judge: see `Arguments`, also for the parameters after it.

    Raises:
        InputError: an unknown mode, definition or place; neither a judge nor a model; or an
            argument that a judge does not use.
    """

    def __init__(
        self,
        places: Mapping[str, str],
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
        chosen = {"contexts": contexts, "reference": reference}
        chosen |= {"response": response, "user_input": user_input}
        self.reader = Reader(places, chosen)
        settings = Settings.checked(definition, empty, undetermined)
        self.definition = settings.definition
        self._evaluator = Evaluator(settings, self.judge)
        self._judge = given_judge(judge, model=model, store=store, judge_options=judge_options)
        self._model = model
        self._bridge = bridge
        self._store = store
        self._judge_options = judge_options
        self._results: dict[object, list[Result]] | None = None

    def name(self, mode: str) -> str:
        """Return a score's name, e.g. ``noise_sensitivity_relevant_paper``; see `score_name`."""
        return score_name(mode, self.definition)

    def judge(self) -> Judge:
        """Return the user's judge, or one over the model, made when the first row needs it."""
        if self._judge is not None:
            return self._judge
        return judge_over(
            self._model,
            lambda: self._bridge(self._model),
            self._bridge,
            store=self._store,
            options=self._judge_options,
        )

    async def evaluate(self, row: Mapping[str, Any], place: str) -> Result:
        """Judge and score one row. The same row is judged anew each time.

        Args:
            row: the host's names for inputs, outputs and so on, with what they hold.
            place: what the host calls the row, for errors.

        Raises:
            InputError: a text is missing or malformed.
            JudgeError: the judge could not be asked.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
        """
        with error_context(place):
            reading = self.reader.read(row)
            sample = reading.sample
            try:
                evaluated = await self._evaluator.evaluate(reading)
            except NoiseSenseError as error:
                self._keep(Result(sample.key, error=str(error), sample=sample))
                raise
        result = evaluated.result(sample.key, sample)
        self._keep(result)
        return result

    def figures(self, result: Result) -> list[Figure]:
        """Return a figure for each mode that was asked for; none for a result without a score."""
        figures: list[Figure] = []
        score = result.score
        if score is None:
            return figures
        for mode in self.modes:
            reason = score.reason(mode)
            if "lower is better" not in reason:
                reason = f"{reason} Lower is better."
            bounds = score.bounds(mode)
            metadata: dict[str, Any] = {
                "status": score.status(mode),
                "bounds": None if bounds is None else list(bounds),
                "definition": score.definition,
                "judge": result.judge,
            }
            if not figures:
                metadata |= _costs(result.usage)
            if result.unanswered:
                metadata["unanswered"] = result.unanswered
            figures.append(Figure(mode, score.value(mode), reason, metadata))
        return figures

    async def kept_figures(self, row: Mapping[str, Any], place: str) -> list[Figure]:
        """Evaluate a row and return its figures; the first one keeps what `summary_of` reads.

        Raises:
            NoiseSenseError: see `evaluate`.
        """
        result = await self.evaluate(row, place)
        figures = self.figures(result)
        figures[0].metadata["scored"] = {**as_scored(result), "modes": [*self.modes]}
        return figures

    def collect(self) -> None:
        """From now on, keep each result until `summary` asks for it."""
        if self._results is None:
            self._results = {}

    def _keep(self, result: Result) -> None:
        """Add a result to those that `collect` asked for."""
        if self._results is not None and result.sample is not None:
            self._results.setdefault(sharing_key(result.sample), []).append(result)

    def summary(self, rows: Iterable[Mapping[str, Any]]) -> Summary:
        """Summarize the latest result of each of a run's rows, and forget that result.

        A row without a result counts as failed. Results of an earlier run that broke off are not
        used for rows that were evaluated again.
        """
        results: list[Result] = []
        for number, row in enumerate(rows):
            results.append(self._latest(str(number), row))
        return replace(summarize(results), only=_only(self.modes))

    def _latest(self, number: str, row: Mapping[str, Any]) -> Result:
        """Return the latest result of a row, removed from those that are kept."""
        try:
            sample = self.reader.read(row).sample
        except InputError as error:
            return Result(number, error=str(error))
        results = (self._results or {}).get(sharing_key(sample))
        return results.pop() if results else Result(number, error="it was not evaluated")


def _costs(usage: Usage) -> dict[str, Any]:
    """Return what judging cost, without zeros."""
    costs: dict[str, Any] = {}
    for name in ("calls", "cached_calls", "input_tokens", "output_tokens", "cost"):
        cost = getattr(usage, name)
        if cost:
            costs[name] = cost
    return costs


def rows_of(evaluator: object) -> RowEvaluator:
    """The rows behind a host's evaluator, which from now on keep their results for a summary.

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


def as_scored(result: Result) -> dict[str, Any]:
    """Return a result with a score as JSON-ready data that `rescored` reads.

    It holds the verdicts without their texts, the settings of the score, and what only the texts
    tell: the cluster, whether the response repeats the reference, and which texts are the same.
    """
    score: Any = result.score
    sample = result.sample
    texts: dict[str, Any] | None = None
    if sample is not None:
        contexts = [_shortened(chunk.text) for chunk in sample.retrieved_contexts]
        texts = {"response": _shortened(sample.response), "retrieved_contexts": contexts}
    return {
        "definition": score.definition,
        "empty": score.empty,
        "undetermined": score.undetermined,
        "verdicts": score.verdicts.to_matrices(),
        "cluster": cluster_of(result),
        "echoes": result.echoes,
        "texts": texts,
    }


def _shortened(text: str) -> str:
    """Return a short text; of another one its beginning, and what tells it from others."""
    if len(text) <= _SHORT:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[:_BEGINNING]}{digest}"


def rescored(name: str, kept: Mapping[str, Any]) -> Result:
    """Return the result that `as_scored` kept, under a new name."""
    texts = kept["texts"]
    sample = None
    contexts: list[str] | None = None
    if texts is not None:  # shortened; nobody reads the reference
        sample = Sample(**texts, reference="-")
        contexts = texts["retrieved_contexts"]
    verdicts = Verdicts.from_matrices(**kept["verdicts"], chunks=contexts)
    settings = Settings(kept["definition"], kept["empty"], kept["undetermined"])
    return Result(name, settings.score(verdicts), sample=sample, cluster=kept["cluster"])


def summary_of_kept(results: Iterable[Result], kept: Iterable[Mapping[str, Any]]) -> Summary:
    """Summarize results, some of them made by `rescored` of these data."""
    echoes = 0
    modes: dict[Mode, None] = {}
    for each in kept:
        echoes += each["echoes"]
        modes |= dict.fromkeys(each["modes"])
    # Results without their texts do not know their echoes.
    return replace(summarize(results), echoes=echoes, only=_only([*modes]))


def _only(modes: Sequence[Mode]) -> Mode | None:
    """Return the one mode that was asked for; None if both were."""
    return modes[0] if len(modes) == 1 else None


def summary_of(rows: Iterable[Iterable[object]], definition: DefinitionName) -> Summary:
    """Summarize a host's run from the metadata that the host stored.

    A row without a score under the definition counts as failed.

    Args:
        rows: for each row, the metadata of its scores.
        definition: of the scores in question.

    Raises:
        InputError: an unknown definition, or a row with several scores of one mode.
    """
    name = check_definition(definition).name
    results: list[Result] = []
    of_rows: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        kept: dict[str, Any] = {}
        for metadata in row:
            scored = as_object(metadata).get("scored")
            if scored is None or scored["definition"] != name:
                continue
            modes = [*kept.get("modes", ()), *scored["modes"]]
            if len({*modes}) < len(modes):
                hint = "run_summary takes the name of one"
                got = "those of two evaluators"
                raise InputError("one score a mode", got, where=f"row {number}", hint=hint)
            kept = {**scored, "modes": modes}
        if kept:
            of_rows.append(kept)
            results.append(rescored(str(number), kept))
        else:
            results.append(Result(str(number), error="it has no score"))
    return summary_of_kept(results, of_rows)


def check_modes(mode: Modes, definition: DefinitionName) -> tuple[Mode, ...]:
    """Return one mode, or for ``"both"`` those that the definition has. Raises `InputError`."""
    defined = modes_of(check_definition(definition).name)
    check_choice(mode, get_args(Modes), "mode")
    return defined if mode == "both" else (mode,)


def mean_of(summary: Summary, mode: Mode) -> Figure:
    """Return a run's mean of one mode, with its range, its interval and what is not in it."""
    figures = summary.mode(mode)
    if figures is None:
        reason = f"The definition {summary.definition} has no {mode} mode."
        if not summary.definition:
            reason = summary.warnings[0]
        return Figure(mode, None, reason, {"status": "undefined"})
    status = "undefined"
    text = "undefined"
    value = None
    if figures.mean is not None:
        value = figures.mean.value
        text = extent(figures.mean, ".4g")
        status = "undetermined" if value is None else "determined"
    if figures.interval is not None:
        percent = percent_text(summary.confidence)
        text += f" ({percent} interval {interval_text(figures.interval)})"
    samples = f"{figures.determined} of {summary.samples} samples have a value"
    if figures.undetermined:
        samples += f", {figures.undetermined} undetermined"
    if summary.clusters is not None:
        samples += f"; {summary.grouped}"
    if summary.unmeasured:
        samples += f"; {summary.unmeasured}"
    reason = f"Mean noise sensitivity ({mode}): {text}; {samples}. Lower is better."
    for sign in summary.signs:
        reason += f" A sign that the run is broken: {sign.reason}."
    metadata = {
        "status": status,
        "samples": summary.samples,
        "failed": summary.failed,
        "nothing_claimed": summary.nothing_claimed,
        "nothing_retrieved": summary.nothing_retrieved,
    }
    return Figure(mode, value, reason, metadata)
