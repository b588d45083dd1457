"""What each host makes of a retrieved thing: the chunks that its judge sees, or an error.

``tests/unknown/test_retrieved_shapes.py`` runs the table. Hosts may differ only where
`DIFFERENT` says why. `score_table` takes verdicts, and reads no chunks. DeepEval's own test case
refuses whatever is not a list of texts; one that is made without its check is read as elsewhere.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from langchain_core.documents import Document
from langchain_core.load import dumpd
from pydantic import BaseModel

from noisesense import Result
from noisesense.errors import NoiseSenseError
from support import reading_hosts
from support.reading_hosts import ROW, Watcher

ERROR = "error"
NOTHING = "nothing was retrieved"


class Hit:
    """A retriever's own class."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.score = 0.5


@dataclass
class HaystackDocument:
    """The fields of `haystack.Document`, which is a dataclass, too."""

    content: str
    id: str = "h1"
    meta: dict[str, Any] = field(default_factory=lambda: {"title": "T"})
    score: float | None = None


class TextNode(BaseModel):
    """The fields of LlamaIndex's `TextNode` before 0.12, a pydantic model, too."""

    text: str
    id_: str = "n1"
    metadata: dict[str, Any] = {"file_name": "s.md"}


class NodeWithScore(BaseModel):
    """Likewise."""

    node: TextNode
    score: float = 0.8


def _generated(*texts: str) -> Iterator[str]:
    yield from texts


DOCUMENT = Document(page_content="a", metadata={"text": "Title", "source": "s.md"})
AB = ["a", "b"]


class Shape(NamedTuple):
    """What was retrieved, and what of it a judge has to see."""

    retrieved: object
    seen: object


def _plain_shapes() -> dict[str, Shape]:
    """Those that JSON can hold, from the file beside this one."""
    path = Path(__file__).parent / "data" / "retrieved_shapes.json"
    shapes: dict[str, Shape] = {}
    for group in json.loads(path.read_text("utf-8")).values():
        for name, row in group.items():
            shapes[name] = Shape(**row)
    return shapes


SHAPES: dict[str, Shape] = {
    **_plain_shapes(),
    "a tuple": Shape(("a", "b"), AB),
    "a numpy array": Shape(np.array(["a", "b"], dtype=object), AB),
    "a generator": Shape(partial(_generated, "a", "b"), ERROR),
    "LangChain, dumpd": Shape([dumpd(DOCUMENT)], ["a"]),
    "documents with scores": Shape([[DOCUMENT.model_dump(), 0.8]], ["a"]),
    "a document": Shape([DOCUMENT], ["a"]),
    "pairs of a document and its score": Shape([(DOCUMENT, 0.8)], ["a"]),
    "a Haystack document": Shape([HaystackDocument("a")], ["a"]),
    "LlamaIndex nodes": Shape([NodeWithScore(node=TextNode(text="a"))], ["a"]),
    "a class with text": Shape([Hit("a")], ["a"]),
    "LangChain's repr": Shape(repr([DOCUMENT]), ["a"]),
    "LangChain's repr of each": Shape([repr(DOCUMENT)], ERROR),
    "LangChain's str": Shape([str(DOCUMENT)], ERROR),
    "a document as JSON": Shape([json.dumps(DOCUMENT.model_dump())], ERROR),
    "bytes": Shape([b"a"], ERROR),
    "NaN": Shape(math.nan, NOTHING),
}
"""By name: what was retrieved, and the chunks that a judge has to see.

A function makes it anew for each host. Of retrievers that are not installed here, the objects are
made as their documentation shows them.
"""

_FILES = ("JSONL", "JSON", "CSV", "CSV of JSON", "Parquet")
_PAIRS = ("HotpotQA", "texts with scores", "documents with scores")


DIFFERENT: dict[tuple[str, str], tuple[object, str]] = {
    **{
        (host, "None"): (NOTHING, "a table has an empty cell there")
        for host in ("CSV", "CSV of JSON")
    },
    **{
        ("deepeval", shape): (ERROR, "its test case takes lists alone")
        for shape in ("an empty cell", "a blank cell")
    },
    ("CSV of JSON", "NaN"): (ERROR, "JSON has none"),
    **{(host, "a class with text"): (ERROR, "a file has its str") for host in _FILES},
    **{
        ("Parquet", shape): (ERROR, "pyarrow writes no list of two types")
        for shape in (*_PAIRS, "pairs of a document and its score")
    },
}
"""By host and shape: what it gives instead, and why."""


TEXTS = {"user_input": ROW["question"], "response": ROW["response"], "reference": "Ada."}
Outcome = object
Host = Callable[[object, Watcher], object]
"""Evaluates one row, and says what the host shows beside the number."""


