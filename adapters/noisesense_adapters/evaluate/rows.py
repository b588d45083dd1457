"""Rows of a host: each is judged once, and both modes are scored.

A host's adapter says where its users keep the texts, and makes the host's result of a `Figure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, get_args

from typing_extensions import TypedDict

from noisesense import Judge, Result, Sample, StructuredLLM, Summary, Verdicts, summarize
from noisesense.errors import InputError, check_choice, describe, error_context
from noisesense.judging.protocol import Placebos
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, modes_of
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense.stats.clusters import cluster_of
from noisesense_adapters.evaluate.evaluator import NAME, Evaluator, Settings, score_name
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
        reason: the value in words, which also say that lower is better.
        metadata: the status; for a row also bounds, definition, judge and the number
            of verdicts it left unanswered. The first figure of a row also has what judging cost,
            so that a sum over figures counts it once.
    """

    mode: Mode
    value: float | None
    reason: str
    metadata: dict[str, Any]


class RowEvaluator:
    """Evaluates a host's rows: each is judged once, for both modes.

    Args:
        places: for each field of a sample, where the host keeps it; see
            `noisesense_adapters.reading.places`.
        bridge: makes a `noisesense.StructuredLLM` over the model.
        name: how its scores' names begin; two evaluators in one run, as of two answers or two
            judges, need two.
        judge: see `Arguments`, also for the parameters after it.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; neither a judge
            nor a model; an argument that a judge does not use; an unknown judge option; or a
            recording that cannot be read. A wrong place or an unusable model fails each row.
    """

    def __init__(
        self,
        places: Mapping[str, str],
        bridge: Callable[[Any], StructuredLLM],
        *,
        name: str = NAME,
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
        self.score_prefix = name
        chosen = {"contexts": contexts, "reference": reference}
        chosen |= {"response": response, "user_input": user_input}
        self.reader = Reader(places, chosen)
        settings = Settings.checked(definition, empty, undetermined)
        self.definition: DefinitionName = settings.definition
        given = given_judge(judge, model=model, store=store, judge_options=judge_options)

        def the_judge() -> Judge:
            """Return the user's judge, or one over the model, made when a row needs it."""
            if given is not None:
                return given
            over = partial(bridge, model)
            return judge_over(model, over, bridge, store=store, options=judge_options)

        self._evaluator = Evaluator(settings, the_judge)

    def name(self, mode: str) -> str:
        """Return a score's name, e.g. ``noise_sensitivity_relevant_paper``; see `score_name`."""
        return score_name(mode, self.definition, self.score_prefix)

    async def evaluate(self, row: Mapping[str, Any], place: str) -> Result:
        """Judge and score one row. The same row is judged anew each time.

        Args:
            row: the host's names for inputs, outputs and so on, with what they hold.
            place: what the host calls the row, for errors.

        Raises:
            InputError: a text is missing or malformed, a recording lacks the sample, or no judge
                can be made of the model.
            JudgeError: the judge could not be asked, or gave no usable list of claims.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
        """
        with error_context(place):
            reading = self.reader.read(row)
            evaluated = await self._evaluator.evaluate(reading)
        sample = reading.sample
        return evaluated.result(sample.key, sample)

    def figures(self, result: Result) -> list[Figure]:
        """Return a figure for each mode that was asked for, of a result with a score."""
        figures: list[Figure] = []
        score: Any = result.score
        for mode in self.modes:
            metadata: dict[str, Any] = {
                "status": score.status(mode),
                "bounds": list(score.bounds(mode) or ()),
                "definition": score.definition,
                "judge": result.judge,
                "unanswered": result.unanswered,
            }
            if not figures:
                metadata |= {name: cost for name, cost in vars(result.usage).items() if cost}
            figures.append(Figure(mode, score.value(mode), score.reason(mode), metadata))
        return figures

    async def kept_figures(self, row: Mapping[str, Any], place: str) -> list[Figure]:
        """Evaluate a row and return its figures.

        The first one's metadata has, as ``scored``, what `summary_of` reads.

        Raises:
            NoiseSenseError: see `evaluate`.
        """
        result = await self.evaluate(row, place)
        figures = self.figures(result)
        figures[0].metadata["scored"] = as_scored(result, self.modes) | {"name": self.score_prefix}
        return figures


def row_evaluator_of(evaluator: object) -> RowEvaluator:
    """Return the rows behind a host's evaluator.

    Args:
        evaluator: a function that a host's factory made, with its rows as the attribute ``rows``.

    Raises:
        InputError: anything else.
    """
    rows = getattr(evaluator, "rows", None)
    if not isinstance(rows, RowEvaluator):
        expected = "an evaluator made by noise_sensitivity(…)"
        raise InputError(expected, describe(evaluator), where="evaluator")
    return rows


def as_scored(result: Result, modes: Sequence[Mode]) -> dict[str, Any]:
    """Return a result with a score and a sample as JSON-ready data that `summary_of` reads.

    It holds the verdicts without their texts, the settings of the score, the modes that were
    asked for, and what only the texts tell: the cluster, and which texts are the same.
    """
    score: Any = result.score
    sample: Any = result.sample
    contexts = [_shortened(chunk.text) for chunk in sample.retrieved_contexts]
    return {
        "modes": [*modes],
        "definition": score.definition,
        "empty": score.empty,
        "undetermined": score.undetermined,
        "verdicts": score.verdicts.to_matrices(),
        "cluster": cluster_of(result),
        "placebos": [*result.placebos],
        "repeats": [*result.repeats],
        "texts": {"response": _shortened(sample.response), "retrieved_contexts": contexts},
    }


def _shortened(text: str) -> str:
    """Return a short text; of another one its beginning, and what tells it from others."""
    if len(text) <= _SHORT:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[:_BEGINNING]}{digest}"


