"""Rooms that only their own command needs: without them, all else works as before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.datasets import write_jsonl
from support.tables import random_pair

LEAVES = [
    "noisesense_adapters.demo",
    "noisesense_adapters.report",
    "noisesense_adapters.table",
    "noisesense_adapters.datasets.answering",
    "noisesense.ablation",
]

# They are not there, as if their folders had been deleted.
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if any(name == room or name.startswith(room + ".") for room in sys.argv[2:]):
            raise ModuleNotFoundError(f"{name} was deleted", name=name)

sys.meta_path.insert(0, Missing())
import noisesense_adapters.deepeval, noisesense_adapters.promptfoo, noisesense_adapters.ragas
from noisesense_adapters.cli.app import app

app.main(args=["score", sys.argv[1]])
"""


def test_hosts_and_the_score_command_work_without_the_leaf_rooms(tmp_path: Path) -> None:
    sample, verdicts = random_pair(3)
    line = {"sample": sample.model_dump(mode="json"), "verdicts": verdicts.model_dump(mode="json")}
    data = write_jsonl(tmp_path / "data.jsonl", [line])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(data), *LEAVES], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 sample, " in done.stdout
