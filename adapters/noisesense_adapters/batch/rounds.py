"""The next round of requests, in memory or as files in OpenAI's batch form."""

from __future__ import annotations

import glob
import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from noisesense import Sample, VerdictStore
from noisesense.errors import (
    InputError,
    JudgeError,
    NoiseSenseError,
    check_whole,
    describe,
)
from noisesense.jsonl import as_path, to_json
from noisesense.judging.batch import BatchJudge, BatchRequest
from noisesense.judging.calls import AwaitingAnswerError, run_blocking
from noisesense.judging.protocol import Judgement
from noisesense.scoring.outcomes import Record
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.toolbox.given import Column

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
"""In one file, as OpenAI takes it."""

URL = "/v1/chat/completions"


@dataclass(frozen=True)
class Round(Record):
    """What an export has written, and where the dataset's samples stand.

    Attributes:
        files: with the requests, in order; none if nothing is left to ask.
        requests: how many different ones are in them.
        asked_before: of these, those that an earlier file asked and that have no answer yet.
        samples: in the dataset.
        judged: of them, those that are judged to the end.
        failed: those that cannot be judged: rows that cannot be read, and responses of which no
            reply had a usable list of claims.
        unanswered: cells of judged samples that stayed without an answer.
    """

    files: tuple[str, ...] = ()
    requests: int = 0
    asked_before: int = 0
    samples: int = 0
    judged: int = 0
    failed: int = 0
    unanswered: int = 0


def next_requests(
    judge: BatchJudge, store: VerdictStore, samples: Iterable[Sample]
) -> list[BatchRequest]:
    """All that can be asked about the samples now: none if they are judged to the end.

    The store keeps what was asked, so that `put_replies` knows the replies by their keys. A
    sample that cannot be judged asks nothing more; `judge.judge` says why.

    Raises:
        StoreError: the store cannot be read or written.
    """

    async def all_requests() -> list[BatchRequest]:
        by_key: dict[str, BatchRequest] = {}
        for sample in samples:
            _, requests = await _ask(judge, sample)
            by_key.update((request.key, request) for request in requests)
        return list(by_key.values())

    requests = run_blocking(all_requests())
    store.put_requests(request.stored for request in requests)
    return requests


async def _ask(
    judge: BatchJudge, sample: Sample
) -> tuple[Judgement | JudgeError | None, list[BatchRequest]]:
    """What became of the sample, None while answers are awaited; and what it asks for."""
    try:
        return await judge.judge_detailed(sample), judge.take_requests()
    except AwaitingAnswerError:
        return None, judge.take_requests()
    except JudgeError as error:
        return error, judge.take_requests()


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
    most_requests: int = MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
    force: bool = False,
    on_done: Callable[[], object] = lambda: None,
    on_error: Callable[[NoiseSenseError], object] = lambda _: None,
    **options: Any,
) -> Round:
    """Write the next round's requests about a dataset.

    Repeat it after each `import_answers`, until a round has no requests. What is asked, and the
    key of each answer, are those of ``LLMJudge(OpenAILLM(model))``: a judge with this store goes
    on where the files ended, and the other way round.

    Args:
        path: the dataset, as `noisesense_adapters.datasets.read_rows` takes it.
        store: a `VerdictStore`'s file; made if it is not there.
        model: the model's name at the provider, e.g. ``"gpt-4.1-mini"``.
        out: the file for the requests; of more than one provider takes, the next are named after
            it: ``round.jsonl``, ``round-2.jsonl``. Requests of an earlier round are overwritten.
        base_url: the endpoint, if it is not OpenAI's own: a part of what answers are found by.
        temperature: by default the model's own.
        columns: as `read_rows` takes them; ``split_contexts``, too.
        split_contexts: likewise.
        most_requests: in one file.
        most_bytes: in one file.
        force: go on although requests about other samples, or by another judge, are still open.
            Their answers can be imported all the same.
        on_done: called after each sample.
        on_error: called with the error of each sample that cannot be judged.
        options: of `noisesense.LLMJudge`: ``plan``, ``votes``, ``check``, …

    Raises:
        InputError: the dataset, an argument, a file that holds something else; open requests of
            another dataset or judge. Nothing was written.
        StoreError: the store cannot be read or written.
    """
    check_whole(most_requests, 1, "most_requests")
    check_whole(most_bytes, 1, "most_bytes")
    target = _check_target(as_path(out))
    name = model.removeprefix("openai:") if isinstance(model, str) else model
    params = {} if temperature is None else {"temperature": temperature}
    llm = OpenAILLM(name, base_url=base_url, params=params)

    def samples() -> Iterator[Sample | NoiseSenseError]:
        for row in read_rows(path, columns, verdicts=False, split_contexts=split_contexts):
            if isinstance(row, BadRow):
                yield row.error
            elif row.sample is None:
                yield InputError("texts to judge", "only verdicts", where=row.place)
            else:
                yield row.sample

    with VerdictStore(store) as opened:
        judge = BatchJudge(llm, store=opened, **options)
        exchange = judge.exchange(each for each in samples() if isinstance(each, Sample))
        before = _still_open(opened, exchange, force=force)
        with _Files(target, most_requests, most_bytes) as files:

            async def write() -> Round:
                counts, seen = Counter[str](), set[str]()
                for each in samples():
                    counts["samples"] += 1
                    outcome, requests = (
                        await _ask(judge, each) if isinstance(each, Sample) else (each, [])
                    )
                    new = [request for request in requests if request.key not in seen]
                    seen.update(request.key for request in new)
                    opened.put_requests(each.stored._replace(exchange=exchange) for each in new)
                    for request in new:
                        files.add(_line(request.key, llm.request(request.prompt, request.schema)))
                    if isinstance(outcome, NoiseSenseError):
                        counts["failed"] += 1
                        on_error(outcome)
                    elif outcome is not None:
                        counts["judged"] += 1
                        counts["unanswered"] += outcome.unanswered
                    on_done()
                return Round(
                    requests=len(seen),
                    asked_before=len(seen & before),
                    samples=counts["samples"],
                    judged=counts["judged"],
                    failed=counts["failed"],
                    unanswered=counts["unanswered"],
                )

            written = run_blocking(write())
            return replace(written, files=tuple(map(str, files.finish())))


