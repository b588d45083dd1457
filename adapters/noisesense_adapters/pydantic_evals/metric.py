"""The evaluator of cases, the one of reports, and pydantic-ai's models as the judge's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from typing import Any, cast

from msgspec.structs import replace
from pydantic import BaseModel

from noisesense import DefinitionName, Empty, Judge, Result, Undetermined, summarize
from noisesense.errors import describe
from noisesense.jsonl import to_json
from noisesense.judging.prompts import DEFAULT_PROMPTS
from noisesense.scoring.outcomes import percent_text
from noisesense_adapters.evaluate.rows import Modes, RowEvaluator, check_modes
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.models.bridge import Bridge, Reply
from noisesense_adapters.models.envelopes import problem_of, stop_problem, usage_of
from noisesense_adapters.models.failures import made
from noisesense_adapters.models.identity import identity
from noisesense_adapters.models.replies import json_form
from noisesense_adapters.reading.paths import Column
from noisesense_adapters.reading.places import HOSTS
from noisesense_adapters.reading.values import as_object

with needs_extra("pydantic-evals", "pydantic_evals"):
    # Not for types only: pydantic-evals reads them to write a dataset's JSON schema.
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models import Model, ModelRequestParameters, infer_model
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_evals.evaluators import (
        EvaluationReason,
        Evaluator,
        EvaluatorContext,
        ReportEvaluator,
        ReportEvaluatorContext,
    )
    from pydantic_evals.reporting.analyses import ReportAnalysis, TableResult


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
        self.name = _named(self._model)
        models = getattr(self._model, "models", [self._model])  # those of a FallbackModel
        options = [(each.settings, getattr(each, "base_url", None)) for each in models]
        self.identity = identity(models=options)
        profile = as_object(self._model.profile)
        self.takes_forms = bool(profile.get("supports_json_schema_output"))

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
        # Its own name of the reason; the provider's is among the details.
        problem = stop_problem(response.finish_reason) or problem_of(response.provider_details)
        return Reply(response.text or "", usage_of(response), problem)


_ATTRIBUTE = "noise_sensitivity"
_NAMES = ("inputs", "output", "expected_output", "metadata", "attributes")


def _named(value: Any) -> str:
    """Return what a report calls a model, a judge or a function: never by its address."""
    if isinstance(value, Model):
        return f"{value.system}:{value.model_name}"
    return str(getattr(value, "name", type(value).__name__))


@dataclass(repr=False)
class NoiseSensitivity(Evaluator[Any, Any, Any]):
    """Noise sensitivity of each case, from 0 to 1. **Lower is better.**

    It gives the scores ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from
    one judging. A score that is undefined or undetermined is left out, so that no average takes
    it for a number. A label ``noise_sensitivity_<mode>_status`` says of every case what it is,
    with the reason; in the averages row it shows the share of cases that have a number.
    The claims and chunks behind a number are in the case's ``attributes["noise_sensitivity"]``.

    Args:
        model: a model of pydantic-ai, or its name; by default the one given to
            ``set_default_judge_model``.
        judge: the path of a recording, or any `noisesense.Judge`, instead of a model. Only a path
            can be written to a dataset's file.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"``.
        definition: see `noisesense.score`.
        empty: likewise.
        undetermined: likewise.
        max_noise: with it each mode also gives an assertion ``noise_sensitivity_<mode>_ok``: true
            only if there is a score and it is at most this, whatever the open verdicts are.
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
        InputError: an unknown mode or definition. Other wrong arguments fail each case.
    """

    model: Model | str | None = None
    judge: Judge | str | None = None
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
        check_modes(self.mode, self.definition)

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Of each mode asked for: its score if it has a value, its status, and its assertion if
        there is a ``max_noise``.

        The result's line is kept in the case's attributes, where `NoiseSensitivitySummary` finds
        it.

        Raises:
            NoiseSenseError: the case cannot be evaluated; the report shows it as its failure.
        """
        place = f"case {describe(ctx.name or ctx.inputs)}"
        row = {name: getattr(ctx, name) for name in _NAMES}
        rows = self._rows
        result = await rows.evaluate(row, place)
        lines = cast("dict[str, Any]", ctx.attributes.setdefault(_ATTRIBUTE, {}))
        lines[self._title()] = replace(result, id=ctx.name or "").to_dict()
        results: dict[str, EvaluationReason] = {}
        for mode, value, reason, metadata in rows.figures(result):
            name = rows.name(mode)
            # Also without a value: the averages row then shows which share of the cases has one.
            results[f"{name}_status"] = EvaluationReason(metadata["status"], reason)
            if value is not None:
                results[name] = EvaluationReason(value, reason)
            if self.max_noise is not None and result.score is not None:
                is_ok = result.score.gate(mode, self.max_noise) == "pass"
                results[f"{name}_ok"] = EvaluationReason(is_ok, reason)
        return results

    def _title(self) -> str:
        """Return what tells its results from those of another evaluator over the same cases."""
        arguments = {"definition": self.definition, **self.build_serialization_arguments()}
        return ", ".join(f"{name} {value}" for name, value in arguments.items())

    def build_serialization_arguments(self) -> dict[str, Any]:
        """Return the arguments that are not the defaults, for files and reports.

        Of an object its name, or else its class.
        """
        arguments = super().build_serialization_arguments()
        for name, value in arguments.items():
            if not isinstance(value, (str, bool, int, float)):
                arguments[name] = _named(value)
        return arguments

    def get_evaluator_version(self) -> str | None:
        """Return the definition and the version of the prompts."""
        return f"{self.definition}, prompts {DEFAULT_PROMPTS.version}"

    @cached_property
    def _rows(self) -> RowEvaluator:
        """Made when the first case is evaluated: models may be configured until then."""
        arguments: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        del arguments["max_noise"]
        if self.judge is None and self.model is None:
            judging: Any = import_module("pydantic_evals.evaluators.llm_as_a_judge")
            arguments["model"] = judging._default_model
        return RowEvaluator(HOSTS["pydantic-evals"], PydanticAILLM, **arguments)


