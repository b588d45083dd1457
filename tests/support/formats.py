"""How models write replies: DRAFT and FINAL stand for two different answers of the form.

`KNOWN` formats hold FINAL as the endpoint's or the model's own marking says; a reader must read
it. In `UNCLEAR` ones no marking says which is meant, or the reply is no answer: reading nothing is
right, FINAL is allowed, DRAFT never is. Each is also cut at every character.
"""

from __future__ import annotations

_HARMONY = "<|channel|>analysis<|message|>Perhaps DRAFT<|end|><|start|>assistant"
_THOUGHTS = {
    "DeepSeek R1": ("<think>", "</think>"),
    "DeepSeek R1, opened by the template": ("", "</think>"),
    "Magistral": ("[THINK]", "[/THINK]"),
    "Seed-OSS": ("<seed:think>", "</seed:think>"),
    "EXAONE Deep": ("<thought>", "</thought>"),
    "Kimi-VL": ("◁think▷", "◁/think▷"),
    "Command A Reasoning": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "Gemma 4": ("<|channel>thought\n", "<channel|>"),
}

KNOWN: dict[str, str] = {
    "bare": "FINAL",
    "fenced": "```json\nFINAL\n```",
    "fenced, no language": "```\nFINAL\n```",
    "announced": "Here is the JSON:\n\nFINAL",
    "announced, fenced": "Sure! Here is the requested JSON object:\n```json\nFINAL\n```",
    "ChatML end": "FINAL<|im_end|>",
    "Llama end": "FINAL<|eot_id|>",
    "Mistral end": "FINAL</s>",
    **{
        f"{name}": f"{a}Perhaps DRAFT? No, {{1}}.{b}\n\nFINAL"
        for name, (a, b) in _THOUGHTS.items()
    },
    **{
        f"{name}, twice": f"{a}So DRAFT{b}{a}DRAFT{b}FINAL"
        for name, (a, b) in _THOUGHTS.items()
        if a
    },
    **{
        f"{name}, fenced": f"{a}So DRAFT{b}```json\nFINAL\n```"
        for name, (a, b) in _THOUGHTS.items()
    },
    "Qwen3, ChatML end": "<think>DRAFT</think>\n\nFINAL<|im_end|>",
    "Hunyuan": "<think>\nDRAFT\n</think>\n<answer>\nFINAL\n</answer>",
    "ERNIE": "So DRAFT</think>\n\n<response>\nFINAL\n</response>\n",
    "Command A, response": "<|START_THINKING|>DRAFT<|END_THINKING|><|START_RESPONSE|>FINAL<|END_RESPONSE|>",
    "Sky-T1": "<|begin_of_thought|>DRAFT<|end_of_thought|><|begin_of_solution|>FINAL<|end_of_solution|>",
    "Gemma 4, end of turn": "<|channel>thought\nDRAFT<channel|>FINAL<turn|>",
    "gpt-oss": f"{_HARMONY}<|channel|>final<|message|>FINAL",
    "gpt-oss, return": f"{_HARMONY}<|channel|>final<|message|>FINAL<|return|>",
    "gpt-oss, constrained": f"{_HARMONY}<|channel|>final <|constrain|>json<|message|>FINAL<|return|>",
    "gpt-oss, final alone": "<|channel|>final<|message|>FINAL<|return|>",
}

_BETWEEN = (
    "", "\n", "\n\n---\n\n", " or ", " Or rather: ", "\nCorrection to my initial answer:\n",
    "\nThis improves on the draft above:\n", "\nWait, claim 2 is wrong.\n", "\nFinal answer:\n",
    "\n**Final:**\n", "\nRevised:\n", "\nAfter double-checking:\n", "\nActually,\n", "\nEdit: ",
    "\nUpdated JSON:\n", "\nLet me reconsider.\n", "\nStep 2:\n", "\nAlternative:\n", "\n2. ", "\n```\n",
    "\nassistant\n", "\n<|im_start|>assistant\n", "\nUser: are you sure?\nAssistant: ", ";", ",",
    "\nKorrektur:\n", "\n更正：\n", "\nRéponse finale :\n", "\nself-check: ", "\n# Answer\n",
)  # fmt: skip
_TAGS = (
    "draft", "scratchpad", "thinking", "reasoning", "reflection", "analysis", "plan", "note", "critique",
    "revised", "correction", "inner_monologue", "output", "result", "json", "final", "tool_call", "x",
)  # fmt: skip
_AFTER = (
    " Wait, claim 2 …", "\nHmm, no.", "\nBut this is only a first guess.", "\nCorrected:", "\n<think> but",
    "\n<correction>", "\n{", "\n[", '\n{"1": "', "\n```json\n{", "\nNo: the opposite is true.",
    "\nScratch that.", "\nThe above is wrong.", "\n(draft)", "\n— to be revised —", "\nI take it back",
    "\nTODO: verify", "\n<|channel|>analysis<|message|>no", "\nassistantfinal", "\n</think> no",
)  # fmt: skip
_BEFORE = (
    "Draft: ", "My first attempt:\n", "Example:\n", "For instance, ", "A wrong answer would be ",
    "Not this: ", "Initially I thought ", "If the text were different: ", "The form is ", "> ", "- ",
)  # fmt: skip

UNCLEAR: dict[str, str] = {
    **{f"two answers, {each!r}": f"DRAFT{each}FINAL" for each in _BETWEEN},
    **{
        f"fenced answers, {each!r}": f"```json\nDRAFT\n```{each}```json\nFINAL\n```"
        for each in _BETWEEN[2:]
    },
    **{f"in <{tag}>": f"<{tag}>DRAFT</{tag}>" for tag in _TAGS},
    **{f"after <{tag}>": f"<{tag}>DRAFT</{tag}>\nFINAL" for tag in _TAGS},
    **{f"then {each!r}": f"DRAFT{each}" for each in _AFTER},
    **{f"fenced, then {each!r}": f"```json\nDRAFT\n```{each}" for each in _AFTER},
    **{f"after {each!r}": f"{each}DRAFT" for each in _BEFORE},
    "thoughts alone": "<think>DRAFT",
    "thoughts that end in an answer": "<think>DRAFT</think>",
    "thoughts behind the answer": "DRAFT<think>no</think>",
    "gpt-oss, bare": "analysisWe try DRAFT, which is wrong.assistantfinalFINAL",
    "gpt-oss, commentary": "<|channel|>commentary<|message|>DRAFT<|end|>",
    "a list": "[DRAFT]",
    "a list of two": "[DRAFT, FINAL]",
    "a form in a form": '{"example": DRAFT}',
    "a tool call as text": '<tool_call>{"name": "answer", "arguments": DRAFT}</tool_call>',
    "YAML": "1: yes\n2: no",
}
