"""The test itself. ValidMind reads its signature and shows its docstring as its description."""

# Without `from __future__ import annotations`: ValidMind looks for classes in the return type.

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from noisesense import Result, summarize
from noisesense.errors import InputError, NoiseSenseError
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition
from noisesense.scoring.scoring import Empty, Undetermined, check_empty, check_undetermined
from noisesense_adapters.datasets.score import score_rows
from noisesense_adapters.toolbox.evaluate import Modes, check_modes
from noisesense_adapters.toolbox.given import Column
from noisesense_adapters.validmind.llm import judge_of
from noisesense_adapters.validmind.result import plots, raw_data, tables
from noisesense_adapters.validmind.sample import dataset_rows

_NAMESPACE, _NAME = "noisesense", "NoiseSensitivity"
TEST_ID = f"{_NAMESPACE}.{_NAME}"

_LOGGED = 5

vm: Any = import_module("validmind")
logger: Any = import_module("validmind.logging").get_logger("noisesense")

if TYPE_CHECKING:
    Output = tuple[dict[str, list[dict[str, Any]]], Any, Any, Any]
else:
    Figure = import_module("plotly.graph_objects").Figure
    Output = tuple[dict[str, list[dict[str, Any]]], Figure, Figure, vm.RawData]

F = TypeVar("F", bound=Callable[..., Any])


def _registered(test: F) -> F:
    vm.tags("noisesense", "llm", "rag_performance")(test)
    vm.tasks("text_qa", "text_generation", "text_summarization")(test)
    vm.test(TEST_ID)(test)
    # ValidMind marks it as a wrapper of itself, on which `help` and `inspect.signature` fail.
    vars(test).pop("__wrapped__", None)
    return test


