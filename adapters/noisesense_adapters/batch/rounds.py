"""The next round of requests, in memory or as files in OpenAI's batch form."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from noisesense import Sample, VerdictStore
from noisesense.errors import InputError, JudgeError, NoiseSenseError, check_whole
from noisesense.jsonl import as_path, to_json
from noisesense.judging.batch import BatchJudge, BatchRequest
from noisesense.judging.calls import AwaitingAnswerError, run_blocking
from noisesense.judging.protocol import Judgement
from noisesense.judging.store import StoredRequest
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

    with VerdictStore(store) as opened, _Files(target, most_requests, most_bytes) as files:
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

        async def write() -> Round:
            counts, seen = Counter[str](), set[str]()
            for other in others:  # no hindrance to the next round
                await opened.put_request(other._replace(exchange=exchange))
            for each in samples():
                counts["samples"] += 1
                outcome: Judgement | NoiseSenseError | None = None
                if isinstance(each, Sample):
                    outcome, requests = await _ask(judge, opened, each, seen, exchange)
                    for key, prompt, schema in requests:
                        files.add(_line(key, llm.request(prompt, schema)))
                else:
                    outcome = each
                if isinstance(outcome, NoiseSenseError):
                    counts["failed"] += 1
                    on_error(outcome)
                elif outcome is not None:
                    counts["judged"] += 1
                    counts["unanswered"] += outcome.unanswered
                on_done()
            asked_before = len(seen & before.keys())
            return Round((), requests=len(seen), asked_before=asked_before, **counts)

        written = run_blocking(write())
        return replace(written, files=tuple(map(str, files.finish())))


def _line(custom_id: str, body: Mapping[str, Any]) -> str:
    return to_json({"custom_id": custom_id, "method": "POST", "url": URL, "body": body})


def is_request(line: Any) -> bool:
    """Is that a line of a file with requests?"""
    return isinstance(line, dict) and {"custom_id", "method", "body"} <= line.keys()


def _check_target(path: Path) -> Path:
    if path.exists() and not _holds_requests(path):
        raise InputError(
            "a new file, or requests of an earlier round",
            "a file that holds something else",
            where=str(path),
            hint="nothing was overwritten; choose another name",
        )
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
    """Lines over as many files as they need, which appear together at the end or not at all.

    What a killed export has left, the next overwrites.
    """

    def __init__(self, target: Path, most_lines: int, most_bytes: int) -> None:
        self._target, self._most_lines, self._most_bytes = target, most_lines, most_bytes
        self._parts: list[IO[bytes]] = []
        self._lines = 0

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for part in self._parts:
            part.close()
            Path(part.name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            got = error.strerror or type(error).__name__
            raise InputError("a file that can be written", got, where=str(self._target)) from error

    def add(self, line: str) -> None:
        data = line.encode() + b"\n"
        file = self._parts[-1] if self._parts and self._lines < self._most_lines else None
        if file is None or file.tell() + len(data) > self._most_bytes:
            name = self._numbered(len(self._parts) + 1).name
            file = self._target.with_name(f".{name}.part").open("wb")
            self._parts.append(file)
            self._lines = 0
        file.write(data)
        self._lines += 1

    def finish(self) -> Sequence[Path]:
        """Give the files their names, and remove what an earlier, longer round left behind."""
        named: list[Path] = []
        for n, part in enumerate(self._parts, start=1):
            part.close()
            named.append(Path(part.name).replace(self._numbered(n)))
        n = len(named) + 1
        while named and _holds_requests(self._numbered(n)):
            self._numbered(n).unlink()
            n += 1
        return named

    def _numbered(self, n: int) -> Path:
        name = f"{self._target.stem}-{n}{self._target.suffix}"
        return self._target if n == 1 else self._target.with_name(name)
