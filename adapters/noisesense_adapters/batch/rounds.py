"""Make the next round of requests, in memory or as files in OpenAI's batch format."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisesense import Sample, VerdictStore
from noisesense.errors import InputError, JudgeError, NoiseSenseError, check_whole
from noisesense.jsonl import as_path, to_json, whole_file
from noisesense.judging.calls import AwaitingAnswerError, run_blocking
from noisesense.judging.protocol import Judgement
from noisesense.scoring.outcomes import Record
from noisesense.stats.summarize import counted
from noisesense_adapters.batch.judge import BatchJudge, BatchRequest
from noisesense_adapters.batch.requests import StoredRequest, open_requests, put_request
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.reading.paths import Column

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""OpenAI's limits for one file."""

URL = "/v1/chat/completions"


@dataclass(frozen=True)
class Round(Record):
    """The files of an export, and how far the samples are judged.

    Attributes:
        files: the files with the requests, in order; none if nothing is left to ask.
        requests: the number of different requests.
        asked_before: how many of these are also in an earlier file and have no answer yet.
        samples: the number of samples in the dataset.
        judged: how many samples are finished.
        failed: how many samples cannot be judged: their row cannot be read, or no reply had a
            usable list of the response's claims.
    """

    files: tuple[str, ...] = ()
    requests: int = 0
    asked_before: int = 0
    samples: int = 0
    judged: int = 0
    failed: int = 0


def next_requests(
    judge: BatchJudge, store: VerdictStore, samples: Iterable[Sample]
) -> list[BatchRequest]:
    """All requests about the samples that can be made now; none if all samples are judged.

    The store keeps them, so that `put_replies` finds them by their keys. A sample that cannot be
    judged has no more requests; `judge.judge` raises its error.

    Raises:
        StoreError: the store cannot be read or written.
    """

    async def all_requests() -> list[BatchRequest]:
        requests: list[BatchRequest] = []
        seen: set[str] = set()
        for sample in samples:
            _, new = await _ask(judge, store, sample, seen)
            requests += new
        return requests

    return run_blocking(all_requests())


async def _ask(
    judge: BatchJudge, store: VerdictStore, sample: Sample, seen: set[str], exchange: str = ""
) -> tuple[Judgement | JudgeError | None, list[BatchRequest]]:
    """Judge a sample as far as the answers go, and store the requests that this takes.

    Returns the judgement or its error, None while answers are missing, and the new requests:
    those whose keys are not in ``seen``, which are added to it.
    """
    outcome: Judgement | JudgeError | None = None
    try:
        outcome = await judge.judge_detailed(sample)
    except AwaitingAnswerError:
        pass
    except JudgeError as error:
        outcome = error
    new: list[BatchRequest] = []
    for request in judge.take_requests():
        if request.key in seen:
            continue
        seen.add(request.key)
        new.append(request)
        form = request.schema.__name__
        stored = StoredRequest(request.key, exchange, form, judge.model, judge.version)
        await put_request(store, stored)
    return outcome, new


def export_batch(
    path: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str],
    model: str,
    out: str | os.PathLike[str],
    base_url: str | None = None,
    temperature: float | None = None,
    columns: Mapping[str, Column] | None = None,
    split_contexts: str | None = None,
    provider: str | None = None,
    most_requests: int = MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
    force: bool = False,
    on_done: Callable[[], object] = lambda: None,
    on_error: Callable[[NoiseSenseError], object] = lambda _: None,
    **options: Any,
) -> Round:
    """Write the next round of requests about a dataset.

    Repeat it after each `import_answers`, until a round has no requests. Prompts and keys are
    those of ``LLMJudge(OpenAILLM(model))``, so a judge with this store can continue a batch, and
    the other way round.

    Args:
        path: the dataset; see `noisesense_adapters.datasets.read_rows`.
        store: the file of a `VerdictStore`; created if it does not exist.
        model: the provider's name of the model, e.g. ``"gpt-4.1-mini"``.
        out: the file for the requests. If one is not enough, the next are numbered:
            ``round.jsonl``, ``round-2.jsonl``. Files of an earlier round are overwritten, and
            removed if nothing is left to ask.
        base_url: an endpoint other than OpenAI's. Answers are found by it, too.
        temperature: by default the model's own.
        columns: see `read_rows`.
        split_contexts: see `read_rows`.
        provider: see `read_rows`.
        most_requests: the provider's limit for one file.
        most_bytes: likewise.
        force: continue although requests about other samples, or by another judge, are open.
            Their answers can still be imported.
        on_done: called after each sample.
        on_error: called with the error of each sample that cannot be judged.
        options: of `noisesense.LLMJudge`: ``plan``, ``votes``, ``check``, …

    Raises:
        InputError: in the dataset or an argument; ``out``, or a further file that is needed, is
            another file; or there are open requests of another dataset or judge. No file was
            written.
        StoreError: the store cannot be read or written.
    """
    check_whole(most_requests, 1, "most_requests")
    check_whole(most_bytes, 1, "most_bytes")
    target = as_path(out)
    _check_overwritable(target)
    params = {} if temperature is None else {"temperature": temperature}
    llm = OpenAILLM(model.removeprefix("openai:"), base_url=base_url, params=params)

    def samples() -> Iterator[Sample | NoiseSenseError]:
        rows = read_rows(
            path, columns, verdicts=False, split_contexts=split_contexts, provider=provider
        )
        return map(_sample_of, rows)

    with VerdictStore(store) as opened:
        judge = BatchJudge(llm.name, llm.identity, store=opened, **options)
        exchange = judge.exchange(row for row in samples() if isinstance(row, Sample))
        before = open_requests(opened)
        others: list[StoredRequest] = []
        for request in before.values():
            if request.exchange not in ("", exchange):
                others.append(request)
        if others and not force:
            raise _still_open(others, opened)

        with _request_files(target, most_requests, most_bytes) as files:
            writer = _Writer(judge, opened, llm, exchange, files.add, on_done, on_error)
            counts = run_blocking(writer.write(samples(), others))
            return Round(
                files=tuple(map(str, files.paths)),
                requests=len(writer.seen),
                asked_before=len(writer.seen & before.keys()),
                **counts,
            )