class _Rescored(Result, frozen=True):
    """A result of which the texts are shortened: what they repeat was seen before."""

    repeats: tuple[str, ...] = ()  # pyright: ignore[reportIncompatibleMethodOverride]


def _rescored(name: str, kept: Mapping[str, Any]) -> Result:
    """Return the result that `as_scored` kept, under a new name."""
    texts = kept["texts"]
    sample = Sample(**texts, reference="-")  # shortened; nobody reads the reference
    verdicts = Verdicts.from_matrices(**kept["verdicts"], chunks=texts["retrieved_contexts"])
    settings = Settings(kept["definition"], kept["empty"], kept["undetermined"])
    placebos = Placebos(*kept["placebos"])
    return _Rescored(
        name,
        settings.score(verdicts),
        sample=sample,
        cluster=kept["cluster"],
        placebos=placebos,
        repeats=tuple(kept["repeats"]),
    )


def summary_of(
    rows: Iterable[Iterable[object]],
    definition: DefinitionName | None = None,
    name: str | None = None,
) -> Summary:
    """Summarize a host's run from the metadata that the host stored.

    A row without a score by that definition and name counts as failed.

    Args:
        rows: for each row, the metadata of its scores.
        definition: of the scores in question; None if the rows hold no others.
        name: how their names begin; likewise.

    Raises:
        InputError: an unknown definition, or a row with several scores of one mode.
    """
    if definition is not None:
        check_definition(definition)
    results: list[Result] = []
    for number, row in enumerate(rows):
        kept = _kept_of(row, definition, name)
        asked = [mode for scored in kept for mode in scored["modes"]]
        if len({*asked}) < len(asked):
            hint = "give each a name=…"
            got = "those of two evaluators"
            raise InputError("one score a mode", got, where=f"row {number}", hint=hint)
        if kept:
            results.append(_rescored(str(number), kept[0]))
        else:
            results.append(Result(str(number), error="it has no score"))
    return summarize(results)


def _kept_of(
    row: Iterable[object], definition: str | None, name: str | None
) -> list[dict[str, Any]]:
    """Return what was kept of a row's scores under the definition and the name."""
    kept: list[dict[str, Any]] = []
    for metadata in row:
        scored = as_object(metadata).get("scored")
        if scored is None or definition not in (None, scored["definition"]):
            continue
        if name in (None, scored.get("name")):
            kept.append(scored)
    return kept


def check_modes(mode: Modes, definition: DefinitionName) -> tuple[Mode, ...]:
    """Return one mode, or for ``"both"`` those that the definition has.

    A single mode is returned even if the definition lacks it: its scores are then undefined.
    Raises `InputError` for an unknown mode or definition.
    """
    defined = modes_of(check_definition(definition).name)
    check_choice(mode, get_args(Modes), "mode")
    return defined if mode == "both" else (mode,)


def mean_of(summary: Summary, mode: Mode) -> Figure:
    """Return a run's mean of one mode, with all that the summary says as its reason.

    Its value is None if the run has no such mean, or open verdicts make the mean a range.
    """
    figures = summary.mode(mode)
    mean = None if figures is None else figures.mean
    value = None if mean is None else mean.value
    status = "undefined"
    if mean is not None:
        status = "undetermined" if value is None else "determined"
    metadata = {"status": status, "samples": summary.samples, "failed": summary.failed}
    return Figure(mode, value, str(summary), metadata)
