"""What each host makes of a retrieved thing: the chunks that its judge sees, or an error.

``tests/unknown/test_retrieved_shapes.py`` runs the table. Hosts may differ only where
`DIFFERENT` says why. `score_table` takes verdicts, and reads no chunks. Inspect, which takes a
third of a second a row, reads them as Opik does; `AdapterTests` runs it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from langchain_core.documents import Document
from langchain_core.load import dumpd
from pydantic import BaseModel

from noisesense import Result, Sample, Verdicts
from noisesense.errors import NoiseSenseError

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
    "LangChain's str": Shape([str(DOCUMENT)], ["a"]),
    "a document as JSON": Shape([json.dumps(DOCUMENT.model_dump())], ["a"]),
    "bytes": Shape([b"a"], ERROR),
}
"""By name: what was retrieved, and the chunks that a judge has to see.

A function makes it anew for each host. Of retrievers that are not installed here, the objects are
made as their documentation shows them.
"""

_FILES = ("JSONL", "JSON", "CSV", "CSV of JSON", "Parquet")
_PAIRS = ("HotpotQA", "texts with scores", "documents with scores")


def _is_list_of_texts(thing: object) -> bool:
    return isinstance(thing, list) and all(isinstance(item, str) for item in thing)


DIFFERENT: dict[tuple[str, str], tuple[object, str]] = {
    **{
        (host, "None"): (NOTHING, "a table has an empty cell there")
        for host in ("CSV", "CSV of JSON")
    },
    **{(host, "a class with text"): (ERROR, "likewise") for host in _FILES},
    **{
        ("Parquet", shape): (ERROR, "pyarrow writes no list of two types")
        for shape in (*_PAIRS, "pairs of a document and its score")
    },
    **{
        ("DeepEval", shape): (ERROR, "DeepEval's own test case takes a list of texts only")
        for shape, (thing, expected) in SHAPES.items()
        if expected != ERROR and not _is_list_of_texts(thing)
    },
}
"""By host and shape: what it gives instead, and why."""


class Seen:
    """A judge that keeps the chunks it is given."""

    name = "seen"

    def __init__(self) -> None:
        self.chunks: object = None

    async def judge(self, sample: Sample) -> Verdicts:
        self.chunks = [chunk.text for chunk in sample.retrieved_contexts]
        none = [False for _ in sample.retrieved_contexts]
        return Verdicts.from_matrices([False], [none], [none]).with_sample(sample)


TEXTS = {"user_input": "q", "response": "x", "reference": "r"}
Outcome = object
Host = Callable[[object, Seen], str]
"""Evaluates one row, and says what the host shows beside the number."""


def langsmith(thing: object, judge: Seen) -> str:
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator: Any = noise_sensitivity(judge=judge)
    outputs = {"answer": "x", "contexts": thing}
    row = evaluator(inputs={}, outputs=outputs, reference_outputs={"answer": "r"})
    return str(asyncio.run(row))


def langfuse(thing: object, judge: Seen) -> str:
    from noisesense_adapters.langfuse import noise_sensitivity

    output = {"answer": "x", "contexts": thing}
    row = noise_sensitivity(judge=judge)(input="q", output=output, expected_output="r")
    shown = asyncio.run(row)
    if shown[0].name == "noise_sensitivity_error":
        raise NoiseSenseError(str(shown[0].value))
    return str(shown[0].comment)


def mlflow(thing: object, judge: Seen) -> str:
    from noisesense_adapters.mlflow import NoiseSensitivity

    outputs = {"response": "x", "retrieved_contexts": thing}
    shown = NoiseSensitivity(judge=judge)(
        inputs={"question": "q"}, outputs=outputs, expectations={"expected_response": "r"}
    )
    return str(shown[0].rationale)


def pydantic_evals(thing: object, judge: Seen) -> str:
    from pydantic_evals import Case, Dataset

    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    case = Case(name="row", inputs="q", expected_output="r")
    dataset = Dataset(name="rows", cases=[case], evaluators=[NoiseSensitivity(judge=judge)])
    output = {"answer": "x", "documents": thing}

    async def task(_: str) -> Any:
        return output

    report = asyncio.run(dataset.evaluate(task, progress=False))
    (row,) = report.cases
    if row.evaluator_failures:
        raise NoiseSenseError(row.evaluator_failures[0].error_message)
    return str([*row.scores.values(), *row.labels.values()])


def phoenix(thing: object, judge: Seen) -> str:
    from noisesense_adapters.phoenix import NoiseSensitivity

    row = {"input": "q", "output": "x", "expected_output": "r", "contexts": thing}
    shown = NoiseSensitivity(judge=judge).evaluate(row)
    return str(shown[0].explanation)


def opik(thing: object, judge: Seen) -> str:
    from noisesense_adapters.opik import NoiseSensitivity

    metric = NoiseSensitivity(judge=judge, track=False)
    shown, _ = metric.score(input="q", output="x", expected_output="r", contexts=thing)
    if shown.metadata["status"] == "error":
        raise NoiseSenseError(str(shown.reason))
    return str(shown.reason)


def ragas(thing: object, judge: Seen) -> str:
    from noisesense_adapters.ragas import NoiseSensitivity

    metric = NoiseSensitivity(judge=judge)
    given: Any = {**TEXTS, "retrieved_contexts": thing}
    result: Any = asyncio.run(metric.ascore(**given))
    return str(result.value.reason)


def deepeval(thing: object, judge: Seen) -> str:
    from deepeval.test_case import LLMTestCase

    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    given: Any = thing
    case = LLMTestCase(input="q", actual_output="x", expected_output="r", retrieval_context=given)
    metric = NoiseSensitivityMetric(judge=judge)
    asyncio.run(metric.a_measure(case, _show_indicator=False))
    return str(metric.reason)


def promptfoo(thing: object, judge: Seen) -> str:
    from noisesense_adapters.promptfoo import get_assert, llm

    # What reaches an assertion came through JSON.
    given = {"query": "q", "reference": "r", "contextChunks": _data(thing)}
    config = {"judge": "scripted", "maxNoise": 0.5}
    key = mock.patch.dict("os.environ", {"OPENAI_API_KEY": "any"})
    with key, mock.patch.object(llm, "judge_over", return_value=judge):
        shown: dict[str, Any] = get_assert("x", {"vars": given, "config": config})
    if shown["metadata"]["status"] == "error":
        raise NoiseSenseError(shown["reason"])
    return str(shown["reason"])


def _shown(result: Result) -> str:
    if result.error is not None:
        raise NoiseSenseError(result.error)
    return str(result.score and result.score.reason("relevant"))


def _file(name: str, write: Callable[[Path], object], judge: Seen) -> str:
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


def jsonl(thing: object, judge: Seen) -> str:
    line = json.dumps({**TEXTS, "retrieved_contexts": _data(thing)}, default=str)
    return _file("rows.jsonl", lambda path: path.write_text(line, "utf-8"), judge)


def json_document(thing: object, judge: Seen) -> str:
    """As pandas writes one by default: an object of columns."""
    column = {"0": _data(thing)}
    columns = {**{name: {"0": text} for name, text in TEXTS.items()}, "retrieved_contexts": column}
    text = json.dumps(columns, default=str)
    return _file("rows.json", lambda path: path.write_text(text, "utf-8"), judge)


def csv(thing: object, judge: Seen) -> str:
    """As pandas writes it: the str of whatever is in the cell."""
    return _file("rows.csv", lambda path: _frame(thing).to_csv(path, index=False), judge)


def csv_of_json(thing: object, judge: Seen) -> str:
    data = _data(thing)
    cell = data if data is None or isinstance(data, str) else json.dumps(data, default=str)
    return _file("rows.csv", lambda path: _frame(cell).to_csv(path, index=False), judge)


def parquet(thing: object, judge: Seen) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([{**TEXTS, "retrieved_contexts": _data(thing)}])
    return _file("rows.parquet", lambda path: pq.write_table(table, path), judge)


def validmind(thing: object, judge: Seen) -> str:
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
    "ragas": ragas,
    "DeepEval": deepeval,
    "Promptfoo": promptfoo,
    "LangSmith": langsmith,
    "Langfuse": langfuse,
    "MLflow": mlflow,
    "pydantic-evals": pydantic_evals,
    "Phoenix": phoenix,
    "Opik": opik,
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
    judge = Seen()
    thing = SHAPES[shape].retrieved
    try:
        shown = HOSTS[host](thing() if callable(thing) else thing, judge)
    except Exception as error:  # noqa: BLE001 - a host's own refusal is an error, too
        return ERROR if judge.chunks is None else f"judged, then {error!r}"
    if "nothing was retrieved" in shown.lower():
        return NOTHING
    return judge.chunks


def expected(host: str, shape: str) -> Outcome:
    different = DIFFERENT.get((host, shape))
    return SHAPES[shape].seen if different is None else different[0]
