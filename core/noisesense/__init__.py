"""NoiseSense: how far retrieval noise misleads a RAG system, computed from structured verdicts.

>>> from noisesense import Verdicts, score
>>> verdicts = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
>>> score(verdicts).relevant
0.5
"""

from importlib import import_module
from typing import Any

# A literal: reading it from the installed metadata would cost every import 12 ms.
__version__ = "0.2.0"


# By module its public names, as in ``__init__.pyi``. Each is loaded when it is first used: a
# process that scores given verdicts never loads pydantic, which costs more than all the rest.
_NAMES = {
    "errors": "InputError JudgeError MissingExtraError NoiseSenseError PairingError "
    "PromptTooLongError RecordingError ReplyError SampleNotRecordedError StoreError "
    "UndefinedScoreError",
    "judging.llm": "LLMJudge",
    "judging.protocol": "Judge Judgement StructuredLLM Usage",
    "judging.store": "VerdictStore",
    "scoring.definitions": "DefinitionName Mode",
    "scoring.outcomes": "ClaimOutcome Counts GateOutcome Partition Range gate",
    "scoring.results": "Result read_results write_results",
    "scoring.scoring": "Empty Score Status Undetermined score",
    "stats.compare": "Comparison compare",
    "stats.gate": "RunGate gate_run",
    "stats.interval": "Estimate Interval",
    "stats.offenders": "Offender Offenders offenders",
    "stats.powered_mean": "PPIMean",
    "stats.summarize": "ModeSummary Summary",
    "stats.tally": "Tally summarize",
    "stats.labels": "LabeledVerdicts Trust trust trust_results",
    "verdicts.form": "Cell Matrices",
    "verdicts.recording": "RecordedJudge SCHEMA_VERSION json_schema read_recording "
    "write_recording",
    "verdicts.sample": "Chunk Sample",
    "verdicts.verdicts": "ReferenceClaim ResponseClaim Verdicts",
}
_ALL_NAMES = " ".join(_NAMES.values())
__all__ = ["__version__", *_ALL_NAMES.split()]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names.split():
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
