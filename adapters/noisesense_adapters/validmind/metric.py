"""The test, its dataset as samples, and its judge.

ValidMind reads the test's signature and shows its docstring as its description.
"""

# Without `from __future__ import annotations`: ValidMind looks for classes in the return type.

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from noisesense import Judge, summarize
from noisesense.errors import InputError, NoiseSenseError, error_context
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.score import score_rows
from noisesense_adapters.evaluate.judges import given_judge, judge_over
from noisesense_adapters.evaluate.rows import Modes, check_modes
from noisesense_adapters.models.failures import judge_error
from noisesense_adapters.reading.paths import Column
from noisesense_adapters.reading.places import HOSTS
from noisesense_adapters.reading.row import Reader
from noisesense_adapters.validmind.result import plots, raw_data, tables

_NAMESPACE = "noisesense"
_NAME = "NoiseSensitivity"
TEST_ID = f"{_NAMESPACE}.{_NAME}"

vm: Any = import_module("validmind")
pandas: Any = import_module("pandas")
logger: Any = import_module("validmind.logging").get_logger("noisesense")

if TYPE_CHECKING:
    Output = tuple[dict[str, list[dict[str, Any]]], Any, Any, Any]
else:
    Figure = import_module("plotly.graph_objects").Figure
    Output = tuple[dict[str, list[dict[str, Any]]], Figure, Figure, vm.RawData]


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
    meet. Where a response has no claims, or nothing was retrieved, there is nothing to measure:
    the score is undefined. Undetermined, undefined and failed samples are counted and never taken
    as 0 or 1; if all samples fail, the test fails, too. Histogram and box plot show the determined
    scores and say how many are left out; the raw data hold both modes' scores, with the bounds,
    the status and the reason of each.

    #### Configuring Columns

    `response_column`, `retrieved_contexts_column`, `reference_column` and `user_input_column` each
    take the name of a column, a path into a column of dictionaries such as
    `"my_model_prediction.answer"`, or a function of the row. Retrieved contexts are lists of
    texts, or of dictionaries with a text, an id and a label `relevant`. A label takes precedence
    over the judge.

    #### Configuring the Test

    - `mode`: `"relevant"` (the default), `"irrelevant"` or `"both"`, which gives the tables a
    row and the figures a trace for each. `focus`, as in ValidMind's own test, is the same.
    - `definition`: `"ragas"` (the default, which ValidMind's own test also computes), `"paper"`,
    `"promptfoo"` or `"validmind"`, the formula in the description of ValidMind's test: all
    incorrect claims, whatever they come from.
    - `empty`: `"undefined"`, `"zero"` or `"error"` for samples with nothing to measure.
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
    columns = {
        "response": response_column,
        "contexts": retrieved_contexts_column,
        "reference": reference_column,
        "user_input": user_input_column,
    }
    results = score_rows(
        _rows(dataset, columns),
        _judge(judge, judge_llm, store),
        definition=definition,
        empty=empty,
        undetermined=undetermined,
    )
    errors = [result.error for result in results if result.error is not None]
    if errors:
        message = f"{len(errors)} of {len(results)} samples failed. The first: {errors[0]}"
        logger.warning(message)
        if len(errors) == len(results):
            raise NoiseSenseError(message)
    summary = summarize(results)
    summaries = [figures for figures in summary.modes if figures.mode in modes]
    histogram, box = plots(results, summaries, undetermined)
    return (
        tables(results, summary, summaries, undetermined),
        histogram,
        box,
        raw_data(dataset, results, summary),
    )


vm.tags("noisesense", "llm", "rag_performance")(NoiseSensitivity)
vm.tasks("text_qa", "text_generation", "text_summarization")(NoiseSensitivity)
vm.test(TEST_ID)(NoiseSensitivity)
# ValidMind marks it as a wrapper of itself, so that `help` and `inspect.signature` fail.
vars(NoiseSensitivity).pop("__wrapped__", None)


class _Provider:
    """Lists the test for `vm.tests.list_tests()`."""

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
    """Return the modes of the tables and figures; the relevant one by default, as in ValidMind."""
    if mode and focus and mode != focus:
        raise InputError("mode alone", f"mode={mode!r} and focus={focus!r}", where="focus")
    modes = check_modes(mode or focus or "relevant", definition)
    if modes == ("irrelevant",) and check_definition(definition).irrelevant is None:
        expected = "a definition with an irrelevant mode"
        raise InputError(expected, repr(definition), where="definition")
    return modes


def _of_series(column: Callable[[Any], Any], row: Mapping[str, Any]) -> Any:
    """Call the user's function with the row as ValidMind has it."""
    return column(pandas.Series(row))


def _rows(dataset: Any, columns: dict[str, Column]) -> list[Row | BadRow]:
    """Return every row of the dataset, named by its index; a `BadRow` if it cannot be read.

    Raises `InputError` if there are no rows.
    """
    # The public table lacks the predictions of models.
    table = getattr(dataset, "_df", None)
    if table is None or table.empty:
        got = type(dataset).__name__ if table is None else "no rows"
        hint = "vm.init_dataset(dataset=…)"
        raise InputError("a ValidMind dataset with rows", got, where="dataset", hint=hint)
    chosen: dict[str, Column] = {}
    for field, column in columns.items():
        chosen[field] = partial(_of_series, column) if callable(column) else column
    if chosen["user_input"] == "user_input":
        del chosen["user_input"]  # the usual place, which need not be there
    reader = Reader(HOSTS["validmind"], chosen)
    rows: list[Row | BadRow] = []
    for label, cells in table.astype(object).iterrows():
        place = f"dataset {dataset.input_id!r}, row {label}"
        try:
            with error_context(place):
                sample = reader.read(dict(cells)).sample
            rows.append(Row(place, str(label), sample=sample))
        except InputError as error:
            rows.append(BadRow(place, str(label), error))
    return rows


_HINT = (
    "judge=RECORDING needs no model; judge_llm= takes any chat model of LangChain; "
    "ValidMind's own model needs the packages of 'validmind[llm]'"
)


def _judge(judge: Any, judge_llm: Any, store: Any) -> Judge:
    """Return the given judge, or one over the given model or that of ValidMind's configuration."""
    users_judge = given_judge(judge, judge_llm=judge_llm, store=store)
    if users_judge is not None:
        return users_judge
    from noisesense_adapters.langchain import LangChainLLM

    name = "judge_llm" if judge_llm is not None else "there is no judge, and ValidMind's own model"
    try:
        # By ValidMind's rules; embeddings are not needed.
        model, _ = import_module("validmind.ai.utils").get_judge_config(judge_llm, None)
    except Exception as error:  # noqa: BLE001 - errors of clients may quote their settings
        cause = judge_error(error, name)
        raise type(cause)(f"{cause}. Hint: {_HINT}") from None
    return judge_over(model, partial(LangChainLLM, model), "validmind", store=store)
