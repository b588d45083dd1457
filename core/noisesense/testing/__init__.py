"""A conformance kit: the requirements on an adapter, as tests for any host.

You write one class, and pytest collects the tests in it::

    from noisesense.testing import AdapterTests, HostRun, Shown, ShownRow

    class TestMyHost(AdapterTests):
        def run(self, samples, judge, *, definition="ragas"):
            ...  # evaluate the samples in the host, and return what it shows

The docstring of each test states the requirement. No API key, network or other package is needed.
"""

from noisesense.testing.adapters import AdapterTests, HostRun, Shown, ShownRow
from noisesense.testing.judges import TEXTS, BridgeTests, TableJudge, random_pair

__all__ = [
    "TEXTS",
    "AdapterTests",
    "BridgeTests",
    "HostRun",
    "Shown",
    "ShownRow",
    "TableJudge",
    "random_pair",
]
