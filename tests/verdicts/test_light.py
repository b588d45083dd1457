"""Reading without pydantic: what it takes, the models take too, and to the same effect."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense import NoiseSenseError, Result, Sample, Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS
from noisesense.scoring.results import ResultLine
from noisesense.verdicts.form import LightVerdicts, light_line, light_verdicts
from noisesense.verdicts.recording import recording_fields
from noisesense_adapters.promptfoo.sample import light_lookup
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, BadInput, good_line
from support.tables import Shape, random_pair

SHAPE = Shape(response_claims=(0, 5), chunks=(1, 5), undetermined=0.2, labeled=0.4)
JUNK = st.sampled_from(
    [None, True, 0, -1, 1, 99, 1.0, float("nan"), "", " ", "\ud800", "a", [], {}, [0], [0, 0],
     [True], ["a"], [1.0], {"text": "a"}, {"text": "a", "relevant": 1}]
)  # fmt: skip


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Every container in the data with every key of it."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    found: list[tuple[Any, Any]] = []
    for key, value in items:
        found.append((data, key))
        if isinstance(value, (dict, list)):
            found += _places(value)
    return found


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    """A recording's line, good or with one thing replaced, removed or added."""
    line: dict[str, Any] = recording_fields(*random_pair(draw(st.integers(0, 500)), SHAPE))
    chunks = line["sample"]["retrieved_contexts"]
    if draw(st.booleans()):
        own = line["verdicts"]["chunks"] = copy.deepcopy(chunks)
        for chunk in (*chunks, *own):
            chunk["relevant"] = draw(st.sampled_from([None, True, False]))
            chunk["id"] = draw(st.sampled_from([None, "", "here", "there"]))
            chunk["text"] = draw(st.sampled_from([chunk["text"], chunk["text"], ""]))
    if draw(st.integers(0, 3)) == 0:  # the models alone put positions in order
        for claim in line["verdicts"].get("response_claims", []):
            claim["entailed_by"].reverse()
    change = draw(st.sampled_from(["none", "replace", "remove", "add"]))
    container, key = draw(st.sampled_from(_places(line)))
    if change == "replace":
        container[key] = draw(JUNK)
    elif change == "remove":
        del container[key]
    elif change == "add" and isinstance(container, dict):
        container[draw(st.sampled_from(["undetermined", "chunks", "id", "more"]))] = draw(JUNK)
    return line


def _by_models(line: dict[str, Any]) -> Verdicts | None:
    try:
        sample = Sample.model_validate(line["sample"])
        return Verdicts.model_validate(line["verdicts"]).with_sample(sample)
    except (NoiseSenseError, KeyError):
        return None


def _shown(verdicts: Any) -> Any:
    return [
        [(c.text, c.correct, c.entailed_by, c.undetermined) for c in verdicts.response_claims],
        [(c.text, c.entailed_by, c.undetermined) for c in verdicts.reference_claims],
        verdicts.chunks and [(c.text, c.relevant, c.id) for c in verdicts.chunks],
        verdicts.chunk_count,
    ]


def _same(plain: LightVerdicts, verdicts: Verdicts) -> None:
    assert _shown(plain) == _shown(verdicts)
    for definition in DEFINITIONS:
        ours, theirs = (score(each, definition=definition) for each in (plain, verdicts))
        assert ours.to_dict() == theirs.to_dict()
        assert Result("1", ours).to_dict() == Result("1", theirs).to_dict()
    assert ours.verdicts.to_matrices() == verdicts.to_matrices()


@given(lines())
def test_what_is_read_plainly_is_what_the_models_read(line: dict[str, Any]) -> None:
    sample = line.get("sample")
    verdicts = line.get("verdicts")
    contexts = sample.get("retrieved_contexts") if isinstance(sample, dict) else None
    recorded = light_lookup(json.dumps(line).encode(), sample)
    if recorded is not None:
        read = _by_models(line)
        _same(recorded, read)
        _same(light_verdicts(verdicts, contexts), read)


NAMES = [None, "", "a", "2.0", 0, 7, -3, 10**30, 2.0, -0.0, 2.5, 2.0**53 - 1, 2.0**53, 1e300,
         float("nan"), float("inf"), True, False, [], [2], {}]  # fmt: skip


@pytest.mark.parametrize("field", ["id", "cluster"])
@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_are_read_plainly_as_the_models_read_them(field: str, name: Any) -> None:
    line = {**recording_fields(*random_pair(3, SHAPE)), "id": "1", field: name}
    for content in (line, json.dumps(line).encode()):
        plain = light_line(content)
        try:
            by_models = ResultLine.model_validate(line)
        except NoiseSenseError:
            assert plain is None
            continue
        if plain is None:
            assert name != name, "only JSON has no NaN"
            continue
        assert (plain.id, plain.cluster) == (by_models.id, by_models.cluster)


@pytest.mark.parametrize(
    "bad", [b for b in BAD_INPUTS if b.kind not in ("matrices", "score")], ids=lambda bad: bad.name
)
def test_nothing_bad_is_read_plainly(bad: BadInput) -> None:
    if bad.kind == "verdicts":
        assert light_verdicts(bad.data, GOOD_SAMPLE["retrieved_contexts"]) is None
    elif bad.kind == "sample":
        assert light_lookup(good_line(bad.data), bad.data) is None
    elif bad.data is not None:
        assert light_lookup(bad.data, bad.ask) is None


def test_a_bad_line_anywhere_leaves_it_to_the_models() -> None:
    assert light_lookup(good_line(), GOOD_SAMPLE) is not None
    for bad in (
        b'{"sample": {}, "verdicts": {}}',
        good_line(),  # the same sample again
        good_line({**GOOD_SAMPLE, "reference": "r"})[:-1] + b', "id": "1"}',  # of results
    ):
        assert light_lookup(good_line() + b"\n" + bad, GOOD_SAMPLE) is None


def test_the_askers_labels_win_and_without_chunks_there_are_as_many_as_are_named() -> None:
    first, second = GOOD_SAMPLE["retrieved_contexts"]
    labeled = {**GOOD_SAMPLE, "retrieved_contexts": [{"text": first, "relevant": False}, second]}
    found = light_lookup(good_line(), labeled)
    assert [chunk.relevant for chunk in found.chunks or ()] == [False, None]
    claim = {"text": "a", "correct": False, "entailed_by": [1], "undetermined": [4]}
    assert light_verdicts({"response_claims": [claim]}).chunk_count == 5
    # Lists that do not ascend are left to the models, which order them.
    for changed in ({"entailed_by": [1, 0]}, {"undetermined": [4, 3]}, {"undetermined": [1]}):
        assert light_verdicts({"response_claims": [{**claim, **changed}]}) is None
