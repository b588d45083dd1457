"""Results: the outcome of each sample of a run, stored as JSON lines.

A line holds the verdicts and the figures derived from them. Reading scores the verdicts again, so
that another definition takes effect without a judge, and compares them with the line's figures:
where the two differ, the line is damaged. A line without figures is read as it is, such as one
whose verdicts were corrected, and a recording; its samples are named by their content.
The last line says how many results there are, so that a file that was cut off is noticed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar, cast

from msgspec import Struct
from pydantic import BeforeValidator, Field, StrictInt, StrictStr
from typing_extensions import TypedDict, Unpack

from noisesense.errors import InputError, RecordingError, describe
from noisesense.jsonl import as_path, parse_line, read_lines, to_json, whole_file
from noisesense.judging.protocol import NO_PLACEBOS, NO_USAGE, ClaimChange, Placebos, Usage
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.scoring.outcomes import Range, as_data
from noisesense.scoring.scoring import Empty, Score, Status, Undetermined, figures_of, score
from noisesense.verdicts.form import ChunkForm, VerdictsForm, as_name
from noisesense.verdicts.recording import recording_fields
from noisesense.verdicts.sample import Chunk, Line, Sample
from noisesense.verdicts.verdicts import Verdicts, as_model

T = TypeVar("T")


class Choices(TypedDict, total=False):
    """How recorded verdicts are scored. By default, or where None, as their line says.

    Attributes:
        definition: the definition to score under.
        empty: the value of a sample with nothing to measure.
        undetermined: the value where undetermined verdicts matter.
    """

    definition: DefinitionName | None
    empty: Empty | None
    undetermined: Undetermined | None


_Name = Annotated[StrictStr | None, BeforeValidator(as_name)]


class ResultLine(Line):
    """One line of a results file. Reading derives the figures and checks those of the line."""

    id: _Name = None
    cluster: _Name = None
    judge: StrictStr | None = None
    definition: DefinitionName = "ragas"
    empty: Empty = "undefined"
    undetermined: Undetermined = "none"
    relevant: float | None = None
    irrelevant: float | None = None
    status: dict[str, Status] | None = None
    bounds: dict[str, tuple[float, float] | None] | None = None
    partition: dict[str, StrictInt] | None = None
    unanswered: Annotated[int, Field(ge=0)] = 0  # pandas writes 2.0 where a row has none
    usage: Usage = NO_USAGE
    changes: tuple[ClaimChange, ...] = ()
    placebos: Placebos = NO_PLACEBOS
    error: StrictStr | None = None
    sample: Sample | None = None
    verdicts: Verdicts | None = None
    results: Annotated[int, Field(ge=1)] | None = None
    """How many results the file has, in its last line."""

    @property
    def name(self) -> str:
        """The id, or the key of the texts without one. Raises `InputError` without either."""
        if self.id is not None:
            return self.id
        if self.sample is None:
            raise InputError("the field 'id'", "neither an id nor a sample", where="result")
        return self.sample.key

    def chosen(self, **choices: Unpack[Choices]) -> tuple[DefinitionName, Empty, Undetermined]:
        """Return definition, empty and undetermined: each as chosen, or else as the line says."""
        return (
            choices.get("definition") or self.definition,
            choices.get("empty") or self.empty,
            choices.get("undetermined") or self.undetermined,
        )

    def scored(self, verdicts: VerdictsForm, **choices: Unpack[Choices]) -> Score:
        """Score the verdicts, by default as the line says. Raises as `score` does."""
        definition, empty, undetermined = self.chosen(**choices)
        return score(verdicts, definition=definition, empty=empty, undetermined=undetermined)

    def result(self, **choices: Unpack[Choices]) -> Result:
        """Return the line as a result, scored again: first as it says, then as chosen.

        Args:
            choices: as `score` takes them; other names are ignored. All are on a failed line.

        Raises:
            InputError: neither an id nor a sample, verdicts that do not fit the sample, figures
                that do not follow from them, an unknown value of a choice, or both verdicts and an
                error, or neither.
            UndefinedScoreError: nothing to measure and ``empty="error"``, chosen or of the line.
        """
        scored = None
        verdicts = self.verdicts
        if verdicts is not None:
            if self.sample is not None:
                verdicts = verdicts.with_sample(self.sample)
            scored = self.scored(verdicts)
            self._check_figures(figures_of(scored))
            if any(choices.values()):
                scored = self.scored(verdicts, **choices)
        return self.with_score(scored, self.name, self.sample, self.cluster)

    def with_score(
        self, scored: Score | None, name: str, sample: Sample | None, cluster: str | None
    ) -> Result:
        """Return a sample's result: the score, and what the line says of its judging or error."""
        return Result(
            id=name,
            score=scored,
            error=self.error,
            sample=sample,
            cluster=cluster,
            unanswered=self.unanswered,
            usage=self.usage,
            changes=self.changes,
            placebos=self.placebos,
            judge=self.judge,
        )

    def _check_figures(self, derived: dict[str, Any]) -> None:
        """Raise `InputError` if the line says other figures than follow from its verdicts."""
        for name, figure in derived.items():
            if name not in self.model_fields_set:
                continue
            stated = getattr(self, name)
            if stated is None and self.status is None:
                continue  # a table that holds other lines as well has all columns
            if not _agree(figure, stated):
                expected = f"{describe(figure)}, which follows from the verdicts"
                hint = "the line is damaged; if you changed its verdicts, remove its figures"
                raise InputError(expected, describe(stated), where=name, hint=hint)


