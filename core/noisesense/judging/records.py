"""The rows of a store: calls, samples and requests, each with a checksum over all its fields."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from noisesense.jsonl import parse_line, to_json
from noisesense.judging.protocol import Usage
from noisesense.judging.sqlite import check_types
from noisesense.utf8 import encodable
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

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
        usage = self.usage
        # SQLite keeps no NaN.
        cost = None if usage.cost is None or math.isnan(usage.cost) else float(usage.cost)
        return _with_checksum(
            *(self.key, float(self.created), self.model, self.identity, self.version),
            *(self.step, self.vote, self.sample_key, self.label, self.reply),
            *(usage.calls, usage.input_tokens, usage.output_tokens, cost, int(self.unanswered)),
        )

    @classmethod
    def from_row(cls, row: Row) -> StoredCall:
        """The inverse of `row`. Raises `ValueError` if any of it is not as it was put."""
        key, created, model, identity, version, step, vote, sample_key, label, reply, *rest = (
            _sound("calls", row)
        )
        calls, input_tokens, output_tokens, cost, unanswered = rest
        usage = Usage(calls, input_tokens=input_tokens, output_tokens=output_tokens, cost=cost)
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
            to_json(self.sample.model_dump(exclude_defaults=True)),
            to_json(self.verdicts.model_dump(exclude_defaults=True)),
            self.unanswered,
        )

    @classmethod
    def from_row(cls, row: Row) -> StoredSample:
        """The inverse of `row`. Raises `ValueError` if any of it is not as it was put."""
        _, created, model, identity, version, settings, sample, verdicts, unanswered = _sound(
            "samples", row
        )
        return cls(
            Sample.model_validate(parse_line(sample)),
            Verdicts.model_validate(parse_line(verdicts)),
            *(model, version, settings, unanswered, created, identity),
        )


@dataclass(frozen=True)
class StoredRequest:
    """A request that is out in a batch file: all of its future call but the reply.

    Attributes:
        exchange: a digest of the samples and of the judge it was made for.
        form: the name of the reply's form.
        others: as in `StoredCall`.
    """

    key: str
    exchange: str
    model: str
    identity: str
    version: str
    step: str
    vote: int
    sample_key: str
    label: str
    form: str
    created: float = field(default_factory=time.time)

    def row(self) -> Row:
        """As the table ``requests`` keeps it: every field and their checksum."""
        return _with_checksum(
            *(self.key, float(self.created), self.exchange, self.model, self.identity),
            *(self.version, self.step, self.vote, self.sample_key, self.label, self.form),
        )

    @classmethod
    def from_row(cls, row: Row) -> StoredRequest:
        """The inverse of `row`. Raises `ValueError` if any of it is not as it was put."""
        key, created, exchange, model, identity, version, *rest = _sound("requests", row)
        step, vote, sample_key, label, form = rest
        return cls(
            *(key, exchange, model, identity, version, step, vote, sample_key, label, form),
            created,
        )

    def call(self, reply: str | None, usage: Usage) -> StoredCall:
        """The call that it has become; ``reply`` as in `StoredCall`."""
        return StoredCall(
            key=self.key,
            model=self.model,
            version=self.version,
            step=self.step,
            vote=self.vote,
            sample_key=self.sample_key,
            label=self.label,
            reply=reply,
            usage=usage,
            unanswered=reply is None,
            identity=self.identity,
        )


def _with_checksum(*fields: object) -> Row:
    # Half of a surrogate pair cannot be kept, wherever it came from.
    kept = tuple(encodable(each) if isinstance(each, str) else each for each in fields)
    return *kept, _checksum(kept)


def _sound(table: str, row: Row) -> Row:
    """The fields of a row, without its checksum."""
    *fields, checksum = row
    if checksum != _checksum(fields):
        raise ValueError("its checksum is wrong")
    check_types(table, row)
    return tuple(fields)


def _checksum(fields: Sequence[object]) -> str:
    # A damaged text may have become bytes, which JSON has not.
    content = json.dumps(fields, default=repr)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
