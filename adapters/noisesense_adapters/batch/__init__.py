"""Judging by batch files, in rounds: half the price, and no rate limits.

`export_batch` writes the next requests in OpenAI's batch format, `import_answers` reads the
answers. `next_requests` and `put_replies` do the same for any other engine.
"""

from __future__ import annotations

from noisesense_adapters.batch.answers import Imported, import_answers, put_replies
from noisesense_adapters.batch.judge import BatchJudge, BatchRequest
from noisesense_adapters.batch.rounds import Round, export_batch, next_requests

__all__ = [
    "BatchJudge",
    "BatchRequest",
    "Imported",
    "Round",
    "export_batch",
    "import_answers",
    "next_requests",
    "put_replies",
]
