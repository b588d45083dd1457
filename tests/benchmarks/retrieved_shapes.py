"""What each host makes of a retrieved thing: the chunks that its judge sees, or an error.

``tests/unknown/test_retrieved_shapes.py`` runs the table. Hosts may differ only where
`DIFFERENT` says why. MLflow, Langfuse, pydantic-evals, Phoenix, Opik and Inspect read rows as
LangSmith does; the kit runs them all.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

from langchain_core.documents import Document

from noisesense import Result, Sample, Verdicts
from noisesense.errors import NoiseSenseError

ERROR, NOTHING = "error", "nothing was retrieved"

SHAPES: dict[str, tuple[object, object]] = {
    "texts": (["a", "b"], ["a", "b"]),
    "duplicates": (["a", "a"], ["a", "a"]),
    "dicts with text": ([{"text": "a"}], ["a"]),
    "dicts with content": ([{"content": "a", "doc_uri": "u"}], ["a"]),
    "dicts with page_content": ([{"page_content": "a", "metadata": {"text": "Title"}}], ["a"]),
    "blank text, real content": ([{"text": "", "content": "a"}], ["a"]),
    "blank page_content, real text": ([{"page_content": " ", "text": "a"}], ["a"]),
    "labels": ([{"text": "a", "relevant": False}], ["a"]),
    "a document": ([Document(page_content="a", metadata={"text": "Title"})], ["a"]),
    "one blank of two": (["", "a"], ["", "a"]),
    "an empty list": ([], NOTHING),
    "a blank text": ([""], NOTHING),
    "blank dicts": ([{"text": " "}], NOTHING),
    "JSON text": ('["a", "b"]', ["a", "b"]),
    "one text": ("a text", ERROR),
    "a dict": ({"documents": ["a"]}, ERROR),
    "a number": (7, ERROR),
    "numbers": ([1, 2], ERROR),
    "nested lists": ([["a"]], ERROR),
    "None among texts": (["a", None], ERROR),
    "a dict without a text": ([{"id": "a"}], ERROR),
    "None": (None, ERROR),
}
"""By name: what was retrieved, and the chunks that a judge has to see."""

DIFFERENT: dict[tuple[str, str], tuple[object, str]] = {
    ("CSV", "None"): (NOTHING, "a table has an empty cell where nothing was retrieved"),
    ("JSONL", "None"): (NOTHING, "as in a table"),
    **{
        ("DeepEval", shape): (ERROR, "DeepEval's own test case takes a list of texts only")
        for shape in SHAPES
        if "dict" in shape or "real" in shape or shape in ("labels", "a document", "JSON text")
        if SHAPES[shape][1] != ERROR
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
        return Verdicts.from_matrices([False], [none], [none]).beside(sample)


Outcome = object
Host = Callable[[object, Seen], str]
"""Evaluates one row, and says what the host shows beside the number."""


def langsmith(thing: object, judge: Seen) -> str:
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator: Any = noise_sensitivity(judge=judge)
    outputs = {"answer": "x", "contexts": thing}
    row = evaluator(inputs={}, outputs=outputs, reference_outputs={"answer": "r"})
    return str(asyncio.run(row))


def ragas(thing: object, judge: Seen) -> str:
    from noisesense_adapters.ragas import NoiseSensitivity

    texts: dict[str, Any] = {"user_input": "q", "response": "x", "reference": "r"}
    metric = NoiseSensitivity(judge=judge)
    result: Any = asyncio.run(metric.ascore(**texts, retrieved_contexts=thing))
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

    given = {"query": "q", "reference": "r", "contextChunks": thing}
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


def _file(name: str, text: str, judge: Seen) -> str:
    from noisesense_adapters.datasets.read import read_rows
    from noisesense_adapters.datasets.score import score_rows

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8")
        (result,) = score_rows(list(read_rows(path)), judge)
    return _shown(result)


def _data(thing: object) -> Any:
    if isinstance(thing, list):
        return [each.model_dump() if isinstance(each, Document) else each for each in thing]
    return thing


def _line(thing: object) -> str:
    texts = {"user_input": "q", "response": "x", "reference": "r"}
    return json.dumps({**texts, "retrieved_contexts": _data(thing)})


def jsonl(thing: object, judge: Seen) -> str:
    return _file("rows.jsonl", _line(thing), judge)


def csv(thing: object, judge: Seen) -> str:
    data = _data(thing)
    cell = "" if data is None else data if isinstance(data, str) else json.dumps(data)
    quoted = cell.replace('"', '""')
    head = "user_input,response,reference,retrieved_contexts"
    return _file("rows.csv", f'{head}\nq,x,r,"{quoted}"\n', judge)


def validmind(thing: object, judge: Seen) -> str:
    """Only in an environment of its own."""
    import pandas as pd
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
    "JSONL": jsonl,
    "CSV": csv,
}
if (installed := find_spec("validmind")) and installed.origin:  # not the folder tests/validmind
    HOSTS = {"ValidMind": validmind}


def outcome(host: str, shape: str) -> Outcome:
    """The chunks that the judge saw, `NOTHING` or `ERROR`."""
    judge = Seen()
    try:
        shown = HOSTS[host](SHAPES[shape][0], judge)
    except Exception as error:  # noqa: BLE001 - a host's own refusal is an error, too
        return ERROR if judge.chunks is None else f"judged, then {error!r}"
    if "nothing was retrieved" in shown.lower():
        return NOTHING
    return judge.chunks


def expected(host: str, shape: str) -> Outcome:
    different = DIFFERENT.get((host, shape))
    return SHAPES[shape][1] if different is None else different[0]
