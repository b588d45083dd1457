"""The test itself, its dataset as samples and its models.

ValidMind reads the test's signature and shows its docstring as its description.
"""

# Without `from __future__ import annotations`: ValidMind looks for classes in the return type.

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from noisesense import Judge, Result, summarize
from noisesense.errors import InputError, MissingExtraError, NoiseSenseError, describe, located
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition
from noisesense.scoring.scoring import Empty, Undetermined, check_empty, check_undetermined
from noisesense_adapters.datasets.rows import BadRow, ColumnReader, Row, recognize
from noisesense_adapters.datasets.score import score_rows
from noisesense_adapters.toolbox.evaluate import Modes, check_modes
from noisesense_adapters.toolbox.failures import judge_error
from noisesense_adapters.toolbox.given import Column, pick
from noisesense_adapters.toolbox.judges import given_judge, judge_over
from noisesense_adapters.validmind.result import plots, raw_data, tables

_HINT = "judge=RECORDING needs no model; judge_llm= takes any chat model of LangChain"


def judge_of(judge: Any, judge_llm: Any, store: Any) -> Judge:
    """The judge that the parameters describe.

    Args:
        judge: a judge, or the path of a recording.
        judge_llm: a LangChain chat model, or a ValidMind model that holds one. Without ``judge``
            and ``judge_llm``, the model that ValidMind is configured with.
        store: a `VerdictStore`, or the path of one, for a model's replies.

    Raises:
        InputError: both, something else, or a store beside a judge.
        MissingExtraError: the packages of ValidMind's own model are not installed.
        JudgeError: ValidMind's own model cannot be made, e.g. its key is not configured.
    """
    given = given_judge(judge, judge_llm=judge_llm, store=store)
    if given is not None:
        return given
    from noisesense_adapters.langchain import LangChainLLM

    model = _model(judge_llm)
    return judge_over(model, partial(LangChainLLM, model), "validmind", store=store)


def _model(judge_llm: Any) -> Any:
    """The chat model, by ValidMind's own rules; its embeddings are not needed."""
    name = "judge_llm" if judge_llm is not None else "there is no judge, and ValidMind's own model"
    failure: NoiseSenseError
    try:
        model, _ = import_module("validmind.ai.utils").get_judge_config(judge_llm, None)
    except ImportError:
        failure = MissingExtraError(f"{name} needs packages of 'validmind[llm]'. Hint: {_HINT}")
    except Exception as error:  # noqa: BLE001 - clients' exceptions may quote their settings
        if judge_llm is None:
            cause = judge_error(error, name)
            failure = type(cause)(f"{cause}. Hint: {_HINT}")
        else:
            expected = "a LangChain chat model, or a ValidMind model with one as its .model"
            failure = InputError(expected, type(judge_llm).__name__, where="judge_llm")
    else:
        return model
    raise failure


pandas: Any = import_module("pandas")
_OPTIONAL = "user_input"


def dataset_rows(dataset: Any, columns: Mapping[str, Column]) -> list[Row | BadRow]:
    """Every row of the dataset, named by its index.

    ``user_input`` may be missing: no verdict depends on it. Raises `InputError` for anything but
    a dataset, without a readable row, or a column that is neither a name nor a function.
    """
    # Its public table leaves out the predictions of models.
    table = getattr(dataset, "_df", None)
    if table is None:
        hint = "vm.init_dataset(dataset=…)"
        raise InputError("a ValidMind dataset", type(dataset).__name__, where="dataset", hint=hint)
    for field, column in columns.items():
        if not isinstance(column, str) and not callable(column):
            expected = "a column's name, a dotted path or a function of the row"
            raise InputError(expected, describe(column), where=f"{field}_column")
    wanted = dict(columns)
    if wanted[_OPTIONAL] == _OPTIONAL and _OPTIONAL not in table.columns:
        del wanted[_OPTIONAL]
    rows = list(_read(dataset.input_id, table, wanted))
    if not rows:
        raise InputError("at least one row", "none", where=f"dataset {dataset.input_id!r}")
    first = rows[0]
    if isinstance(first, BadRow) and all(isinstance(row, BadRow) for row in rows):
        raise first.error
    return rows


def _read(name: str, table: Any, columns: Mapping[str, Column]) -> Iterator[Row | BadRow]:
    reader = recognize(columns, {})
    for label, cells in table.iterrows():
        place, label = f"dataset {name!r}, row {label}", str(label)
        try:
            yield _row(reader, cells, columns, place)._replace(id=label)
        except InputError as error:
            yield BadRow(place, label, error.within(place))


def _row(reader: ColumnReader, cells: Any, columns: Mapping[str, Column], place: str) -> Row:
    fields = cast("dict[str, Any]", cells.to_dict())
    values: dict[str, Any] = {}
    for field, column in columns.items():
        with located(f"{field}_column"):
            # A function gets the row as ValidMind gives it, a pandas Series.
            value = pick(cells if callable(column) else fields, column)
        values[field] = None if _is_missing(value) else value
    contexts: Any = values.get("retrieved_contexts")
    if isinstance(contexts, str) and not contexts.lstrip().startswith("["):
        raise InputError(
            "a list of texts",
            describe(contexts),
            where="retrieved_contexts_column",
            hint="one text is one context: retrieved_contexts_column=lambda row:"
            " [row['contexts']], or row['contexts'].split(…)",
        )
    return reader(values, place)


def _is_missing(value: Any) -> bool:
    """Is it the value of an empty cell in pandas?"""
    return bool(pandas.api.types.is_scalar(value) and pandas.isna(value))


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
