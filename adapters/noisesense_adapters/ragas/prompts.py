"""The judge's instructions as ragas' prompts, so that ``set_prompts()`` and its like work."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel
from ragas.prompt import PydanticPrompt
from ragas.prompt.pydantic_prompt import ToTranslate, translate_statements_prompt

from noisesense.judging.prompts import DEFAULT_PROMPTS, Prompts

# What follows it belongs to the data and the reply, and is in English in every language.
_END_OF_INSTRUCTION = "\nThe JSON below is data"


class Passage(BaseModel):
    """A text to decompose into claims."""

    question: str = ""
    text: str


class PremiseAndClaims(BaseModel):
    """One premise, and claims that it may entail."""

    premise: str
    claims: dict[str, str]


class PremisesAndClaims(BaseModel):
    """Several premises, and claims that each may entail."""

    premises: dict[str, str]
    claims: dict[str, str]


# The replies, as plain models: ragas changes those of the examples in place.
class ClaimList(BaseModel):
    claims: list[str]


class Verdict(BaseModel):
    id: int
    entailed: bool


class VerdictList(BaseModel):
    verdicts: list[Verdict]


class PremiseVerdict(Verdict):
    premise: int


class PremiseVerdictList(BaseModel):
    verdicts: list[PremiseVerdict]


class _JudgePrompt(PydanticPrompt[Any, Any]):
    """One of the judge's instructions. ``instruction`` and ``examples`` are yours to change."""

    name: str
    field: ClassVar[str]  # of `noisesense.Prompts`

    def __init__(self) -> None:
        name = type(self).name
        super().__init__()
        self.name = name
        self.examples = []
        self.instruction = getattr(DEFAULT_PROMPTS, self.field).partition(_END_OF_INSTRUCTION)[0]

    @classmethod
    def of(cls, prompts: Prompts | None) -> _JudgePrompt:
        """The prompt with the instruction that it has there."""
        prompt = cls()
        if prompts is not None:
            prompt.instruction = getattr(prompts, cls.field).partition(_END_OF_INSTRUCTION)[0]
        return prompt

    async def adapt(
        self, target_language: str, llm: Any, adapt_instruction: bool = False
    ) -> PydanticPrompt[Any, Any]:
        """As ragas' own, which without examples asks for the translation of nothing."""
        if self.examples:
            return await super().adapt(target_language, llm, adapt_instruction)
        adapted = type(self)()
        adapted.instruction, adapted.language = self.instruction, target_language
        if adapt_instruction:
            translator: Any = translate_statements_prompt
            translation = await translator.generate(
                llm=llm,
                data=ToTranslate(target_language=target_language, statements=[self.instruction]),
            )
            adapted.instruction = translation.statements[0]
        else:
            warnings.warn(
                f"{self.name} has no examples to translate, so its words stay as they are; claims"
                " are written in the language of their text anyway. adapt_instruction=True"
                " translates the instruction",
                stacklevel=2,
            )
        return adapted


class ClaimDecompositionPrompt(_JudgePrompt):
    """A response or a reference into its claims."""

    name = "claim_decomposition_prompt"
    field = "decompose"
    input_model, output_model = Passage, ClaimList


class ClaimVerificationPrompt(_JudgePrompt):
    """Which claims does a reference, or a chunk, entail?"""

    name = "claim_verification_prompt"
    field = "verify"
    input_model, output_model = PremiseAndClaims, VerdictList


FORMS = (ClaimDecompositionPrompt, ClaimVerificationPrompt)


def prompts_of(forms: Sequence[Any], given: Prompts | None) -> Prompts | None:
    """The judge's prompts with these instructions and examples; None if nothing has changed.

    Changed ones get a version of their own, so that no store mixes their replies with others.
    """
    base = given or DEFAULT_PROMPTS
    changed: dict[str, str] = {}
    for kind, form in zip(FORMS, forms, strict=True):
        whole = getattr(base, kind.field)
        head, end, rest = whole.partition(_END_OF_INSTRUCTION)
        if form.instruction != head or form.examples:
            changed[kind.field] = "".join([form.instruction, _examples(form), end, rest])
    if not changed:
        return given
    words = hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:12]
    return replace(base, version=f"{base.version}+{words}", **changed)


def _examples(form: Any) -> str:
    return "".join(
        f"\nExample: {given.model_dump_json()}\nReply: {reply.model_dump_json()}"
        for given, reply in form.examples
    )
