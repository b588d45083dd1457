"""The fault table: what an endpoint or a model does wrong, and what must come of it.

Two samples of the same verdicts are judged at once; the fault strikes requests about one of
them, `STRUCK`. Every bridge runs this table through its real client::

    with ScriptedServer(mind(), script=fault.script()) as server: ...

By hand, for each sample: claim 1 is correct; claim 2 is not, and chunk 0 entails it, which is
relevant (it entails the reference's first claim); claim 3 is not, and only chunk 1 entails it.
So both modes score 1/3, in C + 3 = 6 calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

from noisesense import Sample, Verdicts
from support import misbehavior as bad
from support import odd_replies as odd
from support.formats import KNOWN, UNCLEAR
from support.mind import Mind, items_of, reply_of
from support.misbehavior import Misbehavior, Script
from support.tables import sample_of

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

RETRIES = 1  # of the client: the table's numbers of requests go with it
STRUCK = "Zork"
TRUTH = 1 / 3
MAX_WAIT = 1.0  # seconds, for a busy provider
CALLS = 6

T = TypeVar("T")
Outcome = Literal["exact", "partial", "undefined", "unusable", "failed", "safe"]
Items = list[dict[str, Any]]


@dataclass(frozen=True)
class Fault:
    """One row.

    Attributes:
        misbehavior: of the endpoint, for each request about `STRUCK`.
        outcome: for that sample; the others are always exact. "exact": its true score.
            "partial": cells stay open, and the truth lies within the bounds. "undefined": no
            score in either mode. "unusable": `ReplyError`. "failed": another `JudgeError`.
            "safe": any of these, as the client has it.
        requests: the most HTTP requests that may be made about that sample.
        times: how many requests go wrong, None for all.
        verdicts_only: replies with claims are sound.
    """

    id: str
    misbehavior: Misbehavior
    outcome: Outcome
    requests: int
    times: int | None = None
    verdicts_only: bool = False

    def script(self) -> Script:
        """Of a fresh server: it counts."""
        struck = 0

        def misbehave(index: int, prompt: str) -> Misbehavior | None:
            nonlocal struck
            if STRUCK not in prompt or (self.verdicts_only and "Statements:" not in prompt):
                return None
            struck += 1
            return self.misbehavior if self.times is None or struck <= self.times else None

        return misbehave


def pairs() -> list[tuple[Sample, Verdicts]]:
    return [pair(name) for name in ("Alba", STRUCK)]


def mind() -> Mind:
    return Mind(pairs())


def pair(name: str) -> tuple[Sample, Verdicts]:
    verdicts = Verdicts.from_matrices(
        reference_to_response=[True, False, False],
        chunks_to_response=[[True, False, False], [True, True, False], [False, True, False]],
        chunks_to_reference=[[True, False, False], [False, False, False]],
        response_claims=[f"{name} says claim {i}." for i in "123"],
        reference_claims=[f"{name} is known for fact {i}." for i in "12"],
        chunks=[f"Passage {i} on {name}." for i in "012"],
    )
    return sample_of(verdicts, f"Who is {name}?"), verdicts


def other_cells(found: Verdicts, truth: Verdicts) -> bool:
    """Is any verdict given that is not the true one?"""
    table = found.to_matrices()
    true_table = truth.to_matrices()
    rows = [(table["reference_to_response"], true_table["reference_to_response"])]
    rows += zip(table["chunks_to_response"], true_table["chunks_to_response"], strict=True)
    # Without claims of the reference there is no row of them.
    reference = true_table["chunks_to_reference"] or []
    rows += zip(table["chunks_to_reference"] or [], reference, strict=False)
    for row, true_row in rows:
        for cell, true in zip(row, true_row, strict=True):
            if cell not in (None, true):
                return True
    return False


def in_verdicts(name: str, change: Callable[[Items], Items]) -> Misbehavior:
    """The verdicts of a reply changed; a reply with claims is left as it is."""

    def mutate(text: str) -> str:
        return text if "claims" in json.loads(text) else reply_of(change(items_of(text)))

    return bad.mutated(name, mutate)


def _each(**changes: Callable[[Any], Any]) -> Callable[[Items], Items]:
    """Fields of every verdict changed."""
    return lambda items: [
        {key: changes.get(key, lambda value: value)(value) for key, value in item.items()}
        for item in items
    ]


def _shifted(items: Items, by: int, said: object, place: int) -> Items:
    """Each number moved, and one of the answers in place of which something else is said."""
    moved = [{**item, "id": item["id"] + by} for item in items]
    moved[place]["entailed"] = said
    return moved


def _padded(text: str) -> str:
    return text[:-1] + " " * 1_000_000 + "}"


def _flipped(text: str) -> str:
    """Another reply of the same form."""
    reply = json.loads(text)
    if "claims" in reply:
        return json.dumps({"claims": reply["claims"][:1]})
    return reply_of([{**item, "entailed": not item["entailed"]} for item in items_of(text)])


def drafted(form: str) -> Callable[[str], str]:
    """The reply in one of the `DRAFTS`, with another reply as its draft."""
    return lambda text: form.replace("DRAFT", _flipped(text)).replace("FINAL", text)


def _cut_at(form: str, share: float) -> Callable[[str], str]:
    def mutate(text: str) -> str:
        whole = drafted(form)(text)
        return whole[: int(len(whole) * share)]

    return mutate


def _twice(text: str) -> str:
    """Each verdict says both."""
    other = {"yes": "no", "no": "yes"}
    return re.sub(
        r'("\d+"): "(yes|no)"', lambda said: f'{said[0]}, {said[1]}: "{other[said[2]]}"', text
    )


def _nested(levels: int) -> Callable[[str], str]:
    return lambda text: text[:-1] + ', "note": ' + "[" * levels + "1" + "]" * levels + "}"


def _in_usage(**figures: object) -> Callable[[dict[str, Any]], object]:
    return lambda completion: {**completion, "usage": {**completion["usage"], **figures}}


def _with(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda completion: {**completion, **fields}


def _error(status: int, code: str, message: str = "scripted", **fields: str) -> Misbehavior:
    error = {"message": message, "type": "invalid_request_error", "code": code, **fields}
    return bad.http_error(status, message=json.dumps({"error": error}))


# The first two calls (the claims of the response and of the reference) go out side by side.
# Where they fail, each is tried 1 + RETRIES times and nothing else is asked: 4 requests.
_NEVER = 4
# A busy provider is asked again as long as the judge waits, `MAX_WAIT` in these tests: by each of
# the two calls, after each pause of 0.2 s or more, and by its client as well.
_BUSY = 2 * 2 * (1 + RETRIES) * 3
# Where they cannot be read, that of the response is asked 3 times (max_reasks=2), and that of the
# reference not again before the other is there: 4 requests.
_SPOILED = 4
# Where verdicts cannot be read: 2 lists of claims, then each of 1 + C checks is asked 3 times.
_NO_VERDICT = 2 + 3 * 4

# Replies that think first. Cut anywhere, what is read is the answer or nothing.
DRAFTS = {name: form for name, form in KNOWN.items() if "DRAFT" in form}

_BEFORE: tuple[Fault, ...] = (
    # The endpoint. Its client tries again; after that the sample fails, and says so.
    Fault("429", bad.RATE_LIMITED, "failed", _BUSY),
    Fault("429, Retry-After", bad.http_error(429, retry_after="0.2"), "failed", _BUSY),
    Fault("503", bad.http_error(503), "failed", _BUSY),
    Fault("529", bad.http_error(529), "failed", _BUSY),
    Fault("500", bad.SERVER_ERROR, "failed", _NEVER),
    Fault("timeout", bad.HANG, "failed", _NEVER),
    Fault("cut mid-reply", bad.CUT_MID_REPLY, "failed", _NEVER),
    Fault("cut before the reply", bad.CUT_BEFORE_REPLY, "failed", _NEVER),
    Fault("401", bad.http_error(401), "failed", 2),
    Fault("400", bad.http_error(400), "failed", 8),  # each of two in three forms, or unlimited
    Fault("429 once", bad.RATE_LIMITED, "exact", CALLS + 1, times=1),
    Fault("429 once, Retry-After", bad.http_error(429, retry_after="0.2"), "exact", 7, times=1),
    Fault("500 once", bad.SERVER_ERROR, "exact", CALLS + 1, times=1),
    Fault("timeout once", bad.HANG, "exact", CALLS + 1, times=1),
    Fault("cut once", bad.CUT_MID_REPLY, "exact", CALLS + 1, times=1),
    # The reply as a whole. It is asked for again; after that there is nothing to go on with.
    Fault("invalid JSON", bad.INVALID_JSON, "unusable", _SPOILED),
    Fault("truncated", bad.TRUNCATED, "unusable", _SPOILED),
    Fault("schema violation", bad.SCHEMA_VIOLATION, "unusable", _SPOILED),
    Fault("refusal", bad.REFUSAL, "unusable", _SPOILED),
    Fault("content filter", bad.FILTERED, "unusable", _SPOILED),
    Fault("empty reply", bad.EMPTY, "unusable", _SPOILED),
    Fault("1 MB of prose", bad.ONE_MEGABYTE, "unusable", _SPOILED),
    Fault("1 MB of JSON", bad.mutated("padded", _padded), "exact", CALLS),
    Fault("invalid JSON once", bad.INVALID_JSON, "exact", CALLS + 1, times=1),
    Fault("truncated once", bad.TRUNCATED, "exact", CALLS + 1, times=1),
    Fault("refusal once", bad.REFUSAL, "exact", CALLS + 1, times=1),
    Fault("empty once", bad.EMPTY, "exact", CALLS + 1, times=1),
    Fault("garbage for verdicts", bad.EMPTY, "undefined", _NO_VERDICT, verdicts_only=True),
    Fault("refused verdicts", bad.REFUSAL, "undefined", _NO_VERDICT, verdicts_only=True),
)

REPLIES: tuple[Fault, ...] = (
    # Verdicts one by one. Only what is missing is asked for again, and stays open if it stays so.
    Fault("reordered", in_verdicts("reordered", lambda v: v[::-1]), "exact", CALLS),
    Fault("duplicated", in_verdicts("duplicated", lambda v: v + v), "exact", CALLS),
    Fault("more", in_verdicts("more", lambda v: [*v, {**v[0], "id": 77}]), "exact", CALLS),
    Fault("fewer once", in_verdicts("fewer", lambda v: v[:-1]), "exact", CALLS + 1, 3),
    Fault("fewer", in_verdicts("fewer", lambda v: v[:-1]), "partial", _NO_VERDICT),
    Fault(
        "contradictory",
        in_verdicts("contradictory", lambda v: v + _each(entailed=lambda e: not e)(v)),
        "undefined",
        _NO_VERDICT,
    ),
    Fault(
        "one contradictory",
        in_verdicts("one contradictory", lambda v: [*v, *_each(entailed=lambda e: not e)(v[:1])]),
        "partial",
        _NO_VERDICT,
    ),
    Fault("trailing comma", bad.mutated(",}", lambda text: text[:-1] + ",}"), "exact", CALLS),
    Fault("bare list", bad.mutated("[]", lambda t: t[t.index("[") : -1]), "unusable", _SPOILED),
    Fault(
        "ids 0 to N",
        in_verdicts("0…N", lambda v: [{**v[0], "id": 0}, *v]),
        "undefined",
        _NO_VERDICT,
    ),
    Fault(
        "ids 1 to N + 1",
        in_verdicts("1…N+1", lambda v: [*v, {**v[0], "id": len(v) + 1}]),
        "undefined",
        _NO_VERDICT,
    ),
    Fault("a key twice", bad.mutated("twice", _twice), "undefined", _NO_VERDICT),
    Fault("the prompt's example", bad.says('{"claims":["…"]}'), "unusable", _SPOILED),
    *(
        Fault(name, in_verdicts(name, change), "undefined", _NO_VERDICT)
        for name, change in {
            "0 unclear, then a shift": lambda v: _shifted(v, -1, "unclear", 0),
            "2 to N + 1, null last": lambda v: _shifted(v, 1, None, -1),
            "words for N + 1": lambda v: [*v, {"id": len(v) + 1, "entailed": "Not provided."}],
        }.items()
    ),
    Fault("unknown ids", in_verdicts("+90", _each(id=lambda i: i + 90)), "undefined", _NO_VERDICT),
    Fault("ids from 0", in_verdicts("-1", _each(id=lambda i: i - 1)), "undefined", _NO_VERDICT),
    # Thoughts before the reply, and what is left of them when it is cut.
    *(
        Fault(f"draft, {name}", bad.mutated(name, drafted(form)), "exact", CALLS)
        for name, form in DRAFTS.items()
    ),
    *(
        Fault(f"draft, {name}, cut", bad.mutated(name, _cut_at(form, 0.5)), "safe", _NO_VERDICT)
        for name, form in DRAFTS.items()
    ),
    # Nothing marks one of two replies as the answer, or something follows it.
    *(
        Fault(f"unclear, {name}", bad.mutated(name, drafted(form)), "unusable", _SPOILED)
        for name, form in UNCLEAR.items()
    ),
)

_AFTER: tuple[Fault, ...] = (
    # What a client may choke on.
    Fault("usage in words", Misbehavior("10", reshape=_in_usage(prompt_tokens="10")), "safe", 18),
    Fault("usage below 0", Misbehavior("-10", reshape=_in_usage(prompt_tokens=-10)), "safe", 18),
    Fault("no usage", Misbehavior("usage", reshape=_with(usage=None)), "safe", 18),
    Fault("choices an object", Misbehavior("{}", reshape=_with(choices={"a": 1})), "safe", 18),
    Fault("no choices", Misbehavior("[]", reshape=_with(choices=[])), "safe", 18),
    Fault("choices null", Misbehavior("null", reshape=_with(choices=None)), "safe", 18),
    Fault("a list", Misbehavior("list", reshape=lambda completion: [completion]), "safe", 18),
    *(
        Fault(f"{levels} levels", bad.mutated("deep", _nested(levels)), "safe", 18)
        for levels in (300, 490, 700, 990, 20_000)
    ),
    # What a provider says is wrong. Another form of the request would be refused, too.
    Fault("400, context", _error(400, "context_length_exceeded"), "failed", 2),
    Fault("400, filter", _error(400, "content_filter"), "failed", 2),
    Fault("400, option", _error(400, "unsupported_parameter", param="top_k"), "failed", 8),
    Fault("429, quota", _error(429, "insufficient_quota"), "failed", _NEVER),
)

FAULTS: tuple[Fault, ...] = (*_BEFORE, *REPLIES, *_AFTER)


def _beside(key: str, value: object) -> Callable[[str], str]:
    return lambda text: f"{text[:-1]}, {json.dumps(key)}: {json.dumps(value)}}}"


def _numbers(form: str) -> Callable[[Items], Items]:
    return _each(id=lambda number: form.format(number))


def _digits(digits: str) -> Callable[[Items], Items]:
    return _each(id=lambda number: digits[number - 1])


def _words(yes: object, no: object) -> Callable[[Items], Items]:
    return _each(entailed=lambda is_entailed: yes if is_entailed else no)


def _swapped(old: str, new: str, text: str) -> str:
    return text.replace(old, new)


def _claims(change: Callable[[list[str]], object]) -> Callable[[str], str]:
    def mutate(text: str) -> str:
        reply = json.loads(text)
        if "claims" in reply:
            reply["claims"] = change(reply["claims"])
        return json.dumps(reply)

    return mutate


def _filled(value: Any, final: str) -> Any:
    """With the true reply and another one in place of their names, however deep they stand."""
    written = json.dumps(value)
    for name, text in (("FINAL", final), ("DRAFT", _flipped(final))):
        written = written.replace(name, json.dumps(text)[1:-1])
    return json.loads(written)


def _text_of(completion: dict[str, Any]) -> str:
    message = completion["choices"][0]["message"]
    return message["content"] or message["tool_calls"][0]["function"]["arguments"]


def _choice(choice: object) -> Callable[[dict[str, Any]], object]:
    def reshape(completion: dict[str, Any]) -> object:
        return {**completion, "choices": [_filled(choice, _text_of(completion))]}

    return reshape


def _message(fields: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return _choice({"message": {"role": "assistant", **fields}, "finish_reason": "stop"})


def _failed(completion: dict[str, Any]) -> object:
    """With another reply of the same form, and an error beside the choices."""
    message = {"role": "assistant", "content": "DRAFT"}
    choices = [{"message": message, "finish_reason": "stop"}]
    drafted = {"choices": choices, **odd.LISTED["failed"]["error"]}
    return {**completion, **_filled(drafted, _text_of(completion))}


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[dict[str, Any]], object]:
    return lambda completion: change(json.dumps(completion).encode())


def _ended(reason: object) -> Misbehavior:
    """Another reply of the same form, which does not say that it is whole."""
    return Misbehavior(str(reason), finish_reason=reason, mutate=_flipped)


def _further() -> Iterator[Fault]:
    """What `support.odd_replies` lists."""
    for name, texts, outcome, most in _odd_texts():
        yield Fault(name, texts, outcome, most)
    for name, message, outcome in _odd_messages():
        most = _SPOILED if outcome == "unusable" else _NO_VERDICT
        yield Fault(name, message, outcome, most)
    for status in odd.LISTED["statuses"]:
        page = bad.http_error(status, message=odd.HTML.decode())
        yield Fault(f"status: {status}", page, "failed" if status >= 300 else "unusable", 8)


def _odd_verdicts() -> Iterator[tuple[str, Misbehavior]]:
    """Verdicts in forms that are none."""
    for form in odd.LISTED["numbers"]:
        yield f"number: {form}", in_verdicts(form, _numbers(form))
    for digits in odd.LISTED["digits"]:
        yield f"digits: {digits}", in_verdicts(digits, _digits(digits))
    for yes, no in odd.LISTED["unread"]:
        yield f"unread: {yes!r}", in_verdicts(str(yes), _words(yes, no))


def _odd_texts() -> Iterator[tuple[str, Misbehavior, Outcome, int]]:
    """What may be wrong with the text of a reply."""
    for key, value in odd.LISTED["beside"].items():
        yield f"beside: {key}", bad.mutated(key, _beside(key, value)), "unusable", _SPOILED
    for name, words in _odd_verdicts():
        yield name, words, "undefined", _NO_VERDICT
    for yes, no in odd.LISTED["read"]:
        yield f"read: {yes!r}", in_verdicts(str(yes), _words(yes, no)), "exact", CALLS
    for name, form in odd.LISTED["plain"].items():
        yield f"plain: {name}", bad.mutated(name, drafted(form)), "exact", CALLS
    for name, form in odd.LISTED["texts"].items():
        yield f"text: {name}", bad.mutated(name, drafted(form)), "unusable", _SPOILED
    for name, (old, new) in odd.LISTED["swaps"].items():
        swapped = bad.mutated(name, partial(_swapped, old, new))
        yield f"swap: {name}", swapped, "safe", _NO_VERDICT
    for name, change in odd.CLAIMS.items():
        yield f"claims: {name}", bad.mutated(name, _claims(change)), "unusable", _SPOILED


def _odd_messages() -> Iterator[tuple[str, Misbehavior, Outcome]]:
    """What may be wrong around the text."""
    for reason in odd.LISTED["ends"]:
        yield f"ended: {reason}", _ended(reason), "unusable"
    for name, fields in odd.LISTED["messages"].items():
        yield f"message: {name}", Misbehavior(name, reshape=_message(fields)), "safe"
    # LangChain itself refuses content that is no text, which is a failed call and not asked again.
    for name, fields in odd.LISTED["no messages"].items():
        outcome: Outcome = "safe" if name in odd.REFUSED_BY_CLIENTS else "unusable"
        yield f"no message: {name}", Misbehavior(name, reshape=_message(fields)), outcome
    for name, choice in odd.LISTED["no choices"].items():
        yield f"no choice: {name}", Misbehavior(name, reshape=_choice(choice)), "safe"
    yield "body: an error beside it", Misbehavior("error", reshape=_failed), "safe"
    for name, (change, headers) in odd.BODIES.items():
        sent = Misbehavior(name, headers=headers, reshape=_bytes(change))
        yield f"body: {name}", sent, "safe"


FURTHER: tuple[Fault, ...] = tuple(_further())


def _envelopes() -> Iterator[Fault]:
    """Another reply of the same form beside a field that says it failed, in two places."""
    for name, fields in odd.LISTED["failed"].items():
        inside = _choice({"message": {"role": "assistant", "content": "DRAFT"}, **fields})
        outside = Misbehavior(name, reshape=_with(**fields), mutate=_flipped)
        yield Fault(f"reply: {name}", outside, "unusable", _SPOILED)
        yield Fault(f"choice: {name}", Misbehavior(name, reshape=inside), "unusable", _SPOILED)


ENVELOPES: tuple[Fault, ...] = tuple(_envelopes())


def envelopes_through(clients: Sequence[str]) -> list[ParameterSet]:
    """Each envelope with each client; in every run with one of them, by turns."""
    return [
        pytest.param(
            fault,
            client,
            id=f"{fault.id}-{client}",
            marks=[] if number % len(clients) == place else [pytest.mark.broad],
        )
        for number, fault in enumerate(ENVELOPES)
        for place, client in enumerate(clients)
    ]


def faults_through(clients: Mapping[str, T], every: Sequence[str]) -> list[ParameterSet]:
    """Each fault with each client, most of them among the broad tests only.

    In every run, what is wrong in the text of a reply goes through one of ``every``, by turns:
    all clients hand the text to the same reader. Another fault goes through one of all clients,
    by turns; of the further ones each seventh.
    """

    def usual(number: int, fault: Fault) -> str:
        if fault in FURTHER and number % 7:
            return ""
        turns = every if fault in REPLIES else list(clients)
        return turns[number % len(turns)]

    return [
        pytest.param(
            fault,
            client,
            id=f"{fault.id}-{name}",
            marks=[] if name == usual(number, fault) else [pytest.mark.broad],
        )
        for number, fault in enumerate((*FAULTS, *FURTHER))
        for name, client in clients.items()
    ]
