"""A damaged file is reported, and left as it is."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from noisesense import LLMJudge, StoreError, VerdictStore, score
from noisesense.judging.records import StoredCall
from support.scripted_llm import scripted
from support.sizes import few_or_many
from support.tables import random_pairs

TRUTHS = list(random_pairs(10))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with some calls in it, closed."""
    found = tmp_path / "verdicts.db"
    with VerdictStore(found) as store:
        judge = LLMJudge(scripted(*TRUTHS), store=store)
        for sample, _ in TRUTHS:
            asyncio.run(judge.judge(sample))
    return found


def use(path: Path) -> None:
    """Everything one does with a store."""
    with VerdictStore(path) as store:
        judge = LLMJudge(scripted(*TRUTHS), store=store)
        for sample, _ in TRUTHS:
            asyncio.run(judge.judge(sample))
        store.check()


def test_a_sound_store_is_sound(path: Path) -> None:
    use(path)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 50, b"{}\n"])
def test_another_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"verdicts\.jsonl: expected a sound verdict store, got"):
        VerdictStore(path)
    assert path.read_bytes() == content


def test_garbage_in_the_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40_000] = Random(0).randbytes(40_000)
    path.write_bytes(content)
    with pytest.raises(
        StoreError, match=r"expected a sound verdict store.*Hint: nothing was chan"
    ):
        use(path)


def test_cut_off(path: Path) -> None:
    content = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(content)
    with pytest.raises(StoreError, match="expected a sound verdict store"):
        use(path)
    assert path.stat().st_size == len(content)


def test_another_programs_database(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="another program's database"):
        VerdictStore(path)


def test_another_format(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="expected a verdict store of format 2, got format 99"):
        VerdictStore(path)


COLUMNS = {
    "calls": ["created", "model", "identity", "version", "step", "vote", "sample_key", "label",
              "reply", "calls", "input_tokens", "output_tokens", "cost", "unanswered", "checksum"],
    "samples": ["created", "model", "identity", "version", "settings", "sample", "verdicts",
                "unanswered", "checksum"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in COLUMNS for column in COLUMNS[table]]
)
def test_a_row_with_another_value_in_it(path: Path, table: str, column: str) -> None:
    """As sound as before to SQLite and to JSON: only the checksum tells. Calls are made again."""
    connection = sqlite3.connect(path)
    # Of a verdict: what was entailed is not, and the other way round.
    connection.execute(
        f"UPDATE {table} SET {column} = CASE WHEN {column} LIKE '%true%'"
        f" THEN replace(replace({column}, 'false', 'true '), 'true', 'false') ELSE 7 END"
    )
    connection.commit()
    connection.close()
    with VerdictStore(path) as store:
        with pytest.raises(StoreError, match=f"a kept {table[:-1]} that cannot be read"):
            store.samples() if table == "samples" else store.calls()
        llm = scripted(*TRUTHS)
        judge = LLMJudge(llm, store=store)
        for sample, verdicts in TRUTHS:
            found = asyncio.run(judge.judge(sample))
            assert score(found).relevant == score(verdicts).relevant
        assert bool(llm.prompts) is (table == "calls")
        store.check()  # and the new rows are sound


def _flipped(content: bytes, random: Random) -> bytes:
    """1 to 20 bytes at random positions are others: any, or other letters in the texts."""
    damaged = bytearray(content)
    texts = [at for at, byte in enumerate(content) if 0x20 <= byte < 0x7F]
    for _ in range(random.randint(1, 20)):
        if random.random() < 0.5:
            damaged[random.randrange(len(damaged))] ^= random.randint(1, 255)
        else:
            damaged[random.choice(texts)] = random.choice(b"abtrueflsn0123456789[]{},: ")
    return bytes(damaged)


@few_or_many(60, 250)
def test_flipped_bytes(tmp_path: Path, count: int) -> None:
    """Damaged stores: the right values, asked again, or a StoreError; nothing else."""
    path = tmp_path / "verdicts.db"
    pairs = TRUTHS[:4]
    expected = [(score(verdicts).relevant, score(verdicts).irrelevant) for _, verdicts in pairs]
    with VerdictStore(path) as store:
        judge = LLMJudge(scripted(*pairs), store=store)
        for sample, _ in pairs:
            asyncio.run(judge.judge(sample))
        sound = store.samples()
    content = path.read_bytes()
    outcomes = Counter[str]()
    for seed in range(count):
        random = Random(seed)
        for each in tmp_path.iterdir():
            each.unlink()
        path.write_bytes(_flipped(content, random))
        outcome = "as it was"
        try:
            with VerdictStore(path) as store:
                llm = scripted(*pairs)
                judge = LLMJudge(llm, store=store)
                if seed % 2:
                    assert store.samples() == sound
                for (sample, _), values in zip(pairs, expected, strict=True):
                    found = score(asyncio.run(judge.judge(sample)))
                    assert (found.relevant, found.irrelevant) == values
                outcome = "asked again" if llm.prompts else outcome
                exported = {each.sample.key: each.verdicts for each in store.samples()}
                assert exported == {each.sample.key: each.verdicts for each in sound}
        except StoreError:
            outcome = "an error" if outcome == "as it was" else "asked again, then an error"
        outcomes[outcome] += 1
    assert (
        min(outcomes["as it was"], outcomes["asked again"], outcomes["an error"]) > count / 50
    ), outcomes


def test_no_such_folder_or_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open"):
        VerdictStore(tmp_path / "nowhere" / "verdicts.db")
    with pytest.raises(StoreError, match="no such file"):
        VerdictStore(tmp_path / "verdicts.db", must_exist=True)
    assert not (tmp_path / "verdicts.db").exists()
    with pytest.raises(StoreError):
        VerdictStore(tmp_path)


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.db"
    path.touch()
    with VerdictStore(path) as store:
        assert store.stats().calls == 0


def test_a_closed_store(path: Path) -> None:
    store = VerdictStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get("a")


def test_the_error_reaches_the_run_and_no_number_comes_of_it(tmp_path: Path) -> None:
    """The disk fails between two calls."""
    store = VerdictStore(tmp_path / "verdicts.db")

    def fail(call: StoredCall) -> None:
        raise StoreError("a store that can be read and written", "database or disk is full")

    store.put = fail  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="full"):
        asyncio.run(LLMJudge(scripted(*TRUTHS), store=store).judge(TRUTHS[0][0]))
    store.close()
