"""The evaluator of cases, the one of reports, and pydantic-ai's models as the judge's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from noisesense import DefinitionName, Empty, Judge, Result, Undetermined, summarize
from noisesense.errors import InputError, describe
from noisesense.jsonl import to_json
from noisesense.judging.prompts import DEFAULT_PROMPTS
from noisesense_adapters.toolbox.bridge import Bridge, Reply
from noisesense_adapters.toolbox.evaluate import Modes, RowEvaluator, check_modes, mean_of
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.failures import made
from noisesense_adapters.toolbox.given import Column
from noisesense_adapters.toolbox.judges import identity
from noisesense_adapters.toolbox.replies import json_form, usage_of

with needs_extra("pydantic-evals", "pydantic_ai"):
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import ModelRequestParameters, infer_model
    from pydantic_ai.output import OutputObjectDefinition

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class PydanticAILLM(Bridge):
    """A `noisesense.StructuredLLM` over a model of pydantic-ai.

    It sends single requests and no agent, which would read a reply more leniently than a judge
    may and pay for retries of its own. The length of a reply is left to the model.

    Args:
        model: the model, or its name, e.g. ``"openai:gpt-4.1-mini"``.

    Raises:
        JudgeError: no such model, or its key is not configured.

    Attributes:
        name: provider and name of the model.
        identity: what its answers depend on besides: its class, endpoint and settings; no key.
    """

    def __init__(self, model: Model | str) -> None:
        self._model = made(lambda: infer_model(model), str(model))
        self.name = f"{self._model.system}:{self._model.model_name}"
        self.identity = identity(model=self._model)
        self.takes_forms = _takes_forms(self._model.profile)

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`."""
        form = None
        if schema is not None:
            form = OutputObjectDefinition(json_form(schema), schema.__name__, strict=True)
        mode: Any = "text" if form is None else "native"
        response = await model_request(
            self._model,
            [ModelRequest.user_text_prompt(prompt)],
            model_request_parameters=ModelRequestParameters(output_mode=mode, output_object=form),
        )
        return Reply(response.text or "", usage_of(response), response.finish_reason)


def _takes_forms(profile: Any) -> bool:
    """Does the model reply in a JSON Schema by itself? Profiles became dicts in pydantic-ai 2."""
    name = "supports_json_schema_output"
    if isinstance(profile, dict):
        return bool(cast("dict[str, Any]", profile).get(name))
    return bool(getattr(profile, name, False))


with needs_extra("pydantic-evals", "pydantic_evals"):
    # Not for types only: pydantic-evals reads them to write a dataset's JSON schema.
    from pydantic_ai.models import Model
    from pydantic_evals.evaluators import (
        EvaluationReason,
        Evaluator,
        EvaluatorContext,
        ReportEvaluator,
        ReportEvaluatorContext,
    )
    from pydantic_evals.reporting.analyses import ReportAnalysis, TableResult

_ATTRIBUTE = "noise_sensitivity"
_OBJECT = "<an object that no file can hold: "
_USUAL = {
    "response": ("output.answer", "output.response", "output.output", "output"),
    "reference": (
        "expected_output.answer",
        "expected_output.response",
        "expected_output",
        "metadata.reference",
    ),
    "contexts": (
        "attributes.retrieved_contexts",
        "attributes.contexts",
        "output.contexts",
        "output.retrieved_contexts",
        "output.documents",
        "metadata.contexts",
        "metadata.retrieved_contexts",
    ),
    "user_input": ("inputs.question", "inputs.query", "inputs"),
    "chunk_labels": ("metadata.chunk_labels",),
    "verdicts": ("metadata.verdicts",),
}
_TELLING = ("judge", "recording", "model", "contexts", "reference", "response")
_NAMES = ("inputs", "output", "expected_output", "metadata", "attributes")


