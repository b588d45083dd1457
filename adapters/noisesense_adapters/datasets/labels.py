"""Claims that people labeled: a judge asked about them, and downloads turned into such a file.

Formats, as their authors document them: WiCE (github.com/ryokamoi/wice, README), RefChecker
(github.com/amazon-science/RefChecker, benchmark/), RAGTruth (github.com/ParticleMedia/RAGTruth,
README). Nothing of theirs is in this package: users download it under its own license.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from noisesense import InputError, LabeledVerdicts, Result, Usage, Verdicts, errors
from noisesense.errors import check_choice, describe
from noisesense.jsonl import as_path, numbered_lines, parse_line, to_json, write_whole
from noisesense.judging.calls import gather_all
from noisesense.judging.protocol import EntailmentJudge
from noisesense.stats.cells import cell_of
from noisesense.verdicts.form import Cell
from noisesense.verdicts.verdicts import as_model
from noisesense_adapters.datasets.score import GIVE_UP
from noisesense_adapters.toolbox.running import run_blocking
from noisesense_adapters.toolbox.sentences import sentence_spans

OnDone = Callable[[str | None], object]
"""Called for each labeled sample with why it failed, or None."""


class JudgedLabels(NamedTuple):
    """Labels beside a judge's verdicts, and what these cost.

    Attributes:
        probabilities: of a judge that has them: what people said of a cell, and how likely the
            judge has it.
    """

    samples: list[LabeledVerdicts]
    usage: Usage
    probabilities: list[tuple[bool, float]]


def judge_labels(
    labeled: Iterable[Result],
    judge: EntailmentJudge,
    *,
    concurrency: int = 16,
    on_done: OnDone = lambda _: None,
) -> JudgedLabels:
    """Ask a judge about claims that people labeled. The claims are taken as they are.

    Args:
        labeled: results whose verdicts are labels; they need the chunks' texts. Where people said
            which claims are correct and the sample is there, its reference is a text, too.
        judge: e.g. `LLMJudge`, or `noisesense_adapters.local.LocalJudge`.
        concurrency: how many samples at once.
        on_done: see `OnDone`.

    Raises:
        InputError: labels without texts.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    waiting = iter(labeled)
    samples: list[LabeledVerdicts] = []
    usages: list[Usage] = []
    probabilities: list[tuple[bool, float]] = []

    async def work() -> None:
        for result in waiting:
            if result.score is None:
                on_done(result.error)
                continue
            labels = as_model(result.score.verdicts)
            judged, failure = None, None
            try:
                judged, usage, likely = await _judged(labels, result, judge)
                usages.append(usage)
                probabilities.extend(likely)
            except errors.JudgeError as error:
                failure = str(error)
            samples.append(LabeledVerdicts(labels, judged, result.id, result.cluster))
            on_done(failure)
            if len(samples) == GIVE_UP and all(each.judge is None for each in samples):
                raise errors.JudgeError(
                    f"the judge failed on the first {GIVE_UP} samples, so the run ends. "
                    f"The last: {failure}"
                )

    async def all_work() -> None:
        await gather_all([work() for _ in range(concurrency)])

    run_blocking(all_work())
    return JudgedLabels(samples, sum(usages, Usage()), probabilities)


