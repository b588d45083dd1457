"""Results as a Parquet file: the fields of a results file's line, typed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from noisesense.definitions import MODES
from noisesense.judge import Usage
from noisesense.results import Result
from noisesense.scoring import Partition
from noisesense_adapters.io import pyarrow

__all__ = ["write_parquet"]

_BATCH = 500


def write_parquet(path: Path, results: Iterator[Result]) -> None:
    """Write the results in batches; the file appears whole or not at all."""
    pa, pq = pyarrow(), pyarrow("pyarrow.parquet")
    schema = _schema(pa)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with pq.ParquetWriter(temporary, schema) as writer:
            while batch := [result.to_dict() for result in islice(results, _BATCH)]:
                writer.write_table(_table(pa, batch, schema))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _schema(pa: Any) -> Any:
    text, flag, whole, real = pa.string(), pa.bool_(), pa.int64(), pa.float64()
    positions = pa.list_(whole)
    chunks = pa.list_(pa.struct({"text": text, "relevant": flag, "id": text}))
    claim = {"text": text, "entailed_by": positions, "undetermined": positions}
    sample = {"user_input": text, "response": text, "reference": text}
    fields = {
        "id": text,
        "cluster": text,
        "judge": text,
        "definition": text,
        "empty": text,
        "undetermined": text,
        "relevant": real,
        "irrelevant": real,
        "status": pa.struct(dict.fromkeys(MODES, text)),
        "bounds": pa.struct({"relevant": pa.list_(real), "irrelevant": pa.list_(real)}),
        "partition": pa.struct(dict.fromkeys(Partition._fields, whole)),
        "unanswered": whole,
        "usage": pa.struct({**dict.fromkeys(Usage.__dataclass_fields__, whole), "cost": real}),
        "error": text,
        "sample": pa.struct({**sample, "retrieved_contexts": chunks}),
        "verdicts": pa.struct(
            {
                "response_claims": pa.list_(pa.struct({**claim, "correct": flag})),
                "reference_claims": pa.list_(pa.struct(claim)),
                "chunks": chunks,
            }
        ),
    }
    return pa.schema(fields)


def _table(pa: Any, batch: list[dict[str, Any]], schema: Any) -> Any:
    try:
        return pa.Table.from_pylist(batch, schema=schema)
    except UnicodeEncodeError:
        # Half of a surrogate pair, as a broken tokenizer leaves it, has no UTF-8.
        text = json.dumps(batch, ensure_ascii=False).encode("utf-8", "replace")
        return pa.Table.from_pylist(json.loads(text), schema=schema)
