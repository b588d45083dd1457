"""Every bad input gives one clear error, in one line, that names the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noisesense import NoiseSenseError, RecordedJudge, Sample, Verdicts, score
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, GOOD_VERDICTS, BadInput, recording_of


def _drive(bad: BadInput, folder: Path) -> None:
    if bad.kind == "sample":
        Sample.model_validate(bad.data)
    elif bad.kind == "verdicts":
        Verdicts.model_validate(bad.data).with_sample(Sample.model_validate(GOOD_SAMPLE))
    elif bad.kind == "matrices":
        Verdicts.from_matrices(**bad.data)
    elif bad.kind == "recording":
        RecordedJudge(recording_of(bad, folder)).lookup(Sample.model_validate(bad.ask))
    else:
        _score(**bad.data)


def _score(mode: Any = "relevant", **arguments: Any) -> None:
    score(Verdicts.model_validate(GOOD_VERDICTS), **arguments).value(mode)


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=lambda bad: bad.name)
def test_a_bad_input_is_one_short_line_that_names_the_place(bad: BadInput, tmp_path: Path) -> None:
    with pytest.raises(NoiseSenseError) as caught:
        _drive(bad, tmp_path)

    assert type(caught.value) is bad.error
    message = str(caught.value)
    assert "\n" not in message
    assert "expected " in message
    assert ", got " in message
    assert [name for name in bad.names if name not in message] == []
    assert len(message) < 400