def by_host(name: str, thing: object, judge: Watcher) -> object:
    return reading_hosts.HOSTS[name]({**ROW, "contexts": thing}, judge)


def _shown(result: Result) -> str:
    if result.error is not None:
        raise NoiseSenseError(result.error)
    return str(result.score and result.score.reason("relevant"))


def _file(name: str, write: Callable[[Path], object], judge: Watcher) -> str:
    from noisesense_adapters.datasets.read import read_rows
    from noisesense_adapters.datasets.score import score_rows

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        (result,) = score_rows(list(read_rows(path)), judge)
    return _shown(result)


def _data(thing: object) -> Any:
    """As JSON has it. What JSON cannot hold is written as such programs write it: as its str."""
    if isinstance(thing, BaseModel):
        return thing.model_dump()
    if is_dataclass(thing) and not isinstance(thing, type):
        return asdict(thing)
    if isinstance(thing, (list, tuple)):
        return [_data(each) for each in thing]
    if isinstance(thing, dict):
        return {name: _data(each) for name, each in thing.items()}
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    return thing


def _frame(cell: object) -> pd.DataFrame:
    return pd.DataFrame([{**TEXTS, "retrieved_contexts": cell}])


def jsonl(thing: object, judge: Watcher) -> str:
    line = json.dumps({**TEXTS, "retrieved_contexts": _data(thing)}, default=str)
    return _file("rows.jsonl", lambda path: path.write_text(line, "utf-8"), judge)


def json_document(thing: object, judge: Watcher) -> str:
    """As pandas writes one by default: an object of columns."""
    column = {"0": _data(thing)}
    columns = {**{name: {"0": text} for name, text in TEXTS.items()}, "retrieved_contexts": column}
    text = json.dumps(columns, default=str)
    return _file("rows.json", lambda path: path.write_text(text, "utf-8"), judge)


def csv(thing: object, judge: Watcher) -> str:
    """As pandas writes it: the str of whatever is in the cell."""
    return _file("rows.csv", lambda path: _frame(thing).to_csv(path, index=False), judge)


def csv_of_json(thing: object, judge: Watcher) -> str:
    data = _data(thing)
    cell = data if data is None or isinstance(data, str) else json.dumps(data, default=str)
    return _file("rows.csv", lambda path: _frame(cell).to_csv(path, index=False), judge)


def parquet(thing: object, judge: Watcher) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([{**TEXTS, "retrieved_contexts": _data(thing)}])
    return _file("rows.parquet", lambda path: pq.write_table(table, path), judge)


def validmind(thing: object, judge: Watcher) -> str:
    """Only in an environment of its own."""
    import validmind as vm

    from noisesense_adapters.validmind import TEST_ID

    data = {"user_input": "q", "response": "x", "reference": "r", "retrieved_contexts": thing}
    dataset: Any = vm.init_dataset(dataset=pd.DataFrame([data]), input_id="d", __log=False)
    result: Any = vm.tests.run_test(
        TEST_ID,
        inputs={"dataset": dataset},
        params={"judge": judge},
        show=False,
        generate_description=False,
    )
    (row,) = result.raw_data.evaluation_results.to_dict("records")
    if row["error"]:
        raise NoiseSenseError(row["error"])
    return str(row["noise_sensitivity_relevant_reason"])


HOSTS: Mapping[str, Host] = {
    **{name: partial(by_host, name) for name in reading_hosts.HOSTS if name != "file"},
    "JSONL": jsonl,
    "JSON": json_document,
    "CSV": csv,
    "CSV of JSON": csv_of_json,
    "Parquet": parquet,
}
if (installed := find_spec("validmind")) and installed.origin:  # not the folder tests/validmind
    HOSTS = {"ValidMind": validmind}


def outcome(host: str, shape: str) -> Outcome:
    """The chunks that the judge saw, `NOTHING` or `ERROR`."""
    judge = Watcher()
    thing = SHAPES[shape].retrieved
    try:
        shown = HOSTS[host](thing() if callable(thing) else thing, judge)
    except Exception as error:  # noqa: BLE001 - a host's own refusal is an error, too
        return ERROR if judge.sample is None else f"judged, then {error!r}"
    if judge.sample is None:
        return NOTHING if NOTHING in str(shown).lower() else ERROR
    return [chunk.text for chunk in judge.sample.retrieved_contexts]


def expected(host: str, shape: str) -> Outcome:
    different = DIFFERENT.get((host, shape))
    return SHAPES[shape].seen if different is None else different[0]
