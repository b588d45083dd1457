"""What a report's page holds: its blocks of data, packed or not."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def block(page: str, name: str) -> str:
    found = re.search(rf'<script type="[^"]+" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found
    return found[1]


def packed_lines(page: str, name: str) -> list[Any]:
    """The JSON lines of a packed block."""
    packs = map(base64.b64decode, block(page, name).split())
    return [json.loads(line) for pack in packs for line in zlib.decompress(pack).split(b"\n")]
