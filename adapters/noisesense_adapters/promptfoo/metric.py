"""`get_assert`, the settings it reads from the assertion's ``config``, and what Promptfoo's own
ways of reading a result make necessary."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from noisesense.errors import InputError, NoiseSenseError, describe, error_context
from noisesense.scoring.definitions import Mode, check_mode
from noisesense.scoring.outcomes import check_limit
from noisesense_adapters.evaluate.evaluator import Evaluator, Settings
from noisesense_adapters.promptfoo.result import as_failure, as_result
from noisesense_adapters.promptfoo.sample import NAMES, Inputs
from noisesense_adapters.reading.values import as_list, as_object, normal

if TYPE_CHECKING:
    from noisesense.judging.protocol import Judge
    from noisesense.scoring.scoring import Score

_SCORING = ("definition", "empty", "undetermined")
_KNOWN = (
    *("mode", "maxNoise", "threshold", "minCorrect", "maxHallucinated", *_SCORING),
    *("judge", "noiseContext", "query", "reference", "contextChunks", "verdicts"),
)
_BELOW_ANY_THRESHOLD = -1000.0


def get_assert(output: Any, context: Any) -> dict[str, Any]:
    """Measure the noise sensitivity of one answer, as a Promptfoo grading result.

    The question is read as ``query``, the correct answer as ``reference``, the chunks as
    ``contextChunks``, or under ragas' and a few other common names: from ``config``, then
    ``vars``, then the provider's metadata; chunks also from the provider's output if that is an
    object, before ``options.transform`` or after it. A chunk is ``{text}``, or
    ``{text, relevant}`` with a label. It may also be a text, but not in ``vars``: Promptfoo makes
    a test of each text in a list there, unless ``options.disableVarExpansion`` is set. One text
    for all is a ``context``.

    What stands elsewhere is named by its path, as in ``contextChunks: '{{output.docs}}'``: below
    a variable, ``output`` or ``metadata``. A text that is such a ``{{path}}`` is filled in
    everywhere in config and ``vars``; with a filter, a block or words around it it is an error.

    What the config names wins. Where chunks stand in ``vars`` and come from the provider as well,
    two that differ are an error; ``metadata.contextsFrom`` says where they were taken from, and
    ``metadata.sample`` holds the texts that were judged.

    ``verdicts`` are data, which need no text but the chunks, or the path of a recording, in which
    the sample is found by its texts; relative to the working directory or to the file that
    Promptfoo runs. An output does not grade itself: its verdicts count only where the config names
    them. Without verdicts a model is asked.

    ``config`` takes, all optional: ``mode``, the value that passes or fails (both are always
    computed); ``maxNoise``, the highest value that passes, default 0.2; ``minCorrect`` and
    ``maxHallucinated``, limits of the shares of such claims besides; ``definition``, ``empty``
    and ``undetermined`` (see `noisesense.score`; an answer without claims is ``zero`` by default
    for definition ``promptfoo``, as there); ``verdicts``; ``judge``; and ``noiseContext``,
    appended to a context given as one text. The page beside this file has a table of them, and of
    what ``judge`` takes.

    Returns:
        ``pass``: is the value at most ``maxNoise``, in every completion of what is undetermined?
        ``score``: the share of claims that certainly do not count, so that higher is better and
        ``threshold: 0.8`` asks for at most 0.2 noise. ``namedScores``: the values themselves,
        lower is better, ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant``, each
        only where there is one; of another definition ``noise_sensitivity_relevant_paper``.
        ``metadata``: gate, bounds, partition, claims. ``tokensUsed``: unless verdicts were given.

        ``metadata.status`` is ``scored``, or says why there is no value: ``undetermined`` (the
        judge did not say enough), ``undefined`` (no claims, nothing retrieved, no such mode) or
        ``error`` (bad input, a sample that is not in the recording, a judge that cannot be
        reached). Then there is no named score, unless ``undetermined`` chose one. The result
        passes only if every completion does. Otherwise its score is 0, since Promptfoo needs a
        number, and the reason says that this is no judgment of the answer. Where a threshold
        over several assertions could pass all the same, the score is -1000.

    Raises:
        NoiseSenseError: ``metadata.status`` would not be ``scored``, and the assertion is, or may
            be, of type ``not-python``. Promptfoo inverts what that returns, so an unknown value
            would pass; an exception fails.
    """
    try:
        context = as_object(context)
        settings = _settings(context)
        row = Inputs(output, context, settings.config)
        judge = partial(_judge, settings.config, context)
        metric = (settings.mode, settings.max_noise, settings.passes_empty)
        evaluated = Evaluator(settings.scoring, judge, metric).evaluate_blocking(row)
        scored = evaluated.score
        if settings.passes_empty and not scored.claims:
            scored = settings.scoring._replace(empty="zero").score(scored.verdicts)
        result = as_result(
            scored, settings.mode, settings.max_noise, evaluated.asked, record=row.record
        )
        _check_shares(result, scored, settings.config)
    except NoiseSenseError as error:
        result = as_failure(error)
    if result["metadata"]["status"] != "scored":
        _keep_from_passing(result, context)
    return result


def _judge(config: dict[str, Any], context: dict[str, Any]) -> Judge:
    # Loaded only when a model must be asked: SQLite, the client.
    from noisesense_adapters.promptfoo.llm import judge_of

    return judge_of(config, context)


class _Settings(NamedTuple):
    """What the assertion's config says.

    Attributes:
        passes_empty: whether an answer that claims nothing is free of noise, as in the interface
            that the definition ``promptfoo`` comes from.
    """

    config: dict[str, Any]
    mode: Mode
    max_noise: float
    scoring: Settings
    passes_empty: bool


def _settings(context: dict[str, Any]) -> _Settings:
    config: Any = context.get("config")
    if config is None:
        config = {}
    if not isinstance(config, dict):
        raise InputError("an object", describe(config), where="config")
    config = cast("dict[str, Any]", config)
    with error_context("config"):
        for name in config:
            if name not in _KNOWN and normal(name) not in NAMES:
                hint = f"known are {', '.join(_KNOWN)}"
                raise InputError("only known settings", f"the setting {name!r}", hint=hint)
        if any(assertion.get("contextTransform") for assertion, _ in _candidates(context)):
            hint = "Promptfoo applies it to its own alone: contextChunks: '{{output.docs}}'"
            raise InputError("no contextTransform at this assertion", "one", hint=hint)
        scoring = Settings.checked(**{name: config[name] for name in _SCORING if name in config})
        return _Settings(
            config,
            check_mode(config.get("mode", "relevant")),
            _max_noise(config),
            scoring,
            passes_empty=scoring.definition == "promptfoo" and "empty" not in config,
        )


def _max_noise(config: dict[str, Any]) -> float:
    if "maxNoise" in config and "threshold" in config:
        raise InputError("maxNoise or threshold, its old name", "both")
    name = "threshold" if "threshold" in config else "maxNoise"
    value: float = config.get(name, 0.2)
    return check_limit(value, name)


def _check_shares(result: dict[str, Any], scored: Score, config: dict[str, Any]) -> None:
    """Fail a result whose shares of correct and hallucinated claims are not as the config asks.

    Raises `InputError` for a limit that is no share.
    """
    least = config.get("minCorrect")
    most = config.get("maxHallucinated")
    if least is None and most is None:
        return
    from noisesense import gate_run, summarize  # not needed to start

    with error_context("config"):
        gate = gate_run(summarize([scored]), None, min_correct=least, max_hallucinated=most)
    if gate.passed:
        return
    result["pass"] = False
    result["score"] = 0.0
    result["reason"] = f"{result['reason']} It fails all the same: {gate.reason}."
    metadata = result["metadata"]
    if gate.outcome != "fail" and metadata["status"] == "scored":
        metadata["status"] = "undetermined"


def _keep_from_passing(result: dict[str, Any], context: dict[str, Any]) -> None:
    """See to it that Promptfoo makes no pass of a result without a value.

    It passes a set, or a test, whose mean score reaches its threshold, and what ``not-python``
    does not: an exception fails there.
    """
    is_limited = False
    for assertion, limited in _candidates(context):
        if assertion["type"] != "python" and not limited:
            raise NoiseSenseError(result["reason"])
        is_limited = is_limited or limited
    if is_limited and not result["score"] and not result["pass"]:
        result["score"] = _BELOW_ANY_THRESHOLD


def _candidates(context: dict[str, Any]) -> list[tuple[dict[str, Any], bool]]:
    """Return the test's assertions that may be this one, and whether a threshold is theirs.

    Promptfoo does not say which of them is running. It is known by its config. Without any
    assertions it is not Promptfoo that calls.
    """
    test = as_object(context.get("test"))
    config = context.get("config") or None
    every = list(_assertions(test.get("assert"), test.get("threshold") is not None))
    same = [pair for pair in every if (pair[0].get("config") or None) == config]
    return same or every


def _assertions(value: Any, limited: bool) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield Python assertions, also in sets, and whether a threshold is set around them."""
    for item in as_list(value):
        assertion = as_object(item)
        if assertion.get("type") in ("python", "not-python"):
            yield assertion, limited
        threshold = assertion.get("threshold") is not None
        yield from _assertions(assertion.get("assert"), limited or threshold)