async def _judged(
    labels: Verdicts, result: Result, judge: EntailmentJudge
) -> tuple[Verdicts, Usage, list[tuple[bool, float]]]:
    texts = [chunk.text for chunk in labels.chunks or ()]
    responses = [claim.text for claim in labels.response_claims]
    references = [claim.text for claim in labels.reference_claims]
    if not texts or not all(text.strip() for text in (*responses, *references)):
        hint = "labels need the texts of their claims and chunks"
        raise InputError("texts to judge", "none", where=f"sample {result.id!r}", hint=hint)
    checked = result.sample is not None and any(
        c.correct is not None for c in labels.response_claims
    )
    premises = [*texts, result.sample.reference] if result.sample and checked else texts
    rows: list[list[Cell]] = []
    likely: list[Sequence[float | None]] = []
    usage = Usage()
    for asked, claims in ((premises, responses), (texts, references)):
        if claims:
            found = await judge.entailment(asked, claims)
            rows += [list(row) for row in found.cells]
            likely += found.probabilities or ()
            usage += found.usage
    width, count = len(texts), len(responses)
    correct = [row[width] if checked else None for row in rows[:count]]
    verdicts = Verdicts.from_matrices(
        correct,
        [row[:width] for row in rows[:count]],
        rows[count:],
        response_claims=responses,
        reference_claims=references,
        chunks=texts,
    )
    said: list[list[Cell]] = [
        [*(cell_of(claim, j) for j in range(width)), *([claim.correct] if checked else [])]
        for claim in labels.response_claims
    ]
    said += [[cell_of(claim, j) for j in range(width)] for claim in labels.reference_claims]
    pairs = [
        (label, p)
        for labeled, row in zip(said, likely, strict=False)
        for label, p in zip(labeled, row, strict=True)
        if label is not None and p is not None
    ]
    return verdicts, usage, pairs


Source = Literal["wice", "refchecker", "ragtruth"]


class Imported(NamedTuple):
    """What was written: labeled samples, their cells, and the download's SHA-256."""

    samples: int
    yes: int
    no: int
    undecided: int
    sha256: str


def import_labels(
    source: Source,
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    sentences: int = 8,
    sha256: str | None = None,
) -> Imported:
    """Turn a download into a file of labeled claims, for `judge_labels`.

    Args:
        source: ``"wice"``: a file of ``entailment_retrieval/``; ``"refchecker"``: a file of human
            annotations and the file with its contexts; ``"ragtruth"``: ``response.jsonl`` and
            ``source_info.jsonl``.
        paths: the downloaded files, in this order.
        out: the JSON lines to write; the file appears whole or not at all.
        sentences: of WiCE's evidence, in a chunk.
        sha256: of all files, one after the other: they must have it.

    Raises:
        InputError: another number of files, another checksum, or a file of another form.
    """
    check_choice(source, get_args(Source), "source")
    read = {"wice": _wice, "refchecker": _refchecker, "ragtruth": _ragtruth}[source]
    expected = 1 if source == "wice" else 2
    if len(paths) != expected:
        raise InputError(f"{expected} files", str(len(paths)), where=source)
    if sentences < 1:
        raise InputError("1 or more", describe(sentences), where="sentences")
    digest = hashlib.sha256()
    for path in paths:
        digest.update(as_path(path).read_bytes())
    found = digest.hexdigest()
    if sha256 is not None and sha256.lower() != found:
        hint = "is the download complete, and is it the version you mean?"
        raise InputError(f"SHA-256 {sha256}", found, where=str(paths[0]), hint=hint)
    counts = {True: 0, False: 0, None: 0}
    samples = 0

    def lines() -> Iterator[str]:
        nonlocal samples
        for label in read([as_path(path) for path in paths], sentences):
            samples += 1
            for cell in chain.from_iterable(label.table):
                counts[cell] += 1
            yield to_json(label.line())

    write_whole(as_path(out), lines())
    return Imported(samples, counts[True], counts[False], counts[None], found)


class _Labeled(NamedTuple):
    name: str
    cluster: str
    claims: Sequence[str]
    chunks: Sequence[str]
    table: Sequence[Sequence[Cell]]

    def line(self) -> dict[str, Any]:
        """A line of a results file: verdicts without a sample, as nothing else is known."""
        verdicts = Verdicts.from_matrices(
            [None] * len(self.claims),
            self.table,
            response_claims=self.claims,
            chunks=self.chunks,
        )
        data = verdicts.model_dump(mode="json", exclude_defaults=True)
        return {"id": self.name, "cluster": self.cluster, "verdicts": data}


