"""The bench of real models: its data are sound, and what it counts is what was replied."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from judge_data import Split, Text, compare, texts  # noqa: E402
from judge_quality import before, measure, verdict_list  # noqa: E402

from support.real_model import Exchange, Recorder  # noqa: E402


def test_enough_cells_of_each_kind_in_both_halves() -> None:
    cells = [(text, each, truth) for text in texts() for each, truth in text.statements]
    assert len(cells) >= 300
    halves = Counter(text.half for text, _, _ in cells)
    assert set(halves) == {"tune", "held"}
    assert abs(halves["tune"] - halves["held"]) <= 10
    assert 0.4 <= sum(truth for _, _, truth in cells) / len(cells) <= 0.6
    kinds = Counter((text.kind, text.half) for text, _, _ in cells)
    assert {kind for kind, half in kinds if half == "tune"} == {
        kind for kind, half in kinds if half == "held"
    }
    assert sum(count for (kind, _), count in kinds.items() if kind == "plain") >= 60
    for half in halves:  # nine samples: 36 texts, 22 of 64 statements said
        given = [text for text in texts() if (text.kind, text.half) == ("sample", half)]
        said = [truth for text in given for _, truth in text.statements]
        assert (len(given), sum(said), len(said)) == (36, 22, 64)
    # No statement, and no text, is in both halves or there twice.
    assert len({text.text for text in texts()}) == len(texts())
    for text in texts():
        assert len({each for each, _ in text.statements}) == len(text.statements)
    listed = (HERE / "data/decomposition.jsonl").read_text("utf-8").splitlines()
    assert sum("claims" in json.loads(line) for line in listed) >= 25


def test_claims_found_against_those_listed() -> None:
    listed = ["Elena Rossi painted the picture.", "The picture was painted in 1887."]
    assert compare(listed, listed) == Split(2, 2)
    both = ["The picture was painted by Elena Rossi in 1887."]
    assert compare(listed, both) == Split(2, 1, missed=0, added=0, merged=1)
    found = ["She painted the picture.", "The picture was painted in 1887.", "Rome is old."]
    assert compare(listed, found) == Split(2, 3, missed=1, added=2, merged=0)
    japanese = ["日本の首都は東京です。", "東京の人口は約1400万人です。"]
    assert compare(japanese, japanese[:1]) == Split(2, 1, missed=1)


def test_replies_are_read_as_they_are() -> None:
    assert verdict_list('{"verdicts":[{"id":2,"entailed":true}]}', 3) == [None, True, None]
    assert verdict_list("yes", 1) == [None]


class Scripted(Recorder):
    """Replies that statements are entailed, but where it was told to say nothing."""

    def answer(self, path: str, body: bytes) -> Exchange:
        request = json.loads(body)
        silent = "silent" in request["messages"][0]["content"]
        words = (
            ""
            if silent
            else '{"verdicts": [{"id": 1, "entailed": true}, {"id": 2, "entailed": true}]}'
        )
        reply = {
            "choices": [{"message": {"content": words}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        }
        self.exchanges.append(Exchange(request, 200, reply, 0.5))
        return self.exchanges[-1]


def test_the_table_counts_every_cell_once() -> None:
    given = [
        Text("plain", "tune", "The sea.", (("It is the sea.", True), ("A lake.", False))),
        Text("names", "tune", "The tower.", (("It is silent.", False),)),
    ]
    recorder = Scripted("", "scripted")
    both, plain = measure("0.1", before(True, recorder), given, recorder)
    # Right: the first. A false yes: the second. Open: the third; balanced (1/1 + 0/2) / 2.
    assert both.shown[2:] == [
        *("all", "1 of 3, 33%", "1 of 2", "0 of 1", "50%", "1"),
        *("2", "20", "1"),
    ]
    assert plain.shown[1:6] == ["tune", "plain", "1 of 2, 50%", "1 of 1", "0 of 1"]
    (alone,) = measure("0.1", before(True, recorder), given[:1], recorder)
    assert alone.shown[1:4] == ["tune", "plain", "1 of 2, 50%"]
