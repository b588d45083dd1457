"""Where sentences begin and end."""

from __future__ import annotations

import time

import pytest

from noisesense.judging.sentences import sentences


@pytest.mark.parametrize(
    "expected",
    [
        ["One is 3.5 m.", "Next line (yes).", "Is it red? and blue"],
        ["J. K. Rowling met Ann in the U.S. Army.", '"Really?"', "Yes!"],
        ["Élan vital.", "Élan.", "Она ушла.", "Он тут.", "Это я.", "Wait...", "What?!", "No."],
        ["see it in vol. three. then go"],
        ["It is on p. 12, and of c. 1850.", "We take plan b.", "It works."],
        [
            "Das Fest war am 3. Mai 1902.",
            "Dr. Roth zahlte 1,2 Mio. Euro.",
            "Es war in den USA.",
            "So ist es.",
        ],
        [],
    ],
)
def test_a_sentence_ends_at_a_mark_but_at_no_stop_of_a_short_form_or_number(
    expected: list[str],
) -> None:
    assert sentences(f"  {' '.join(expected)} \n ") == expected


def test_a_sentence_ends_at_a_line_end_and_at_an_east_asian_stop() -> None:
    assert sentences("- one\n- two\n---\n…") == ["- one", "- two"]
    assert sentences("塔は赤い。海は「青い。」本当？") == [
        "塔は赤い。",
        "海は「青い。」",
        "本当？",
    ]
    text = "塔是红色的。“海是蓝色的！”真的吗？是"
    assert sentences(text) == ["塔是红色的。", "“海是蓝色的！”", "真的吗？", "是"]


def test_the_number_of_an_item_belongs_to_the_item() -> None:
    assert sentences("1. Arlen has a mill.\n**2.** Bex has none.\niv. So it is.") == [
        "1. Arlen has a mill.",
        "**2.** Bex has none.",
        "iv. So it is.",
    ]
    assert sentences("How many?\n12.\nIn 1742. In May.") == [
        "How many?",
        "12.",
        "In 1742.",
        "In May.",
    ]


def test_a_long_text_takes_linear_time() -> None:
    """Quadratic, this would take hours; the row of full stops half a minute."""
    assert len(sentences("a. " * 100_000 + " " * 1_000_000)) <= 100_000
    begun = time.process_time()
    assert len(sentences(f"1{'.' * 32_000}9")) == 1
    assert time.process_time() - begun < 5
