"""Judge and score one row: the same five steps for every host, file and command.

Given verdicts need no judge, nor does a sample with nothing to judge; else the judge is made and
asked; the verdicts are scored. What is asked about loads pydantic and asyncio; given verdicts load
neither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from noisesense.errors import UndefinedScoreError
from noisesense.scoring.definitions import (
    DefinitionName,
    check_definition,
    chunk_modes,
    modes_of,
)
from noisesense.scoring.scoring import (
    NO_JUDGE,
    Empty,
    Score,
    Undetermined,
    check_empty,
    check_undetermined,
    score,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from noisesense.judging.protocol import Judge, Judgement
    from noisesense.scoring.results import Choices, Result, ResultLine
    from noisesense.verdicts.form import VerdictsForm
    from noisesense.verdicts.sample import Sample
    from noisesense.verdicts.verdicts import Verdicts


class Row(Protocol):
    """What is evaluated: texts, or verdicts on them, or both."""

    @property
    def sample(self) -> Sample:
        """The texts. Read only if a judge is needed. Raises `InputError`."""
        ...

    @property
    def verdicts(self) -> VerdictsForm | None:
        """Those that were given; they take the place of a judge."""
        ...


class Given(NamedTuple):
    """A row in the core's words: its texts, and the verdicts that it brings."""

    sample: Sample
    verdicts: Verdicts | None = None


class Settings(NamedTuple):
    """How verdicts become a score: see `noisesense.score`."""

    definition: DefinitionName = "ragas"
    empty: Empty = "undefined"
    undetermined: Undetermined = "none"

    @classmethod
    def checked(
        cls,
        definition: str = "ragas",
        empty: str = "undefined",
        undetermined: str = "none",
    ) -> Settings:
        """Raises `InputError` for a value that no sample could be scored by."""
        return cls(
            check_definition(definition).name,
            check_empty(empty),
            check_undetermined(undetermined),
        )

    @classmethod
    def of_line(cls, line: ResultLine, **chosen: Unpack[Choices]) -> Settings:
        """As chosen, or else as the line of a file says."""
        return cls(*line.chosen(**chosen))

    def score(self, verdicts: VerdictsForm) -> Score:
        """Raises `UndefinedScoreError` if there is nothing to measure and ``empty="error"``."""
        return score(
            verdicts,
            definition=self.definition,
            empty=self.empty,
            undetermined=self.undetermined,
        )


def choices(
    definition: str | None = None, empty: str | None = None, undetermined: str | None = None
) -> Choices:
    """The three settings, where None leaves one to the line of a file. Raises `InputError`."""
    return {
        "definition": None if definition is None else check_definition(definition).name,
        "empty": None if empty is None else check_empty(empty),
        "undetermined": None if undetermined is None else check_undetermined(undetermined),
    }


def suffix(definition: str) -> str:
    """What a score's name ends with: nothing, or of another definition e.g. ``_paper``.

    Scores of different definitions must not share a name: hosts average what does.
    """
    return "" if definition == "ragas" else f"_{definition}"


def score_name(mode: str, definition: str) -> str:
    """``noise_sensitivity_relevant``, or ``noise_sensitivity_relevant_paper``."""
    return f"noise_sensitivity_{mode}{suffix(definition)}"


class Evaluated(NamedTuple):
    """One row's score, and where its verdicts come from.

    Attributes:
        score: both modes.
        judge: the name of the judge; ``"given verdicts"``, or ``"none"`` where none was needed.
        asked: what the judge said and cost, empty where none was needed; None if verdicts were
            given.
    """

    score: Score
    judge: str
    asked: Judgement | None = None

    @property
    def judgement(self) -> Judgement:
        """What the judge said and cost; where verdicts were given, those, at no cost."""
        if self.asked is not None:
            return self.asked
        from noisesense.judging.protocol import Judgement
        from noisesense.verdicts.verdicts import as_model

        return Judgement(as_model(self.score.verdicts))

    def result(self, name: str, sample: Sample, cluster: str | None = None) -> Result:
        """The score as a line of a results file."""
        from noisesense.scoring.results import Result

        judgement = self.judgement
        return Result(
            name,
            self.score,
            sample=sample,
            cluster=cluster,
            unanswered=judgement.unanswered,
            usage=judgement.usage,
            judge=self.judge,
        )


class Evaluator:
    """Judges a row, unless it has verdicts, and scores it.

    Args:
        settings: how verdicts become a score.
        judge: makes the judge, or raises; called only for a row that needs one.
        metric: what tells a host's metrics over the same verdicts apart, beside the settings.
            With it, the metrics of a run share a judging: see
            `noisesense.judging.sharing.judge_once`. Without, each row is judged for itself.
    """

    def __init__(
        self, settings: Settings, judge: Callable[[], Judge], metric: Hashable = None
    ) -> None:
        self.settings = settings
        self._judge = judge
        self._metric = metric

    async def evaluate(self, row: Row, run: object = None) -> Evaluated:
        """The row's score.

        Args:
            row: the texts, or their verdicts.
            run: the host's run, if metrics share judgings.

        Raises:
            InputError: a text is missing or malformed.
            JudgeError: the judge could not be asked, or gave no usable list of claims.
            StoreError: the judge's store.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
        """
        evaluated = self._unasked(row)
        return await self._asked(row, run) if evaluated is None else evaluated

    def evaluate_blocking(self, row: Row) -> Evaluated:
        """Same as `evaluate`, for a caller that is not in an event loop of its own."""
        evaluated = self._unasked(row)
        if evaluated is not None:
            return evaluated
        from noisesense.judging.calls import run_blocking

        return run_blocking(self._asked(row, None))

    def _unasked(self, row: Row) -> Evaluated | None:
        """The score that needs no judge; None if a judge is needed."""
        verdicts = row.verdicts
        if verdicts is not None:
            return Evaluated(self.settings.score(verdicts), "given verdicts")
        nothing = skip_judging(row.sample, self.settings.definition)
        if nothing is not None:
            return Evaluated(self.settings.score(nothing.verdicts), NO_JUDGE, nothing)
        return None

    async def _asked(self, row: Row, run: object) -> Evaluated:
        """The score by the judge's verdicts."""
        judge = self._judge()
        judgement = await self._ask(judge, row.sample, run)
        try:
            scored = self.settings.score(judgement.verdicts)
        except UndefinedScoreError as error:
            error.usage = judgement.usage
            raise
        name = str(getattr(judge, "name", type(judge).__name__))
        return Evaluated(scored, name, judgement)

    async def _ask(self, judge: Judge, sample: Sample, run: object) -> Judgement:
        from noisesense.judging.sharing import ask_judge, judge_once

        if self._metric is None:
            return await ask_judge(judge, sample)
        metric = (self._metric, self.settings)
        return await judge_once(judge, sample, metric=metric, run=run)


def skip_judging(sample: Sample, definition: DefinitionName) -> Judgement | None:
    """An empty judgement if no judge is needed, since the score is undefined.

    That is if nothing was retrieved, and the definition counts only claims from a chunk.
    """
    if sample.retrieved_contexts or chunk_modes(definition) != modes_of(definition):
        return None
    from noisesense.judging.protocol import Judgement
    from noisesense.verdicts.verdicts import Verdicts

    return Judgement(Verdicts(response_claims=(), chunks=()))