@dataclass(repr=False)
class NoiseSensitivitySummary(ReportEvaluator[Any, Any, Any]):
    """The report's means, from what `NoiseSensitivity` found: one table for each evaluator.

    A mean has its range, whose two ends differ where verdicts are open, and its interval. Cases
    that failed are counted, and in no figure.
    """

    def evaluate(self, ctx: ReportEvaluatorContext[Any, Any, Any]) -> list[ReportAnalysis]:
        """Return the tables, one for each evaluator; none if no case was evaluated."""
        cases: list[dict[str, Any]] = []
        for case in ctx.report.cases:
            cases.append(case.attributes.get(_ATTRIBUTE) or {})
        cases += [{} for _ in ctx.report.failures]  # of which the task failed
        titles: dict[str, None] = {}
        for lines in cases:
            titles |= dict.fromkeys(lines)
        return [_table(title, [lines.get(title) for lines in cases]) for title in titles]


def _table(title: str, lines: Sequence[dict[str, Any] | None]) -> ReportAnalysis:
    """Return the table of an evaluator, from the lines of its results."""
    results: list[Result] = []
    for line in lines:
        if line is None:
            results.append(Result("", error="it was not evaluated"))
        else:
            results.append(Result.from_json(to_json(line)))
    summary = summarize(results)
    percent = percent_text(summary.confidence)
    columns = ["mode", "mean low", "mean high", f"{percent} low", f"{percent} high"]
    columns += ["determined", "undetermined", "undefined", "failed"]
    rows: list[list[str | int | float | bool | None]] = []
    for figures in summary.modes:
        counts = [figures.determined, figures.undetermined, figures.undefined, summary.failed]
        rows.append([figures.mode, *_ends(figures.mean), *_ends(figures.interval), *counts])
    return TableResult(
        title=f"Noise sensitivity ({title})",
        description=str(summary),
        columns=columns,
        rows=rows,
    )


def _ends(figure: Any) -> tuple[float | None, float | None]:
    return (None, None) if figure is None else (figure.low, figure.high)
