"""``noisesense score --judge``: which model is asked, and what is said if it cannot be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noisesense import Result, read_results
from noisesense.fixtures import reference_examples
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.report import write_report
from support.command import environment, run
from support.command_here import Done, run_here
from support.datasets import rows, write_jsonl
from support.mind import Mind
from support.misbehavior import Misbehavior, says, when
from support.server import ScriptedServer

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
KEY = "sk-canary-judge"
Judged = Callable[..., Done]
UNAUTHORIZED = Misbehavior("unauthorized", status=401)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Mind(PAIRS), api_key=KEY) as running:
        yield running


def texts(folder: Path, times: int = 1) -> Path:
    """The examples as rows of texts; their labels are in the chunks."""
    lines = [sample.model_dump(mode="json") for sample, _ in PAIRS] * times
    return write_jsonl(folder / "texts.jsonl", lines)


def options(server: ScriptedServer, model: str = "openai:scripted") -> list[str]:
    return ["--judge", model, "--base-url", server.base_url, "--api-key-env", "THE_KEY"]


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Runs ``noisesense score`` in this process, with no key in its environment but the given."""
    for name in os.environ.keys() - environment().keys():
        monkeypatch.delenv(name)

    def judge(*arguments: str | Path, key: str = KEY, **env: str) -> Done:
        for name, value in {"THE_KEY": key, **env}.items():
            monkeypatch.setenv(name, value)
        done = run_here(capsys, "score", *arguments)
        assert KEY not in done.out + done.err
        assert "Traceback" not in done.err
        return done

    return judge


def figures(path: Path) -> list[tuple[float | None, float | None]]:
    return [
        (result.score.relevant, result.score.irrelevant)
        for result in results_of(path)
        if result.score
    ]


EXPECTED = [pytest.approx(example.expected["ragas"], abs=1e-12) for example in EXAMPLES]