def _still_open(store: VerdictStore, exchange: str, *, force: bool) -> set[str]:
    """The keys of this exchange's open requests. Raises `InputError` if there are others."""
    requests = store.requests()
    others = [each for each in requests.values() if each.exchange not in ("-", exchange)]
    if others and not force:
        newest = others[-1]
        raise InputError(
            "the samples and the judge of the round that is open",
            f"others: {len(others):,} requests to {newest.model}, prompts {newest.version}, "
            "have no answer yet",
            where=str(store.path),
            hint="import their answers first; or --force leaves them open, and their answers can "
            "still be imported",
        )
    store.put_requests(each._replace(exchange=exchange) for each in others)
    return set(requests)


def _line(custom_id: str, body: Mapping[str, Any]) -> str:
    return to_json({"custom_id": custom_id, "method": "POST", "url": URL, "body": body})


def is_request(line: Any) -> bool:
    """Is that a line of a file with requests?"""
    return isinstance(line, dict) and {"custom_id", "method", "body"} <= line.keys()


def _check_target(path: Path) -> Path:
    if path.suffix.lower() != ".jsonl":
        raise InputError("a name ending in .jsonl", repr(path.name), where="out")
    if not path.parent.is_dir():
        raise InputError("a folder that exists", describe(str(path.parent)), where="out")
    if path.exists() and not _holds_requests(path):
        expected, got = (
            "a new file, or requests of an earlier round",
            "a file that holds something else",
        )
        hint = "nothing was overwritten; choose another name"
        raise InputError(expected, got, where=str(path), hint=hint)
    return path


def _holds_requests(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        line = file.readline(1 << 26)
    try:
        return not line or is_request(json.loads(line))
    except (ValueError, RecursionError):
        return False


class _Files:
    """Lines over as many files as they need, which appear together at the end or not at all."""

    def __init__(self, target: Path, most_lines: int, most_bytes: int) -> None:
        self._target, self._most_lines, self._most_bytes = target, most_lines, most_bytes
        self._part, self._parts = f".{target.name[:40]}.", list[Path]()
        self._file: IO[bytes] | None = None
        self._lines = self._bytes = 0
        self._stack = ExitStack()

    def __enter__(self) -> _Files:
        for left in self._target.parent.glob(f"{glob.escape(self._part)}*"):  # by a killed export
            if len(left.name) == len(self._part) + 12 and _holds_requests(left):
                left.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for part in self._parts:
            part.unlink(missing_ok=True)

    def add(self, line: str) -> None:
        data = line.encode() + b"\n"
        full = self._lines == self._most_lines or self._bytes + len(data) > self._most_bytes
        try:
            if self._file is None or (full and self._lines):
                part = self._target.with_name(self._part + secrets.token_hex(6))
                self._file = self._stack.enter_context(part.open("xb"))
                self._parts.append(part)
                self._lines = self._bytes = 0
            self._file.write(data)
        except OSError as error:
            raise self._refused(error) from error
        self._lines += 1
        self._bytes += len(data)

    def finish(self) -> Sequence[Path]:
        """Give the files their names, and remove what an earlier, longer round left behind."""
        named: list[Path] = []
        try:
            self._stack.close()
            for part in self._parts:
                named.append(part.replace(self._numbered(len(named) + 1)))
            n = len(named) + 1
            while named and _holds_requests(self._numbered(n)):
                self._numbered(n).unlink()
                n += 1
        except OSError as error:
            raise self._refused(error) from error
        return named

    def _numbered(self, n: int) -> Path:
        name = f"{self._target.stem}-{n}{self._target.suffix}"
        return self._target if n == 1 else self._target.with_name(name)

    def _refused(self, error: OSError) -> InputError:
        got = error.strerror or type(error).__name__
        return InputError("a file that can be written", got, where=str(self._target))
