"""Noise sensitivity in ragas' idiom: for ``evaluate()`` and for the collections API."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics.base import MetricOutputType, MetricType, MetricWithLLM, SingleTurnMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult
from ragas.prompt import PydanticPrompt
from ragas.run_config import RunConfig

from noisesense.errors import InputError, located
from noisesense.judging.protocol import Judge, Judgement
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, check_mode
from noisesense.scoring.scoring import Empty, Undetermined, check_empty, check_undetermined, score
from noisesense_adapters.ragas.llm import RagasLLM, check_llm
from noisesense_adapters.ragas.prompts import FORMS, prompts_of
from noisesense_adapters.ragas.result import Choices, ScoredFloat
from noisesense_adapters.ragas.run import Run, as_job_under, row_number, score_row
from noisesense_adapters.ragas.sample import FIELDS, read_row, row_place
from noisesense_adapters.toolbox.judges import check_judge, judge_over


class _NoModel:
    """The ``llm`` of a metric with a judge: ragas gives its own model to a metric without one."""

    def __repr__(self) -> str:
        return "no model: the metric has a judge"

    def __reduce__(self) -> str:
        return "_NO_MODEL"


_NO_MODEL = _NoModel()
_MISSING: Any = object()  # the arguments after user_input must be given, as it need not be


@dataclass(init=False, repr=False, eq=False)
class NoiseSensitivity(BaseMetric, MetricWithLLM, SingleTurnMetric):
    """The share of claims that are wrong because of a retrieved chunk, as a ragas metric.

    ``mode="relevant"`` counts the response's claims that are incorrect and that a relevant chunk
    entails, ``mode="irrelevant"`` those that only irrelevant chunks entail: from 0 to 1, lower is
    better. A chunk is relevant if it entails a claim of the reference. Where you know better, a
    row says so in its ``rubrics`` (see `noisesense_adapters.ragas.rubrics`). ragas has two metrics
    of this name; this class takes the place of both, with verdicts from anywhere and fewer calls.

    ``evaluate(dataset, metrics=[NoiseSensitivity(…)])`` gives a column
    ``noise_sensitivity(mode=relevant)`` of floats. Each is a `ScoredFloat` that carries the whole
    score, and is NaN where there is no number:

    - *undefined*: there is nothing to measure, since the response makes no claims, or since the
      reference makes none and a chunk has no label (ragas' own metric has no number either).
    - *undetermined*: the number depends on verdicts that the judge left open. The run ends with
      one log line that gives the range of its mean; `noisesense_adapters.ragas.summarize` gives
      it with an interval. ``evaluate(raise_exceptions=True)`` raises instead.

    A row that failed is a plain NaN; ragas logs why, and ``raise_exceptions=True`` raises it.
    ``await metric.ascore(…)`` and ``metric.score(…)`` give a `MetricResult` with value, reason
    and traces.

    Two modes in one ``evaluate()`` have a sample judged once. Another ``evaluate()`` judges again,
    and so does each further ``ascore()`` of a metric.

    The order of ragas' collections, ``NoiseSensitivity(llm, name, mode)``, is understood, too.
    ``get_prompts()``, ``set_prompts()``, ``adapt_prompts()``, ``save_prompts()`` and
    ``load_prompts()`` work on the instructions that the model gets.

    Args:
        mode: ``"relevant"`` or ``"irrelevant"``.
        llm: the model that judges. Without ``llm`` and ``judge``, ``evaluate()`` sets its own.
        judge: where the verdicts come from instead. No model and no key is then needed.
        definition: ``"ragas"``, as above, or another: see `noisesense.definitions`.
        empty: the score of a response without claims, see `noisesense.score`.
        undetermined: what open verdicts count as: ``"none"`` (the score is NaN), ``"low"`` (none
            of them is noise) or ``"high"`` (all are).
        share: whether metrics of the same run share what is judged. False makes this one ask for
            itself alone.
        name: the column's name; ragas adds the mode. ragas keeps one column a name, so several
            definitions in one run need a name each.
        store: a `VerdictStore` that keeps the replies of ``llm``.
        judge_options: further arguments of `noisesense.LLMJudge`.
        claim_decomposition_prompt: an instruction of your own, see ``get_prompts()``.
        claim_verification_prompt: likewise.
        max_retries: how often a reply is asked for again where it leaves something out:
            ``max_reasks`` of `noisesense.LLMJudge`.
        focus: deprecated name of ``mode``.

    Raises:
        InputError: an unknown mode, definition, empty, undetermined or judge option; both an
            ``llm`` and a ``judge``; an argument of ragas' own metric that has no meaning here.
    """

    # As fields, so that `dataclasses.replace` gives all of them to __init__.
    name: str = "noise_sensitivity"
    mode: Mode = "relevant"
    llm: Any = None
    judge: Judge | None = None
    definition: DefinitionName = "ragas"
    empty: Empty = "undefined"
    undetermined: Undetermined = "none"
    share: bool = True
    store: Any = None
    judge_options: dict[str, Any] = field(default_factory=dict[str, Any])
    claim_decomposition_prompt: PydanticPrompt[Any, Any] | None = None
    claim_verification_prompt: PydanticPrompt[Any, Any] | None = None
    output_type: MetricOutputType | None = field(default=None, init=False)
    allowed_values: Any = field(default=(0.0, 1.0), init=False)
    _required_columns: dict[MetricType, set[str]] = field(
        default_factory=dict[MetricType, set[str]], init=False
    )

    def __init__(
        self,
        mode_or_llm: Mode | Any = None,
        /,
        llm: Any = None,
        judge: Judge | Any = None,
        *,
        mode: Mode | None = None,
        definition: DefinitionName = "ragas",
        empty: Empty = "undefined",
        undetermined: Undetermined = "none",
        share: bool = True,
        name: str = "noise_sensitivity",
        store: Any = None,
        judge_options: Mapping[str, Any] | None = None,
        claim_decomposition_prompt: PydanticPrompt[Any, Any] | None = None,
        claim_verification_prompt: PydanticPrompt[Any, Any] | None = None,
        max_retries: int | None = None,
        focus: Mode | None = None,
        **of_ragas: Any,
    ) -> None:
        for key in of_ragas:
            _refuse(key)
        if mode_or_llm is not None and not isinstance(mode_or_llm, str):
            # The order of ragas' collections: llm, name, mode.
            if isinstance(llm, str):
                name, llm = llm, None
            if isinstance(judge, str):
                mode, judge = _only("mode", mode, judge), None
            llm = _only("llm", llm, mode_or_llm)
        elif mode_or_llm is not None:
            mode = _only("mode", mode, mode_or_llm)
        self.mode = _mode(mode, focus)
        self.judge = judge
        self.llm = None if llm is _NO_MODEL else llm
        self.definition = check_definition(definition).name
        self.empty = check_empty(empty)
        self.undetermined = check_undetermined(undetermined)
        self.share = share
        self.store = store
        if max_retries is not None and not judge:
            of_ours = (judge_options or {}).get("max_reasks")
            one = _only("max_retries", of_ours, max_retries)
            judge_options = {**(judge_options or {}), "max_reasks": one}
        check_judge(judge, judge_options or None, llm=self.llm, store=store)
        options = dict(judge_options or {})
        self.judge_options = options
        given = claim_decomposition_prompt, claim_verification_prompt
        if judge is None:
            for form, prompt in zip(FORMS, given, strict=True):
                setattr(self, form.name, prompt or form.of(options.get("prompts")))
        elif any(given):
            raise InputError("a judge alone", "a prompt too", where="judge", hint=_JUDGES_PROMPTS)
        else:
            self.llm = _NO_MODEL
        self.output_type = MetricOutputType.CONTINUOUS
        self._required_columns = {MetricType.SINGLE_TURN: {*FIELDS, "rubrics:optional"}}
        BaseMetric.__init__(self, name)  # pyright: ignore[reportUnknownMemberType]

    def __deepcopy__(self, memo: dict[int, Any]) -> NoiseSensitivity:
        # A copy shares the judge, so that it does not pay again.
        twin = copy.copy(self)
        own: Any = self
        for name, prompt in own._get_prompts().items():
            setattr(twin, name, copy.deepcopy(prompt, memo))
        return twin

    def __repr__(self) -> str:
        source = "" if self.judge is None else f", judge={self.judge!r}"
        name = "" if self.name == "noise_sensitivity" else f", name={self.name!r}"
        of = f"mode={self.mode!r}, definition={self.definition!r}{name}{source}"
        return f"{type(self).__name__}({of})"

    # A base class is a dataclass, which compares names only and cannot be hashed.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def max_retries(self) -> int:
        """As ragas' own: how often a reply is asked for again where it leaves something out."""
        from noisesense.judging.llm import LLMJudge

        default = (LLMJudge.__init__.__kwdefaults__ or {})["max_reasks"]
        return int(self.judge_options.get("max_reasks", default))

    @max_retries.setter
    def max_retries(self, times: int) -> None:
        self.judge_options = {**self.judge_options, "max_reasks": times}

    def init(self, run_config: RunConfig) -> None:
        """Called by ragas at the start of a run. A judge needs no configuration."""
        if self.judge is None:
            MetricWithLLM.init(self, run_config)

    def set_prompts(self, **prompts: Any) -> None:
        """As ragas' own, for the prompts of `get_prompts`. Raises `InputError` with a judge."""
        self._check_prompts()
        super().set_prompts(**prompts)  # type: ignore[no-untyped-call]

    async def adapt_prompts(
        self, language: str, llm: Any, adapt_instruction: bool = False
    ) -> dict[str, Any]:
        """As ragas' own: the prompts in another language, which `set_prompts` puts to use.

        Claims are written in the language of their text whatever the prompts are in, and there
        are no examples unless you add some: only ``adapt_instruction=True`` changes anything.
        """
        self._check_prompts()
        base: Any = super()
        prompts: dict[str, Any] = await base.adapt_prompts(language, llm, adapt_instruction)
        return prompts

    def save_prompts(self, path: str) -> None:
        """As ragas' own."""
        self._check_prompts()
        super().save_prompts(path)

    def load_prompts(self, path: str, language: str | None = None) -> dict[str, Any]:
        """As ragas' own: what `set_prompts` puts to use."""
        self._check_prompts()
        base: Any = super()
        prompts: dict[str, Any] = base.load_prompts(path, language)
        return prompts

    def _check_prompts(self) -> None:
        if self.judge is not None:
            raise InputError("a metric with an llm", "a judge", hint=_JUDGES_PROMPTS)

    async def ascore(  # type: ignore[override]
        self,
        user_input: str = "",
        response: str = _MISSING,
        reference: str = _MISSING,
        retrieved_contexts: Sequence[Any] = _MISSING,
        rubrics: Mapping[str, str] | None = None,
    ) -> MetricResult:
        """The score of one sample, with its reason and (``traces["output"]``) its report.

        Args:
            user_input: the question.
            response: what the system answered.
            reference: the correct answer.
            retrieved_contexts: strings, or `noisesense.Chunk` with a label.
            rubrics: see `noisesense_adapters.ragas.rubrics`.

        Raises:
            InputError: a field is missing or wrong.
            NoiseSenseError: as the judge raises.
        """
        row = {
            "user_input": user_input,
            "response": response,
            "reference": reference,
            "retrieved_contexts": retrieved_contexts,
            "rubrics": rubrics,
        }
        for field_name, given in row.items():
            if given is _MISSING:
                raise TypeError(f"NoiseSensitivity.ascore() missing {field_name!r}")
        with located(row_place(row)):
            value = await self._value(row, Run())
        return MetricResult(value, value.reason, {"input": row, "output": value.report})

    async def single_turn_ascore(
        self, sample: SingleTurnSample, callbacks: Any = None, timeout: float | None = None
    ) -> float:
        """As ragas' own, for ``evaluate()``: see the class.

        Raises:
            UndeterminedScoreError: under ``evaluate(raise_exceptions=True)``.
            NoiseSenseError: as the judge raises.
        """
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        with as_job_under(caller):
            return await super().single_turn_ascore(sample, callbacks, timeout)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        row = {name: getattr(sample, name) for name in (*FIELDS, "rubrics")}
        place = row_place(row, row_number(callbacks))
        with located(place):
            return await score_row(
                partial(self._value, row), callbacks, self.name, self._choices()
            )

    async def _value(self, row: Mapping[str, Any], run: Run) -> ScoredFloat:
        sample, verdicts = read_row(row)
        choices = self._choices()
        if verdicts is None:
            judgement = await judge_once(
                self._current_judge(),
                sample,
                metric=("ragas", self.name, *choices),
                run=run.token,
                share=self.share and not run.over,
            )
        else:
            judgement = Judgement(verdicts)
        _, definition, empty, undetermined = choices
        result = score(
            judgement.verdicts, definition=definition, empty=empty, undetermined=undetermined
        )
        return ScoredFloat.of(result, check_mode(self.mode), judgement)

    def _choices(self) -> Choices:
        return Choices(check_mode(self.mode), self.definition, self.empty, self.undetermined)

    def _current_judge(self) -> Judge:
        if self.judge is not None:
            return self.judge
        if self.llm is None:
            raise InputError(
                "an llm or a judge",
                "neither",
                where=self.name,
                hint="NoiseSensitivity(llm=…), NoiseSensitivity(judge=…) or evaluate(…, llm=…)",
            )
        bridge, options = partial(RagasLLM, self.llm), dict(self.judge_options)
        prompts = prompts_of([getattr(self, form.name) for form in FORMS], options.get("prompts"))
        if prompts is not None:
            options["prompts"] = prompts
        return judge_over(self.llm, bridge, "ragas", store=self.store, options=options)

    def _validate_llm(self) -> None:
        """ragas' collections take only some models. Here those of ``evaluate()`` are as good."""
        if self.llm is not None and self.judge is None:
            check_llm(self.llm)


_JUDGES_PROMPTS = "a judge has prompts of its own: LLMJudge(llm, prompts=Prompts(…))"

# What ragas' own metrics take and this one cannot.
_REFUSED = {
    "nli_statements_prompt": "claim_verification_prompt takes its place",
    "statement_generator_prompt": "claim_decomposition_prompt takes its place",
    "allowed_values": "a score is from 0 to 1",
    "output_type": "a score is continuous",
    "_required_columns": "rename the dataset's columns, or use evaluate(column_map=…)",
    "embeddings": "no embeddings are needed",
}


def _refuse(name: str) -> None:
    if name not in _REFUSED:
        raise TypeError(f"NoiseSensitivity.__init__() got an unexpected keyword argument {name!r}")
    raise InputError("arguments of NoiseSensitivity", repr(name), hint=_REFUSED[name])


def _only(name: str, one: Any, two: Any) -> Any:
    """Whichever of two that mean the same is given."""
    if one is not None and one != two:
        raise InputError(f"one {name}", "two", where=name)
    return two


def _mode(mode: Any, focus: Any) -> Mode:
    mode = "relevant" if mode is None and focus is None else mode
    if focus is not None:
        warnings.warn(
            "focus= is deprecated, as in ragas: use mode=", DeprecationWarning, stacklevel=3
        )
        if mode not in (None, "relevant", focus):
            raise InputError("mode alone", "mode and focus", where="focus")
        mode = focus
    if not isinstance(mode, str):
        hint = "NoiseSensitivity(llm=…)"
        raise InputError(
            "'relevant' or 'irrelevant'", type(mode).__name__, where="mode", hint=hint
        )
    return check_mode(mode)
