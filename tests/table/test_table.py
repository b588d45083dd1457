"""`score_table` gives what `score` gives, row by row, in whatever table the verdicts are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from noisesense import Result, Score, Summary, Tally, score, write_results
from noisesense.scoring.definitions import MODES
from noisesense_adapters.table import score_schema, score_table, tally_table
from support.tables import Shape, random_pair

SHAPE = Shape(response_claims=(0, 6), chunks=(1, 6), undetermined=0.15, labeled=0.4)
CHOICES: list[dict[str, Any]] = [
    {},
    {"definition": "paper", "undetermined": "high", "empty": "zero"},
    {"definition": "promptfoo", "undetermined": "low"},
    {"definition": "validmind", "empty": "error"},
]


def results(count: int, *, clusters: bool = False) -> list[Result]:
    made: list[Result] = []
    for seed in range(count):
        sample, verdicts = random_pair(seed, SHAPE)
        cluster = f"document {seed % 5}" if clusters else None
        what: dict[str, Any] = {"error": "no answer", "sample": sample}
        if seed % 11 != 5:
            of = sample if seed % 4 else None
            own = verdicts if of is None else verdicts.with_sample(sample)
            what = {"score": score(own), "sample": of, "unanswered": seed % 3}
        made.append(Result(f"sample {seed}", cluster=cluster, **what))
    return made


def rescored(result: Result, chosen: dict[str, Any]) -> Score | str:
    if result.score is None:
        return str(result.error)
    try:
        return score(result.score.verdicts, **chosen)
    except ValueError as error:
        return str(error)


def parquet(folder: Path, made: list[Result]) -> pa.Table:
    """As pandas and pyarrow turn a results file into Parquet: absent fields are null."""
    write_results(folder / "r.jsonl", made)
    pq.write_table(pyarrow.json.read_json(folder / "r.jsonl"), folder / "r.parquet")
    return pq.read_table(folder / "r.parquet")


def check(rows: list[dict[str, Any]], made: list[Result], chosen: dict[str, Any]) -> None:
    assert len(rows) == len(made)
    for row, result in zip(rows, made, strict=True):
        one = rescored(result, chosen)
        assert row["id"] == result.id
        assert result.cluster in (None, row["cluster"])
        if isinstance(one, str):
            assert row["error"].endswith(one)
            values = {name: row[name] for name in row if name not in ("id", "cluster", "error")}
            assert {*values.values()} == {None}
        else:
            check_score(row, one)
            assert row["unanswered"] == result.unanswered


def check_score(row: dict[str, Any], expected: Score) -> None:
    assert row["error"] is None
    assert row["definition"] == expected.definition
    for mode in MODES:
        cells = [row[f"{mode}{end}"] for end in ("_low", "_high", "", "_status")]
        bounds = expected.bounds(mode) or (None, None)
        assert cells == [*bounds, expected.value(mode), expected.status(mode)]
    counts = [row[f"{kind}_claims"] for kind in expected.partition._fields]
    assert [*counts, row["claims"]] == [*expected.partition, expected.partition.total]


def summary(made: list[Result], chosen: dict[str, Any]) -> Summary:
    tally = Tally()
    for result in made:
        one: Any = rescored(result, chosen)
        what = {"error": one} if isinstance(one, str) else {"score": one}
        tally.add(Result(result.id, cluster=result.cluster, **what))
    return tally.summary()


@pytest.mark.parametrize("chosen", CHOICES, ids=lambda chosen: ", ".join(chosen.values()))
def test_columns_and_lines_are_scored_and_tallied_as_one_by_one(
    tmp_path: Path, chosen: dict[str, Any]
) -> None:
    made = results(200, clusters="empty" in chosen)
    lines = pa.table({"value": [each.to_json() for each in made]})
    for table in (parquet(tmp_path, made), lines):
        scored = score_table(table, **chosen)
        assert scored.schema == score_schema()
        check(scored.to_pylist(), made, chosen)
        counted = {name: value for name, value in chosen.items() if name != "undetermined"}
        expected = summary(made, counted)
        assert tally_table(table, **counted).summary() == expected
        parts = [tally_table(table.slice(i, 17), **counted) for i in range(0, 200, 17)]
        assert sum(parts[::-1], Tally()).summary() == expected


def test_pandas_comes_back_as_pandas_and_floats_count_as_whole_numbers(tmp_path: Path) -> None:
    made = results(40)
    table = parquet(tmp_path, made)
    frame = pd.DataFrame({"line": [each.to_json() for each in made]})
    scored = score_table(frame)
    assert isinstance(scored, pd.DataFrame)
    assert tally_table(frame) == tally_table(table)
    # pandas has no whole numbers where some are missing.
    floats = pd.read_json(tmp_path / "r.jsonl", lines=True)
    assert floats["unanswered"].dtype == float
    assert score_table(floats)["unanswered"].equals(scored["unanswered"])


BACKWARDS = [*range(12)][::-1]
INDEXES: dict[str, Any] = {
    "reversed": pd.Index(BACKWARDS),
    "duplicates": pd.Index([i // 2 for i in BACKWARDS]),
    "levels": pd.MultiIndex.from_tuples([(i % 2, f"{i}") for i in BACKWARDS]),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_scores_of_a_pandas_frame_stand_beside_its_own_rows(index: Any) -> None:
    made = results(12)
    frame = pd.DataFrame({"line": [each.to_json() for each in made]}, index=index)

    scored = score_table(frame)

    assert scored.index.equals(index)
    assert scored.index.names == index.names
    assert scored["id"].tolist() == [each.id for each in made]
    empty = frame.iloc[:0]
    assert score_table(empty).index.equals(empty.index)
    scored.index.names = [f"level {level}" for level in range(index.nlevels)]
    assert frame.index.names == index.names != scored.index.names


def test_a_batch_of_records_comes_back_as_one(tmp_path: Path) -> None:
    table = parquet(tmp_path, results(40))
    expected = score_table(table).to_pylist()
    [batch] = table.combine_chunks().to_batches()
    scored_batch = score_table(batch)
    assert isinstance(scored_batch, pa.RecordBatch)
    assert scored_batch.to_pylist() == expected
    assert score_table(batch.slice(7, 9)).to_pylist() == expected[7:16]
    empty = score_table(batch.slice(0, 0))
    assert isinstance(empty, pa.RecordBatch)
    assert len(empty) == 0
    assert tally_table(batch.slice(0, 0)).summary().samples == 0


CLAIM: dict[str, Any] = {"text": "a", "correct": False, "entailed_by": [0]}
VERDICTS = {"response_claims": [CLAIM]}
LISTED = {**VERDICTS, "chunks": [{"text": "c", "relevant": True}]}
TEXTS = {"response": "a", "reference": "b", "retrieved_contexts": ["c"]}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "a", "verdicts": None}, "expected verdicts, got none"),
        ({"id": None, "verdicts": LISTED}, "the field 'id'"),
        ({"id": "a", "verdicts": {**LISTED, "notes": "x"}}, "the field 'notes'"),
        ({"sample": {**TEXTS, "retrieved_contexts": ["d"]}, "verdicts": LISTED}, "another text"),
    ],
)
def test_a_bad_row_is_an_error_of_its_own(row: dict[str, Any], problem: str) -> None:
    good = {"id": "b", "verdicts": LISTED}
    table = pa.table({"value": [json.dumps(good), json.dumps(row)]})
    first, second = score_table(table).to_pylist()
    assert first["relevant"] == 1.0
    assert second["error"].startswith("row 1")
    assert problem in second["error"]
    (alone,) = score_table(pa.Table.from_pylist([row])).to_pylist()
    assert problem in alone["error"]


def test_unknown_relevance_is_open_a_label_counts_no_chunks_are_undefined() -> None:
    alone = {"response_claims": [{"text": "a", "correct": False, "entailed_by": [3]}]}
    blank = {**TEXTS, "retrieved_contexts": [" "]}
    nothing = {"response_claims": [{**CLAIM, "entailed_by": []}]}
    rows = [
        {"id": "a", "verdicts": alone},  # relevance unknown: of four chunks the last may be
        {"id": "b", "verdicts": LISTED},
        {"sample": blank, "verdicts": nothing},
    ]
    table = pa.table({"text": [json.dumps(row) for row in rows]})
    scored = score_table(table).to_pylist()
    assert [row["relevant"] for row in scored] == [None, 1.0, None]
    statuses = ["undetermined", "determined", "undefined"]
    assert [row["relevant_status"] for row in scored] == statuses
    assert tally_table(table).summary().relevant.undefined == 1
