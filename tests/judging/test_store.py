"""The store: what it keeps, finds again, exports and removes."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import gc
import json
import pickle
import re
import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    LLMJudge,
    RecordedJudge,
    ReplyError,
    Sample,
    StoreError,
    Usage,
    VerdictStore,
    read_recording,
    score,
)
from noisesense.judging import records
from noisesense.judging.prompts import Prompts
from noisesense.judging.records import StoredCall, StoredSample
from noisesense.scoring.definitions import DEFINITIONS
from support.mind import Mind
from support.scripted_llm import GatedLLM, ScriptedLLM, scripted
from support.tables import Shape, random_pair, random_pairs

TRUTHS = list(random_pairs(8, shape=Shape(response_claims=(1, 5), chunks=(1, 5), labelled=0.3)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VerdictStore]:
    with VerdictStore(tmp_path / "verdicts.db") as opened:
        yield opened


def run(judge: LLMJudge, *samples: Sample) -> None:
    async def all_of_them() -> None:
        for sample in samples:
            await judge.judge(sample)

    asyncio.run(all_of_them())


def call(
    key: str, *, model: str = "m", created: float = 1.0, reply: str | None = "{}"
) -> StoredCall:
    usage = Usage(calls=1, input_tokens=7, output_tokens=3, cost=0.5)
    return StoredCall(key, model, "1", "chunk", 0, "sample", "label", reply, usage, created)


def test_a_call_is_found_by_its_key(store: VerdictStore) -> None:
    assert store.get("a") is None
    store.put(call("a"))
    store.put(call("b", reply=None))
    assert store.get("a") == call("a")
    assert store.get("b") is None
    assert store.get("b", unanswered=True) == call("b", reply=None)
    assert store.calls() == [call("a"), call("b", reply=None)]


def test_nothing_is_asked_twice(store: VerdictStore) -> None:
    samples = [sample for sample, _ in TRUTHS]
    first = scripted(*TRUTHS)
    run(LLMJudge(first, store=store), *samples)
    second = scripted(*TRUTHS)
    judge = LLMJudge(second, store=store)
    run(judge, *samples)
    assert second.prompts == []
    assert judge.usage == Usage(cached_calls=len(first.prompts))
    assert len(store.calls()) == len(set(first.prompts))


def test_stopped_and_resumed_in_the_middle_of_a_sample(store: VerdictStore) -> None:
    """After every number of finished calls the rest is asked for, and nothing again."""
    sample, verdicts = TRUTHS[0]
    plain = scripted(TRUTHS[0])
    run(LLMJudge(plain), sample)
    for done in range(len(plain.prompts)):
        store.prune(older_than=timedelta(0))
        llm = ScriptedLLM(Mind(TRUTHS).answer)

        async def stop_after(llm: ScriptedLLM = llm, done: int = done) -> None:
            judge = LLMJudge(llm, store=store, max_concurrency=1)
            work = asyncio.create_task(judge.judge(sample))
            while len(store.calls()) < done:
                await asyncio.sleep(0)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

        asyncio.run(stop_after())
        finished = store.calls()
        rest = scripted(TRUTHS[0])
        judge = LLMJudge(rest, store=store)
        run(judge, sample)
        assert judge.usage.cached_calls == len(finished)
        assert len(rest.prompts) == len(plain.prompts) - len(finished)
        assert score(store.samples()[0].verdicts).relevant == score(verdicts).relevant


@pytest.mark.parametrize("what", ["model", "prompts", "version", "vote", "input"])
def test_everything_a_reply_depends_on_is_in_its_key(store: VerdictStore, what: str) -> None:
    sample, _ = TRUTHS[0]
    run(LLMJudge(scripted(TRUTHS[0]), store=store), sample)
    llm = scripted(*TRUTHS, name="other" if what == "model" else "scripted")
    prompts = {"prompts": Prompts(verify="Other words."), "version": Prompts(version="2")}.get(
        what
    )
    votes = 3 if what == "vote" else 1
    other = sample
    if what == "input":
        sample_data = sample.model_dump() | {"user_input": sample.user_input + " "}
        other = Sample.model_validate(sample_data)
        llm.answer = Mind([*TRUTHS, (other, TRUTHS[0][1])]).answer
    run(LLMJudge(llm, store=store, prompts=prompts, votes=votes), other)
    assert len(llm.prompts) > 0


def test_the_plan_and_the_labels_are_not_what_a_reply_depends_on(store: VerdictStore) -> None:
    sample, _ = TRUTHS[0]
    run(LLMJudge(scripted(TRUTHS[0]), store=store), sample)
    llm = scripted(TRUTHS[0])
    judge = LLMJudge(llm, store=store, plan="full")
    run(judge, sample)
    assert judge.usage.cached_calls >= 3


def test_a_model_without_a_name_needs_one(store: VerdictStore) -> None:
    llm = scripted(*TRUTHS)
    llm.name = ""
    with pytest.raises(InputError, match=r'store: expected a model with a name.*model="'):
        LLMJudge(llm, store=store)
    run(LLMJudge(llm, store=store, model="mine"), TRUTHS[0][0])
    assert store.stats().models == ("mine",)
    assert LLMJudge(llm).model == "ScriptedLLM"  # without a store it does not matter


def test_a_path_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a VerdictStore, got '.*VerdictStore\(path\)"):
        LLMJudge(scripted(*TRUTHS), store=str(tmp_path / "x.db"))  # type: ignore[arg-type]


def test_one_of_several_tasks_asks_and_the_others_wait(store: VerdictStore) -> None:
    """Two judges, as in two processes, on one sample: each call is made once."""
    llm = GatedLLM(Mind(TRUTHS).answer)
    sample = TRUTHS[0][0]

    async def both() -> None:
        work = asyncio.gather(*(LLMJudge(llm, store=store).judge(sample) for _ in range(3)))
        await llm.drive(asyncio.ensure_future(work))

    asyncio.run(both())
    assert len(llm.prompts) == len(set(llm.prompts))


def test_a_claim_ends_with_a_failure(store: VerdictStore) -> None:
    sample = TRUTHS[0][0]
    broken = ScriptedLLM(lambda prompt: RuntimeError("boom"))
    with pytest.raises(RuntimeError, match="boom"):
        run(LLMJudge(broken, store=store), sample)
    with store._database.transaction() as connection:
        assert connection.execute("SELECT * FROM leases").fetchall() == []
    run(LLMJudge(scripted(*TRUTHS), store=store), sample)
    assert store.stats().samples == 1


def test_claims(store: VerdictStore, tmp_path: Path) -> None:
    assert store.claim("a")
    assert not store.claim("a")
    with VerdictStore(store.path) as other:
        assert not other.claim("a")
        other.release("a")  # the same process: it may
        assert store.claim("a")
    store.put(call("a"))
    assert not store.claim("a")
    assert store.get("a") == call("a")
    store.put(call("b", reply=None))
    assert store.claim("b")  # its reply was unusable: it is asked again, by one
    assert not store.claim("b")


def test_unusable_replies_are_asked_again(store: VerdictStore) -> None:
    sample, verdicts = TRUTHS[0]
    garbage = ScriptedLLM(lambda prompt: "garbage")
    for _ in range(2):
        garbage.prompts.clear()
        with pytest.raises(ReplyError, match=r"asked 3 times.*no usable list"):
            run(LLMJudge(garbage, store=store), sample)
        # Each of the two texts, 3 times in every run: neither less often nor without end.
        assert len(garbage.prompts) == len(set(garbage.prompts)) == 6
    better = scripted(*TRUTHS)
    judge = LLMJudge(better, store=store)
    run(judge, sample)
    assert judge.usage.cached_calls == 0
    assert score(store.samples()[0].verdicts).relevant == score(verdicts).relevant


def test_what_asking_again_has_healed_is_not_paid_for_again(store: VerdictStore) -> None:
    """Each call's first reply is unusable in the first run: the second run asks nothing."""
    mind = Mind(TRUTHS)
    first = ScriptedLLM(lambda p: mind.answer(p) if "attempt 2" in p else "garbage")
    samples = [sample for sample, _ in TRUTHS]
    run(LLMJudge(first, store=store), *samples)
    second = ScriptedLLM(lambda prompt: AssertionError("asked"))
    judge = LLMJudge(second, store=store)
    run(judge, *samples)
    assert judge.usage == Usage(cached_calls=len(first.prompts) // 2)


@pytest.mark.parametrize("given", [0, 1])
def test_a_repaired_judge_is_asked_only_for_what_is_missing(
    store: VerdictStore, given: int
) -> None:
    """The judge gave 0 or 1 verdicts a reply, in two runs; then it gives all of them."""
    shape = Shape(response_claims=(9, 9), reference_claims=(2, 2), chunks=(2, 2))
    pair = random_pair(1, shape)
    sample, verdicts = pair
    mind = Mind([pair])

    def broken(prompt: str) -> str:
        reply = json.loads(mind.answer(prompt))
        return json.dumps(reply if "claims" in reply else {"verdicts": reply["verdicts"][:given]})

    for _ in range(2):
        llm = ScriptedLLM(broken)
        judge = LLMJudge(llm, store=store)
        run(judge, sample)
        assert judge.totals.unanswered > 0
        assert [data.get("premise") for data in llm.data].count(sample.reference) == 3
    better = scripted(pair)
    repaired = LLMJudge(better, store=store)
    run(repaired, sample)
    assert repaired.totals.unanswered == 0
    assert score(store.samples()[0].verdicts).relevant == score(verdicts).relevant
    about_reference = [d["claims"] for d in better.data if d.get("premise") == sample.reference]
    texts = [claim.text for claim in verdicts.response_claims]
    assert [[*claims.values()] for claims in about_reference] == [texts[6 * given :]]
    again = LLMJudge(ScriptedLLM(lambda prompt: AssertionError("asked")), store=store)
    run(again, sample)
    assert again.usage.calls == 0


def test_prune_of_what_is_unanswered_leaves_the_rest(store: VerdictStore) -> None:
    """Of the unanswered, only what is of that model; answered calls and samples stay."""
    sample, verdicts = TRUTHS[0]
    for model, left in (("a", 2), ("b", 1), ("c", 0)):
        for n in range(3):
            store.put(call(f"{model}{n}", model=model, created=4e9))
        store.put_sample(StoredSample(sample, verdicts, model, "1", "lazy", left))
    store.mark_unanswered(["a0", "a1", "b2"])
    assert store.prune(unanswered=True, model="b") == (1, 1)
    assert store.prune(unanswered=True, older_than=timedelta(days=1)) == (0, 0)
    assert store.prune(unanswered=True) == (2, 1)
    assert {kept.key for kept in store.calls()} == {"a2", "b0", "b1", "c0", "c1", "c2"}
    assert [kept.model for kept in store.samples()] == ["c"]


def test_export_is_a_recording_with_the_same_scores(store: VerdictStore, tmp_path: Path) -> None:
    run(LLMJudge(scripted(*TRUTHS), store=store), *(sample for sample, _ in TRUTHS))
    path = tmp_path / "export.jsonl"
    assert store.export(path) == len(TRUTHS)
    recorded = RecordedJudge(path)
    for sample, verdicts in TRUTHS:
        for name in DEFINITIONS:
            found = score(recorded.lookup(sample), definition=name)
            expected = score(verdicts, definition=name)
            assert (found.relevant, found.irrelevant) == (expected.relevant, expected.irrelevant)


def test_export_of_several_models_and_settings(store: VerdictStore, tmp_path: Path) -> None:
    sample, verdicts = TRUTHS[0]
    path = tmp_path / "export.jsonl"
    with pytest.raises(InputError, match="at least one judged sample"):
        store.export(path)
    run(LLMJudge(scripted(*TRUTHS, name="a"), store=store), sample)
    run(LLMJudge(scripted(*TRUTHS, name="a"), store=store, plan="full"), sample)
    run(LLMJudge(scripted(*TRUTHS, name="b"), store=store), sample)
    with pytest.raises(InputError, match="one model, got 'a', 'b'"):
        store.export(path)
    assert store.export(path, model="a") == 1
    (line,) = read_recording(path)
    assert line.verdicts == verdicts  # the newest of the model: the full plan's
    assert store.export(path, model="b") == 1


def test_prune_by_age_and_model(store: VerdictStore) -> None:
    now = call("now", created=4e9)
    for each in (call("old"), call("old-b", model="b"), now):
        store.put(each)
    with pytest.raises(InputError, match="an age, a model"):
        store.prune()
    assert store.prune(older_than=timedelta(days=1), model="b") == (1, 0)
    assert [each.key for each in store.calls()] == ["old", "now"]
    assert store.prune(older_than=timedelta(days=1)) == (1, 0)
    assert store.calls() == [now]
    assert store.prune(model="m") == (1, 0)


def test_stats(store: VerdictStore) -> None:
    empty = store.stats()
    assert (empty.calls, empty.samples, empty.models, empty.oldest) == (0, 0, (), None)
    store.put(call("a"))
    store.put(call("b", model="n", created=2.0))
    stats = store.stats()
    assert stats.usage == Usage(calls=2, input_tokens=14, output_tokens=6, cost=1.0)
    assert (stats.models, stats.oldest, stats.newest) == (("m", "n"), 1.0, 2.0)
    assert stats.bytes > 0
    store.check()


def test_it_is_readable_by_a_person(store: VerdictStore) -> None:
    sample, _ = TRUTHS[0]
    run(LLMJudge(scripted(TRUTHS[0]), store=store), sample)
    steps = {each.step for each in store.calls()}
    assert steps >= {"claims of the response", "claims of the reference", "reference"}
    for each in store.calls():
        assert each.sample_key == sample.key
        assert each.label == sample.user_input[:60]
        assert each.reply is not None
        assert json.loads(each.reply).keys() <= {"claims", "verdicts"}
    (judged,) = store.samples()
    assert (judged.sample, judged.model, judged.unanswered) == (sample, "scripted", 0)
    assert "lazy" in judged.settings


def test_threads(store: VerdictStore) -> None:
    def work(k: int) -> None:
        for i in range(50):
            store.put(call(f"{k}-{i}"))
            assert store.get(f"{k}-{i}") is not None

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.stats().calls == 300


def test_readers_never_wait_and_writers_hold_the_lock_from_the_start(store: VerdictStore) -> None:
    """A transaction that reads first and writes later would fail if another wrote between."""
    other = sqlite3.connect(store.path, timeout=0, isolation_level=None)
    with store._database.transaction() as connection:
        connection.execute("SELECT * FROM calls").fetchall()
        assert other.execute("SELECT count(*) FROM calls").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM calls")
        assert other.execute("SELECT count(*) FROM calls").fetchone() == (0,)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


def test_a_store_that_nobody_closes_is_closed_when_it_goes(tmp_path: Path) -> None:
    store = VerdictStore(tmp_path / "verdicts.db")
    connection = store._database._connection
    assert connection is not None
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_copies_open_the_same_file(store: VerdictStore) -> None:
    store.put(call("a"))
    for other in (copy.deepcopy(store), pickle.loads(pickle.dumps(store))):
        with other:
            assert other.get("a") == call("a")


def test_texts_that_are_no_utf_8(store: VerdictStore) -> None:
    """Half an emoji, as JavaScript cuts strings."""
    sample, verdicts = TRUTHS[0]
    broken = Sample.model_validate(sample.model_dump() | {"user_input": "cut \ud83c"})
    mind = Mind([(Sample.model_validate(broken.model_dump() | {"user_input": "cut ?"}), verdicts)])
    run(LLMJudge(ScriptedLLM(mind.answer), store=store), broken)
    assert store.samples()[0].sample == broken


def test_a_kept_call_is_whole(store: VerdictStore) -> None:
    """What is put is what is read, field by field: a row's order is easily confused."""
    full = StoredCall(
        *("k", "m", "v", "s", 2, "sk", "l", "r", Usage(3, 0, 0, 4, 5, 6.5), 7.5),
        unanswered=True,
        identity="i",
    )
    store.put(full)
    assert store.get("k") is None
    assert store.get("k", unanswered=True) == full
    assert dataclasses.asdict(full)["unanswered"] is True


class Halves(ScriptedLLM):
    """Reads its replies as a careless bridge does: claims may hold half a surrogate pair."""

    async def generate(self, prompt: str, schema: Any) -> Any:
        found, usage = await super().generate(prompt, schema)
        if "claims" in schema.model_fields:
            texts = [text + "\ud83c" for text in found.claims]
            return schema.model_construct(claims=texts), usage
        return found, usage


def test_a_claim_with_half_a_surrogate_pair_is_kept(store: VerdictStore) -> None:
    sample, verdicts = TRUTHS[0]
    mind = Mind([(sample, verdicts)])

    def answer(prompt: str) -> Any:
        return mind.answer(re.sub(r"(fact \d+\.)(\\ud83c|\ud83c|\?)", r"\1", prompt))

    for _ in range(3):
        llm = Halves(answer)
        run(LLMJudge(llm, store=store), sample)
    assert llm.prompts == []
    kept = [call.reply or "" for call in store.calls() if call.step.startswith("claims")]
    assert kept
    assert all("?" in reply for reply in kept)
    with store._database.transaction(write=False) as connection:
        assert connection.execute("SELECT * FROM leases").fetchall() == []


def test_what_fails_after_the_reply_gives_the_claim_back(store: VerdictStore) -> None:
    """For instance a model's own class that cannot be written as JSON."""
    sample, verdicts = TRUTHS[0]

    class Unwritable(ScriptedLLM):
        async def generate(self, prompt: str, schema: Any) -> Any:
            found, usage = await super().generate(prompt, schema)

            class Reply(schema):  # type: ignore[misc]
                def model_dump(self, **_: Any) -> Any:
                    raise RuntimeError("not written")

            return Reply.model_construct(**found.model_dump()), usage

    with pytest.raises(RuntimeError, match="not written"):
        run(LLMJudge(Unwritable(Mind([(sample, verdicts)]).answer), store=store), sample)
    llm = scripted((sample, verdicts))
    run(LLMJudge(llm, store=store), sample)
    assert llm.prompts
    assert store.samples()[0].unanswered == 0


def test_a_cancelled_call_stays_cancelled_if_the_store_fails(store: VerdictStore) -> None:
    async def cancelled() -> None:
        llm = GatedLLM(Mind(TRUTHS[:1]).answer)
        task = asyncio.ensure_future(LLMJudge(llm, store=store).judge(TRUTHS[0][0]))
        while not llm.running:
            await asyncio.sleep(0)
        store.close()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


ODD_TABLES = {
    "a column too many": "ALTER TABLE calls ADD COLUMN more TEXT",
    "a column of another name": "ALTER TABLE leases RENAME COLUMN owner TO holder",
    "no table": "DROP TABLE samples",
    "a view": "DROP TABLE leases; CREATE VIEW leases AS SELECT 1 AS key, 2 AS owner, 3 AS until",
    "a view beside": "CREATE VIEW more AS SELECT 1",
    "a trigger": "CREATE TRIGGER t BEFORE INSERT ON calls BEGIN DELETE FROM calls; END",
}


@pytest.mark.parametrize("deed", ODD_TABLES.values(), ids=ODD_TABLES)
def test_odd_tables(tmp_path: Path, deed: str) -> None:
    path = tmp_path / "verdicts.db"
    VerdictStore(path).close()
    connection = sqlite3.connect(path)
    connection.executescript(deed)
    connection.close()
    expected = "expected a verdict store of format 2, got .* Hint: use the version"
    with pytest.raises(StoreError, match=expected):
        VerdictStore(path)


ODD_VALUES = [
    *[("calls", "created", value) for value in (-1.0, 1e300, "soon", float("inf"))],
    *[("calls", name, b"\xff") for name in ("model", "reply", "vote", "calls", "cost")],
    *[("calls", name, "many") for name in ("vote", "calls", "input_tokens", "unanswered")],
    *[("samples", "sample", value) for value in ("[" * 100_000, "9" * 5000, "{}", "\udcff")],
    *[("samples", "verdicts", value) for value in ("[" * 100_000, '{"a": ' * 5000, "null")],
]


@pytest.mark.parametrize(
    ("table", "column", "value"), ODD_VALUES, ids=lambda each: repr(each)[:20]
)
def test_odd_values_with_a_checksum_that_fits(
    store: VerdictStore, table: str, column: str, value: Any
) -> None:
    """A checksum tells of damage, not of malice."""
    run(LLMJudge(scripted(*TRUTHS), store=store), TRUTHS[0][0])
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    as_text = "CAST(? AS TEXT)" if isinstance(value, bytes) and value != b"\xff" else "?"
    with store._database.transaction() as connection:
        connection.execute(f"UPDATE {table} SET {column} = {as_text}", (value,))
        for row in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
            connection.execute(
                f"UPDATE {table} SET checksum = ? WHERE rowid = ?",
                (records._checksum(row[1:-1]), row[0]),
            )
    with pytest.raises(StoreError, match=f"a kept {table[:-1]} that cannot be read"):
        store.calls() if table == "calls" else store.samples()
    if table == "calls":
        assert all(store.get(each) is None for each in ("a",))


def test_a_store_removed_while_it_is_used(store: VerdictStore) -> None:
    store.path.unlink()
    with pytest.raises(StoreError, match=r"Hint: check that the file is still there"):
        store.stats()


def test_a_folder_that_may_not_be_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(StoreError, match="got Permission denied"):
        VerdictStore(tmp_path / "verdicts.db", must_exist=True)
