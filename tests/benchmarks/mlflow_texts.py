"""What reaches the judge from one MLflow trace: MLflow's own wrapper of ragas beside our scorer.

Run: ``python tests/benchmarks/mlflow_texts.py``. A scripted model on loopback stands
for the judge and records its prompts. Needs the extras ``mlflow`` and ``ragas``.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import ground  # noqa: F401

from support.mind import data_of, reply_of
from support.server import ScriptedServer

QUESTION = "Who painted it?"
RESPONSE = "Leonardo painted it in the 15th century."
EXPECTED = {"expected_response": "It is by Leonardo.", "customer": "acme", "facts": ["f1", "f2"]}
CHUNKS = {"a.md": "Leonardo painted it.", "b.md": "It was painted in the 15th century."}


class Texts(NamedTuple):
    """What one scorer sent to the judge."""

    calls: int
    modes: list[str]
    chunks: list[str]
    reference: list[str]
    question: list[str]


class AgreeableMind:
    """Answers the prompts of both with one claim and with "yes", and keeps the prompts."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if "Reply in JSON" in prompt:  # ours
            claims = data_of(prompt).get("claims")
            if claims is None:
                return '{"claims": ["One claim."]}'
            return reply_of([{"id": number, "entailed": False} for number in claims])
        if '"verdict"' in prompt:
            verdict = {"statement": "One claim.", "reason": "so", "verdict": 1}
            return json.dumps({"statements": [verdict]})
        return '{"statements": ["One claim."]}'


def trace() -> Any:
    """One answered question, with a retriever's span and expectations."""
    import mlflow
    from mlflow.entities import AssessmentSource, Document, SpanType

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(question: str) -> list[Document]:
        return [Document(page_content=t, metadata={"doc_uri": uri}) for uri, t in CHUNKS.items()]

    @mlflow.trace
    def application(question: str) -> str:
        retrieve(question)
        return RESPONSE

    application(QUESTION)
    name: Any = mlflow.get_last_active_trace_id()
    source = AssessmentSource(source_type="HUMAN", source_id="somebody")
    for key, value in EXPECTED.items():
        mlflow.log_expectation(trace_id=name, name=key, value=value, source=source)
    return mlflow.get_trace(name)


def texts_of_ragas(prompts: list[str], modes: list[str]) -> Texts:
    """From ragas' prompts: the inputs follow the examples."""
    inputs = [prompt.rpartition("Now perform the same")[2] for prompt in prompts]
    fields: dict[str, list[str]] = {"context": [], "question": [], "answer": [], "text": []}
    for prompt in inputs:
        for name, values in fields.items():
            values += re.findall(rf'"{name}": ("(?:[^"\\]|\\.)*")', prompt)
    read = {name: [str(json.loads(v)) for v in dict.fromkeys(vs)] for name, vs in fields.items()}
    references = [text for text in read["answer"] + read["text"] if text != RESPONSE]
    chunks = [text for text in read["context"] if text not in references]
    return Texts(len(prompts), modes, chunks, references, read["question"])


def texts_of_ours(prompts: list[str], modes: list[str]) -> Texts:
    """From our prompts."""
    data = [data_of(prompt) for prompt in prompts]
    texts = [each["text"] for each in data if "text" in each and each["text"] != RESPONSE]
    premises = [each["premise"] for each in data if "premise" in each]
    # Asked at once, they come in any order.
    chunks = sorted({*premises} - {*texts}, key=[*CHUNKS.values(), *premises].index)
    questions = [each["question"] for each in data if "question" in each]
    return Texts(len(prompts), modes, chunks, texts, list(dict.fromkeys(questions)))


def measure() -> dict[str, Texts]:
    """Both scorers on one trace, each with a judge of its own."""
    from mlflow.genai.scorers.ragas import NoiseSensitivity as Wrapper

    from noisesense_adapters.mlflow import NoiseSensitivity

    results: dict[str, Texts] = {}
    answered = trace()
    for name, make, read in (
        ("MLflow's wrapper of ragas", Wrapper, texts_of_ragas),
        ("noisesense", NoiseSensitivity, texts_of_ours),
    ):
        mind = AgreeableMind()
        with ScriptedServer(mind) as server:
            for variable in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
                os.environ[variable] = server.base_url
            os.environ["OPENAI_API_KEY"] = "none"
            scorer = make(model="openai:/gpt-4.1-mini")
            feedback = scorer.run(
                inputs={"question": QUESTION},
                outputs=RESPONSE,
                expectations=EXPECTED,
                trace=answered,
            )
        given = feedback if isinstance(feedback, list) else [feedback]
        errors = [each.error for each in given if each.error]
        if errors:
            raise RuntimeError(f"{name}: {errors}")
        results[name] = read(mind.prompts, [each.name for each in given])
    return results


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder}/mlflow.db"
        os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        os.chdir(folder)  # where MLflow writes runs' artifacts
        results = measure()
        os.chdir(Path(__file__).parent)
    print(f"| | {' | '.join(results)} |\n|---|---|---|")
    for field in Texts._fields:
        cells = [str(getattr(texts, field)) for texts in results.values()]
        print(f"| {field} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
