"""Answers in, figures out: judged rows of a plan, and all of it in one process."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from noisesense.ablation.figures import Ablation, figures_of
from noisesense.ablation.plan import (
    CLAIMS,
    VARIANTS,
    Case,
    Row,
    cases_of,
    contexts_of,
    distractors,
    noise_of,
    rows_of,
)
from noisesense.errors import InputError, JudgeError, check_whole, describe, located
from noisesense.jsonl import as_path, numbered_lines, parse_line, to_json
from noisesense.judging.calls import gather_all
from noisesense.judging.protocol import EntailmentJudge, Judge
from noisesense.scoring.records import Range
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import score

Answer = Callable[[str, list[str]], "str | Awaitable[str]"]
"""The user's system: from a question and the texts of chunks to a response."""


def ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    """What the chunks did, from the system's answers to a plan.

    A noisy claim is said again if the new response entails it: one call of the judge for each
    answer of ``again`` and ``without``, and none if the response is the old one. The other
    variants are judged as samples, with the known relevance of their chunks as labels. What the
    judge leaves open, or fails to judge, widens the figures.

    Args:
        results: those the plan was made from.
        answered: its rows with ``response`` filled in; rows without one are left out and counted.
        judge: also has to check given claims, as `noisesense.LLMJudge.entailment` does.

    Raises:
        InputError: an unknown variant, an answer to another question or over other contexts.
        JudgeError: every call failed.
    """
    work = _ablation(results, answered, judge)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:  # a notebook's loop is running already
        return pool.submit(asyncio.run, work).result()


def _checked(cases: dict[str, Case], answered: Iterable[Any]) -> Iterator[tuple[Case, Row]]:
    """The answers with their samples. Raises `InputError` for one that answers something else."""
    seen: set[tuple[str, str]] = set()
    for number, data in enumerate(answered, start=1):
        try:
            row = data if isinstance(data, Row) else Row.model_validate(data)
            count = distractors(row.variant)
        except InputError as error:
            raise error.within(f"answer {number}") from None
        case = cases.get(row.id)
        if case is None:
            raise InputError("an id of the results", describe(row.id), where=f"answer {number}")
        if (row.id, row.variant) in seen:
            raise InputError("one answer", "another one", where=row.place)
        seen.add((row.id, row.variant))
        if row.user_input != case.sample.user_input:
            expected = f"the question {describe(case.sample.user_input)}"
            raise InputError(expected, describe(row.user_input), where=row.place)
        own = [chunk.text for chunk in case.sample.retrieved_contexts]
        if count:
            fits = len(row.texts) == len(own) + count and not Counter(own) - Counter(row.texts)
        else:
            planned = contexts_of(case, row.variant, cases.values(), 0)
            fits = planned is not None and row.texts == [chunk.text for chunk in planned]
        if not fits:
            hint = "answer the rows of a plan made from these results"
            raise InputError("the contexts of the plan", "others", where=row.place, hint=hint)
        yield case, row


async def _ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    if not isinstance(judge, EntailmentJudge):
        hint = "LLMJudge and LocalJudge can"
        expected = "a judge that checks given claims"
        raise InputError(expected, type(judge).__name__, where="judge", hint=hint)
    left_out: Counter[str] = Counter()
    cases = cases_of(results, left_out)
    work: list[tuple[Case, Row]] = []
    for case, row in _checked(cases, answered):
        if row.response is None or not row.response.strip():
            left_out["rows without an answer"] += 1
        else:
            work.append((case, row))
    failures = await asyncio.gather(*(_judge(case, row, judge) for case, row in work))
    failed = [error for error in failures if error is not None]
    if failed and len(failed) == len(work):
        raise failed[0]
    left_out["answers that could not be judged: they count as open"] = len(failed)
    left_out["answers without claims"] = sum(
        row.variant not in case.said and row.variant not in case.noise for case, row in work
    )
    return figures_of(list(cases.values()), +left_out)


