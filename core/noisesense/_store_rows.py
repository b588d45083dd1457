"""The rows of a store: what is kept of a call, and of a sample judged to the end."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from noisesense.judge import Usage
from noisesense.sample import Sample
from noisesense.verdicts import Verdicts

__all__ = ["Row", "StoredCall", "StoredSample"]

Row = tuple[Any, ...]


@dataclass(frozen=True)
class StoredCall:
    """One judged call. It holds neither the prompt nor a key of any provider.

    Attributes:
        key: SHA-256 of prompt version, model, its identity, form, full prompt and vote.
        model: the model's name.
        version: of the prompts.
        step: what was asked, e.g. ``claims of the response``.
        vote: which of several votes, from 0.
        sample_key: of the sample it was first made for.
        label: the beginning of that sample's question, to be read by a person.
        reply: the reply as JSON; None if it was unusable.
        usage: what it cost.
        created: seconds since 1970; now, if left out.
        unanswered: the reply answered nothing of what was asked: a later run asks again.
        identity: a digest of what the model's answers depend on beside its name.
    """

    key: str
    model: str
    version: str
    step: str
    vote: int
    sample_key: str
    label: str
    reply: str | None
    usage: Usage
    created: float = field(default_factory=time.time)
    unanswered: bool = False
    identity: str = ""

    @property
    def answered(self) -> bool:
        """Is there a reply that a later run may use?"""
        return self.reply is not None and not self.unanswered

    def row(self) -> Row:
        """As the table ``calls`` keeps it: every field and their checksum."""
        usage = (self.usage.calls, self.usage.input_tokens, self.usage.output_tokens)
        return _with_checksum(
            *(self.key, float(self.created), self.model, self.identity, self.version),
            *(self.step, self.vote, self.sample_key, self.label, self.reply),
            *(*usage, _number(self.usage.cost), int(self.unanswered)),
        )

    @classmethod
    def from_row(cls, row: Row) -> StoredCall:
        """The inverse of `row`. Raises `ValueError` if any of it is not as it was put."""
        key, created, model, identity, version, step, vote, sample_key, label, reply, *rest = (
            _sound(row)
        )
        calls, asked, given, cost, unanswered = rest
        usage = Usage(calls=calls, input_tokens=asked, output_tokens=given, cost=cost)
        return cls(
            *(key, model, version, step, vote, sample_key, label, reply, usage, created),
            unanswered=bool(unanswered),
            identity=identity,
        )


@dataclass(frozen=True)
class StoredSample:
    """One sample judged to the end, and by what. ``created`` as in `StoredCall`."""

    sample: Sample
    verdicts: Verdicts
    model: str
    version: str
    settings: str
    unanswered: int
    created: float = field(default_factory=time.time)
    identity: str = ""

    @property
    def key(self) -> str:
        """One row for each sample, its labels and the judge's configuration."""
        labels = [chunk.relevant for chunk in self.sample.retrieved_contexts]
        judge = [self.model, self.identity, self.version, self.settings]
        parts = [self.sample.key, repr(labels), *judge]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def row(self) -> Row:
        """As the table ``samples`` keeps it: every field and their checksum."""
        return _with_checksum(
            *(self.key, float(self.created), self.model, self.identity, self.version),
            self.settings,
            _json(self.sample),
            _json(self.verdicts),
            self.unanswered,
        )

    @classmethod
    def from_row(cls, row: Row) -> StoredSample:
        """The inverse of `row`. Raises `ValueError` if any of it is not as it was put."""
        _, created, model, identity, version, settings, sample, verdicts, unanswered = _sound(row)
        return cls(
            Sample.model_validate(json.loads(sample)),
            Verdicts.model_validate(json.loads(verdicts)),
            *(model, version, settings, unanswered, created, identity),
        )


def _with_checksum(*fields: object) -> Row:
    return *fields, _checksum(fields)


def _sound(row: Row) -> Row:
    """The fields of a row, without its checksum."""
    *fields, checksum = row
    if checksum != _checksum(fields):
        raise ValueError("its checksum is wrong")
    return tuple(fields)


def _checksum(fields: Sequence[object]) -> str:
    # A damaged text may have become bytes, which JSON has not.
    content = json.dumps(fields, default=repr)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _number(cost: float | None) -> float | None:
    """SQLite keeps no NaN."""
    return None if cost is None or math.isnan(cost) else float(cost)


def _json(model: Sample | Verdicts) -> str:
    """Readable; escaped only where half a surrogate pair could not be written as UTF-8."""
    data = model.model_dump(exclude_defaults=True)
    text = json.dumps(data, ensure_ascii=False)
    return text if _writable(text) else json.dumps(data)


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
