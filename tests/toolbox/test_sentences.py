"""Where sentences begin and end."""

from __future__ import annotations

import pytest

from noisesense_adapters.toolbox.sentences import sentence_spans, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "  One is 3.5 m. Dr. who?\n\nNext line (yes). Is it e.g. red? end",
            ["One is 3.5 m.", "Dr. who?", "Next line (yes).", "Is it e.g. red? end"],
        ),
        (
            'J. K. Rowling met Dr. Smith in the U.S. Army. "Really?" Yes!',
            ["J. K. Rowling met Dr. Smith in the U.S. Army.", '"Really?"', "Yes!"],
        ),
        (
            "塔是红色的。“海是蓝色的！”真的吗？是",
            ["塔是红色的。", "“海是蓝色的！”", "真的吗？", "是"],
        ),
        ("塔は赤い。海は「青い。」本当？", ["塔は赤い。", "海は「青い。」", "本当？"]),
        ("Élan vital. Élan. Она ушла. Он тут.", ["Élan vital.", "Élan.", "Она ушла.", "Он тут."]),
        ("- one\n- two\n---\n…", ["- one", "- two"]),
        ("Wait... What?! No.", ["Wait...", "What?!", "No."]),
        ("see vol. 3 of it, etc. Then go", ["see vol. 3 of it, etc. Then go"]),
        (" \n ", []),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected
    assert [text[start:end] for start, end in sentence_spans(text)] == expected


def test_a_long_text_takes_linear_time() -> None:
    """Quadratic, this would take hours."""
    text = "a. " * 100_000 + " " * 1_000_000
    assert len(sentences(text)) <= 100_000