async def _judge(case: Case, row: Row, judge: Any) -> JudgeError | None:
    """What became of the sample under the row's variant. A failure leaves it open."""
    response = row.response or ""
    try:
        if row.variant not in CLAIMS:
            # Relevance that is known is not judged again, and a distractor has none.
            texts = [chunk.text for chunk in case.sample.retrieved_contexts]
            known = dict(zip(texts, case.score.chunk_relevance, strict=True))
            chunks = [
                chunk.model_copy(update={"relevant": known.get(chunk.text, False)})
                for chunk in row.retrieved_contexts
            ]
            changed = {"response": response, "retrieved_contexts": tuple(chunks)}
            sample = case.sample.model_copy(update=changed)
            if noise := noise_of(score((await judge.judge(sample)).beside(sample))):
                case.noise[row.variant] = noise
        elif response == case.sample.response:
            case.said[row.variant] = [Range(1.0, 1.0)] * len(case.noisy)
        else:
            cells = (await judge.entailment([response], case.claims)).cells
            case.said[row.variant] = [
                Range(float(c is True), float(c is not False)) for (c,) in cells
            ]
    except JudgeError as error:
        if row.variant in CLAIMS:
            case.said[row.variant] = [Range(0.0, 1.0)] * len(case.noisy)
        else:
            case.noise[row.variant] = Range(0.0, 1.0)
        return error
    return None


async def ablate(
    results: Iterable[Result],
    answer: Answer,
    judge: Judge,
    *,
    variants: Sequence[str] = VARIANTS,
    seed: int = 0,
    deterministic: bool = False,
    max_concurrency: int = 4,
    answers: str | os.PathLike[str] | None = None,
    on_answer: Callable[[int, int], None] | None = None,
) -> Ablation:
    """As `plan`, the user's system, and `ablation`, in one process.

    Args:
        results: as `plan` takes them.
        answer: from a question and the texts of chunks to a response; a function or a coroutine
            function. A function runs in a thread.
        judge: as `ablation` takes it; with a store, its calls are not paid for twice.
        variants: as `plan` takes them.
        seed: likewise.
        deterministic: the same question and chunks always give the same response: ``again`` is
            not asked, and says 100%.
        max_concurrency: answers at once.
        answers: a JSON lines file that keeps each answer as soon as it is there. The same command
            then asks only for those that are missing.
        on_answer: is called with the number of answers there are and of all, for a progress bar.

    Raises:
        InputError: as `plan` and `ablation`; an answer that is no text.
        JudgeError: every call of the judge failed.
        Exception: whatever ``answer`` raises. Answers that were finished are in the file.
    """
    check_whole(max_concurrency, 1, "max_concurrency")
    results = list(results)
    cases = cases_of(results, Counter())
    rows = rows_of(cases, variants, seed)
    path = None if answers is None else as_path(answers)
    kept = {} if path is None else _kept(path)
    done = [kept[row.place] for row in rows if row.place in kept]
    list(_checked(cases, done))  # before anything is asked
    open_rows = [row for row in rows if row.place not in kept]
    if deterministic:
        same = [row for row in open_rows if row.variant == "again"]
        done += [r.model_copy(update={"response": cases[r.id].sample.response}) for r in same]
        open_rows = [row for row in open_rows if row.variant != "again"]
    queue = iter(open_rows)

    async def worker() -> None:
        for row in queue:
            response: Any = await asyncio.to_thread(answer, row.user_input, row.texts)
            if inspect.isawaitable(response):
                response = await response
            if not isinstance(response, str):
                raise InputError("a text", describe(response), where=f"the answer to {row.place}")
            done.append(row.model_copy(update={"response": response}))
            if path is not None:
                with path.open("a", encoding="utf-8", newline="\n") as file:
                    file.write(to_json(done[-1].to_dict()) + "\n")
            if on_answer is not None:
                on_answer(len(done), len(rows))

    await gather_all(worker() for _ in range(max_concurrency))
    return await _ablation(results, done, judge)


def _kept(path: Path) -> dict[str, Row]:
    """The answers in the file by place; a last line that a killed run cut off is not one."""
    if not path.exists():
        return {}
    rows: dict[str, Row] = {}
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)
    for number, text in numbered_lines(path):
        with located(f"{path}, line {number}"):
            row = Row.model_validate(parse_line(text))
        if row.response and row.response.strip():
            rows[row.place] = row
    return rows
