"""Noise sensitivity as a Promptfoo Python assertion.

A one-line file beside ``promptfooconfig.yaml`` is all it takes::

    from noisesense_adapters.promptfoo import get_assert

``value: file://that_file.py`` then names it; ``noisesense promptfoo-init`` writes both. See
`get_assert` for what the assertion reads and returns.
"""

from __future__ import annotations

from noisesense_adapters.promptfoo.metric import get_assert

__all__ = ["get_assert"]