@_registered
def NoiseSensitivity(  # noqa: N802 - as ValidMind names tests
    dataset: Any,
    response_column: Column = "response",
    retrieved_contexts_column: Column = "retrieved_contexts",
    reference_column: Column = "reference",
    focus: Modes | None = None,
    user_input_column: Column = "user_input",
    judge_llm: Any = None,
    judge_embeddings: Any = None,
    *,
    mode: Modes | None = None,
    judge: Any = None,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    store: Any = None,
    undetermined: Undetermined = "none",
) -> Output:
    r"""
    Measures how much of what a RAG system answers is wrong because of the documents it retrieved.

    ### Purpose

    A generator that is handed several documents can be misled by them: by a side remark in the
    right document, or by a document that should not have been retrieved. This test separates such
    errors from those that have nothing to do with retrieval. Scores run from 0 (no claim is
    wrong because of a document) to 1 (every claim is); lower is better.

    ### Test Mechanism

    A judge splits each response and each reference into claims and says which response claims the
    reference supports and which documents support which claims. A document that supports a claim
    of the reference counts as relevant. The score of a sample is

    $$
    \text{noise sensitivity} =
    \frac{|\text{incorrect claims that a document misled to}|}{|\text{claims of the response}|}
    $$

    with two modes: `relevant` counts incorrect claims that a relevant document supports,
    `irrelevant` those that only irrelevant documents support. One judging serves both.

    The judge is a recording of verdicts or any other judge (`judge`), a LangChain chat model
    (`judge_llm`), or else the model that ValidMind is configured with. The scores follow from its
    verdicts by counting, so a recording gives the same result every time.

    Where a score depends on verdicts that the judge did not give, the score of that sample is
    undetermined: it lies between a lowest and a highest value. The mean of all samples is then a
    range, too, from `Mean Low` to `Mean High`, and `Mean Score` is a number only where the two
    meet. A response without claims has nothing to measure: its score is undefined. Undetermined,
    undefined and failed samples are counted and never taken as 0 or 1. Histogram and box plot
    show the determined scores and say how many are left out; the raw data hold both modes'
    scores, with the bounds, the status and the reason of each.

    #### Configuring Columns

    `response_column`, `retrieved_contexts_column`, `reference_column` and `user_input_column` each
    take the name of a column, a path into a column of dictionaries such as
    `"my_model_prediction.answer"`, or a function of the row. Retrieved contexts are lists of
    texts, or of dictionaries with a text, an id and a label `relevant`. A label takes precedence
    over the judge.

    #### Configuring the Test

    - `mode`: `"relevant"` (the default), `"irrelevant"` or `"both"`, which gives the tables a
    row and the figures a trace for each. `focus` is its deprecated name.
    - `definition`: `"ragas"` (the default, which ValidMind's own test also computes), `"paper"`,
    `"promptfoo"` or `"validmind"`, the formula in the description of ValidMind's test: all
    incorrect claims, whatever they come from.
    - `empty`: `"undefined"`, `"zero"` or `"error"` for responses without claims.
    - `undetermined`: `"none"`, `"low"` or `"high"`: the score of a sample with open verdicts in
    the raw data and figures. It does not change the range of the mean.
    - `store`: a file that keeps a model's replies, so that no call is paid for twice.
    - `judge_embeddings`: accepted so that existing calls work, and not used.

    ### Signs of High Risk

    The second table says for each sign whether it is present, with its figure and threshold:

    - At least every tenth sample has a score of 0.5 or more.
    - Mean and median are 0.1 or more apart: few samples carry the problem.
    - A standard deviation of 0.25 or more: the system is robust for some inputs only.

    Look also for failed samples, and for a wide range from `Mean Low` to `Mean High`: the judge
    then left so much open that the data do not say how good the system is.

    ### Strengths

    - Tells errors that retrieval causes from what the model made up.
    - Every score comes with the claims and documents behind it and can be computed again from the
    recorded verdicts.
    - A missing verdict stays missing; it is never taken as a good one.

    ### Limitations

    - The scores are as good as the verdicts. A language model makes mistakes as a judge, and a
    wrong "yes" about a document and a claim raises the score far more than a wrong "no" lowers it.
    - References must be complete: a true claim that is not in the reference counts as incorrect.
    - The test does not say whether the response answers the question.
    """
    modes = _modes(mode, focus, definition)
    check_empty(empty)
    check_undetermined(undetermined)
    columns: dict[str, Column] = {
        "response": response_column,
        "retrieved_contexts": retrieved_contexts_column,
        "reference": reference_column,
        "user_input": user_input_column,
    }
    rows = dataset_rows(dataset, columns)
    results = score_rows(
        rows,
        judge_of(judge, judge_llm, store),
        definition=definition,
        empty=empty,
        undetermined=undetermined,
    )
    summary = summarize(results)
    _log_failures(results)
    of_modes = [figures for name in modes if (figures := summary.mode(name)) is not None]
    histogram, box = plots(results, of_modes, undetermined)
    return (
        tables(summary, of_modes, undetermined),
        histogram,
        box,
        raw_data(dataset, results, summary),
    )


class _Provider:
    """By which `vm.tests.list_tests()` finds the test."""

    def list_tests(self) -> list[str]:
        return [_NAME]

    def load_test(self, test_id: str) -> Callable[..., Any]:
        if test_id != _NAME:
            raise FileNotFoundError(f"noisesense has the test {_NAME}, not {test_id}")
        return NoiseSensitivity


vm.tests.register_test_provider(_NAMESPACE, _Provider())


def _modes(
    mode: Modes | None, focus: Modes | None, definition: DefinitionName
) -> tuple[Mode, ...]:
    """The modes of the tables and figures: the relevant one by default, as in ValidMind."""
    if focus is not None:
        warnings.warn("focus= is deprecated, as in ragas: use mode=", DeprecationWarning, 3)
        if mode not in (None, focus):
            raise InputError("mode alone", f"mode={mode!r} and focus={focus!r}", where="focus")
    chosen = mode or focus or "relevant"
    modes = check_modes(chosen, definition)
    if modes == ("irrelevant",) and check_definition(definition).irrelevant is None:
        raise InputError(
            "a definition with an irrelevant mode", repr(definition), where="definition"
        )
    return modes


def _log_failures(results: list[Result]) -> None:
    """Log which samples failed. Raises `NoiseSenseError` if all did."""
    errors = [result.error for result in results if result.error is not None]
    if len(errors) == len(results):
        raise NoiseSenseError(f"none of {len(results)} samples was scored. The first: {errors[0]}")
    for error in errors[:_LOGGED]:
        logger.warning("failed: %s", error)
    if len(errors) > _LOGGED:
        logger.warning("%d samples failed; the raw data say why of each", len(errors))
