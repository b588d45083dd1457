"""One small dataset as people have it saved, written by the tools that they save it with."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from collections.abc import Callable
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


def _of(make: Callable[[dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    return [make(row) for row in ROWS]


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


_DATASET = Dataset.from_list(ROWS)
_ARRAYS = _with(contexts=lambda texts: np.array(texts, dtype=object))
_RESPONSES = _of(lambda row: {"answer": row["answer"], "contexts": row["contexts"]})
_NESTED = [
    {"input": row["question"], "output": output, "expected_output": row["ground_truth"]}
    for row, output in zip(ROWS, _RESPONSES, strict=True)
]
_AS_TEXT = [{**row, "output": json.dumps(row["output"])} for row in _NESTED]
_FENCED = [{**row, "output": f"```json\n{json.dumps(row['output'])}\n```"} for row in _NESTED]

_GERMAN = {"response": "antwort", "reference": "richtig", "retrieved_contexts": "stellen"}
_COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}

PANDAS = {
    "pandas, CSV": Export("d.csv", _csv(ROWS)),
    "pandas, CSV with its index": Export("d.csv", _csv(ROWS, index=True)),
    "pandas, semicolons": Export("d.csv", _csv(ROWS, sep=";")),
    "pandas, TSV": Export("d.tsv", _csv(ROWS, sep="\t")),
    "pandas, UTF-16": Export("d.csv", _csv(ROWS, encoding="utf-16")),
    "pandas, UTF-16 TSV": Export("d.tsv", _csv(ROWS, encoding="utf-16", sep="\t")),
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
    "pandas, arrays in Parquet": Export(
        "d.parquet", lambda path: _frame(_ARRAYS).to_parquet(path)
    ),
    "pandas, arrays in JSON": Export("d.json", lambda path: _frame(_ARRAYS).to_json(path)),
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
        "--map response=COLUMN --map reference=COLUMN --map user_input=COLUMN --map"
        " retrieved_contexts=stellen",
    ),
}
# By Python's own modules, in shapes that people gave.
PLAIN = {
    "the csv module": Export("d.csv", _by_csv_module),
    "the csv module, semicolons": Export("d.csv", lambda path: _by_csv_module(path, ";")),
    "JSON, rows": Export("d.json", _json(ROWS)),
    "JSON, columns": Export(
        "d.json", _json({name: [row[name] for row in ROWS] for name in ROWS[0]})
    ),
    "JSON, examples": Export("d.json", _json({"name": "x", "examples": ROWS})),
    "JSON, per question": Export("d.json", _json({"averages": {"x": 1}, "per_question": ROWS})),
    "JSON, some other list": Export("d.json", _json({"settings": {"k": 4}, "my_rows": ROWS})),
    "JSON, UTF-16": Export("d.json", lambda path: path.write_text(json.dumps(ROWS), "utf-16")),
    "JSON lines, UTF-16": Export(
        "d.jsonl", lambda path: path.write_text("\n".join(map(json.dumps, ROWS)), "utf-16")
    ),
    "an answer as JSON in JSON": Export("d.jsonl", _lines(_AS_TEXT)),
    "an answer as JSON in CSV": Export("d.csv", _csv(_AS_TEXT)),
    "an answer in a fence": Export("d.jsonl", _lines(_FENCED)),
    "a list of answers": Export(
        "d.jsonl", _lines([{**row, "ground_truth": [row["ground_truth"]]} for row in ROWS])
    ),
}
HUGGING_FACE = {
    "datasets, CSV": Export("d.csv", lambda path: _DATASET.to_csv(path)),
    "datasets, JSON": Export("d.json", lambda path: _DATASET.to_json(path)),
    "datasets, JSON lines": Export("d.jsonl", lambda path: _DATASET.to_json(path)),
    "datasets, Parquet": Export("d.parquet", lambda path: _DATASET.to_parquet(path)),
    "datasets, to pandas, CSV": Export("d.csv", lambda path: _DATASET.to_pandas().to_csv(path)),
    "datasets, a dict": Export("d.json", lambda path: _json(_DATASET.to_dict())(path)),
    "datasets, splits": Export(
        "d",
        lambda path: DatasetDict({"test": _DATASET}).save_to_disk(path),
        error="the folder 'd'. Hint: unpack the archive; of a Hugging Face dataset",
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
    "ragas, to pandas, JSON": Export(
        "d.json", _ragas(lambda data, path: data.to_pandas().to_json(path))
    ),
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


def _mlflow_table(path: Path) -> None:
    """The artifact that `mlflow.log_table` writes, written by what it calls."""
    path.write_text(_frame().to_json(orient="split", index=False), encoding="utf-8")


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
# As their documentation shows them: the first would make a database, which takes seconds, the
# others come from a server.
COPIED = {
    "MLflow, a logged table": Export("d.json", _mlflow_table),
    "Langfuse, traces": Export(
        "d.csv",
        _csv(
            [
                {
                    "id": f"t{number}",
                    "input": json.dumps({"question": row["input"]}),
                    "output": json.dumps(row["output"]),
                    "expectedOutput": row["expected_output"],
                    "metadata": "{}",
                }
                for number, row in enumerate(_NESTED)
            ]
        ),
    ),
    "Phoenix, spans": Export(
        "d.csv",
        _csv(
            [
                {
                    "context.span_id": f"s{number}",
                    "attributes.input.value": row["question"],
                    "attributes.output.value": row["answer"],
                    "attributes.retrieval.documents": [
                        {"document.content": text, "document.score": 0.5}
                        for text in row["contexts"]
                    ],
                    "reference": row["ground_truth"],
                }
                for number, row in enumerate(ROWS)
            ]
        ),
    ),
}

BY_TOOLS: dict[str, Export] = {
    **PANDAS, **HUGGING_FACE, **FRAMEWORKS, **RAGAS, **DEEPEVAL, **HOSTS
}  # fmt: skip
"""Written by the tools themselves, of the versions that are installed."""


def _shaped(make: Callable[[str, str, str, list[str]], Any]) -> list[Any]:
    """A thing for each row, made of its question, answer, reference and contexts."""
    return [make(*row.values()) for row in ROWS]


def _gzipped(path: Path) -> None:
    lines = "\n".join(map(json.dumps, ROWS))
    path.write_bytes(gzip.compress(lines.encode()))


def _by_openpyxl(path: Path) -> None:
    book = Workbook()
    sheet: Any = book.active
    sheet.append(
        ["Question", "Bot answer", "Expected answer", "Context 1", "Context 2", "Comment"]
    )
    for question, answer, reference, contexts in _shaped(lambda *texts: texts):
        sheet.append([question, answer, reference, *contexts, *[None] * (3 - len(contexts))])
    book.save(path)


def _one_row_a_chunk(path: Path) -> None:
    rows = [
        {"number": number, **row, "contexts": None, "chunk": chunk}
        for number, row in enumerate(ROWS)
        for chunk in row["contexts"]
    ]
    _frame(rows).drop(columns="contexts").to_csv(path, index=False)


_DOTS = "ai.observability.record_root"
_IN = ("record", "item", "fields", "payload", "data")


def _dumped(texts: list[str]) -> list[dict[str, Any]]:
    return [{"page_content": text, "metadata": {"source": "mill.md"}} for text in texts]


def _with_prediction(q: str, a: str, r: str, c: list[str]) -> dict[str, Any]:
    return {"question": q, "answer": r, "prediction": a, "context": c}


# Names, nestings and formats that people had, and that were not read or read wrongly.
MORE: dict[str, Export] = {
    "JSON lines, gzip": Export("d.ndjson.gz", _gzipped),
    "CSV, gzip": Export("d.csv.gz", _csv(ROWS)),
    "CSV, cp1252": Export(
        "d.csv", _csv([{**row, "question": "Où?"} for row in ROWS], encoding="cp1252")
    ),
    "CSV, bars": Export("d.csv", _csv(ROWS, sep="|")),
    "SQL, a parquet of lists": Export("d.parquet", lambda path: _frame().to_parquet(path)),
    "Braintrust": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "input": q,
                    "output": {"answer": a, "contexts": c},
                    "expected": r,
                    "scores": {"Factuality": 0.6},
                }
            )
        ),
    ),
    "OpenAI evals, ideal and completion": Export(
        "d.jsonl",
        _lines(
            _shaped(lambda q, a, r, c: {"input": q, "completion": a, "ideal": r, "context": c})
        ),
    ),
    "services": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "question": q,
                    "rag_response": a,
                    "ground_truth": r,
                    "chunks": [{"doc": text} for text in c],
                }
            )
        ),
    ),
    "TruLens, ground_truth_output": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "input": q,
                    "output": a,
                    "ground_truth_output": r,
                    "contexts": c,
                }
            )
        ),
    ),
    "FlashRAG": Export(
        "d.json",
        _json(
            _shaped(
                lambda q, a, r, c: {"question": q, "pred": a, "golden_answers": [r], "passages": c}
            )
        ),
    ),
    "a generated answer and a gold answer": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "query": q,
                    "generated_answer": a,
                    "gold_answer": r,
                    "retrieved_documents": c,
                }
            )
        ),
    ),
    "JSON behind a sentence": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "question": q,
                    "output": f"Here: {json.dumps({'answer': a, 'contexts': c})}",
                    "expected": r,
                }
            )
        ),
    ),
    "TriviaQA's answer": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "question": q,
                    "answer": {"value": r, "aliases": ["x"]},
                    "response": a,
                    "contexts": c,
                }
            )
        ),
        asks=True,
    ),
    "HotpotQA with predictions": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "id": q,
                    "question": q,
                    "answer": r,
                    "type": "bridge",
                    "context": [["Mill", [text]] for text in c],
                    "prediction": a,
                }
            )
        ),
        asks=True,
    ),
    "RGB": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "query": q,
                    "answer": [[r]],
                    "positive": c[:1],
                    "negative": c[1:],
                    "prediction": a,
                }
            )
        ),
        asks=True,
    ),
    "gold in answer, CSV": Export("d.csv", _csv(_shaped(_with_prediction)), asks=True),
    "gold in answer, Parquet": Export(
        "d.parquet", lambda path: _frame(_shaped(_with_prediction)).to_parquet(path), asks=True
    ),
    "gold in answer, beside output": Export(
        "d.jsonl",
        _lines(
            _shaped(lambda q, a, r, c: {"question": q, "answer": r, "output": a, "contexts": c})
        ),
        asks=True,
    ),
    "openpyxl, a sheet": Export("d.xlsx", _by_openpyxl, asks=True),
    "SQL, a row a chunk": Export("d.csv", _one_row_a_chunk, asks=True),
    "TruLens, OTEL": Export(
        "d.json",
        _json(
            _shaped(
                lambda q, a, r, c: {
                    "record_attributes": {
                        "ai.observability.span_type": "record_root",
                        f"{_DOTS}.input": q,
                        f"{_DOTS}.output": a,
                        f"{_DOTS}.ground_truth_output": r,
                        "ai.observability.retrieval.retrieved_contexts": c,
                    }
                }
            )
        ),
        asks=True,
    ),
    "OpenAI evals, output items": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "datasource_item": {"question": q, "ground_truth": r, "context": c},
                    "sample": {
                        "input": [{"role": "user", "content": q}],
                        "output": [{"role": "assistant", "content": a}],
                    },
                }
            )
        ),
        asks=True,
    ),
    "Bedrock, an evaluation": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "conversationTurns": [
                        {
                            "prompt": {"content": [{"text": q}]},
                            "referenceResponses": [{"content": [{"text": r}]}],
                            "output": {
                                "text": a,
                                "retrievedPassages": {
                                    "retrievalResults": [{"content": {"text": text}} for text in c]
                                },
                            },
                        }
                    ]
                }
            )
        ),
        asks=True,
    ),
    "Opik, an experiment": Export(
        "d.json",
        _json(
            _shaped(
                lambda q, a, r, c: {
                    "dataset_item_data": {"question": q, "expected_output": r},
                    "evaluation_task_output": {"output": a, "context": c},
                    "feedback_scores": [],
                }
            )
        ),
        asks=True,
    ),
    "LangSmith, runs": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "id": q,
                    "inputs": {"question": q},
                    "outputs": {"answer": a, "context": _dumped(c)},
                    "reference_example": {"inputs": {"question": q}, "outputs": {"answer": r}},
                }
            )
        ),
        asks=True,
    ),
    "FlashRAG, intermediate": Export(
        "d.json",
        _json(
            _shaped(
                lambda q, a, r, c: {
                    "question": q,
                    "golden_answers": [r],
                    "output": {
                        "pred": a,
                        "retrieval_result": [{"contents": text, "score": 0.3} for text in c],
                    },
                }
            )
        ),
    ),
    "MS MARCO": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "query": q,
                    "answers": [r],
                    "passages": {"passage_text": c, "url": ["u"] * len(c)},
                    "generated_answer": a,
                }
            )
        ),
        asks=True,
    ),
    "ragas' test set, other contexts": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "user_input": q,
                    "reference_contexts": ["x"],
                    "reference": r,
                    "response": a,
                    "retrieved": c,
                }
            )
        ),
        asks=True,
    ),
    **{
        f"in {home}": Export(
            "d.json",
            _json([{"id": number, home: row} for number, row in enumerate(ROWS)]),
            asks=True,
        )
        for home in _IN
    },
    **{
        f"in {home}, JSON in a cell": Export(
            "d.csv",
            _csv([{"id": n, home: json.dumps(row)} for n, row in enumerate(ROWS)]),
            asks=True,
        )
        for home in _IN
    },
    **{
        f"a response called {name}": Export(
            "d.jsonl",
            _lines(
                _shaped(
                    lambda q, a, r, c, name=name: {
                        "question": q,
                        name: a,
                        "reference": r,
                        "contexts": c,
                    }
                )
            ),
            asks=True,
        )
        for name in ("bot_answer", "modelResponse", "llm_output", "predicted answer")
    },
    **{
        f"a reference called {name}": Export(
            "d.jsonl",
            _lines(
                _shaped(
                    lambda q, a, r, c, name=name: {
                        "question": q,
                        "response": a,
                        name: r,
                        "contexts": c,
                    }
                )
            ),
            asks=True,
        )
        for name in ("gold", "target", "Expected answer", "correct_answer", "groundTruthAnswer")
    },
    "Promptfoo, CSV": Export(
        "d.csv",
        _csv(
            _shaped(
                lambda q, a, r, c: {
                    "query": q,
                    "context": json.dumps(c),
                    "reference": r,
                    "[openai:m] Answer {{query}}": f"[PASS] {a}",
                }
            )
        ),
        error="promptfoo eval -o out.json",
    ),
    "a system of two models": Export(
        "d.jsonl",
        _lines(
            _shaped(
                lambda q, a, r, c: {
                    "question": q,
                    "gpt_answer": a,
                    "claude_answer": "Bob did.",
                    "reference": r,
                    "contexts": c,
                }
            )
        ),
        error="--map response=COLUMN",
    ),
    "chunks joined by lines": Export(
        "d.jsonl",
        _lines(_with(contexts="\n".join)),
        error="what stands between chunks",
    ),
}
ASKED = MORE
EXPORTS = {**BY_TOOLS, **PLAIN, **COPIED, **MORE}