def _sample_of(row: Row | BadRow) -> Sample | NoiseSenseError:
    """The sample of a row, or the reason why it has none."""
    if isinstance(row, BadRow):
        return row.error
    if row.sample is None:
        return InputError("texts to judge", "only verdicts", where=row.place)
    return row.sample


@dataclass
class _Writer:
    """Writes the requests of a round.

    Attributes:
        seen: the keys of the requests so far.
    """

    judge: BatchJudge
    store: VerdictStore
    llm: OpenAILLM
    exchange: str
    add: Callable[[str], None]
    on_done: Callable[[], object]
    on_error: Callable[[NoiseSenseError], object]
    seen: set[str] = field(default_factory=set[str])

    async def write(
        self, samples: Iterable[Sample | NoiseSenseError], others: Iterable[StoredRequest]
    ) -> Counter[str]:
        """Write the requests about the samples, and count the samples by their outcome.

        The requests of others are taken over, so that they do not stop the next round.
        """
        for other in others:
            await put_request(self.store, other._replace(exchange=self.exchange))
        counts = Counter[str]()
        for sample in samples:
            counts["samples"] += 1
            outcome = await self._write_requests(sample)
            if isinstance(outcome, NoiseSenseError):
                counts["failed"] += 1
                self.on_error(outcome)
            elif outcome is not None:
                counts["judged"] += 1
            self.on_done()
        return counts

    async def _write_requests(
        self, sample: Sample | NoiseSenseError
    ) -> Judgement | NoiseSenseError | None:
        """Write a sample's new requests.

        Returns its judgement or its error, None while answers are missing.
        """
        if isinstance(sample, NoiseSenseError):
            return sample
        outcome, requests = await _ask(self.judge, self.store, sample, self.seen, self.exchange)
        for key, prompt, schema in requests:
            body = self.llm.request(prompt, schema)
            line = {"custom_id": key, "method": "POST", "url": URL, "body": body}
            self.add(to_json(line))
        return outcome


def _still_open(requests: list[StoredRequest], store: VerdictStore) -> InputError:
    """The error of an export while other requests are open; it names their judges."""
    judges = dict.fromkeys(f"{request.model} (prompts {request.version})" for request in requests)
    unanswered = counted(len(requests), "request")
    return InputError(
        "the samples and the judge of the round that is open",
        f"others: no answer yet to {unanswered}, of {' and '.join(judges)}",
        where=str(store.path),
        hint="import their answers first; or --force leaves them open, and their answers "
        "can still be imported",
    )


class _Files:
    """The files of a round, opened one after another within a provider's limits.

    Attributes:
        paths: the files so far.
    """

    def __init__(self, target: Path, most_lines: int, most_bytes: int, opened: ExitStack) -> None:
        self.paths: list[Path] = []
        self._target = target
        self._most_lines = most_lines
        self._most_bytes = most_bytes
        self._opened = opened
        self._lines = 0
        self._size = 0

    def add(self, line: str) -> None:
        """Write a line to the last file, or to a new one if that is full."""
        length = len(line.encode()) + 1
        is_full = self._lines == self._most_lines or self._size + length > self._most_bytes
        if not self.paths or is_full:
            self._open_next()
        self._write(line)
        self._lines += 1
        self._size += length

    def _open_next(self) -> None:
        path = _numbered(self._target, len(self.paths) + 1)
        _check_overwritable(path)
        self.paths.append(path)
        self._write = self._opened.enter_context(whole_file(path, alone=True))
        self._lines = 0
        self._size = 0


@contextmanager
def _request_files(target: Path, most_lines: int, most_bytes: int) -> Generator[_Files]:
    """The files of a round. In the end all of them are written, or none.

    Then the other files of an earlier round, if that had more of them, are removed.
    """
    with ExitStack() as opened:
        files = _Files(target, most_lines, most_bytes, opened)
        yield files
    number = len(files.paths) + 1
    obsolete = _numbered(target, number)
    while _holds_requests(obsolete):
        obsolete.unlink()
        number += 1
        obsolete = _numbered(target, number)


def _numbered(target: Path, number: int) -> Path:
    """The path of a round's first file, second file and so on."""
    if number == 1:
        return target
    return target.with_name(f"{target.stem}-{number}{target.suffix}")


def _check_overwritable(path: Path) -> None:
    """Raise `InputError` for a file of something else than requests."""
    if path.exists() and not _holds_requests(path):
        raise InputError(
            "a new file, or requests of an earlier round",
            "another file",
            where=str(path),
            hint="nothing was overwritten; choose another name",
        )


def is_request(line: Any) -> bool:
    """Is it a line of a file of requests?"""
    return isinstance(line, dict) and {"custom_id", "method", "body"} <= line.keys()


def _holds_requests(path: Path) -> bool:
    """Is it a file of requests, by its first line, or an empty one?"""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        line = file.readline(1 << 26)
    try:
        return not line or is_request(json.loads(line))
    except (ValueError, RecursionError):
        return False
