"""A provider of batches as its files show it: requests in, output and error files out.

::

    provider = BatchProvider(mind, expired=0.02, malformed=0.02)
    answers = provider.run(path, folder)

Of the requests it sees for the first time, a share drawn at random, the same in each run, expires,
and another gets half of its reply. Answers come back in another order than they were asked in.
Uploading is the user's, by the provider's own client.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from support.chat import completion, prompt_of
from support.misbehavior import Misbehavior
from support.server import Mind

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000


class BatchProvider:
    """Answers files of requests.

    Args:
        mind: answers the prompts.
        expired: the share of requests that expire.
        malformed: the share of replies that break off.
    """

    def __init__(self, mind: Mind, *, expired: float = 0.0, malformed: float = 0.0) -> None:
        self.mind = mind
        self._shares = {"expired": expired, "malformed": malformed}
        self._random = random.Random(0)
        self._files = 0
        self.seen: set[str] = set()
        self.requests = 0
        self.counts = {"expired": 0, "malformed": 0}

    def run(self, path: Path, folder: Path) -> list[Path]:
        """The files of answers to a file of requests."""
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines) <= MOST_REQUESTS
        assert path.stat().st_size <= MOST_BYTES
        answers = [self._one(line) for line in lines]
        found: list[Path] = []
        for failed in (False, True):
            chosen = [each for each in answers[::-1] if bool(each["error"]) is failed]
            if chosen:
                found.append(folder / f"file-{self._files}.jsonl")
                found[-1].write_text("".join(f"{json.dumps(each)}\n" for each in chosen), "utf-8")
                self._files += 1
        return found

    def _one(self, line: dict[str, Any]) -> dict[str, Any]:
        assert line["method"] == "POST"
        assert line["url"] == "/v1/chat/completions"
        key = line["custom_id"]
        body = line["body"]
        assert body["response_format"]["json_schema"]["strict"] is True
        self.requests += 1
        fault = "" if key in self.seen else self._fault()
        self.seen.add(key)
        answer = {"id": f"batch_req_{self.requests}", "custom_id": key, "response": None}
        if fault:
            self.counts[fault] += 1
        if fault == "expired":
            message = "This request could not be executed before the completion window expired."
            return {**answer, "error": {"code": "batch_expired", "message": message}}
        prompt = prompt_of(body)
        text = self.mind.answer(prompt)
        text = text[: len(text) // 2] if fault else text
        reply = completion(body, self.requests, prompt, text, Misbehavior(""))
        answer["response"] = {"status_code": 200, "request_id": "r", "body": reply}
        return {**answer, "error": None}

    def _fault(self) -> str:
        drawn = self._random.random()
        for fault, share in self._shares.items():
            if drawn < share:
                return fault
            drawn -= share
        return ""