def _agree(derived: Any, stated: Any) -> bool:
    """Tell whether figures are equal but for rounding, which other programs do."""
    if derived is None or stated is None:
        return derived is stated
    if isinstance(derived, dict):
        by_name = cast("dict[str, Any]", derived)
        if by_name.keys() != stated.keys():
            return False
        return all(_agree(by_name[name], stated[name]) for name in by_name)
    if isinstance(derived, Range):
        return _agree(derived.low, stated[0]) and _agree(derived.high, stated[1])
    if isinstance(derived, float):
        return math.isclose(derived, stated, abs_tol=1e-6)
    return bool(derived == stated)


def _is_of_sample(chunk: ChunkForm, context: Chunk) -> bool:
    """Tell whether the context gives the chunk back: its text, if any, and no other label."""
    return chunk.text in ("", context.text) and context.relevant in (None, chunk.relevant)


ECHO = "the response is the reference, word for word"


def _repeats(sample: Sample) -> Iterator[str]:
    """Yield in words which text repeats another, or itself."""
    response = sample.response.strip()
    reference = sample.reference.strip()
    chunks = [chunk.text.strip() for chunk in sample.retrieved_contexts]
    if response == reference:
        yield ECHO
    for name, text in (("response", response), ("reference", reference)):
        if any(chunk and chunk in text for chunk in chunks):
            yield f"the {name} holds a whole chunk, word for word"
    words = response.split()
    half = len(words) // 2
    if words[:half] == words[half:]:
        yield "the response repeats itself, word for word"


