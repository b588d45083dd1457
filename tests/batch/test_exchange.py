"""Judging through batch files, against a provider on loopback with the real client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    LLMJudge,
    Sample,
    Score,
    Verdicts,
    VerdictStore,
    read_results,
    score,
)
from noisesense_adapters.batch import (
    BatchJudge,
    Round,
    export_batch,
    import_answers,
    next_requests,
    put_replies,
)
from noisesense_adapters.batch.requests import open_requests
from noisesense_adapters.datasets import score_dataset
from noisesense_adapters.openai import OpenAILLM
from support.batch_provider import BatchProvider
from support.cost_workload import run_pairs
from support.datasets import write_jsonl
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.sizes import few_or_many
from support.tables import Shape, random_pair

Pairs = list[tuple[Sample, Verdicts]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def written(path: Path, pairs: Pairs) -> Path:
    return write_jsonl(path, [sample.model_dump(exclude_defaults=True) for sample, _ in pairs])


def export(folder: Path, out: str = "round.jsonl", **options: Any) -> Round:
    return export_batch(
        folder / "data.jsonl",
        store=folder / "judged.db",
        out=folder / out,
        **{"model": "gpt-4.1-mini", **options},
    )


def rounds(folder: Path, provider: BatchProvider, **options: Any) -> list[Round]:
    """As many as it takes."""
    made: list[Round] = []
    while True:
        assert len(made) < 12
        made.append(export(folder, **options))
        if not made[-1].requests:
            return made
        for file in made[-1].files:
            import_answers(*provider.run(Path(file), folder), store=folder / "judged.db")


def figures(found: Score | None, unanswered: int) -> list[Any]:
    assert found
    bounds = found.bounds("relevant"), found.bounds("irrelevant")
    return [*bounds, found.partition, unanswered]


def by_files(folder: Path, **options: Any) -> list[Any]:
    """The figures by a judge that asks nothing, over what the files have brought."""
    llm = OpenAILLM("gpt-4.1-mini")
    out = folder / "out.jsonl"
    with VerdictStore(folder / "judged.db") as store:
        judge = BatchJudge(llm.name, llm.identity, store=store, **options)
        score_dataset(folder / "data.jsonl", judge=judge, out=out)
    return [figures(each.score, each.unanswered) for each in read_results(out)]


def directly(pairs: Pairs, **options: Any) -> list[Any]:
    judge = LLMJudge(ScriptedLLM(Mind(pairs).answer), **options)
    judged = [asyncio.run(judge.judge_detailed(sample)) for sample, _ in pairs]
    return [figures(score(each.verdicts), each.unanswered) for each in judged]


def pairs_of(count: int) -> Pairs:
    """Open verdicts, labels, responses without claims: whatever a mind may say."""
    shape = Shape(undetermined=0.03, labeled=0.3, chunks=(1, 6))
    return [random_pair(seed, shape) for seed in range(count)]


@few_or_many(60, 200)
def test_three_files_judge_a_run_as_a_judge_that_asks_directly(folder: Path, count: int) -> None:
    pairs = run_pairs()[:count]
    written(folder / "data.jsonl", pairs)
    provider = BatchProvider(Mind(pairs))
    made = rounds(folder, provider)
    # Two texts of each sample; one check of each; five chunks of each that has wrong claims.
    wrong = {60: 40, 200: 134}[count]
    assert [each.requests for each in made] == [2 * count, count, 5 * wrong, 0]
    assert [each.judged for each in made] == [0, 0, count - wrong, count]
    assert provider.requests == sum(each.requests for each in made)
    assert by_files(folder) == directly(pairs)


def test_with_expired_and_malformed_answers(folder: Path) -> None:
    """The lazy plan, also with such answers, is in the test of killed processes below."""
    plan = "full"
    samples = 30
    pairs = pairs_of(samples)
    written(folder / "data.jsonl", pairs)
    provider = BatchProvider(Mind(pairs), expired=0.02, malformed=0.02)
    made = rounds(folder, provider, plan=plan, most_requests=samples)
    assert len(made[0].files) > 1
    assert min(provider.counts.values()) >= 0.01 * len(provider.seen)
    assert made[-1].judged == samples
    found = by_files(folder, plan=plan)
    assert found == directly(pairs, plan=plan)
    assert any(unanswered for *_, unanswered in found)


# Killed

KILLED = """
import os, signal, sys
from pathlib import Path
from noisesense_adapters.batch import export_batch, import_answers
from noisesense.judging.store import VerdictStore
folder, what, after = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
options = {"store": folder / "judged.db", "model": "gpt-4.1-mini", "out": folder / "round.jsonl"}
left = after
def step(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
if what == "export":
    export_batch(folder / "data.jsonl", on_done=step, **options)
elif what == "naming":
    os.replace = Path.replace = step
    export_batch(folder / "data.jsonl", **options)
else:
    put = VerdictStore.put
    VerdictStore.put = lambda self, *call: (step(), put(self, *call))[1]
    import_answers(*sorted(folder.glob("file-*.jsonl")), store=folder / "judged.db")
"""


def killed(folder: Path, what: str, after: int) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), what, str(after)]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == -9, done.stderr


@pytest.mark.broad
def test_killed_between_any_two_steps_it_goes_on(folder: Path) -> None:
    pairs = pairs_of(30)
    written(folder / "data.jsonl", pairs)
    provider = BatchProvider(Mind(pairs), expired=0.03, malformed=0.03)
    for number in range(10):
        for what, after in {0: KILLS, 2: [("export", 17)]}.get(number, ()):
            killed(folder, what, after)
        made = export(folder)
        if not made.requests:
            break
        answers = provider.run(folder / "round.jsonl", folder)
        for after in (0, 1) if number == 0 else ():
            killed(folder, "import", after)
        import_answers(*answers, store=folder / "judged.db")
        assert import_answers(*answers, store=folder / "judged.db").taken == 0
    assert made.judged == 30
    # Nothing that was answered is asked again: every request once, and those that expired twice.
    assert provider.requests == len(provider.seen) + provider.counts["expired"]
    assert not list(folder.glob(".*"))
    assert by_files(folder) == directly(pairs)


KILLS = [("export", 0), ("export", 1), ("naming", 0)]


# Wrong files, and what changed meanwhile


def answered(folder: Path, pairs: Pairs) -> Path:
    """The answers to the file ``round.jsonl``, in the order of its requests."""
    (answers,) = BatchProvider(Mind(pairs)).run(folder / "round.jsonl", folder)
    answers = answers.rename(folder / "answers.jsonl")
    answers.write_text("\n".join(answers.read_text().splitlines()[::-1]) + "\n")
    return answers


def test_wrong_and_foreign_files_change_nothing(folder: Path) -> None:
    pairs = pairs_of(6)
    written(folder / "data.jsonl", pairs[:3])
    export(folder)
    own = answered(folder, pairs)
    written(folder / "data.jsonl", pairs[3:])
    with VerdictStore(folder / "judged.db") as store:
        before = open_requests(store)
    with pytest.raises(InputError, match=r"got the requests themselves.*output and error files"):
        import_answers(folder / "round.jsonl", store=folder / "judged.db")
    other = folder / "other"
    other.mkdir()
    written(other / "data.jsonl", pairs[3:])
    export(other)
    with pytest.raises(InputError, match=r"got 6 answers to others.*another round"):
        import_answers(answered(other, pairs), store=folder / "judged.db")
    with pytest.raises(InputError, match="no such file"):
        import_answers(folder / "nothing.jsonl", store=folder / "judged.db")
    with pytest.raises(InputError, match="a verdict store, got no such file"):
        import_answers(own, store=folder / "nothing.db")
    with VerdictStore(folder / "judged.db") as store:
        assert open_requests(store) == before
        assert store.stats() == []
    # Among its own, foreign answers and broken lines are counted and passed over.
    text = own.read_text()
    own.write_text("{\n[]\n" + '{"custom_id": "x", "error": {"code": "y"}}\n' + text + text[:50])
    errors: list[InputError] = []
    made = import_answers(own, store=folder / "judged.db", on_error=errors.append)
    assert made.taken == 6
    assert made.foreign == 1
    assert len(errors) == 3
    assert made.left == 0
    assert str(errors[1]).startswith("answers.jsonl, line 2: expected an answer")


def test_other_samples_or_prompts_while_requests_are_open(folder: Path) -> None:
    pairs = pairs_of(4)
    written(folder / "data.jsonl", pairs[:2])
    export(folder)
    before = (folder / "round.jsonl").read_bytes()
    answers = answered(folder, pairs)
    written(folder / "data.jsonl", pairs[2:])
    for options in ({}, {"model": "gpt-5"}, {"check": "each"}):
        with pytest.raises(InputError, match=r"to 4 requests, of gpt-4\.1-mini \(prompts \d+\)\."):
            export(folder, **options)
    assert (folder / "round.jsonl").read_bytes() == before
    forced = export(folder, "next.jsonl", force=True)
    assert forced.requests == 4
    assert forced.asked_before == 0
    # And the answers to the first file are taken all the same.
    made = import_answers(answers, store=folder / "judged.db")
    assert made.taken == 4
    assert made.left == 4
    # The same samples again are no other samples.
    again = export(folder, "next.jsonl")
    assert again.requests == 4
    assert again.asked_before == 4


def test_open_requests_of_several_judges_are_told_as_theirs(folder: Path) -> None:
    """All eight were told as requests to the last one."""
    written(folder / "data.jsonl", pairs_of(2))
    export(folder)
    export(folder, "other.jsonl", model="gpt-5", force=True)
    told = r"to 8 requests, of gpt-4\.1-mini \(prompts \d+\) and gpt-5 \(prompts \d+\)\."
    with pytest.raises(InputError, match=told):
        export(folder, "next.jsonl", model="gpt-5-mini")


def test_failures_stay_open_and_are_named_by_their_reason(folder: Path) -> None:
    pairs = pairs_of(3)
    written(folder / "data.jsonl", pairs)
    export(folder)
    answers = answered(folder, pairs)
    lines = json_lines(answers)
    lines[0]["response"] = {"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded"}}}
    lines[1] |= {"response": None, "error": {"code": "batch_expired", "message": "m"}}
    lines[2]["response"] = None
    lines[3]["response"]["body"]["choices"][0]["finish_reason"] = "length"
    lines[4]["response"]["body"]["choices"] = []
    write_jsonl(answers, lines)
    made = import_answers(answers, store=folder / "judged.db")
    assert made.open == {"HTTP 429 rate_limit_exceeded": 1, "batch_expired": 1, "no response": 1}
    assert made.taken == 3
    assert made.left == 3
    # Three as they were, and two in other words; the next step of what is complete besides.
    asked = json_lines(folder / "round.jsonl")
    again = export(folder)
    assert again.asked_before == 3
    reworded = 0
    repeated: list[Any] = []
    for line in json_lines(folder / "round.jsonl"):
        reworded += "(attempt 2)" in line["body"]["messages"][0]["content"]
        if line in asked:
            repeated.append(line)
    assert repeated == asked[:3]
    assert reworded == 2


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_two_answers_to_one_request_are_an_error(folder: Path) -> None:
    """Nothing says which is meant; of an answer beside a failure, the answer is."""
    pairs = pairs_of(3)
    written(folder / "data.jsonl", pairs)
    export(folder)
    answers = answered(folder, pairs)
    lines = answers.read_text().splitlines()
    failure = {**json.loads(lines[0]), "response": {"status_code": 500}}
    answers.write_text("\n".join([*lines, lines[0]]))
    with pytest.raises(InputError, match="one answer to each request, got two to"):
        import_answers(answers, store=folder / "judged.db")
    with VerdictStore(folder / "judged.db") as store:
        assert len(open_requests(store)) == 6
        twice = [(key, "{}") for key in [*open_requests(store)][:1]] * 2
        with pytest.raises(InputError, match="got two to"):
            put_replies(store, twice)
    halves = folder / "first.jsonl", folder / "second.jsonl"
    halves[0].write_text("\n".join([json.dumps(failure), *lines[3:]]))
    halves[1].write_text("\n".join(lines[:3]))
    stored = (folder / "judged.db").read_bytes()
    for files in (halves, halves[::-1]):
        (folder / "judged.db").write_bytes(stored)
        made = import_answers(*files, store=folder / "judged.db")
        assert made.taken == 6
        assert made.known == 0
        assert made.open == {}
        assert made.left == 0


def test_a_model_that_never_answers_ends(folder: Path) -> None:
    """1 + max_reasks files of useless replies, and the sample fails as it does directly."""
    written(folder / "data.jsonl", pairs_of(1))
    for number in range(3):
        made = export(folder)
        # The reference's claims are given up for, too.
        assert made.requests == 2, number
        with VerdictStore(folder / "judged.db") as store:
            put_replies(store, [(key, "I cannot say.") for key in open_requests(store)])
    errors: list[Exception] = []
    made = export(folder, on_error=errors.append)
    assert made.requests == 0
    assert made.failed == 1
    assert "was asked 3 times for the claims of the response" in str(errors[0])


@pytest.mark.parametrize("reply", [float("nan"), {"claims": ["Ada."]}, b'{"claims": ["Ada."]}'])
def test_what_is_no_text_is_not_imported(folder: Path, reply: Any) -> None:
    """A table's empty cell counted as a useless reply of a model, and a parsed one was lost."""
    samples = [sample for sample, _ in pairs_of(1)]
    with VerdictStore(folder / "judged.db") as store:
        judge = BatchJudge("a model", "an engine", store=store)
        keys = [each.key for each in next_requests(judge, store, samples)]
        replies: Any = [(keys[0], "I cannot say."), (keys[1], reply)]
        with pytest.raises(
            InputError, match=f"the reply to '{keys[1]}': expected a text, or None"
        ):
            put_replies(store, replies)
        assert [each.key for each in next_requests(judge, store, samples)] == keys


def test_any_engine_between(folder: Path) -> None:
    pairs = pairs_of(12)
    mind = Mind(pairs)
    with VerdictStore(folder / "judged.db") as store:
        judge = BatchJudge("a model", "an engine, temperature 0", store=store)
        count = 0
        while requests := next_requests(judge, store, [sample for sample, _ in pairs]):
            count += 1
            # Some engines lose requests, and some give code fences.
            replies = [
                (each.key, None if i % 7 == count else f"```json\n{mind.answer(each.prompt)}\n```")
                for i, each in enumerate(requests)
            ]
            made = put_replies(store, replies)
            assert made.left == sum(text is None for _, text in replies)
        assert 3 <= count < 12
        found = [asyncio.run(judge.judge_detailed(sample)) for sample, _ in pairs]
    assert [each.verdicts for each in found] == [
        asyncio.run(LLMJudge(ScriptedLLM(mind.answer)).judge(sample)) for sample, _ in pairs
    ]


def lines_of(folder: Path, **most: int) -> list[list[str]]:
    """Of each file that an export makes, of which no other is left."""
    made = export(folder, **most)
    assert made.files == tuple(map(str, sorted(folder.glob("round*.jsonl"), key=len_of)))
    return [Path(file).read_text().splitlines() for file in made.files]


def test_files_of_a_provider_s_limits(folder: Path) -> None:
    """Six requests; a shorter round leaves none of a longer one's files."""
    written(folder / "data.jsonl", pairs_of(3))
    (whole,) = lines_of(folder)
    assert lines_of(folder, most_requests=4) == [whole[:4], whole[4:]]
    sizes = [len(line) + 1 for line in whole]
    assert lines_of(folder, most_bytes=sum(sizes[:2])) != [whole]
    assert lines_of(folder, most_bytes=1) == [[line] for line in whole]
    assert lines_of(folder, most_requests=6, most_bytes=sum(sizes)) == [whole]


def test_a_file_of_somebody_elses_is_not_replaced(folder: Path) -> None:
    written(folder / "data.jsonl", pairs_of(3))
    (whole,) = lines_of(folder)
    theirs = folder / "round-2.jsonl"
    theirs.write_text("their own\n")
    with pytest.raises(InputError, match=r"round-2\.jsonl: expected a new file.*another file"):
        export(folder, most_requests=4)
    assert (folder / "round.jsonl").read_text().splitlines() == whole
    assert export(folder).files == (str(folder / "round.jsonl"),)
    assert theirs.read_text() == "their own\n"


def len_of(path: Path) -> tuple[int, str]:
    return len(path.name), path.name