@dataclass(repr=False)
class NoiseSensitivity(Evaluator[Any, Any, Any]):
    """Noise sensitivity of each case, from 0 to 1. **Lower is better.**

    It gives the scores ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from
    one judging. A score that is undefined or undetermined is left out, so that no average takes
    it for a number, and a label ``noise_sensitivity_<mode>_status`` says which, with the reason.
    The claims and chunks behind a number are in the case's ``attributes["noise_sensitivity"]``.

    Args:
        model: a model of pydantic-ai, or its name; by default the one given to
            ``set_default_judge_model``.
        recording: the path of recorded verdicts, instead of a model.
        judge: a `noisesense.Judge`, instead of a model. Unlike the other arguments it cannot be
            written to a dataset's file.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"``.
        definition: see `noisesense.score`.
        empty: likewise.
        undetermined: likewise.
        max_noise: with it each mode also gives an assertion ``noise_sensitivity_<mode>_ok``: true
            only if the score is at most this, whatever the open verdicts are. An undefined score
            gives none.
        store: the path of a `VerdictStore` that keeps the model's replies.
        contexts: where a case holds the retrieved texts or documents: a name, a dotted path such
            as ``"output.retrieval.documents"``, or a function of the row (a dict of ``inputs``,
            ``output``, ``expected_output``, ``metadata`` and ``attributes``). By default
            ``set_eval_attribute("retrieved_contexts", …)``, else ``contexts`` of the output or
            of the metadata.
        reference: likewise; by default the expected output, or its ``answer``.
        response: likewise; by default the output, or its ``answer``.
        user_input: likewise; by default the inputs, or their ``question``.

    Raises:
        InputError: an unknown mode, definition or place, or two of judge, recording and model;
            or it comes from a file to which an object was written.
    """

    model: Model | str | None = None
    recording: str | None = None
    judge: Judge | None = None
    mode: Modes = "both"
    definition: DefinitionName = "ragas"
    empty: Empty = "undefined"
    undetermined: Undetermined = "none"
    max_noise: float | None = None
    store: str | None = None
    contexts: Column | None = None
    reference: Column | None = None
    response: Column | None = None
    user_input: Column | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str) and value.startswith(_OBJECT):
                hint = "write recording=PATH or model=NAME for a judge, a path for a function"
                raise InputError("text or a number", value, where=field.name, hint=hint)
        check_modes(self.mode, self.definition)
        given = {"judge": self.judge, "recording": self.recording, "model": self.model}
        sources = [name for name, value in given.items() if value is not None]
        if len(sources) > 1:
            raise InputError("one of judge, recording and model", " and ".join(sources))

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Both modes of one case.

        Raises:
            NoiseSenseError: the case cannot be evaluated; the report shows it as its failure.
        """
        place = f"case {describe(ctx.name or ctx.inputs)}"
        row = {name: getattr(ctx, name) for name in _NAMES}
        rows = self._rows()
        evaluated = await rows.evaluate(row, place)
        lines = cast("dict[str, Any]", ctx.attributes.setdefault(_ATTRIBUTE, {}))
        lines[self._title()] = evaluated.result(ctx.name or "").to_dict()
        results: dict[str, EvaluationReason] = {}
        for mode, value, reason, metadata in evaluated.figures():
            name = rows.name(mode)
            if value is None:
                results[f"{name}_status"] = EvaluationReason(metadata["status"], reason)
            else:
                results[name] = EvaluationReason(value, reason)
            if self.max_noise is not None:
                outcome = evaluated.score.gate(mode, self.max_noise)
                if outcome != "undefined":
                    results[f"{name}_ok"] = EvaluationReason(outcome == "pass", reason)
        return results

    def _title(self) -> str:
        """Tells its results from those of another evaluator over the same cases."""
        given = {name: getattr(self, name) for name in _TELLING}
        told = [f"{name} {value}" for name, value in given.items() if value is not None]
        return ", ".join([f"definition {self.definition}", *told])

    def get_evaluator_version(self) -> str | None:
        """The definition and the version of the prompts."""
        return f"{self.definition}, prompts {DEFAULT_PROMPTS.version}"

    def build_serialization_arguments(self) -> dict[str, Any]:
        """What a dataset's file holds. An object in it says that it has to be replaced."""
        arguments = super().build_serialization_arguments()
        return {
            name: value if isinstance(value, (str, float, int)) else f"{_OBJECT}{value!r}>"
            for name, value in arguments.items()
        }

    def _rows(self) -> RowEvaluator:
        settings = tuple(getattr(self, field.name) for field in fields(self))
        made = cast("tuple[Any, RowEvaluator] | None", vars(self).get("_made"))
        if made is None or made[0] != settings:
            made = vars(self)["_made"] = (settings, self._new_rows())
        return made[1]

    def _new_rows(self) -> RowEvaluator:
        model = self.model
        if self.judge is None and self.recording is None and model is None:
            judging: Any = import_module("pydantic_evals.evaluators.llm_as_a_judge")
            model = judging._default_model
        return RowEvaluator(
            _USUAL,
            PydanticAILLM,
            judge=self.judge if self.recording is None else self.recording,
            model=model,
            mode=self.mode,
            definition=self.definition,
            empty=self.empty,
            undetermined=self.undetermined,
            store=self.store,
            contexts=self.contexts,
            reference=self.reference,
            response=self.response,
            user_input=self.user_input,
        )


@dataclass(repr=False)
class NoiseSensitivitySummary(ReportEvaluator[Any, Any, Any]):
    """The report's means, from what `NoiseSensitivity` found: one table for each evaluator.

    A mean has its interval and, where verdicts are open, its range; it is empty where they do not
    decide it. Cases that failed are counted, and in no figure.
    """

    def evaluate(self, ctx: ReportEvaluatorContext[Any, Any, Any]) -> list[ReportAnalysis]:
        """The tables. Nothing if no case was evaluated."""
        found = [_lines(case.attributes) for case in ctx.report.cases]
        titles = dict.fromkeys(name for lines in found for name in lines)
        failures = [Result(case.name, error="the task failed") for case in ctx.report.failures]
        return [
            _table(title, [_result(lines.get(title)) for lines in found] + failures)
            for title in titles
        ]


def _lines(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return cast("dict[str, Any]", attributes.get(_ATTRIBUTE) or {})


def _result(line: dict[str, Any] | None) -> Result:
    if line is None:
        return Result("", error="it was not evaluated")
    return Result.from_json(to_json(line))


def _table(title: str, results: list[Result]) -> ReportAnalysis:
    summary = summarize(results)
    rows: list[list[str | int | float | bool | None]] = []
    sentences: list[str] = []
    for figures in (summary.relevant, summary.irrelevant):
        if figures is None:
            continue
        mean = mean_of(summary, figures.mode)
        low, high = figures.mean or (None, None)
        interval = figures.interval
        ends = (None, None) if interval is None else (interval.low, interval.high)
        counts = (figures.determined, figures.undetermined, figures.undefined, summary.failed)
        rows.append([figures.mode, mean.value, low, high, *ends, *counts])
        sentences.append(mean.sentence)
    percent = f"{summary.confidence:.0%}"
    return TableResult(
        title=f"Noise sensitivity ({title})",
        description=" ".join(sentences),
        columns=[
            "mode",
            "mean",
            "mean low",
            "mean high",
            f"{percent} low",
            f"{percent} high",
            "determined",
            "undetermined",
            "undefined",
            "failed",
        ],
        rows=rows,
    )
