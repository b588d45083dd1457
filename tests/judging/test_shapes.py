"""One answer in 30 shapes and ten languages has one score: that of the bare answer.

`data/shapes.jsonl` holds an answer of three facts a language, with what people and models put
around one. The second fact is wrong, and one chunk says it: 1/3 in the mode that the row names, 0
in the other. Where the noise is irrelevant, the third fact is a hallucination, and stays one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from noisesense import LLMJudge, Sample, score
from support.exact import ExactModel
from support.scripted_llm import ScriptedLLM

DATA = Path(__file__).parent / "data" / "shapes.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]

SHAPES = {
    "greeting": "{greeting} {answer}",
    "closing": "{answer}\n\n{closing}",
    "list of sources": "{answer}\n\n{sources}:\n- {source}\n- report.pdf\n- https://example.org/12",
    "line of sources": "{answer}\n\n{sources}: {source}",
    "footnote": "{a}[^1]{gap}{b}{gap}{c}\n\n[^1]: {source}",
    "heading": "# {heading}\n\n{answer}",
    "bold heading": "**{short_answer}:**\n{answer}",
    "thoughts": "<think>\n{thought}\n</think>\n\n{answer}",
    "thoughts whose beginning is in the prompt": "{thought}\n</think>\n\n{answer}",
    "code": '{answer}\n\n```python\nresult = lookup("q1")\nprint(result)\n```',
    "table": "| {item} | {detail} |\n|---|---|\n| {label_a} | {value_a} |"
    "\n| {label_b} | {value_b} |\n| {label_c} | {value_c} |",
    "LaTeX": "\\[\\text{{{a}}}\\]\n{b}{gap}{c}\n\\[\\boxed{{\\text{{{value_b}}}}}\\]",
    "HTML": "<h2>{heading}</h2>\n<ul>\n<li>{a}</li>\n<li>{b}</li>\n<li>{c}</li>\n</ul>",
    "JSON": '{{"answer": "{answer}", "confidence": 0.9, "sources": ["doc_1"]}}',
    "citations": "{a} [1]{gap}{b} [2][3]{gap}{c} (doc 4)",
    "disclaimer": "{answer}\n\n{disclaimer}",
    "confidence": "{answer}\n\n{confidence}",
    "bullets": "{lead}\n- {a}\n- {b}\n- {c}",
    "numbered list": "{lead}\n1. {a}\n2. {b}\n3. {c}",
    "Q and A": "**{asked}:** {question}\n**{answered}:** {answer}",
    "quote": "{quote}\n\n> {a}\n> {b}\n> {c}",
    "hedge": "{hedged}{gap}{b}{gap}{c}",
    "emoji": "👋 {a}{gap}✅ {b}{gap}🚀 {c} 😊",
    "bold": "{bold_a}{gap}{bold_b}{gap}{bold_c}",
    "apology": "{apology} {answer}",
    "summary": "{answer}\n\n{summary}",
    "question again": "{restated} {answer}",
    "offer of help": "{answer} {offer}",
    "signature": "{answer}\n\n{signature}",
    "date": "{date}\n\n{answer}",
    "links": "{answer}\n\n{more}: [{source}](https://example.org/a?b=1), www.example.org",
}
NOT_BARE = {"hedged": "0", "summary": "01"}
"""Of a row's texts, those that say facts in other words."""


def fields_of(row: dict[str, Any]) -> dict[str, str]:
    """What a template may hold."""
    claims = [fact["claim"] for fact in row["facts"]]
    fields = {name: text for name, text in row.items() if isinstance(text, str)}
    fields["answer"] = row["gap"].join(claims)
    for letter, fact in zip("abc", row["facts"], strict=True):
        claim, value = fact["claim"], fact["value"]
        fields[letter] = claim
        fields[f"bold_{letter}"] = claim.replace(value, f"**{value}**")
        fields[f"label_{letter}"] = fact["label"]
        fields[f"value_{letter}"] = value
    return fields


def around(template: str, row: dict[str, Any]) -> list[str]:
    """The sentences and signs around the facts."""
    found: list[str] = []
    for literal, name, _, _ in Formatter().parse(template):
        found.append(literal)
        if name in row and name not in NOT_BARE and name != "gap":
            found += re.split("(?<=[!?.。！？।؟]) |\n", row[name])
    return found


def model(shape: str, row: dict[str, Any], text: str, *, lists_all: bool) -> ExactModel:
    """It knows what stands around the facts in that shape, and may list it, too."""
    template = SHAPES[shape].rpartition("</think>")[2]
    beside = around(template, row)
    says: dict[str, Sequence[str]] = {row[name]: facts for name, facts in NOT_BARE.items()}
    for number, fact in zip("012", row["facts"], strict=True):
        says[fact["claim"]] = says[fact["value"]] = number
        says[f"{fact['label']} | {fact['value']}"] = number
    for sentence, facts in [*row["reference"], *row["chunks"]]:
        says[sentence] = list(map(str, facts))
    listed = [fact["claim"] for fact in row["facts"]]
    if lists_all:
        listed += [line for line in beside if any(map(str.isalpha, line))]
    of_reference = [sentence for sentence, _ in row["reference"]]
    lists = {text.rpartition("</think>")[2]: listed, reference_of(row): of_reference}
    return ExactModel(says, [*beside, row["question"]], lists)


def reference_of(row: dict[str, Any]) -> str:
    return row["gap"].join(sentence for sentence, _ in row["reference"])


@pytest.mark.parametrize("lists_all", [False, True], ids=["facts", "all"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("row", ROWS, ids=[row["language"] for row in ROWS])
def test_the_shape_of_an_answer_changes_nothing(
    row: dict[str, Any], shape: str, lists_all: bool
) -> None:
    """The score alone: what the judge is asked for it is tested elsewhere."""
    text = SHAPES[shape].format(**fields_of(row))
    sample = Sample(
        user_input=row["question"],
        response=text,
        reference=reference_of(row),
        retrieved_contexts=[chunk for chunk, _ in row["chunks"]],
    )
    llm = ScriptedLLM(model(shape, row, text, lists_all=lists_all).answer)
    judge = LLMJudge(llm, check="list" if len(shape) % 2 else "each")
    found = score(asyncio.run(judge.judge(sample)))
    expected = (1 / 3, 0.0) if row["mode"] == "relevant" else (0.0, 1 / 3)
    assert (found.relevant, found.irrelevant) == pytest.approx(expected)
    assert found.partition.hallucination == (row["mode"] == "irrelevant")
