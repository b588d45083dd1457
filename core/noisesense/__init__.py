"""NoiseSense: how far retrieval noise misleads a RAG system, computed from structured verdicts.

>>> from noisesense import Verdicts, score
>>> verdicts = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
>>> score(verdicts).relevant
0.5
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisesense.definitions import DefinitionName, Mode
    from noisesense.errors import (
        InputError,
        JudgeError,
        MissingExtraError,
        NoiseSenseError,
        PairingError,
        RecordingError,
        ReplyError,
        SampleNotRecordedError,
        StoreError,
        UndefinedScoreError,
        UndeterminedScoreError,
    )
    from noisesense.gating import GateOutcome, gate
    from noisesense.judge import Judge, Judgement, StructuredLLM, Usage
    from noisesense.llm_judge import LLMJudge
    from noisesense.matrices import Cell, Matrices
    from noisesense.recording import RecordedJudge, read_recording, write_recording
    from noisesense.results import Result, read_results, write_results
    from noisesense.sample import Chunk, Sample
    from noisesense.schema import SCHEMA_VERSION, json_schema
    from noisesense.scoring import (
        ClaimOutcome,
        Counts,
        Empty,
        Partition,
        Score,
        Status,
        Undetermined,
        score,
    )
    from noisesense.stats.agreement import Agreement, agreement
    from noisesense.stats.compare import compare
    from noisesense.stats.comparison import Comparison
    from noisesense.stats.interval import Interval
    from noisesense.stats.offenders import Offender, offenders
    from noisesense.stats.prediction_powered import (
        PoweredMean,
        prediction_powered,
        prediction_powered_mean,
    )
    from noisesense.stats.ragchecker import ragchecker_aggregates
    from noisesense.stats.risk import RiskThresholds
    from noisesense.stats.sensitivity import SensitivityBand, sensitivity_band
    from noisesense.stats.summarize import Tally, summarize
    from noisesense.stats.summary import ModeSummary, Summary
    from noisesense.store import VerdictStore
    from noisesense.verdicts import ReferenceClaim, ResponseClaim, Verdicts

# A literal: reading it from the installed metadata would cost every import 12 ms.
__version__ = "0.1.0"

__all__ = [
    "SCHEMA_VERSION",
    "Agreement",
    "Cell",
    "Chunk",
    "ClaimOutcome",
    "Comparison",
    "Counts",
    "DefinitionName",
    "Empty",
    "GateOutcome",
    "InputError",
    "Interval",
    "Judge",
    "JudgeError",
    "Judgement",
    "LLMJudge",
    "Matrices",
    "MissingExtraError",
    "Mode",
    "ModeSummary",
    "NoiseSenseError",
    "Offender",
    "PairingError",
    "Partition",
    "PoweredMean",
    "RecordedJudge",
    "RecordingError",
    "ReferenceClaim",
    "ReplyError",
    "ResponseClaim",
    "Result",
    "RiskThresholds",
    "Sample",
    "SampleNotRecordedError",
    "Score",
    "SensitivityBand",
    "Status",
    "StoreError",
    "StructuredLLM",
    "Summary",
    "Tally",
    "UndefinedScoreError",
    "Undetermined",
    "UndeterminedScoreError",
    "Usage",
    "VerdictStore",
    "Verdicts",
    "__version__",
    "agreement",
    "compare",
    "gate",
    "json_schema",
    "offenders",
    "prediction_powered",
    "prediction_powered_mean",
    "ragchecker_aggregates",
    "read_recording",
    "read_results",
    "score",
    "sensitivity_band",
    "summarize",
    "write_recording",
    "write_results",
]

# Each name is imported when it is first used: a process that scores given verdicts (one
# Promptfoo assertion) then never loads pydantic, which costs more than all the rest of it.
_HOMES = {
    "definitions": "DefinitionName Mode",
    "errors": "InputError JudgeError MissingExtraError NoiseSenseError PairingError "
    "RecordingError ReplyError SampleNotRecordedError StoreError UndefinedScoreError "
    "UndeterminedScoreError",
    "gating": "GateOutcome gate",
    "judge": "Judge Judgement StructuredLLM Usage",
    "llm_judge": "LLMJudge",
    "matrices": "Cell Matrices",
    "recording": "RecordedJudge read_recording write_recording",
    "results": "Result read_results write_results",
    "sample": "Chunk Sample",
    "schema": "SCHEMA_VERSION json_schema",
    "scoring": "ClaimOutcome Counts Empty Partition Score Status Undetermined score",
    "stats.agreement": "Agreement agreement",
    "stats.compare": "compare",
    "stats.comparison": "Comparison",
    "stats.interval": "Interval",
    "stats.offenders": "Offender offenders",
    "stats.prediction_powered": "PoweredMean prediction_powered prediction_powered_mean",
    "stats.ragchecker": "ragchecker_aggregates",
    "stats.risk": "RiskThresholds",
    "stats.sensitivity": "SensitivityBand sensitivity_band",
    "stats.summarize": "Tally summarize",
    "stats.summary": "ModeSummary Summary",
    "store": "VerdictStore",
    "verdicts": "ReferenceClaim ResponseClaim Verdicts",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # seen by a type checker, it would make every misspelt name an Any

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return import_module(f"{__name__}.{name}")
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
