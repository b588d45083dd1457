"""One small dataset as people have it saved, written by the tools that they save it with."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.load import dumpd
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from openpyxl import Workbook

from datasets import Dataset, DatasetDict

HARD = ["Ada's mill,\nbuilt in 1902.", 'The "old" mill; it burned.']  # no bar: DeepEval writes it
ROWS: list[dict[str, Any]] = [
    {"question": "Who?", "answer": "Ada did.", "ground_truth": "Ada.", "contexts": HARD},
    {"question": "When?", "answer": "In 1902.", "ground_truth": "1902", "contexts": HARD[1:]},
]
TEXTS = [(row["answer"], row["ground_truth"], row["contexts"]) for row in ROWS]
"""What has to be read: response, reference and chunks."""


@dataclass(frozen=True)
class Export:
    """A file or a folder as a tool writes it.

    Attributes:
        name: of the file.
        write: writes it.
        options: what the error at the first try says to give, or nothing.
        error: a part of that error.
        asks: is the columns' proposal needed?
    """

    name: str
    write: Callable[[Path], object]
    options: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    asks: bool = False


def _frame(rows: Any = ROWS) -> pd.DataFrame:
    return pd.DataFrame(rows)


def _with(**change: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """The rows with some cells made of the contexts."""
    return [
        {**row, **{name: made(row["contexts"]) for name, made in change.items()}} for row in ROWS
    ]


def _named(question: str, answer: str, reference: str, contexts: str) -> list[dict[str, Any]]:
    names = (question, answer, reference, contexts)
    return [dict(zip(names, row.values(), strict=True)) for row in ROWS]


def _json(data: Any) -> Callable[[Path], object]:
    return lambda path: path.write_text(json.dumps(data), encoding="utf-8")


def _lines(rows: list[Any]) -> Callable[[Path], object]:
    return lambda path: path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def _csv(rows: Any, **options: Any) -> Callable[[Path], object]:
    return lambda path: _frame(rows).to_csv(path, **{"index": False, **options})


def _documents(texts: list[str]) -> list[Document]:
    return [Document(page_content=text, metadata={"source": "mill.md"}) for text in texts]


def _by_csv_module(path: Path, delimiter: str = ",", quoting: Any = csv.QUOTE_ALL) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ROWS[0], delimiter=delimiter, quoting=quoting)
        writer.writeheader()
        writer.writerows({**row, "contexts": json.dumps(row["contexts"])} for row in ROWS)


def _gzipped(path: Path) -> None:
    lines = "\n".join(map(json.dumps, ROWS))
    path.write_bytes(gzip.compress(lines.encode()))


def _by_openpyxl(path: Path) -> None:
    book = Workbook()
    sheet: Any = book.active
    sheet.append(
        ["Question", "Bot answer", "Expected answer", "Context 1", "Context 2", "Comment"]
    )
    for question, answer, reference, contexts in map(dict.values, ROWS):
        sheet.append([question, answer, reference, *contexts, *[None] * (3 - len(contexts))])
    book.save(path)


def _gold_in_answer(path: Path) -> None:
    _frame(_named("question", "prediction", "answer", "context")).to_parquet(path)


_DATASET = Dataset.from_list(ROWS)
_ARRAYS = _with(contexts=lambda texts: np.array(texts, dtype=object))
_RESPONSES = [{"answer": row["answer"], "contexts": row["contexts"]} for row in ROWS]
_NESTED = [
    {"input": row["question"], "output": output, "expected_output": row["ground_truth"]}
    for row, output in zip(ROWS, _RESPONSES, strict=True)
]


PANDAS = {
    "pandas, CSV": Export("d.csv", _csv(ROWS)),
    "pandas, CSV with its index": Export("d.csv", _csv(ROWS, index=True)),
    "pandas, TSV": Export("d.tsv", _csv(ROWS, sep="\t")),
    "pandas, UTF-16": Export("d.csv", _csv(ROWS, encoding="utf-16")),
    "pandas, UTF-8 for Excel": Export("d.csv", _csv(ROWS, encoding="utf-8-sig")),
    "pandas, arrays in CSV": Export("d.csv", _csv(_ARRAYS)),
    "pandas, JSON": Export("d.json", lambda path: _frame().to_json(path)),
    "pandas, records": Export("d.json", lambda path: _frame().to_json(path, orient="records")),
    "pandas, split": Export("d.json", lambda path: _frame().to_json(path, orient="split")),
    "pandas, index": Export("d.json", lambda path: _frame().to_json(path, orient="index")),
    "pandas, table": Export("d.json", lambda path: _frame().to_json(path, orient="table")),
    "pandas, lines": Export(
        "d.jsonl", lambda path: _frame().to_json(path, orient="records", lines=True)
    ),
    "pandas, lines called JSON": Export(
        "d.json", lambda path: _frame().to_json(path, orient="records", lines=True)
    ),
    "pandas, Parquet": Export("d.parquet", lambda path: _frame().to_parquet(path)),
    "pandas, other case": Export(
        "d.csv", _csv(_named("Question", "ANSWER", "Ground Truth", "Contexts"))
    ),
    "pandas, dicts in CSV": Export(
        "d.csv", _csv(_with(contexts=lambda texts: [{"text": text} for text in texts]))
    ),
    "pandas, arrays of dicts in CSV": Export(
        "d.csv",
        _csv(_with(contexts=lambda texts: np.array([{"text": text} for text in texts]))),
    ),
    "pandas, flattened": Export("d.csv", lambda path: pd.json_normalize(_NESTED).to_csv(path)),
    "pandas, objects in CSV": Export("d.csv", _csv(_NESTED)),
    "pandas, chunks joined": Export(
        "d.csv",
        _csv(_with(contexts=" || ".join)),
        asks=True,
    ),
    "pandas, Excel": Export("d.xlsx", lambda path: _frame().to_excel(path)),
    "pandas, other names": Export(
        "d.csv",
        _csv(_named("frage", "antwort", "richtig", "stellen")),
        {
            "columns": {
                "response": "antwort",
                "reference": "richtig",
                "retrieved_contexts": "stellen",
            }
        },
        "--map response=COLUMN",
    ),
}
# By Python's own modules.
PLAIN = {
    "the csv module": Export("d.csv", _by_csv_module),
    "the csv module, semicolons": Export("d.csv", lambda path: _by_csv_module(path, ";")),
    "JSON, UTF-16": Export("d.json", lambda path: path.write_text(json.dumps(ROWS), "utf-16")),
    "JSON lines, UTF-16": Export(
        "d.jsonl", lambda path: path.write_text("\n".join(map(json.dumps, ROWS)), "utf-16")
    ),
    "JSON lines, gzip": Export("d.ndjson.gz", _gzipped),
    "CSV, gzip": Export("d.csv.gz", _csv(ROWS)),
    "CSV, cp1252": Export(
        "d.csv", _csv([{**row, "question": "Où?"} for row in ROWS], encoding="cp1252")
    ),
    "CSV, bars": Export("d.csv", _csv(ROWS, sep="|")),
    "gold in answer, Parquet": Export("d.parquet", _gold_in_answer, asks=True),
    "openpyxl, a sheet": Export("d.xlsx", _by_openpyxl, asks=True),
}
HUGGING_FACE = {
    "datasets, JSON lines": Export("d.jsonl", lambda path: _DATASET.to_json(path)),
    "datasets, Parquet": Export("d.parquet", lambda path: _DATASET.to_parquet(path)),
    "datasets, a dict": Export("d.json", lambda path: _json(_DATASET.to_dict())(path)),
    "datasets, splits": Export(
        "d",
        lambda path: DatasetDict({"test": _DATASET}).save_to_disk(path),
        error="the folder 'd'. Hint: convert it, or unpack the archive; of a Hugging Face dataset",
    ),
}


def _as_json(value: Any) -> Any:
    """As people give documents to ``json.dumps``."""
    return value.model_dump() if isinstance(value, Document) else str(value)


def _retrieval_chain(row: dict[str, Any]) -> dict[str, Any]:
    from langchain_classic.chains import create_retrieval_chain

    documents = _documents(row["contexts"])
    retriever = RunnableLambda(lambda question: documents)
    chain = create_retrieval_chain(retriever, RunnableLambda(lambda inputs: row["answer"]))
    return chain.invoke({"input": row["question"]})


def _retrieval_qa(row: dict[str, Any]) -> dict[str, Any]:
    from langchain_classic.chains import RetrievalQA

    class Found(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return _documents(row["contexts"])

    model = FakeListLLM(responses=[row["answer"]])
    chain = RetrievalQA.from_llm(model, retriever=Found(), return_source_documents=True)
    return chain.invoke({"query": row["question"]})


def _llama_index(row: dict[str, Any]) -> dict[str, Any]:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in row["contexts"]]
    found = Response(row["answer"], source_nodes=nodes)
    sources = [node.to_dict() for node in found.source_nodes]
    return {"query": row["question"], "response": found.response, "source_nodes": sources}


def _haystack(row: dict[str, Any]) -> dict[str, Any]:
    from haystack import Document as Passage
    from haystack.components.builders import AnswerBuilder

    passages = [Passage(content=text, meta={"source": "mill.md"}) for text in row["contexts"]]
    found = AnswerBuilder().run(row["question"], [row["answer"]], documents=passages)
    return found["answers"][0].to_dict()


def _answered(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], object]:
    """What a framework answers, a line a question, each with its reference."""

    def write(path: Path) -> None:
        rows = [{**answer(row), "ground_truth": row["ground_truth"]} for row in ROWS]
        lines = [json.dumps(row, default=_as_json) for row in rows]
        path.write_text("\n".join(lines), encoding="utf-8")

    return write


FRAMEWORKS = {
    "LangChain, repr in CSV": Export("d.csv", _csv(_with(contexts=_documents))),
    "LangChain, dumpd": Export(
        "d.jsonl", _lines(_with(contexts=lambda texts: list(map(dumpd, _documents(texts)))))
    ),
    "LangChain, pairs with scores": Export(
        "d.csv", _csv(_with(contexts=lambda texts: [(each, 0.5) for each in _documents(texts)]))
    ),
    "LangChain, a retrieval chain": Export("d.jsonl", _answered(_retrieval_chain)),
    "LangChain, RetrievalQA": Export("d.jsonl", _answered(_retrieval_qa)),
    "LlamaIndex, a response": Export("d.jsonl", _answered(_llama_index)),
    "Haystack, an answer": Export(
        "d.jsonl", _answered(_haystack), {"columns": {"response": "data"}}, "--map response=COLUMN"
    ),
}


def _ragas(save: Callable[[Any, Path], object]) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        from ragas import EvaluationDataset

        names = ("user_input", "response", "reference", "retrieved_contexts")
        save(EvaluationDataset.from_list(_named(*names)), path)

    return write


RAGAS = {
    "ragas, JSON lines": Export("d.jsonl", _ragas(lambda data, path: data.to_jsonl(path))),
    "ragas, CSV": Export("d.csv", _ragas(lambda data, path: data.to_csv(path))),
    "ragas, to datasets, Parquet": Export(
        "d.parquet", _ragas(lambda data, path: data.to_hf_dataset().to_parquet(path))
    ),
}


def _deepeval(kind: str) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        from deepeval.dataset import EvaluationDataset
        from deepeval.test_case import LLMTestCase

        data = EvaluationDataset()
        for row in ROWS:
            data.add_test_case(
                LLMTestCase(
                    input=row["question"],
                    actual_output=row["answer"],
                    expected_output=row["ground_truth"],
                    retrieval_context=row["contexts"],
                )
            )
        if kind == "dump":
            _json([case.model_dump(by_alias=True) for case in data.test_cases])(path)
        else:
            data.save_as(kind, str(path.parent), file_name=path.stem, include_test_cases=True)

    return write


DEEPEVAL = {
    "DeepEval, JSON": Export("d.json", _deepeval("json")),
    "DeepEval, JSON lines": Export("d.jsonl", _deepeval("jsonl"), asks=True),
    "DeepEval, CSV": Export("d.csv", _deepeval("csv"), asks=True),
    "DeepEval, its test cases": Export("d.json", _deepeval("dump")),
}


def _pydantic_report(path: Path) -> None:
    from pydantic_evals import Case
    from pydantic_evals import Dataset as Cases
    from pydantic_evals.reporting import EvaluationReportAdapter

    cases = [
        Case(name=row["question"], inputs=row["question"], expected_output=row["ground_truth"])
        for row in ROWS
    ]
    outputs = {row["question"]: output for row, output in zip(ROWS, _RESPONSES, strict=True)}

    async def task(question: str) -> Any:
        return outputs[question]

    import asyncio

    report = asyncio.run(Cases(name="d", cases=cases).evaluate(task, progress=False))
    path.write_bytes(EvaluationReportAdapter.dump_json(report))


def _langsmith(save: Callable[[pd.DataFrame, Path], object]) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        import datetime
        import uuid

        from langsmith import evaluate
        from langsmith.schemas import Example

        now = datetime.datetime.now(datetime.timezone.utc)
        outputs = {row["question"]: output for row, output in zip(ROWS, _RESPONSES, strict=True)}
        examples = [
            Example(
                id=uuid.uuid4(),
                dataset_id=uuid.uuid4(),
                created_at=now,
                inputs={"question": row["question"]},
                outputs={"answer": row["ground_truth"]},
            )
            for row in ROWS
        ]

        def app(inputs: dict[str, Any]) -> Any:
            return outputs[inputs["question"]]

        warnings.simplefilter("ignore")  # an argument is in beta
        found = evaluate(
            app, data=examples, evaluators=[], upload_results=False, max_concurrency=0
        )
        save(found.to_pandas(), path)

    return write


HOSTS = {
    "pydantic-evals, a report": Export("d.json", _pydantic_report),
    "LangSmith, CSV": Export("d.csv", _langsmith(lambda frame, path: frame.to_csv(path))),
    "LangSmith, JSON": Export(
        "d.json",
        _langsmith(lambda frame, path: frame.to_json(path, orient="records", default_handler=str)),
    ),
}
BY_TOOLS: dict[str, Export] = {
    **PANDAS, **HUGGING_FACE, **FRAMEWORKS, **RAGAS, **DEEPEVAL, **HOSTS
}  # fmt: skip
"""Written by the tools themselves, of the versions that are installed."""


def _given() -> Iterator[tuple[str, Export]]:
    """Files as people have them: from documentation, from servers, and of their own making."""
    path = Path(__file__).parent / "data" / "exports.json"
    for name, given in json.loads(path.read_text("utf-8")).items():
        data = given.pop("data")
        file = given.pop("file")
        write = {".json": _json, ".jsonl": _lines, ".csv": _csv}[Path(file).suffix]
        yield name, Export(file, write(data), **given)


ASKED = dict(_given())
EXPORTS = {**BY_TOOLS, **PLAIN, **ASKED}
