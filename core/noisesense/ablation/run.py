"""Answers in, figures out: judged rows of a plan, and all of it in one process."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from noisesense.ablation.figures import Ablation, figures_of
from noisesense.ablation.plan import VARIANTS, Case, Row, answers_to, cases_of, noise_of, rows_of
from noisesense.errors import InputError, JudgeError, check_whole, describe, located
from noisesense.jsonl import as_path, numbered_lines, parse_line
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


async def _ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    if not isinstance(judge, EntailmentJudge):
        expected, hint = "a judge that checks given claims", "LLMJudge and LocalJudge can"
        raise InputError(expected, type(judge).__name__, where="judge", hint=hint)
    left_out: Counter[str] = Counter()
    cases = cases_of(results, left_out)
    rows = list(answers_to(cases, answered))
    work = [(case, row) for case, row in rows if (row.response or "").strip()]
    failures = await asyncio.gather(*(_judge(case, row, judge) for case, row in work))
    failed = [error for error in failures if error is not None]
    if failed and len(failed) == len(work):
        raise failed[0]
    left_out["rows without an answer"] = len(rows) - len(work)
    if failed:
        reason = f"answers that could not be judged: they count as open (the first: {failed[0]})"
        left_out[reason] = len(failed)
    left_out["answers without claims"] = sum(not case.found[row.variant] for case, row in work)
    return figures_of(list(cases.values()), +left_out)


async def _judge(case: Case, row: Row, judge: Any) -> JudgeError | None:
    """What became of the sample under the row's variant. A failure leaves it open."""
    sample, response, claims = case.sample, row.response or "", row.of_claims
    case.found[row.variant] = [Range(0.0, 1.0)] * (len(case.noisy) if claims else 1)
    try:
        if claims and response == sample.response:
            found = [Range(1.0, 1.0)] * len(case.noisy)
        elif claims:
            noisy = [case.score.claims[i].text for i in case.noisy]
            cells = [cell for (cell,) in (await judge.entailment([response], noisy)).cells]
            found = [Range(float(cell is True), float(cell is not False)) for cell in cells]
        else:
            # Relevance that is known is not judged again, and a distractor has none.
            own = [chunk.text for chunk in sample.retrieved_contexts]
            known = dict(zip(own, case.score.chunk_relevance, strict=True))
            chunks = tuple(
                chunk.model_copy(update={"relevant": known.get(chunk.text, False)})
                for chunk in row.retrieved_contexts
            )
            changed = {"response": response, "retrieved_contexts": chunks}
            sample = sample.model_copy(update=changed)
            found = noise_of(score((await judge.judge(sample)).beside(sample)))
    except JudgeError as error:
        return error
    case.found[row.variant] = found
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
    known = {} if path is None else _kept(path)
    done = [known[row.place] for row in rows if row.place in known]
    list(answers_to(cases, done))  # before anything is asked
    queue = iter([row for row in rows if row.place not in known])

    async def worker() -> None:
        for row in queue:
            response: Any = cases[row.id].sample.response
            if not (deterministic and row.variant == "again"):
                texts = [chunk.text for chunk in row.retrieved_contexts]
                response = await asyncio.to_thread(answer, row.user_input, texts)
            if inspect.isawaitable(response):
                response = await response
            if not isinstance(response, str):
                raise InputError("a text", describe(response), where=f"the answer to {row.place}")
            done.append(row.model_copy(update={"response": response}))
            if path is not None:
                with path.open("a", encoding="ascii", newline="\n") as file:
                    file.write(f"\n{json.dumps(done[-1].to_dict())}\n")
            if on_answer is not None:
                on_answer(len(done), len(rows))

    await gather_all(worker() for _ in range(max_concurrency))
    return await _ablation(results, done, judge)


def _kept(path: Path) -> dict[str, Row]:
    """The answers in the file by place. A line that a killed run cut off is not one."""
    rows: dict[str, Row] = {}
    for number, text in numbered_lines(path) if path.exists() else ():
        with located(f"{path}, line {number}"):
            try:
                data = parse_line(text)
            except InputError:
                if text.startswith("{"):
                    continue
                raise
            row = Row.model_validate(data)
            rows |= {row.place: row} if (row.response or "").strip() else {}
    return rows
