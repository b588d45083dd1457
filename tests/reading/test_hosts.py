"""The same value is the same text in every host and file, or an error in every one."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from support.reading_hosts import FLAT, HOSTS, INSIDE, seen

ERROR = "error"
PARTS = [{"type": "text", "text": "Ada "}, {"type": "text", "text": "did."}]
TEXT = "Ada did."
WHOLE = {"answer": TEXT, "contexts": ["a", "b"]}
PASSAGES: dict[str, Any] = {
    "kb.hits.text": {"kb": {"hits": [{"text": "a new one"}]}},
    "target_docs": {"target_docs": ["一个新的"]},
    "by_id.1": {"by_id": {"1": "a new one", "2": "one more"}},
    "steps.content": {"steps": [{"role": "tool", "content": "a new one"}]},
    "prompt_context": {"prompt_context": "a new one"},
    "kb_hits": {"kb_hits": []},
    "thought": {"thought": "It was her."},
    "knowledge": {"knowledge": ["Paris"]},
}
"""What a task may have retrieved, beside its answer, by its place."""
NO_PASSAGES = {
    "steps": [{"role": "user", "content": "Who was it?"}, {"role": "ai", "content": TEXT}],
    "model": "gpt",
    "calls": [],
}

RESPONSES: dict[str, tuple[Any, str]] = {
    "a text": (TEXT, TEXT),
    "white space around it": (" Ada did.\n", " Ada did.\n"),
    "a number": (1902, "1902"),
    "a broken number": (24.5, "24.5"),
    "an object": ({"answer": TEXT}, TEXT),
    "an object in an object": ({"output": {"response": TEXT}}, TEXT),
    "JSON": (json.dumps({"answer": TEXT}), TEXT),
    "a dict as Python prints it": (repr({"answer": TEXT}), TEXT),
    "a fence": (f"```json\n{json.dumps(WHOLE)}\n```", TEXT),
    "JSON behind a sentence": (f"Here it is: {json.dumps(WHOLE)}", ERROR),
    "JSON among words": (f"Here:\n```json\n{json.dumps(WHOLE)}\n```\nMore?", ERROR),
    "JSON with more": ('{"output": "a tower", "height": 330}', ERROR),
    "a draft and an answer": ({"output": "Bob did.", "final_output": TEXT}, ERROR),
    "a call of a tool": ({"role": "ai", "content": TEXT, "tool_calls": [{"name": "a"}]}, ERROR),
    "a piece of JSON": ('{"city": "Paris"}', '{"city": "Paris"}'),
    "settings behind a sentence": ('Use {"output": "a.txt"}', 'Use {"output": "a.txt"}'),
    "braces": ("f(x) = {x}", "f(x) = {x}"),
    "a list in a text": ("[1] Ada did.", "[1] Ada did."),
    "one text in a list": ([TEXT], TEXT),
    "several texts": (["Ada.", "Bob."], ERROR),
    "several texts in an object": ({"answer": ["Ada.", "Bob."]}, ERROR),
    "parts of a message": ({"role": "assistant", "content": PARTS}, TEXT),
    "the last message": (
        [{"role": "user", "content": "q"}, {"role": "ai", "content": TEXT}],
        TEXT,
    ),
    "only a question": ([{"role": "user", "content": "q"}], ERROR),
    "the last message is a tool's": (
        [{"type": "human", "content": "q"}, {"type": "tool", "content": TEXT}],
        ERROR,
    ),
    "a chat completion": ({"choices": [{"message": {"content": TEXT}}]}, TEXT),
    "a blank name beside it": ({"answer": " ", "output": TEXT}, ERROR),
    "the same text twice": ({"answer": TEXT, "output": TEXT}, TEXT),
    "two texts": ({"answer": TEXT, "output": "Bob did."}, ERROR),
    "two texts in JSON": (json.dumps({"answer": TEXT, "response": "Bob did."}), ERROR),
    "null": (None, ERROR),
    "a blank text": (" ", ERROR),
    "nothing": ("", ERROR),
    "true": (True, ERROR),
    "an empty list": ([], ERROR),
    "an empty object": ({}, ERROR),
    "an object without an answer": ({"note": TEXT}, ERROR),
    "another agent's message": ([{"role": "ai", "content": "a"}, {"role": "critic"}], ERROR),
    "what a tool gave": ({"output": [{"type": "custom_tool_call_output", "output": "a"}]}, ERROR),
    "a text and a thought": (
        {"content": ["Ada ", PARTS[1], {"type": "thinking", "content": "hm"}]},
        TEXT,
    ),
    "two messages in a row": ([{"role": "ai", "content": "a"}] * 2, ERROR),
    "an agent's stop": ([{"source": "a", "type": "StopMessage", "content": "Done"}], ERROR),
    "a status": ({"result": "success", "data": TEXT}, ERROR),
    "what failed": ({"error": {"code": 429}, "answer": TEXT}, ERROR),
    "JSON of something else": ('{"text": "hello", "size": 4}', '{"text": "hello", "size": 4}'),
    "a printed object": ("RunResult(output='Ada did.')", ERROR),
    "a key that is a number": ({0: TEXT}, ERROR),
    "cut off": (json.dumps(WHOLE)[:-5], ERROR),
    "NaN": (math.nan, ERROR),
    "bytes": (TEXT.encode(), ERROR),
}
REFERENCES: dict[str, tuple[Any, str]] = {
    "a text": ("Ada.", "Ada."),
    "a number": (1902, "1902"),
    "a list of answers": (["Ada.", "Ada K."], "Ada.\nor: Ada K."),
    "equal answers": (["Ada.", "Ada."], "Ada."),
    "a list in a text": ('["Ada.", "Ada K."]', "Ada.\nor: Ada K."),
    "numpy's list": ("['Ada.' 'Ada K.']", "Ada.\nor: Ada K."),
    "lists of lists": ([["Ada."], ["Ada K."]], "Ada.\nor: Ada K."),
    "numbers in a text": ("[1, 2]", "[1, 2]"),
    "SQuAD": ({"text": ["Ada."], "answer_start": [3]}, "Ada."),
    "TriviaQA": ({"value": "Ada.", "aliases": ["Ada K."], "type": "x"}, "Ada."),
    "Natural Questions": ([{"text": ["Ada."]}], "Ada."),
    "an object": ({"answer": "Ada."}, "Ada."),
    "other names": ({"ideal": "Ada."}, "Ada."),
    "JSON": ('{"answer": "Ada."}', "Ada."),
    "a piece of JSON": ('{"city": "Paris"}', '{"city": "Paris"}'),
    "two texts": ({"answer": "Ada.", "expected": "Bob."}, ERROR),
    "a user's message": ({"messages": [{"role": "user", "content": "Ada."}]}, ERROR),
    "null": (None, ERROR),
    "a blank text": (" ", ERROR),
    "an empty list": ([], ERROR),
    "true": (True, ERROR),
    "an object without one": ({"note": "Ada."}, ERROR),
    "NaN": (math.nan, ERROR),
}

FIELDS = {"response": RESPONSES, "reference": REFERENCES}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("field", FIELDS)
def test_a_value_is_the_same_text_or_an_error_in_each_host(field: str, host: str) -> None:
    for name, (value, expected) in FIELDS[field].items():
        if host == "file" and isinstance(value, bytes):
            continue  # JSON has none
        found = seen(host, **{field: value})
        text = ERROR
        if isinstance(found, tuple):
            text = found[0] if field == "response" else found[1]
            assert found[2] == ["a", "b"], name
        assert text == expected, (host, name, found)


@pytest.mark.parametrize("host", [host for host in HOSTS if host not in ("ragas", "deepeval")])
def test_two_places_with_different_texts_are_an_error_that_names_both(host: str) -> None:
    """Names are never ranked: the error names both places, and what chooses."""
    more = seen(host, more={"documents": ["a, and b, and more"]})  # both are within it
    other = seen(host, more={"documents": ["stale"]})
    assert isinstance(other, str)
    assert isinstance(more, str)
    assert "contexts'" in other or "contextChunks'" in other
    assert "documents'" in other
    assert "contexts=" in other or "contextChunks: '{{" in other
    same = seen(host, more={"documents": ["a", "b"]})
    joined = seen(host, more={"context": "a\n\nb"})  # for a prompt's template
    assert same == joined == seen(host)
    if host in ("promptfoo", "inspect_ai"):
        return
    assert "got None" in seen(host, more={"documents": None})
    if host == "file":
        assert "llm_answer" in seen(host, more={"llm_answer": "Bob did."})
    two = seen(host, more={"output": "Bob did."})
    assert isinstance(two, str)
    assert "'Ada did.'" in two
    assert "'Bob did.'" in two
    assert "response=" in two


@pytest.mark.parametrize("host", [h for h in HOSTS if h not in (*FLAT, "ragas", "deepeval")])
def test_a_task_comes_before_its_item(host: str) -> None:
    assert seen(host, item={"contexts": ["stale"], "output": "old"}) == seen(host)
    its_own = {"contexts": ["its own"]}
    taken = seen(host, item=its_own, contexts=INSIDE)
    assert taken == seen(host, contexts=["its own"])
    assert "list of chunks, got None" in seen(host, item=its_own, contexts=None)
    for place, more in PASSAGES.items():
        unread = seen(host, item=its_own, response={"answer": TEXT, **more}, contexts=INSIDE)
        assert isinstance(unread, str)
        assert f".{place}'" in unread
    assert (
        seen(host, item=its_own, response={"answer": TEXT, **NO_PASSAGES}, contexts=INSIDE)
        == taken
    )


@pytest.mark.parametrize(
    "written", [json.dumps(WHOLE), repr(WHOLE), f"```\n{json.dumps(WHOLE)}\n```"]
)
@pytest.mark.parametrize("host", [host for host in HOSTS if host not in ("ragas", "deepeval")])
def test_a_whole_output_as_a_text_is_read_as_the_object_is(host: str, written: str) -> None:
    """The whole JSON was judged, with the contexts as if they were the answer."""
    assert seen(host, response=written, contexts=INSIDE) == seen(host)
