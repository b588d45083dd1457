"""What models and chat templates write around a text: thoughts, and control tokens.

Data, each with where it comes from. `THOUGHTS` stand before a reply of a judge's model, and before
an answer of the system that is evaluated. `CONTROL` stands between messages.
"""

from __future__ import annotations

import re

THOUGHTS = (
    ("<think>", "</think>"),  # DeepSeek R1, Qwen3, GLM 4.5, MiniMax M2, Kimi K2: vLLM's parsers
    ("<thinking>", "</thinking>"),  # asked for in many prompts
    ("[THINK]", "[/THINK]"),  # Magistral: mistral-common
    ("<seed:think>", "</seed:think>"),  # Seed-OSS: vLLM's seedoss_reasoning_parser
    ("<thought>", "</thought>"),  # EXAONE Deep: its model card
    ("◁think▷", "◁/think▷"),  # Kimi-VL-Thinking: its model card
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere's Command A Reasoning: its model card
    ("<|channel>thought", "<channel|>"),  # Gemma 4: ai.google.dev, prompt formatting
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1, OpenThinker: their model cards
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss: OpenAI's Harmony format
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|>"),
)

# A tokenizer reads each as one token wherever it stands: <|im_end|>, DeepSeek's <｜User｜>,
# Gemma's <end_of_turn>, Seed-OSS' <seed:bos>, Nemotron's <SPECIAL_12> and <extra_id_1>, Baichuan's
# <reserved_106>, Llama 2's [INST], EXAONE's [|user|], Mistral's [TOOL_RESULTS], BERT's [SEP],
# MiniMax' ]~b] and [e~[.
CONTROL = re.compile(
    r"<(?=[|｜]|/?(?:start_of_turn|end_of_turn|turn|channel|s|bos|eos|pad|unk|sop|eop)\b"
    r"|/?(?:SYS|think|thought|thinking|tool_call|seed:)|/?(?:SPECIAL|extra_id|reserved)_)"
    r"|\[(?=\||/?(?:INST|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
    r"|gMASK|SEP|CLS|MASK|PAD|UNK|BOS|EOS)\]|e~\[)"
    r"|\](?=~[b!])"
)


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts at its head, be it one block or several.

    The white space behind them stays. Thoughts that do not end are left: where the answer begins
    cannot be told. Those that a template has begun in the prompt have only an end mark: they are
    found if it is a line of its own, and not the first.
    """
    rest = text.lstrip()
    for start, end in THOUGHTS:
        if rest.startswith(start):
            _, closed, answer = rest.partition(end)
            return without_thoughts(answer) if closed else text
        thought, closed, answer = rest.partition(f"\n{end}\n")
        if closed and start not in thought:
            return without_thoughts(answer)
    return text
