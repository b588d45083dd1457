"""The next round of requests, in memory or as files in OpenAI's batch form."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisesense import Sample, VerdictStore
from noisesense.errors import InputError, JudgeError, NoiseSenseError, check_whole
from noisesense.jsonl import as_path, to_json, whole_file
from noisesense.judging.calls import AwaitingAnswerError, run_blocking
from noisesense.judging.protocol import Judgement
from noisesense.scoring.outcomes import Record
from noisesense_adapters.batch.judge import BatchJudge, BatchRequest
from noisesense_adapters.batch.requests import StoredRequest, open_requests, put_request
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
    """All that can be asked about the samples now: none if they are judged to the end.

    The store keeps what was asked, so that `put_replies` knows the replies by their keys. A
    sample that cannot be judged asks nothing more; `judge.judge` says why.

    Raises:
        StoreError: the store cannot be read or written.
    """

    async def all_requests() -> list[BatchRequest]:
        requests: list[BatchRequest] = []
        seen = set[str]()
        for sample in samples:
            _, new = await _ask(judge, store, sample, seen)
            requests += new
        return requests

    return run_blocking(all_requests())


async def _ask(
    judge: BatchJudge, store: VerdictStore, sample: Sample, seen: set[str], exchange: str = ""
) -> tuple[Judgement | JudgeError | None, list[BatchRequest]]:
    """What became of the sample, None while answers are awaited; and what it is first to ask."""
    outcome: Judgement | JudgeError | None = None
    try:
        outcome = await judge.judge_detailed(sample)
    except AwaitingAnswerError:
        pass
    except JudgeError as error:
        outcome = error
    new = [request for request in judge.take_requests() if request.key not in seen]
    for key, _, schema in new:
        seen.add(key)
        about = exchange, schema.__name__, judge.model, judge.version
        await put_request(store, StoredRequest(key, *about))
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
    """Write the next round's requests about a dataset.

    Repeat it after each `import_answers`, until a round has no requests. What is asked, and the
    key of each answer, are those of ``LLMJudge(OpenAILLM(model))``: a judge with this store goes
    on where the files ended, and the other way round.

    Args:
        path: the dataset, as `noisesense_adapters.datasets.read_rows` takes it.
        store: a `VerdictStore`'s file; made if it is not there.
        model: the model's name at the provider, e.g. ``"gpt-4.1-mini"``.
        out: the file for the requests, one a line; of more than one may hold, the next are named
            after it: ``round.jsonl``, ``round-2.jsonl``. Requests of an earlier round are
            overwritten, and removed if nothing is left to ask.
        base_url: the endpoint, if it is not OpenAI's own: a part of what answers are found by.
        temperature: by default the model's own.
        columns: as `read_rows` takes them; ``split_contexts``, too.
        split_contexts: likewise.
        provider: likewise.
        most_requests: in one file, as the provider takes it.
        most_bytes: likewise.
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
    target = as_path(out)
    if target.exists() and not _holds_requests(target):
        expected, got = "a new file, or requests of an earlier round", "another file"
        hint = "nothing was overwritten; choose another name"
        raise InputError(expected, got, where=str(target), hint=hint)
    params = {} if temperature is None else {"temperature": temperature}
    llm = OpenAILLM(model.removeprefix("openai:"), base_url=base_url, params=params)

    def samples() -> Iterator[Sample | NoiseSenseError]:
        rows = read_rows(
            path, columns, verdicts=False, split_contexts=split_contexts, provider=provider
        )
        for row in rows:
            if isinstance(row, BadRow):
                yield row.error
            elif row.sample is None:
                yield InputError("texts to judge", "only verdicts", where=row.place)
            else:
                yield row.sample

    with VerdictStore(store) as opened:
        judge = BatchJudge(llm.name, llm.identity, store=opened, **options)
        exchange = judge.exchange(each for each in samples() if isinstance(each, Sample))
        before = open_requests(opened)
        others = [each for each in before.values() if each.exchange not in ("", exchange)]
        if others and not force:
            newest = others[-1]
            raise InputError(
                "the samples and the judge of the round that is open",
                f"others: {len(others):,} requests to {newest.model}, prompts {newest.version}, "
                "have no answer yet",
                where=str(opened.path),
                hint="import their answers first; or --force leaves them open, and their answers "
                "can still be imported",
            )

        async def write(add: Callable[[str], None], written: list[Path]) -> Round:
            counts, seen = Counter[str](), set[str]()
            for other in others:  # no hindrance to the next round
                await put_request(opened, other._replace(exchange=exchange))
            for each in samples():
                counts["samples"] += 1
                outcome: Judgement | NoiseSenseError | None = None
                if isinstance(each, Sample):
                    outcome, requests = await _ask(judge, opened, each, seen, exchange)
                    for key, prompt, schema in requests:
                        body = llm.request(prompt, schema)
                        add(
                            to_json({"custom_id": key, "method": "POST", "url": URL, "body": body})
                        )
                else:
                    outcome = each
                if isinstance(outcome, NoiseSenseError):
                    counts["failed"] += 1
                    on_error(outcome)
                elif outcome is not None:
                    counts["judged"] += 1
                on_done()
            files = tuple(map(str, written))
            return Round(files, len(seen), len(seen & before.keys()), **counts)

        with _files(target, most_requests, most_bytes) as (add, written):
            return run_blocking(write(add, written))


@contextmanager
def _files(
    target: Path, most_lines: int, most_bytes: int
) -> Generator[tuple[Callable[[str], None], list[Path]]]:
    """Takes lines for as many files as they need, which appear at the end or not at all."""
    files, lines, size = list[Path](), 0, 0
    with ExitStack() as opened:
        adds = list[Callable[[str], None]]()

        def add(line: str) -> None:
            nonlocal lines, size
            length = len(line.encode()) + 1
            if not files or lines == most_lines or size + length > most_bytes:
                files.append(_numbered(target, len(files) + 1))
                adds.append(opened.enter_context(whole_file(files[-1], alone=True)))
                lines = size = 0
            adds[-1](line)
            lines, size = lines + 1, size + length

        yield add, files
    number = len(files) + 1
    while _holds_requests(left := _numbered(target, number)):  # of an earlier, longer round
        left.unlink()
        number += 1


def _numbered(target: Path, number: int) -> Path:
    name = f"{target.stem}-{number}{target.suffix}"
    return target if number == 1 else target.with_name(name)


def is_request(line: Any) -> bool:
    """Is that a line of a file with requests?"""
    return isinstance(line, dict) and {"custom_id", "method", "body"} <= line.keys()


def _holds_requests(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        line = file.readline(1 << 26)
    try:
        return not line or is_request(json.loads(line))
    except (ValueError, RecursionError):
        return False
