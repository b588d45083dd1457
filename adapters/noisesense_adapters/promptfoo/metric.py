"""`get_assert`: read, judge, score, and translate back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noisesense.errors import NoiseSenseError
from noisesense.scoring.scoring import score
from noisesense_adapters.promptfoo.result import as_failure, as_result
from noisesense_adapters.promptfoo.sample import Inputs, given_verdicts, may_be_inverted
from noisesense_adapters.promptfoo.settings import Settings, read_config, read_settings

if TYPE_CHECKING:
    from noisesense.judging.protocol import Judgement

__all__ = ["get_assert"]


def get_assert(output: Any, context: Any) -> dict[str, Any]:
    """Noise sensitivity of one answer, as a Promptfoo grading result.

    Texts are looked for in ``config``, then ``vars``, then the provider's output if that is an
    object, then ``providerResponse.metadata``: the question as ``query``, the correct answer as
    ``reference``, the chunks as ``contextChunks``; also under ragas' names and a few customary
    ones. A chunk is ``{text}``, or ``{text, relevant}`` with a label. It may be a text as well,
    but not in ``vars``: Promptfoo makes a test of each text in a list there, unless
    ``options.disableVarExpansion`` is set. One text for all is a ``context``.

    So are ``verdicts``: their data, or the path of a recording. Verdicts given as data are taken
    as they are; in a recording the sample is found by its texts. Without verdicts a model is
    asked.

    ``config`` takes, all optional:

    - ``mode``: ``relevant`` (default) or ``irrelevant``: which value passes or fails. Both
      are always computed.
    - ``maxNoise``: the highest value that passes, default 0.2 (old name: ``threshold``). What
      the judge left open passes only if it stays within ``maxNoise`` whichever way it falls.
    - ``definition``: ``ragas`` (default), ``paper``, ``promptfoo`` or ``validmind``.
    - ``empty``: what an answer without claims gives: ``undefined``, ``zero`` or ``error``;
      default ``zero`` for definition ``promptfoo``, as there, and ``undefined`` for the others.
    - ``undetermined``: the named score where the judge left open how many claims count: ``none``
      (default: there is none), ``low`` (none of them is noise) or ``high`` (all are). What
      passes does not depend on it.
    - ``name``: of the named scores, default ``noise_sensitivity``. Promptfoo averages equal
      names within a test: give each assertion with another definition its own.
    - ``verdicts`` or ``recording``: a recording's path, relative to the working directory or to
      the file that Promptfoo runs; ``verdicts`` may also be the data itself.
    - ``judge``: ``openai:chat:MODEL``, or an object with ``model``, ``baseUrl``, ``apiKeyEnv``
      (the *name* of the key's environment variable), ``timeout``, ``maxRetries``,
      ``temperature``, ``plan``, ``votes``, ``maxConcurrency``, ``chunksPerCall``, ``maxReasks``
      and ``store`` (a file that all processes share, so that no call is paid for twice).
      Without it ``options.provider`` is used if it is an ``openai:`` one, else
      ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL``.
    - ``noiseContext``, ``grading.provider`` and the names of the texts above, as the unmerged
      ``noise-sensitivity`` assertion has them. As there, ``noiseContext`` is appended to a
      context given as one text, and chunks given one by one are left as they are.

    Returns:
        ``pass``: is the value at most ``maxNoise``, in every completion of what is undetermined?
        ``score``: the share of claims that certainly do not count, so that higher is better and
        ``threshold: 0.8`` asks for at most 0.2 noise. ``namedScores``: the values themselves,
        lower is better, ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant``, each
        only where there is one. Further one component for each claim, passed only if it
        certainly does not count, ``metadata`` (gate, bounds, partition, claims) and, if a model
        was asked, ``tokensUsed``.

        ``metadata.status`` is ``scored``, or says why there is no value: ``undetermined`` (the
        judge did not say enough), ``undefined`` (no claims, no such mode) or ``error`` (bad
        input, a sample that is not in the recording, a judge out of reach). Then there is no
        named score, unless ``undetermined`` chose one. The result passes only if every
        completion does; otherwise its score is 0, since Promptfoo wants a number, and the reason
        says that this is no judgment of the answer. A ``metric:`` on the assertion would average
        that 0: set none, and use the named scores.

    Raises:
        NoiseSenseError: ``metadata.status`` would not be ``scored``, and the assertion is, or may
            be, of type ``not-python``: Promptfoo turns around what is returned to that, so that
            what is not known would pass, but fails what is raised.
    """
    try:
        config = read_config(context)
        settings = read_settings(config)
        inputs = Inputs(output, context, config)
        verdicts, judged = given_verdicts(inputs), None
        if verdicts is None:
            judged = _judge(inputs, settings, config, context)
            verdicts = judged.verdicts
        found = score(
            verdicts,
            definition=settings.definition,
            empty=settings.empty,
            undetermined=settings.undetermined,
        )
        result = as_result(found, settings, judged)
    except NoiseSenseError as error:
        result = as_failure(error)
    if result["metadata"]["status"] != "scored" and may_be_inverted(context):
        # Whatever is returned as not passed, not-python makes a pass; an exception it does not.
        raise NoiseSenseError(result["reason"])
    return result


def _judge(inputs: Inputs, settings: Settings, config: dict[str, Any], context: Any) -> Judgement:
    # Loaded only when somebody has to be asked: pydantic, SQLite, the client library.
    from noisesense_adapters.promptfoo.llm import judge

    return judge(inputs, settings, config, context)