def _wice(paths: Sequence[Path], sentences: int) -> Iterator[_Labeled]:
    """A chunk entails a supported claim if it holds a whole set of supporting sentences; with
    some of a set, or of one that supports the claim in part, it is left undecided."""
    for place, row in _rows(paths[0]):
        label, claim, evidence, sets, meta = _fields(
            row, place, "label", "claim", "evidence", "supporting_sentences", "meta"
        )
        groups = [range(at, at + sentences) for at in range(0, len(evidence), sentences)]
        cells: list[Cell] = []
        for group in groups:
            held = [set(each) & set(group) for each in sets]
            whole = any(
                each and len(each) == len(set(of)) for each, of in zip(held, sets, strict=True)
            )
            touched = label != "not_supported" and any(held)
            cells.append((label == "supported" and whole) or (None if touched else False))
        texts = [" ".join(evidence[at] for at in group if at < len(evidence)) for group in groups]
        name = str(meta["id"])
        yield _Labeled(name, name, [claim], texts, [cells])


_ENTAILS: dict[str, Cell] = {"Entailment": True, "Neutral": False, "Contradiction": False}


def _refchecker(paths: Sequence[Path], _: int) -> Iterator[_Labeled]:
    """Triplets against all passages together, as they were labeled."""
    contexts = {str(row["id"]): row for _, row in _rows(paths[1])}
    for place, row in _rows(paths[0]):
        (name,) = _fields(row, place, "id")
        triplets = [each for each in _triplets(row) if each.get("human_label") in _ENTAILS]
        context = contexts.get(str(name), {}).get("context")
        passages = [context] if isinstance(context, str) else context
        if not triplets or not passages:
            continue
        claims = [" ".join(map(str, each["triplet"])) for each in triplets]
        yield _Labeled(
            str(name),
            str(name),
            claims,
            ["\n\n".join(map(str, passages))],
            [[_ENTAILS[each["human_label"]]] for each in triplets],
        )


def _triplets(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The human labels are on the triplets that Claude 2 found."""
    found = cast("list[Any]", row.get("claude2_response_kg") or [])
    rows = [cast("dict[str, Any]", each) for each in found if isinstance(each, dict)]
    return [row for row in rows if "triplet" in row]


def _ragtruth(paths: Sequence[Path], _: int) -> Iterator[_Labeled]:
    """Sentences of the response against the source: "no" where one holds a hallucinated span."""
    sources = {str(row["source_id"]): row for _, row in _rows(paths[1])}
    for place, row in _rows(paths[0]):
        name, source_id, response, spans = _fields(
            row, place, "id", "source_id", "response", "labels"
        )
        source = sources.get(str(source_id))
        if source is None or row.get("quality", "good") != "good":
            continue
        info: Any = source.get("source_info")
        if isinstance(info, dict):
            info = cast("dict[str, Any]", info).get("passages") or json.dumps(
                info, ensure_ascii=False
            )
        spans_of = list(sentence_spans(response))
        if not info or not spans_of:
            continue
        table: list[list[Cell]] = []
        for start, end in spans_of:
            hit = [each for each in spans if each["start"] < end and each["end"] > start]
            true = [each for each in hit if each.get("implicit_true")]
            # True, but not said by the source: people did not decide whether it is entailed.
            table.append([None if hit and len(true) == len(hit) else not hit])
        claims = [response[start:end] for start, end in spans_of]
        yield _Labeled(str(name), str(source_id), claims, [str(info)], table)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of JSON lines, or of one JSON list."""
    first = next((text for _, text in numbered_lines(path) if text.strip()), "")
    if first.lstrip().startswith("["):
        try:
            listed = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise InputError("a JSON list", "something else", where=str(path)) from None
        yield from ((f"{path}, item {i}", _object(row, path)) for i, row in enumerate(listed))
        return
    for number, text in numbered_lines(path):
        place = f"{path}, line {number}"
        try:
            row = parse_line(text)
        except InputError as error:
            raise error.within(place) from None
        yield place, _object(row, path)


def _object(row: object, path: Path) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise InputError("an object", describe(row), where=str(path))
    return cast("dict[str, Any]", row)


def _fields(row: Mapping[str, Any], place: str, *names: str) -> list[Any]:
    for name in names:
        if row.get(name) is None:
            raise InputError(f"the field {name!r}", "none", where=place)
    return [row[name] for name in names]
