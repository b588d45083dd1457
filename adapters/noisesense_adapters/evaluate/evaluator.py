"""Judge and score one row, in the same way for every host, file and command.

A row that brings verdicts needs no judge, and neither does a sample with nothing to judge. For
any other row the judge is made and asked. Only asking loads pydantic and asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from noisesense.errors import UndefinedScoreError
from noisesense.scoring.definitions import (
    DefinitionName,
    check_definition,
    chunk_modes,
    modes_of,
)
from noisesense.scoring.scoring import (
    GIVEN_VERDICTS,
    NO_JUDGE,
    Empty,
    Score,
    Undetermined,
    check_empty,
    check_undetermined,
    score,
)

if TYPE_CHECKING:
    from noisesense.judging.protocol import Judge, Judgement
    from noisesense.scoring.results import Choices, Result
    from noisesense.verdicts.form import VerdictsForm
    from noisesense.verdicts.sample import Sample
    from noisesense.verdicts.verdicts import Verdicts


class Row(Protocol):
    """What the `Evaluator` takes: texts, or verdicts on them, or both."""

    @property
    def sample(self) -> Sample:
        """The texts, read only if a judge is needed. Raises `InputError`."""
        ...

    @property
    def verdicts(self) -> VerdictsForm | None:
        """Verdicts that the row brings, in place of a judge; None if it brings none."""
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
        """Return the settings. Raises `InputError` for an unknown value."""
        return cls(
            check_definition(definition).name,
            check_empty(empty),
            check_undetermined(undetermined),
        )

    def score(self, verdicts: VerdictsForm) -> Score:
        """Score the verdicts by these settings. Raises as `noisesense.score`."""
        return score(
            verdicts,
            definition=self.definition,
            empty=self.empty,
            undetermined=self.undetermined,
        )


def choices(
    definition: str | None = None, empty: str | None = None, undetermined: str | None = None
) -> Choices:
    """Return, by name, the settings that are not None; the line of a file decides the others.

    Raises `InputError` for an unknown value.
    """
    given = {"definition": definition, "empty": empty, "undetermined": undetermined}
    chosen = {name: value for name, value in given.items() if value is not None}
    Settings.checked(**chosen)
    return cast("Choices", chosen)


def suffix(definition: str) -> str:
    """The end of a score's name: nothing for ``ragas``, else the definition, as in ``_paper``.

    Scores of different definitions must not share a name, because hosts average all scores of
    one name.
    """
    return "" if definition == "ragas" else f"_{definition}"


NAME = "noise_sensitivity"
"""How scores' names begin, unless an evaluator is given another name."""


def score_name(mode: str, definition: str, name: str = NAME) -> str:
    """``noise_sensitivity_relevant``, or ``noise_sensitivity_relevant_paper``.

    It begins with ``name``.
    """
    return f"{name}_{mode}{suffix(definition)}"


class Evaluated(NamedTuple):
    """One row's score, and where its verdicts come from.

    Attributes:
        score: both modes.
        judge: the name of the judge; ``"given verdicts"``, or ``"none"`` where none was needed.
        asked: the judge's verdicts and what they cost, empty where no judge was needed; None
            if the row brought its verdicts.
    """

    score: Score
    judge: str
    asked: Judgement | None = None

    @property
    def judgement(self) -> Judgement:
        """The judge's verdicts and what they cost; verdicts that the row brought cost nothing."""
        if self.asked is not None:
            return self.asked
        from noisesense.judging.protocol import Judgement
        from noisesense.verdicts.verdicts import as_model

        return Judgement(as_model(self.score.verdicts))

    def result(self, name: str, sample: Sample, cluster: str | None = None) -> Result:
        """Return the score as the `noisesense.Result` of a sample, by this name."""
        from noisesense.scoring.results import Result

        judgement = self.judgement
        return Result(
            name,
            self.score,
            sample=sample,
            cluster=cluster,
            unanswered=judgement.unanswered,
            usage=judgement.usage,
            changes=judgement.changes,
            placebos=judgement.placebos,
            judge=self.judge,
        )


class Evaluator:
    """Judges a row, unless it brings verdicts, and scores it.

    Args:
        settings: how verdicts become a score.
        judge: makes the judge, or raises; called only for a row that needs one.
        metric: tells a host's metrics over the same verdicts apart, together with the settings.
            With it, the metrics of a run share one judgement of a row: see
            `noisesense.judging.sharing.judge_once`. Without it, every row is judged anew.
    """

    def __init__(
        self, settings: Settings, judge: Callable[[], Judge], metric: Hashable = None
    ) -> None:
        self.settings = settings
        self._judge = judge
        self._metric = metric

    async def evaluate(self, row: Row, run: object = None) -> Evaluated:
        """Score a row.

        Args:
            row: the texts, or the verdicts on them.
            run: the host's run, if its metrics share judgements.

        Raises:
            InputError: a text is missing or malformed, or a recording lacks the sample.
            JudgeError: the judge could not be asked, or gave no usable list of claims.
            StoreError: the judge's store.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
        """
        evaluated = self._without_judge(row)
        if evaluated is not None:
            return evaluated
        return await self._by_judge(row, run)

    def evaluate_blocking(self, row: Row) -> Evaluated:
        """Same as `evaluate` without a run. A running event loop waits for it."""
        evaluated = self._without_judge(row)
        if evaluated is not None:
            return evaluated
        from noisesense.judging.calls import run_blocking

        return run_blocking(self._by_judge(row, None))

    def _without_judge(self, row: Row) -> Evaluated | None:
        """Return the score of the row's own verdicts, or of a sample that needs no judge (see
        `skip_judging`); None if a judge is needed."""
        verdicts = row.verdicts
        if verdicts is not None:
            return Evaluated(self.settings.score(verdicts), GIVEN_VERDICTS)
        unasked = skip_judging(row.sample, self.settings.definition)
        if unasked is not None:
            return Evaluated(self.settings.score(unasked.verdicts), NO_JUDGE, unasked)
        return None

    async def _by_judge(self, row: Row, run: object) -> Evaluated:
        """Return the score of the judge's verdicts, which the metrics of a run share."""
        from noisesense.judging.sharing import ask_judge, judge_once

        judge = self._judge()
        if self._metric is None:
            judgement = await ask_judge(judge, row.sample)
        else:
            metric = (self._metric, self.settings)
            judgement = await judge_once(judge, row.sample, metric=metric, run=run)
        try:
            scored = self.settings.score(judgement.verdicts)
        except UndefinedScoreError as error:
            error.usage = judgement.usage
            raise
        name = str(getattr(judge, "name", type(judge).__name__))
        return Evaluated(scored, name, judgement)


def skip_judging(sample: Sample, definition: DefinitionName) -> Judgement | None:
    """Return a judgement without claims and chunks if no judge is needed, else None.

    No judge is needed if nothing was retrieved and the definition counts only claims from a chunk:
    whatever a judge says, there is nothing to measure.
    """
    if sample.retrieved_contexts or chunk_modes(definition) != modes_of(definition):
        return None
    from noisesense.judging.protocol import Judgement
    from noisesense.verdicts.verdicts import Verdicts

    return Judgement(Verdicts(response_claims=(), chunks=()))
