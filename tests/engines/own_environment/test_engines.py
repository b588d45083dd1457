"""The page's examples on Spark and Ray Data: the same summary as in one process, bit for bit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from noisesense import Result, Summary, score
from noisesense_adapters.datasets import score_dataset
from support.tables import Shape, random_pairs

PAGE = Path(__file__).parents[3] / "adapters" / "noisesense_adapters" / "table" / "README.md"
EXAMPLES: dict[str, str] = dict(
    re.findall(r"^```python title=(\S+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
)
ASKED = "\nprint(json.dumps(tally.summary().to_dict(), sort_keys=True))\n"


SHAPE = Shape(response_claims=(0, 4), chunks=(1, 4), undetermined=0.1, labeled=0.2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``verdicts.jsonl`` for the examples, with one line that cannot be read."""
    results = [
        Result(sample.key, score(verdicts.with_sample(sample)), sample=sample, unanswered=n % 2)
        for n, (sample, verdicts) in enumerate(random_pairs(500, shape=SHAPE))
    ]
    lines = [each.to_json() for each in results]
    lines[77] = lines[77][:50]
    (tmp_path / "verdicts.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return tmp_path


def run(folder: Path, name: str, more: str) -> str:
    (folder / f"run_{name}").write_text(EXAMPLES[name] + more, "utf-8")
    variables = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    done = subprocess.run(
        [sys.executable, f"run_{name}"],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["spark.py", "ray.py"])
def test_the_summary_of_a_cluster_is_that_of_one_process(folder: Path, name: str) -> None:
    printed = run(folder, name, "\nimport json" + ASKED).splitlines()
    whole: Summary = score_dataset(folder / "verdicts.jsonl")
    assert whole.samples == 500
    assert whole.failed == 1
    assert json.loads(printed[-1]) == json.loads(json.dumps(whole.to_dict()))
    assert printed[-2] == str(whole.relevant and whole.relevant.mean and whole.relevant.mean.value)
