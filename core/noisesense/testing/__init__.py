"""A conformance kit: what an adapter must satisfy, as tests that run against any host.

A third party writes one class, and pytest collects the tests in it::

    from noisesense.testing import AdapterTests, HostRun, Shown, ShownRow

    class TestMyHost(AdapterTests):
        def run(self, samples, judge, *, definition="ragas"):
            ...  # evaluate the samples in the host, and say what it shows

Each test says in its docstring what it demands. No key, no network and no other package is
needed.
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