def test_an_openai_endpoint_and_a_store(
    server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    out, store = tmp_path / "out.jsonl", tmp_path / "calls.db"
    arguments = [texts(tmp_path), *options(server), "--out", out, "--store", store]
    done = judged(*arguments, "--temperature", "0")
    assert (done.status, figures(out)) == (0, EXPECTED)
    calls = server.log.calls
    assert f"judged with {calls} calls" in done.out
    (result, *_) = read_results(out)
    address = server.base_url.removeprefix("http://")
    settings = "plan=lazy check=list votes=1, prompts 3"
    assert re.fullmatch(
        rf"scripted at {address}, {settings}, options [0-9a-f]{{8}}", result.judge or ""
    )
    out.unlink()
    again = judged(*arguments, "--temperature", "0")
    assert (again.status, figures(out), server.log.calls) == (0, EXPECTED, calls)
    assert f"judged with {calls} from the store" in again.out
    # At another temperature it is another judge: its replies are not taken.
    other = judged(*arguments)
    assert (other.status, figures(out), server.log.calls) == (0, EXPECTED, 2 * calls)


@pytest.mark.parametrize("name", ["a.jsonl", "b.jsonl"])
def test_what_stayed_unanswered_is_asked_again(name: str, tmp_path: Path, judged: Judged) -> None:
    """Into another file or the same: neither a store nor results serve a gap again."""
    store, first, second = tmp_path / "calls.db", tmp_path / "a.jsonl", tmp_path / name
    silent = when(lambda prompt: "Statements:" in prompt, says("{}"))
    with ScriptedServer(Mind(PAIRS), api_key=KEY) as server:
        command = [texts(tmp_path), *options(server), "--store", store, "--out"]
        server.script = silent
        assert judged(*command, first).status == 5
        assert any(result.unanswered for result in results_of(first))
        server.script = None
        calls = server.log.calls
        assert judged(*command, second).status == 0
    assert figures(second) == EXPECTED
    assert not any(result.unanswered for result in results_of(second))
    # Claims were decomposed in the first run, and are not asked for again.
    again = server.log.prompts[calls:]
    assert again
    assert all("Statements:" in prompt for prompt in again)


def test_plan_and_votes_are_another_judge_and_every_reply_is_kept(
    server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    """Results may be written anew: what was paid for is beside them."""
    out = tmp_path / "out.jsonl"
    arguments = [texts(tmp_path), *options(server), "--out", out]
    judged(*arguments)
    first, before = out.read_bytes(), server.log.calls
    done = judged(*arguments, "--plan", "full", "--votes", "2")
    assert (done.status, figures(out)) == (0, EXPECTED)
    assert (calls := server.log.calls) > 2 * before
    assert all(
        "plan=full check=list votes=2" in (result.judge or "") for result in read_results(out)
    )
    assert judged(*arguments).status == 0
    assert server.log.calls == calls
    assert [r.score for r in read_results(out)] == [
        Result.from_json(line).score for line in first.decode().splitlines()
    ]


@pytest.mark.broad
def test_any_provider_of_langchain(server: ScriptedServer, tmp_path: Path) -> None:
    """LangChain imports each provider's package by its name: here one that is OpenAI's client."""
    packages = tmp_path / "packages"
    packages.mkdir()
    stand_in = "from langchain_openai import ChatOpenAI\nclass ChatGroq(ChatOpenAI): pass\n"
    (packages / "langchain_groq.py").write_text(stand_in)
    path = os.pathsep.join([environment()["PYTHONPATH"], str(packages)])
    out = tmp_path / "out.jsonl"
    done = run(
        "score",
        *(texts(tmp_path), *options(server, "groq:scripted"), "--out", out),
        env={"THE_KEY": KEY, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr.count("failed")) == (0, 0)
    assert figures(out) == EXPECTED
    judge = next(read_results(out)).judge
    settings = "plan=lazy check=list votes=1, prompts 3"
    assert judge
    assert judge.startswith(f"ChatGroq scripted, {settings}, options ")


def test_a_sample_the_judge_fails_on_is_told_and_tried_again(
    tmp_path: Path, judged: Judged
) -> None:
    text = EXAMPLES[1].sample.response

    def script(index: int, prompt: str) -> Misbehavior | None:
        return UNAUTHORIZED if text in prompt else None

    out = tmp_path / "out.jsonl"
    with ScriptedServer(Mind(PAIRS), script=script) as server:
        arguments = [texts(tmp_path), *options(server), "--out", out]
        done = judged(*arguments)
        assert done.status == 3
        first, *_ = done.err.splitlines()
        assert re.fullmatch(
            r"failed: texts\.jsonl, line 2: scripted at \S+ could not be called: HTTP 401.*", first
        )
        assert len(figures(out)) == len(PAIRS) - 1
        server.log.clear()
        server.script = None
        again = judged(*arguments)
    assert (again.status, figures(out)) == (0, EXPECTED)
    assert 0 < server.log.calls <= len(EXAMPLES[1].sample.retrieved_contexts) + 3


def test_a_wrong_key_ends_the_run_soon(
    server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    out = tmp_path / "out.jsonl"
    done = judged(texts(tmp_path, 20), *options(server), "--out", out, key="sk-canary-wrong")
    assert done.status == 2
    assert done.err.splitlines()[-1].startswith(
        "error: the judge failed on the first 20 samples, so the run ends. The last: texts.jsonl"
    )
    assert "sk-canary" not in done.err
    assert not out.exists()


def test_a_model_that_auto_refuses_ends_the_run_and_leaves_earlier_results(
    server: ScriptedServer, tmp_path: Path, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the statements it is tested on it says nothing that could be read."""
    out, report = tmp_path / "out.jsonl", tmp_path / "report.html"
    arguments = [texts(tmp_path, 3), *options(server), "--out", out, "--report", report]
    assert judged(*arguments).status == 0
    before = out.read_bytes(), report.read_bytes()
    monkeypatch.setattr(Mind, "answer", lambda *_: "It depends.")
    done = judged(*arguments, "--check", "auto")
    assert (done.status, done.out) == (2, "")
    first, line = done.err.splitlines()
    assert first == "testing the judge on statements of known answer, then judging"
    assert re.match(
        r"error: scripted at \S+ cannot judge: in a list it did not answer 18 of 18", line
    )
    assert "larger model" in line
    assert (out.read_bytes(), report.read_bytes()) == before


def test_a_judge_that_nobody_tested_is_said_to_be_one(
    server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    out, report = tmp_path / "out.jsonl", tmp_path / "report.html"
    done = judged(texts(tmp_path), *options(server), "--out", out, "--report", report)
    words = (
        "Nobody tested this judge: --check auto first asks it a few statements of known answer."
    )
    assert any(line.endswith(f" tokens. {words}") for line in done.out.splitlines())
    assert f"<li>{words}</li>" in report.read_text(encoding="utf-8")
    assert f"every reply of the judge is kept in {out}.db" in done.out.splitlines()
    tested = [replace(each, judge="m, plan=lazy check=auto votes=1") for each in results_of(out)]
    write_report(tested, report)
    page = report.read_text(encoding="utf-8")
    assert words not in page
    assert "<li>The judge passed a test of 18 plain statements. How well it takes answers" in page


def test_a_judge_that_was_never_reached_passed_no_test(tmp_path: Path, judged: Judged) -> None:
    out = tmp_path / "out.jsonl"
    nowhere = ["--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--timeout", "5"]
    done = judged(texts(tmp_path), *nowhere, "--check", "auto", "--out", out)
    assert done.status == 3
    assert "cannot be reached" in done.err
    assert "passed a test" not in done.out + done.err
    assert "every reply" not in done.out
    assert f"note: All {len(PAIRS)} samples failed: there are no figures." in done.err


ERRORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no provider": (("--judge", "gpt-4.1"), ("provider:model", "'gpt-4.1'")),
    "an unknown provider": (("--judge", "nobody:x"), ("a provider LangChain knows", "'nobody'")),
    "a package that is missing": (("--judge", "cohere:x"), ("langchain-cohere",)),
    "no key": (("--judge", "openai:x"), ("API key", "OPENAI_API_KEY")),
    "no key in the variable": (
        ("--judge", "openai:x", "--api-key-env", "sk-canary-pasted"),
        ("variable", "not set"),
    ),
    "a plan": (("--judge", "openai:x", "--plan", "fast"), ("'lazy'", "'fast'")),
    "both": (("--judge", "openai:x", "--verdicts", "r.jsonl"), ("verdicts or a judge", "both")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, tmp_path: Path, judged: Judged) -> None:
    arguments, named = ERRORS[name]
    given = {} if name == "no key" else {"OPENAI_API_KEY": "sk-canary-environment"}
    done = judged(texts(tmp_path), *arguments, **given)
    assert done.status == (3 if name == "no key" else 2)
    assert [part for part in named if part not in done.err] == []
    assert "sk-canary" not in done.err


@pytest.mark.parametrize("hidden", ["openai", "langchain"])
def test_without_the_package_the_extra_is_named(hidden: str, tmp_path: Path) -> None:
    provider = {"openai": "openai", "langchain": "groq"}[hidden]
    done = run("score", texts(tmp_path), "--judge", f"{provider}:x", hidden=[hidden])
    extra = {"openai": "openai", "langchain": "report"}[hidden]
    assert done.returncode == 2
    assert done.stderr.endswith(f"Hint: pip install 'noisesense[{extra}]'\n")


def test_a_bar_with_cost_and_time_left_in_a_terminal(
    server: ScriptedServer, tmp_path: Path
) -> None:
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    server.latency = 0.08
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "noisesense_adapters.cli", "score", str(texts(tmp_path))),
            *(*options(server), "--concurrency", "1"),
        ],
        env={**environment(), "THE_KEY": KEY, "TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    written = b""
    while chunk := _read(leader):
        written += chunk
    os.close(leader)
    assert process.wait() == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())
    # How far it is and the time left, and below it calls and tokens.
    told = r"[2-5] of 6 samples, 0:00:\d\d left [━╸╺ ]+\r?\n\d+ calls, [\d,]+ tokens"
    assert re.search(told, shown)


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # Linux' way to say that the other end is closed
        return b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_without_a_file_for_the_results(
    server: ScriptedServer, tmp_path: Path, number: signal.Signals
) -> None:
    server.latency = 300
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "noisesense_adapters.cli", "score", str(texts(tmp_path))),
            *options(server),
        ],
        env={**environment(), "THE_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    deadline = time.monotonic() + 300
    while not server.log.calls:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: nothing is kept without --out or --store\n"


def test_reading_verdicts_needs_no_judge(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", rows(PAIRS))
    done = run("score", path, network_log=tmp_path / "network.log")
    assert done.returncode == 0
    assert not (tmp_path / "network.log").exists()


def test_how_a_model_is_asked_is_passed_on(
    server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    arguments = [texts(tmp_path), *options(server), "--max-tokens", "800", "--timeout", "60"]
    assert judged(*arguments, "--check", "list").status == 0
    wrong = judged(*arguments, "--check", "some")
    assert (wrong.status, "'each'" in wrong.err) == (2, True)
    alone = judged(texts(tmp_path), "--check", "each")
    assert (alone.status, "--judge as well, got only --check" in alone.err) == (2, True)
