"""A chunk longer than the model's context: judged rightly in parts, whatever its server does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from noisesense import JudgeError, LLMJudge, PromptTooLongError, VerdictStore
from noisesense.errors import BusyError
from noisesense_adapters.models.envelopes import usage_of
from noisesense_adapters.models.failures import judge_error
from support.bridges import BRIDGES
from support.chat import tokens
from support.langchain_models import run
from support.server import ScriptedServer
from support.stored import replies_in
from support.windows import SERVERS, WINDOW, assert_right, sample


@pytest.mark.parametrize("kind", SERVERS)
def test_what_follows_a_prompt_that_was_too_long_is_split_at_once(
    kind: str, tmp_path: Path
) -> None:
    """Of the first chunk one call is too long; of the next none is. Nothing of it is kept."""
    mind, script = SERVERS[kind]
    with ScriptedServer(mind, script=script) as server, VerdictStore(tmp_path / "s.db") as store:
        judge = LLMJudge(BRIDGES["openai"](server), store=store)
        for name in ("Arle", "Brill"):
            judgement = run(judge.judge_detailed(sample(name)))
            assert_right(judgement)
        long = [prompt for prompt in server.log.prompts if tokens(prompt) > WINDOW]
        assert len(long) == 1
        assert "Brill" not in long[0]
        # What was refused cost nothing; of what was cut the call is counted, and not kept.
        assert judge.usage.calls == server.log.calls - (kind == "refuses")
        assert replies_in(store) == server.log.calls - 1


class RefusedError(Exception):
    """What a client raises over a response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status


# As each says it, in issues of its repository or in its documentation.
TOO_LONG = [
    (
        400,
        "This model's maximum context length is 8192 tokens. However",
    ),
    (400, "the request exceeds the available context size. try increasing the context size"),
    (
        400,
        "request (3100 tokens) exceeds the available context size (2048 tokens)",
    ),
    (400, "The decoder prompt (length 3100) is longer than the maximum model length of 2048."),
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (400, "`max_tokens` exceed context limit: 199000 + 8192 > 200000"),
    (400, "the input length exceeds"),
    (
        400,
        "The input token count (1100000) exceeds the maximum allowed (1048576)",
    ),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    (400, "Input is too long for requested model."),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048."),
    (400, "The input (3100 tokens) is longer than the model's"),
    (400, "Please reduce the length of the messages or completion."),
    (400, "Request too large for model"),
    (400, "Range of input length should be [1, 30720]"),
    (400, "This model's maximum prompt length is 131072 but the request contains 200000 tokens."),
    (500, "Requested tokens (2285) exceed context window of 2048"),
    (413, "Request Entity Too Large"),
]


@pytest.mark.parametrize(("status", "message"), TOO_LONG)
def test_a_prompt_too_long_is_known_by_each_providers_words(status: int, message: str) -> None:
    assert type(judge_error(RefusedError(status, message), "m")) is PromptTooLongError


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "Too many tokens, please wait before trying again."),
        (400, "max_tokens is not supported, use max_completion_tokens"),
        (400, "Invalid input: text"),
    ],
)
def test_what_is_no_long_prompt_is_another_error(status: int, message: str) -> None:
    assert type(judge_error(RefusedError(status, message), "m")) in (JudgeError, BusyError)


@pytest.mark.parametrize(
    ("counts", "tokens"),
    [
        # Anthropic counts apart what a cache had, or now has: 1,000 tokens in each row.
        ({"input_tokens": 1_000}, 1_000),
        ({"input_tokens": 100, "cache_read_input_tokens": 900}, 1_000),
        ({"input_tokens": 10, "cache_creation_input_tokens": 990}, 1_000),
        # LiteLLM and OpenAI count all of them, and say beside it how many a cache had.
        ({"prompt_tokens": 1_000, "cache_read_input_tokens": 900}, 1_000),
        ({"prompt_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": 900}}, 1_000),
        # So does LangChain, of every provider.
        ({"input_tokens": 1_000, "input_token_details": {"cache_read": 900}}, 1_000),
    ],
)
def test_tokens_from_a_cache_were_read(counts: dict[str, Any], tokens: int) -> None:
    assert usage_of(SimpleNamespace(usage=counts)).input_tokens == tokens
    assert usage_of(SimpleNamespace(usage=SimpleNamespace(**counts))).input_tokens == tokens


def test_thoughts_are_output_that_is_paid_for() -> None:
    """Google counts them apart: 4,000 tokens were told as 25."""
    counts = {"prompt_token_count": 300, "candidates_token_count": 25}
    counts |= {"thoughts_token_count": 3_975, "total_token_count": 4_300}
    for usage in (counts, SimpleNamespace(**counts)):
        found = usage_of(SimpleNamespace(usage_metadata=usage))
        assert found.input_tokens == 300
        assert found.output_tokens == 4_000