class Result(Struct, frozen=True):
    """The result of one sample: a score, or an error that says why there is none.

    Attributes:
        id: names the sample; comparisons pair results by it.
        score: the score, with its verdicts.
        error: why the sample could not be judged or scored.
        sample: the texts, if known.
        cluster: what the sample shares with others (a document, a conversation, a user). Samples
            of one cluster are not independent; intervals take it into account.
        unanswered: how many verdicts the judge was asked for and did not give.
        usage: the cost of judging the sample.
        changes: claims that the judge, asked once more, has added to its lists or dropped.
        placebos: how the judge did on those that it was asked beside this sample; their cost is
            in the usage.
        judge: who gave the verdicts, if known: a model with its prompts and its plan.

    Raises:
        InputError: an id or a cluster that is no string, which a file would not give back; both a
            score and an error, or neither; or a score of other chunks, or other labels, than the
            sample's.
    """

    id: str
    score: Score | None = None
    error: str | None = None
    sample: Sample | None = None
    cluster: str | None = None
    unanswered: int = 0
    usage: Usage = NO_USAGE
    changes: tuple[ClaimChange, ...] = ()
    placebos: Placebos = NO_PLACEBOS
    judge: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise InputError("a string", describe(self.id), where="id of a result")
        if self.cluster is not None and not isinstance(self.cluster, str):
            raise InputError("a string", describe(self.cluster), where=f"cluster of {self.id!r}")
        if (self.score is None) == (self.error is None):
            got = "neither" if self.score is None else "both"
            expected = "a score, or an error that says why there is none"
            raise InputError(expected, got, where=f"result {self.id!r}")
        if self.score is not None and self.sample is not None:
            self._check_chunks(self.score, self.sample)

    def _check_chunks(self, score: Score, sample: Sample) -> None:
        """Refuse a score of other chunks than the sample's: a file keeps them once."""
        listed = score.verdicts.chunks or ()
        contexts = sample.retrieved_contexts
        if listed == contexts:
            return
        # The score may say that nothing was retrieved (its chunks have no texts), and the sample
        # lists chunks: then it is of others.
        fits = len(listed) == len(contexts) and score.lack != "nothing_retrieved"
        if not fits or not all(map(_is_of_sample, listed, contexts)):
            expected = "a score of the sample's chunks, with their texts and labels"
            hint = "score(verdicts.with_sample(sample))"
            raise InputError(expected, "one of others", where=f"result {self.id!r}", hint=hint)

    @property
    def repeats(self) -> tuple[str, ...]:
        """Which texts repeat one another, or themselves, in words; without texts, if claims do."""
        if self.sample is not None:
            return tuple(_repeats(self.sample))
        return (ECHO,) if self.score is not None and self.score.echoes else ()

    def bounds(self, mode: Mode) -> Range | None:
        """Same as `Score.bounds`; None without a score, too."""
        return None if self.score is None else self.score.bounds(mode)

    def to_dict(self) -> dict[str, Any]:
        """Return the line of a results file, JSON-ready, without the result's empty fields."""
        line: dict[str, Any] = {"id": self.id}
        for name in ("cluster", "judge", "unanswered", "error"):
            value = getattr(self, name)
            if value not in (None, 0):
                line[name] = value
        if self.usage != NO_USAGE:
            line["usage"] = as_data(self.usage)
        if self.changes:
            line["changes"] = [as_data(change) for change in self.changes]
        if self.placebos != NO_PLACEBOS:
            line["placebos"] = as_data(self.placebos)
        score = self.score
        if score is None:
            return line | recording_fields(self.sample, None)
        line["definition"] = score.definition
        line["empty"] = score.empty
        if score.undetermined != "none":
            line["undetermined"] = score.undetermined
        line |= figures_of(score)
        return line | recording_fields(self.sample, as_model(score.verdicts))

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON."""
        return to_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str, **choices: Unpack[Choices]) -> Result:
        """Read what `to_json` wrote, or a line of a recording.

        Args:
            text: one JSON object.
            choices: see `Choices`.

        Raises:
            InputError: not JSON, a field is missing, unknown or wrong, the verdicts do not fit the
                sample, or the figures do not follow from them; or an unknown choice.
            UndefinedScoreError: nothing to measure and ``empty="error"``.
        """
        return ResultLine.model_validate(parse_line(text)).result(**choices)


def read_results(path: str | os.PathLike[str], **choices: Unpack[Choices]) -> Iterator[Result]:
    """Read the results in a file one by one, in constant memory.

    Args:
        path: a results file or a recording: UTF-8, one JSON object per line.
        choices: see `Choices`.

    Raises:
        RecordingError: while iterated; names the file and the line. If the file was cut off, only
            after its last result. `noisesense_adapters.datasets.results_of` continues after a
            broken line.
        UndefinedScoreError: while iterated: nothing to measure and ``empty="error"``.
    """
    last = LastLine()

    def read(text: str) -> Result:
        line = ResultLine.model_validate(parse_line(text))
        last.count(line)
        return line.result(**choices)

    for _, result in read_lines(path, read):
        yield result
    last.check(str(path))


def write_results(path: str | os.PathLike[str], results: Iterable[Result]) -> None:
    """Write a results file that `read_results` reads, completely or not at all.

    Without results the file is empty.

    Raises:
        InputError: the file cannot be written, or something else than a result.
    """
    with whole_file(as_path(path)) as add:
        writer = ResultsWriter(add)
        for result in results_in(results):
            writer.add(result)
        writer.end()


def each_of(results: Iterable[T]) -> Iterable[T]:
    """Return the results as they are. Raises `InputError` if they cannot be iterated."""
    if not isinstance(cast("object", results), Iterable):
        hint = "results_of(run) of its adapter makes results of a framework's run"
        raise InputError("results", describe(results), where="results", hint=hint)
    return results


class ResultsWriter:
    """Writes results line by line; the last one says how many there are.

    Args:
        add: writes a line.
    """

    def __init__(self, add: Callable[[str], object]) -> None:
        self._add = add
        self._waiting: Result | None = None
        self._count = 0

    def add(self, result: Result) -> None:
        """Write the result before this one. This one waits for the next, or for `end`."""
        if self._waiting is not None:
            self._add(self._waiting.to_json())
        self._waiting = result
        self._count += 1

    def end(self) -> None:
        """Write the last result, and in its line how many there are; nothing if there are none."""
        if self._waiting is not None:
            self._add(to_json({**self._waiting.to_dict(), "results": self._count}))


_HOW_WHOLE = "was the file cut off, or were its lines chosen? write_results() writes a whole one"


class LastLine:
    """Checks that the results of a file are all there: its last line says how many it has."""

    def __init__(self) -> None:
        self._count = 0
        self._is_open = False

    def count(self, line: ResultLine | None) -> None:
        """Count a line; None is a broken one.

        A line that says how many results there are begins the count anew. Raises `InputError` if
        it says another number.
        """
        self._count += 1
        if line is None:
            return
        self._is_open = line.status is not None or line.error is not None
        if line.results is None:
            return
        if line.results != self._count:
            expected = f"{line.results} results"
            raise InputError(expected, str(self._count), where="results", hint=_HOW_WHOLE)
        self._count = 0
        self._is_open = False

    def check(self, file: str) -> None:
        """Raise `RecordingError` if the last line has figures or an error, but no ``results``.

        A recording's lines have neither, and a file without lines is whole.
        """
        if self._is_open:
            expected = "a last line with the number of results"
            got = f"none, after line {self._count}"
            raise RecordingError(expected, got, where=file, hint=_HOW_WHOLE)


def results_in(results: Iterable[object]) -> Iterator[Result]:
    """Return the results one by one. Raises `InputError`, at something else while iterated."""
    return map(result_in, each_of(results))


def result_in(item: object) -> Result:
    """Return the item, if it is a result. Raises `InputError`."""
    if isinstance(item, Result):
        return item
    hint = "read_results(path) reads a file, and Result(id, score) makes one"
    raise InputError("results", describe(item), where="results", hint=hint)


def check_scored_alike(results: Iterable[Result], where: str) -> None:
    """Raise `InputError` if the scores are of several definitions, or of several ``empty``."""
    ways: set[tuple[str, str]] = set()
    for result in results:
        if result.score is not None:
            ways.add((result.score.definition, result.score.empty))
    if len(ways) > 1:
        got = " and ".join(str(way) for way in sorted(ways))
        hint = "read all of them with one definition=… and empty=…"
        raise InputError("results scored alike", got, where=where, hint=hint)
