"""The page's examples on Spark and Ray Data: the same summary as in one process, bit for bit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import pytest

from noisesense import (
    Result,
    Sample,
    Summary,
    Verdicts,
    VerdictStore,
    read_results,
    score,
    summarize,
)
from noisesense_adapters.datasets import score_dataset
from support.mind import Mind
from support.server import ScriptedServer

PAGE = Path(__file__).parents[3] / "adapters" / "noisesense_adapters" / "table" / "README.md"
EXAMPLES: dict[str, str] = dict(
    re.findall(r"^```python title=(\S+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
)
ASKED = "\nprint(json.dumps(tally.summary().to_dict(), sort_keys=True))\n"


def pair(n: int) -> tuple[Sample, Verdicts]:
    """No two alike: open verdicts, labels, and responses of 0 to 4 claims."""
    chunks = [f"chunk {j} of sample {n}" for j in range(1 + n % 4)]
    claims = range(n % 5)
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [
                {
                    "text": f"claim {i} of sample {n}",
                    "correct": [True, False, None, False][(n + i) % 4],
                    "entailed_by": [j for j in range(len(chunks)) if (n + i + j) % 3 == 0],
                    "undetermined": [
                        j for j in range(len(chunks)) if (n * i + j) % 7 == 1 and (n + i + j) % 3
                    ],
                }
                for i in claims
            ],
            "reference_claims": [{"text": f"fact of sample {n}", "entailed_by": [0]}],
        }
    )
    sample = Sample(
        user_input=f"question {n}?",
        response=f"response {n}",
        reference=f"reference {n}",
        retrieved_contexts=chunks,
    )
    return sample, verdicts


PART = 100_000
"""Samples in a file of several: Ray Data holds a file of three gigabytes in memory."""


@pytest.fixture
def samples(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("samples"))


@pytest.fixture
def folder(tmp_path: Path, samples: int) -> Path:
    """``whole.jsonl``, and the same for the examples: a file, or a folder of several."""
    results = [
        Result(sample.key, score(verdicts.beside(sample)), sample=sample, unanswered=n % 2)
        for n, (sample, verdicts) in enumerate(map(pair, range(500)))
    ]
    lines = [each.to_json() for each in results]
    lines[77] = lines[77][:50]  # and one line that cannot be read
    given = tmp_path / "verdicts.jsonl"
    if samples > PART:
        given.mkdir()
    with (tmp_path / "whole.jsonl").open("w", encoding="utf-8") as whole:
        for start in range(0, samples, PART):
            count = min(PART, samples - start)
            some = "".join(f"{line}\n" for line in islice(cycle(lines), count))
            whole.write(some)
            part = given / f"{start}.jsonl" if given.is_dir() else given
            part.write_text(some, "utf-8")
    return tmp_path


def run(folder: Path, name: str, more: str = "", timeout: float = 300, **env: str) -> str:
    (folder / f"run_{name}").write_text(EXAMPLES[name] + more, "utf-8")
    variables = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_USAGE_STATS_ENABLED": "0",
        **env,
    }
    done = subprocess.run(
        [sys.executable, f"run_{name}"],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["spark.py", "ray.py"])
def test_the_summary_of_a_cluster_is_that_of_one_process(
    folder: Path, samples: int, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.monotonic()
    printed = run(folder, name, "\nimport json" + ASKED, timeout=3000).splitlines()
    cluster = time.monotonic() - start
    whole: Summary = score_dataset(folder / "whole.jsonl")
    one = time.monotonic() - start - cluster
    assert (whole.samples, whole.failed) == (samples, samples // 500)
    assert json.loads(printed[-1]) == json.loads(json.dumps(whole.to_dict()))
    assert printed[-2] == str(whole.relevant and whole.relevant.mean and whole.relevant.mean.value)
    with capsys.disabled():
        print(f"\n{name}: {samples:,} samples, {cluster:.0f} s, one process {one:.0f} s: the same")


def test_a_cluster_judges_as_one_process_does(folder: Path) -> None:
    pairs = [pair(n) for n in range(24)]
    texts = [json.dumps(sample.model_dump(exclude_defaults=True)) for sample, _ in pairs]
    (folder / "texts.jsonl").write_text("".join(f"{line}\n" for line in texts), "utf-8")
    with ScriptedServer(Mind(pairs), latency=0.02) as server:
        run(folder, "judge.py", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="any")
        calls, most = server.log.calls, server.log.concurrency
    assert most <= 2 * 4
    found = {each.id: each.score for each in read_results(folder / "results.jsonl")}
    for sample, verdicts in pairs:
        expected = score(verdicts.beside(sample))
        one = found[sample.key]
        assert one
        assert one.bounds("relevant") == expected.bounds("relevant")
        assert one.bounds("irrelevant") == expected.bounds("irrelevant")
    assert len(found) == len(pairs)
    stores = sorted(folder.glob("judged-*.db"))
    assert len(stores) == 2
    with VerdictStore(folder / "all.db") as merged:
        kept = 0
        for path in stores:
            with VerdictStore(path) as store:
                kept += sum(each.calls for each in store.stats())
                merged.merge(store)
        assert sum(each.calls for each in merged.stats()) == kept > len(pairs)
    whole = summarize(read_results(folder / "results.jsonl"))
    assert (whole.scored, whole.usage.calls) == (len(pairs), calls)
