"""The store: what is kept and found again, claims, damage, and several users of one file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noisesense import JudgeError, LLMJudge, Sample, StoreError, Usage, VerdictStore
from noisesense import score as score_of
from noisesense.judging import store as store_module
from noisesense.judging.prompts import Prompts
from support.mind import Mind
from support.scripted_llm import ScriptedLLM, scripted
from support.sizes import few_or_many
from support.stored import replies_in
from support.tables import Shape, random_pairs

TRUTHS = list(random_pairs(10, shape=Shape(response_claims=(2, 4), chunks=(2, 4))))
SAMPLE, TRUTH = TRUTHS[0]
USAGE = Usage(calls=1, input_tokens=3, output_tokens=2, cost=0.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.db"


@pytest.fixture
def store(path: Path) -> Iterator[VerdictStore]:
    with VerdictStore(path) as opened:
        yield opened


def run(judge: LLMJudge, *samples: Sample) -> None:
    """Judge them; the scores are the true ones."""
    for sample in samples or [sample for sample, _ in TRUTHS]:
        (truth,) = (verdicts for each, verdicts in TRUTHS if each.key == sample.key)
        found = score_of(asyncio.run(judge.judge(sample)))
        true = score_of(truth)
        assert found.relevant == true.relevant
        assert found.irrelevant == true.irrelevant


def filled(path: Path) -> int:
    """Everything judged into a store, and closed; how many calls it was."""
    with VerdictStore(path) as store:
        judge = LLMJudge(scripted(*TRUTHS), store=store)
        run(judge)
        return judge.usage.calls


def put(store: VerdictStore, key: str) -> None:
    asyncio.run(store.put(key, "{}"))


def get(store: VerdictStore, key: str) -> str | None:
    return asyncio.run(store.get(key))


def claim(store: VerdictStore, key: str) -> bool:
    return asyncio.run(store.claim(key))


def sql(path: Path, question: str, *values: object) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(question, values).fetchall()
    connection.close()
    return rows


# What is kept


def test_nothing_is_asked_twice(store: VerdictStore) -> None:
    first = scripted(*TRUTHS)
    run(LLMJudge(first, store=store))
    again = scripted(*TRUTHS)
    judge = LLMJudge(again, store=store)
    run(judge)
    assert again.prompts == []
    assert judge.usage == Usage(cached_calls=len(first.prompts))


@pytest.mark.parametrize(
    "other",
    [{"model": "other"}, {"prompts": Prompts(version="another")}, {"check": "each"}, {}],
    ids=["model", "version", "prompt", "identity"],
)
def test_a_reply_is_kept_by_model_identity_version_and_prompt(
    store: VerdictStore, other: Any
) -> None:
    run(LLMJudge(scripted(*TRUTHS), store=store), SAMPLE)
    llm = scripted(*TRUTHS)
    if not other:
        llm.identity = "temperature 1"  # type: ignore[attr-defined]
    judge = LLMJudge(llm, store=store, **other)
    run(judge, SAMPLE)
    assert judge.usage.calls > 0
    assert bool(judge.usage.cached_calls) is ("check" in other)  # the lists of claims


def test_useless_replies_are_not_kept_and_what_repaired_them_is(store: VerdictStore) -> None:
    """Those in no form, and those that answer nothing. What asking again has healed is not paid
    for again."""
    mind = Mind(TRUTHS)
    failed = set[str]()

    def first_fails(prompt: str) -> str:
        if "(attempt" in prompt or prompt in failed:
            return mind.answer(prompt)
        failed.add(prompt)
        return '{"0": "yes"}'  # no list of claims, and no statement's number

    healed = LLMJudge(ScriptedLLM(first_fails), store=store)
    run(healed, SAMPLE)
    again = scripted(*TRUTHS)
    run(LLMJudge(again, store=store), SAMPLE)
    assert again.prompts == []
    assert replies_in(store) == len(failed)


# Claims


def test_one_of_several_tasks_and_threads_asks_and_the_others_wait(store: VerdictStore) -> None:
    llm = scripted(*TRUTHS)

    async def all_at_once() -> None:
        judges = [LLMJudge(llm, store=store) for _ in range(2)]
        work = [judge.judge(sample) for judge in judges for sample, _ in TRUTHS]
        await asyncio.gather(*work)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asyncio.run(all_at_once()), range(4)))
    assert len(llm.prompts) == len(set(llm.prompts))


@pytest.mark.parametrize("failure", [JudgeError("no route"), ValueError("a bug")])
def test_a_claim_ends_with_a_failure(store: VerdictStore, failure: Exception) -> None:
    with pytest.raises(type(failure)):
        asyncio.run(LLMJudge(ScriptedLLM(lambda _: failure), store=store).judge(SAMPLE))
    run(LLMJudge(scripted(*TRUTHS), store=store), SAMPLE)


def test_a_call_that_outlasts_the_lease_is_not_paid_twice(
    store: VerdictStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_LEASE_SECONDS", 0.8)
    monkeypatch.setattr(store_module, "_RENEW_SECONDS", 0.1)

    class Slow(ScriptedLLM):
        async def wait(self) -> None:
            time.sleep(1.3)  # a client that blocks the event loop, too

    llm = Slow(Mind(TRUTHS).answer)
    claims = [TRUTH.response_claims[0].text]
    with VerdictStore(path) as other, ThreadPoolExecutor(2) as pool:
        judges = [LLMJudge(llm, store=each) for each in (store, other)]
        asked = [judge.entailment([SAMPLE.reference], claims) for judge in judges]
        list(pool.map(asyncio.run, asked))
    assert len(llm.prompts) == len(set(llm.prompts))


def test_a_second_claim_of_an_owner_is_not_as_old_as_its_first(
    store: VerdictStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_LEASE_SECONDS", 0.2)
    monkeypatch.setattr(VerdictStore, "_renew", lambda _: None)
    with VerdictStore(path) as other:
        assert claim(store, "a")
        assert not claim(other, "a")  # sees the claim
        asyncio.run(store.release("a"))
        time.sleep(0.3)
        assert claim(store, "a")
        assert not claim(other, "a")


def test_a_foreign_lock_is_waited_for_and_an_error_if_it_stays(
    store: VerdictStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    unlock = threading.Timer(0.2, connection.execute, ["ROLLBACK"])
    unlock.start()
    assert claim(store, "a")
    unlock.join()
    store.close()  # or else it renews its claim, and locks the file, at any moment
    monkeypatch.setattr(store_module, "_BUSY_SECONDS", 0.0)
    with VerdictStore(path) as other:
        connection.execute("BEGIN IMMEDIATE")
        assert get(other, "b") is None  # readers never wait
        with pytest.raises(StoreError, match="database is locked"):
            claim(other, "b")
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_is_told_to_open_the_store_anew(store: VerdictStore) -> None:
    put(store, "a")
    if not (child := os.fork()):
        with pytest.raises(StoreError, match="open the store in each process"):
            replies_in(store)
        with VerdictStore(store.path) as own:
            os._exit(7 * replies_in(own))  # 1 would be a failure
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert claim(store, "b")


# The file


@pytest.mark.parametrize(
    ("before", "error"),
    [
        (b"not a database at all, but long enough" * 50, "got file is not a database"),
        (b"{}\n", "got file is not a database"),
        ("CREATE TABLE theirs (x)", "got another database"),
        ("CREATE TABLE more (x)", "use the version of noisesense that wrote it"),
        ("ALTER TABLE calls ADD COLUMN more", "use the version of noisesense"),
        ("CREATE TRIGGER t AFTER INSERT ON calls BEGIN SELECT 1; END", "use the version"),
        ("CREATE VIEW v AS SELECT 1", "use the version of noisesense that wrote it"),
    ],
)
def test_a_file_of_another_kind_or_format_is_refused(
    path: Path, before: bytes | str, error: str
) -> None:
    if isinstance(before, bytes):
        path.write_bytes(before)
    else:
        if "theirs" not in before:
            VerdictStore(path).close()
        sql(path, before)
    content = path.read_bytes()
    is_ours = "the version" in error
    with pytest.raises(StoreError, match=error):
        VerdictStore(path)
    assert is_ours or path.read_bytes() == content


@pytest.mark.parametrize("column", ["reply", "checksum"])
def test_a_row_with_another_value_in_it_is_asked_again(path: Path, column: str) -> None:
    """As sound as before to SQLite and to JSON: only the checksum tells. Yes and no are swapped:
    "yes " with a space is read as yes."""
    calls = filled(path)
    sql(
        path,
        f"UPDATE calls SET {column} = CASE WHEN {column} LIKE '%yes%' THEN"
        f" replace(replace({column}, '\"no\"', '\"yes \"'), '\"yes\"', '\"no\"') ELSE 80 END",
    )
    with VerdictStore(path) as store:
        llm = scripted(*TRUTHS)
        run(LLMJudge(llm, store=store))
        assert len(llm.prompts) == calls
        again = scripted(*TRUTHS)
        run(LLMJudge(again, store=store))
        assert again.prompts == []


def _flipped(content: bytes, random: Random) -> bytes:
    """1 to 20 bytes at random positions are others: any, or other letters in the texts."""
    damaged = bytearray(content)
    texts = [at for at, byte in enumerate(content) if 0x20 <= byte < 0x7F]
    for _ in range(random.randint(1, 20)):
        if random.random() < 0.5:
            damaged[random.randrange(len(damaged))] ^= random.randint(1, 255)
        else:
            damaged[random.choice(texts)] = random.choice(b"abyesno0123456789[]{},: ")
    return bytes(damaged)


@few_or_many(60, 250)
def test_a_store_with_flipped_bytes_gives_right_values_or_an_error(path: Path, count: int) -> None:
    """Damaged stores: the right values, asked again, or a StoreError; nothing else."""
    filled(path)
    content = path.read_bytes()
    outcomes = Counter[str]()
    for seed in range(count):
        for each in path.parent.iterdir():
            each.unlink()
        path.write_bytes(_flipped(content, Random(seed)))
        llm = scripted(*TRUTHS)
        try:
            with VerdictStore(path) as store:
                run(LLMJudge(llm, store=store))
        except StoreError:
            outcomes["an error"] += 1
        else:
            outcomes["asked again" if llm.prompts else "as it was"] += 1
    assert min(outcomes["asked again"], outcomes["an error"]) > count / 50, outcomes


# Upkeep


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with VerdictStore(path) as store:
        put(store, "a")
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes.keys() >= {"s.db", "s.db-wal"}
    assert set(modes.values()) == {0o600}


class RepliesWhileAnotherFails:
    """Refuses one text, and answers the other so many steps of the event loop later."""

    name = "late"

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._asked = 0
        self.replies = 0

    async def generate(self, prompt: str, schema: Any) -> Any:
        self._asked += 1
        while self._asked < 2:
            await asyncio.sleep(0)
        if "refused" in prompt:
            raise JudgeError("refused")
        for _ in range(self._steps):
            await asyncio.sleep(0)
        self.replies += 1
        return schema.model_validate({"1": "yes"}), USAGE


@pytest.mark.parametrize("steps", range(8))
def test_a_reply_that_comes_while_another_call_fails_is_kept(
    store: VerdictStore, steps: int
) -> None:
    """It is paid for, though the failure cancels who waits for it."""
    model = RepliesWhileAnotherFails(steps)
    judge = LLMJudge(model, store=store)
    with pytest.raises(JudgeError, match="refused"):
        asyncio.run(judge.entailment(["one that is refused", "another"], ["a claim"]))
    assert replies_in(store) == model.replies
