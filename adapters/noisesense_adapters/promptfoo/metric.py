"""`get_assert`, and the settings it reads from the assertion's ``config``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from noisesense.errors import InputError, NoiseSenseError, describe, located
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, check_mode
from noisesense.scoring.scoring import (
    Empty,
    Undetermined,
    check_empty,
    check_undetermined,
    score,
)
from noisesense_adapters.promptfoo.plain import plain_verdicts
from noisesense_adapters.promptfoo.result import as_failure, as_result
from noisesense_adapters.promptfoo.sample import (
    CHUNKS,
    QUERY,
    REFERENCE,
    Inputs,
    given_verdicts,
)
from noisesense_adapters.toolbox.documents import as_object

_KNOWN = (
    *("mode", "definition", "maxNoise", "threshold", "empty", "undetermined", "name"),
    *("verdicts", "recording", "judge", "grading", "noiseContext", "contextPath"),
    "componentResults",
    *(*QUERY, *REFERENCE, *CHUNKS),
)


def get_assert(output: Any, context: Any) -> dict[str, Any]:
    """Noise sensitivity of one answer, as a Promptfoo grading result.

    Inputs are read from ``config``, then ``vars``, then the provider's output if that is an
    object, then ``providerResponse.metadata``: the question as ``query``, the correct answer as
    ``reference``, the chunks as ``contextChunks``, or under ragas' and a few other common names.
    A chunk is ``{text}``, or ``{text, relevant}`` with a label. It may also be a text, but not in
    ``vars``: Promptfoo makes a test of each text in a list there, unless
    ``options.disableVarExpansion`` is set. One text for all is a ``context``. ``contextPath``
    names another place, such as ``output.chunks``; what ``options.transform`` left out is read,
    too. A ``{{name}}`` in config or ``vars`` is filled in; a filter or a block is an error.

    ``verdicts`` are read from the same places: their data, or the path of a recording. Data are
    taken as they are; in a recording the sample is found by its texts. Without verdicts a model
    is asked.

    ``config`` takes, all optional: ``mode``, the value that passes or fails (both are always
    computed); ``maxNoise``, the highest value that passes, default 0.2; ``definition``, ``empty``
    and ``undetermined`` (see `noisesense.score`; ``empty`` is ``zero`` by default for definition
    ``promptfoo``, as there); ``name``, the start of the named scores' names; ``verdicts`` or
    ``recording``, relative to the working directory or to the file that Promptfoo runs; ``judge``;
    ``noiseContext``, appended to a context given as one text; and ``componentResults``, true for
    a component for each claim, which the web view counts as an assertion. The page beside this
    file has a table of them, and of what ``judge`` takes.

    Returns:
        ``pass``: is the value at most ``maxNoise``, in every completion of what is undetermined?
        ``score``: the share of claims that certainly do not count, so that higher is better and
        ``threshold: 0.8`` asks for at most 0.2 noise. ``namedScores``: the values themselves,
        lower is better, ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant``, each
        only where there is one. ``metadata``: gate, bounds, partition, claims.
        ``tokensUsed``: only if a model was asked.

        ``metadata.status`` is ``scored``, or says why there is no value: ``undetermined`` (the
        judge did not say enough), ``undefined`` (no claims, no such mode) or ``error`` (bad
        input, a sample that is not in the recording, a judge that cannot be reached). Then there
        is no named score, unless ``undetermined`` chose one. The result passes only if every
        completion does. Otherwise its score is 0, since Promptfoo needs a number, and the reason
        says that this is no judgment of the answer. A ``metric:`` on the assertion would average
        that 0, so set none and use the named scores.

    Raises:
        NoiseSenseError: ``metadata.status`` would not be ``scored``, and the assertion is, or may
            be, of type ``not-python``. Promptfoo inverts what that returns, so an unknown value
            would pass; an exception fails.
    """
    inputs: Inputs | None = None
    try:
        config = read_config(context)
        settings = read_settings(config)
        inputs = Inputs(output, context, config)
        verdicts, judgement = given_verdicts(inputs), None
        if verdicts is None and settings.definition == "promptfoo" and not inputs.response.strip():
            # As in the interface this definition comes from; a sample would have to say something.
            verdicts = plain_verdicts({"response_claims": []})
        if verdicts is None:
            # Loaded only when a model must be asked: pydantic, SQLite, the client library.
            from noisesense_adapters.promptfoo.llm import judge

            judgement = judge(inputs.sample, config, context, metric=("promptfoo", *settings))
            verdicts = judgement.verdicts
        result = as_result(
            score(
                verdicts,
                definition=settings.definition,
                empty=settings.empty,
                undetermined=settings.undetermined,
            ),
            settings.mode,
            settings.max_noise,
            settings.name,
            judgement,
            chunk_data=inputs.chunk_data,
            components=settings.components,
        )
    except NoiseSenseError as error:
        result = as_failure(error if inputs is None else inputs.in_own_words(error))
    if result["metadata"]["status"] != "scored" and _may_be_inverted(context):
        # not-python turns a result that does not pass into a pass, but not an exception.
        raise NoiseSenseError(result["reason"])
    return result


class _Settings(NamedTuple):
    mode: Mode
    definition: DefinitionName
    max_noise: float
    empty: Empty
    undetermined: Undetermined
    name: str
    components: bool


def read_config(context: Any) -> dict[str, Any]:
    """The ``config`` of this assertion; empty if it has none."""
    if not isinstance(context, dict):
        hint = "call get_assert(output, context) with what Promptfoo gives"
        raise InputError("Promptfoo's context object", type(context).__name__, hint=hint)
    config = cast("dict[str, Any]", context).get("config")
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise InputError("an object", describe(config), where="config")
    config = cast("dict[str, Any]", config)
    for key in config:
        if key not in _KNOWN:
            # Loaded only to explain a mistake.
            from difflib import get_close_matches

            near = get_close_matches(str(key), _KNOWN, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_KNOWN)}"
            raise InputError(
                "only known settings", f"the setting {key!r}", where="config", hint=hint
            )
    return config


def read_settings(config: dict[str, Any]) -> _Settings:
    """The settings of ``config``. Raises `InputError`."""
    with located("config"):
        definition = check_definition(config.get("definition", "ragas")).name
        # The interface this definition comes from passes an answer that claims nothing.
        empty = "zero" if definition == "promptfoo" else "undefined"
        name = config.get("name", "noise_sensitivity")
        if not isinstance(name, str) or not name.strip():
            raise InputError("a non-empty text", describe(name), where="name")
        components = config.get("componentResults", False)
        if not isinstance(components, bool):
            raise InputError("true or false", describe(components), where="componentResults")
        return _Settings(
            mode=check_mode(config.get("mode", "relevant")),
            definition=definition,
            max_noise=_max_noise(config),
            empty=check_empty(config.get("empty", empty)),
            undetermined=check_undetermined(config.get("undetermined", "none")),
            name=name,
            components=components,
        )


def _max_noise(config: dict[str, Any]) -> float:
    if "maxNoise" in config and "threshold" in config:
        hint = "threshold is the old name of maxNoise"
        raise InputError("maxNoise or threshold", "both", hint=hint)
    name = "threshold" if "threshold" in config else "maxNoise"
    value = config.get(name, 0.2)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        hint = "the highest noise sensitivity that passes; lower is better"
        raise InputError("a number from 0 to 1", describe(value), where=name, hint=hint)
    return value


def _may_be_inverted(context: Any) -> bool:
    """May Promptfoo invert the result of this assertion, as it does for ``not-python``?

    Promptfoo does not say which of the test's assertions is running. It is known by its config,
    and only if all with that config are of type ``python`` is it certain. Without any assertions
    it is not Promptfoo that calls.
    """
    context = as_object(context)
    assertions = list(_assertions(as_object(context.get("test")).get("assert")))
    config = context.get("config") or None
    types = {each.get("type") for each in assertions if (each.get("config") or None) == config}
    return bool(assertions) and types & {"python", "not-python"} != {"python"}


def _assertions(value: Any) -> Iterator[dict[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    for each in items:
        assertion = as_object(each)
        yield assertion
        yield from _assertions(assertion.get("assert"))
