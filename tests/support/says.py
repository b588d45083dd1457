"""The shortest question to a model: a form of one text, and a mind that says always the same."""

from __future__ import annotations

from pydantic import BaseModel


class Answer(BaseModel):
    text: str


class Says:
    def __init__(self, text: str = '{"text": "yes"}') -> None:
        self.text = text

    def answer(self, prompt: str) -> str:
        return self.text
