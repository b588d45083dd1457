"""How models write replies: DRAFT and FINAL stand for two different answers of the form.

`KNOWN` formats hold FINAL as the endpoint's or the model's own marking says; a reader must read
it. In `UNCLEAR` ones no marking says which is meant, or the reply is no answer: reading nothing is
right, FINAL is allowed, DRAFT never is. Each is also cut at every character.
"""

from __future__ import annotations

import json
from pathlib import Path

_FORMATS = json.loads((Path(__file__).parent / "data" / "formats.json").read_text("utf-8"))
KNOWN: dict[str, str] = _FORMATS["known"]
UNCLEAR: dict[str, str] = _FORMATS["unclear"]
