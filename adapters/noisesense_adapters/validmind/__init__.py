"""Noise sensitivity as a ValidMind test, in the place of ValidMind's own.

>>> import validmind as vm  # doctest: +SKIP
>>> import noisesense_adapters.validmind  # registers the test  # doctest: +SKIP
>>> vm.tests.run_test(
...     "noisesense.NoiseSensitivity",
...     inputs={"dataset": dataset},
...     params={"mode": "both", "judge": "verdicts.jsonl"},
... )  # doctest: +SKIP
"""

from noisesense_adapters.extras import needs_extra

with needs_extra(
    "validmind",
    where="in an environment of its own: ValidMind holds back what other frameworks need",
):
    from noisesense_adapters.validmind.metric import TEST_ID, NoiseSensitivity

__all__ = ["TEST_ID", "NoiseSensitivity"]
