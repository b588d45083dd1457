"""The next round of requests, in memory or as a file in OpenAI's batch form."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisesense import Sample, VerdictStore
from noisesense.errors import InputError, JudgeError, NoiseSenseError
from noisesense.jsonl import as_path, to_json, whole_file
from noisesense.judging.batch import BatchJudge, BatchRequest
from noisesense.judging.calls import AwaitingAnswerError, run_blocking
from noisesense.judging.protocol import Judgement
from noisesense.judging.store import StoredRequest
from noisesense.scoring.outcomes import Record
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.rows import BadRow
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.toolbox.given import Column

URL = "/v1/chat/completions"


@dataclass(frozen=True)
class Round(Record):
    """What an export has written, and where the dataset's samples stand.

    Attributes:
        requests: how many different ones were written; at 0, nothing is left to ask.
        asked_before: of these, those that an earlier file asked and that have no answer yet.
        samples: in the dataset.
        judged: of them, those that are judged to the end.
        failed: those that cannot be judged: rows that cannot be read, and responses of which no
            reply had a usable list of claims.
    """

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
        await store.put_request(StoredRequest(key, *about))
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
        out: the file for the requests, one a line. Requests of an earlier round are overwritten,
            and removed if nothing is left to ask.
        base_url: the endpoint, if it is not OpenAI's own: a part of what answers are found by.
        temperature: by default the model's own.
        columns: as `read_rows` takes them; ``split_contexts``, too.
        split_contexts: likewise.
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
    target = as_path(out)
    if target.exists() and not _holds_requests(target):
        expected, got = "a new file, or requests of an earlier round", "another file"
        hint = "nothing was overwritten; choose another name"
        raise InputError(expected, got, where=str(target), hint=hint)
    params = {} if temperature is None else {"temperature": temperature}
    llm = OpenAILLM(model.removeprefix("openai:"), base_url=base_url, params=params)

    def samples() -> Iterator[Sample | NoiseSenseError]:
        for row in read_rows(path, columns, verdicts=False, split_contexts=split_contexts):
            if isinstance(row, BadRow):
                yield row.error
            elif row.sample is None:
                yield InputError("texts to judge", "only verdicts", where=row.place)
            else:
                yield row.sample

    with VerdictStore(store) as opened:
        judge = BatchJudge(llm.name, llm.identity, store=opened, **options)
        exchange = judge.exchange(each for each in samples() if isinstance(each, Sample))
        before = opened.requests()
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

        async def write(add: Callable[[str], None]) -> Round:
            counts, seen = Counter[str](), set[str]()
            for other in others:  # no hindrance to the next round
                await opened.put_request(other._replace(exchange=exchange))
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
            return Round(len(seen), len(seen & before.keys()), **counts)

        with whole_file(target, alone=True) as add:
            written = run_blocking(write(add))
    if not written.requests:
        target.unlink()
    return written


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
