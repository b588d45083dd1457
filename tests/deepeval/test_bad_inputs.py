"""A test case that cannot be measured: one clear error."""

from __future__ import annotations

import pytest

from noisesense import InputError, Sample
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.bad_inputs import GOOD_SAMPLE
from support.deepeval_run import case_of


def test_a_test_case_with_images_is_refused() -> None:
    case = case_of(Sample(**GOOD_SAMPLE))
    case.multimodal = True
    with pytest.raises(InputError, match="expected a test case of texts, got one with images"):
        NoiseSensitivityMetric().measure(case)
