"""Is a prompt cut? What the judge makes of the number of prompt tokens that a reply reports."""

from __future__ import annotations

from noisesense.judging.tokens import TokenCheck

WORDS = "The Elbe rises in the mountains, and it flows to the sea. "
"""12 words, 2 of them with punctuation: 14 tokens at least."""


def test_a_prompt_was_cut_if_far_fewer_tokens_were_read_than_it_needs() -> None:
    """The known case: 555 of 1,037. 70 sentences need 980, of which nine tenths are expected."""
    check = TokenCheck()
    assert check.is_cut(WORDS * 70, 555)
    assert check.is_cut(WORDS * 70, 881)
    assert not check.is_cut(WORDS * 70, 883)
    assert not check.is_cut(WORDS * 70, 1_037)


def test_a_prompt_was_cut_if_exactly_a_window_of_tokens_was_read() -> None:
    """Old versions of Ollama cut to the window, of 2,048 tokens by default: exactly so many."""
    check = TokenCheck()
    assert check.is_cut(WORDS * 140, 2_048)  # 1,960 at least
    assert not check.is_cut(WORDS * 140, 2_049)
    assert not check.is_cut(WORDS * 40, 2_048)  # 560 at least: three times as many are another's


def test_no_count_says_nothing_and_a_small_one_lowers_what_is_expected() -> None:
    check = TokenCheck()
    assert not check.is_cut(WORDS * 70, 0)  # a host that reports none
    assert check.is_cut(WORDS * 70, 400)
    assert not check.is_cut(WORDS * 70, 250)  # no window is so small
    assert not check.is_cut(WORDS * 70, 400)  # by now less is expected of this one


def test_no_prompt_was_cut_whose_server_reports_what_no_cache_had() -> None:
    """1,200 tokens, of which 900 are the text; then the statement behind the same text alone."""
    check = TokenCheck()
    assert not check.is_cut(WORDS * 70, 1_200)
    assert not check.is_cut(WORDS * 70, 300)


def test_a_prompt_was_cut_if_half_of_the_window_was_read() -> None:
    """https://github.com/ollama/ollama/issues/17427: 65,530 fit, of 65,540 half are read."""
    check = TokenCheck()
    assert not check.is_cut(WORDS * 4_000, 65_530)
    assert check.is_cut(WORDS * 4_001, 32_770)
