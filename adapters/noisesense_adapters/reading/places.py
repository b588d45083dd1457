"""Where texts stand: one table for every file and host. A new export is a line, a name a word.

Case and punctuation of names make no difference. No name is better than another one: where two
of them hold different texts, the user is asked.
"""

from __future__ import annotations

FIELDS = ("response", "reference", "retrieved_contexts", "user_input")
"""The fields of a sample, and the columns of `FILES`."""

FILES = {
    "ragas": "response reference retrieved_contexts user_input",
    "ragas before 0.2": "answer ground_truth contexts question",
    "ragas before 0.1": "answer ground_truths contexts question",
    "DeepEval": "actual_output expected_output retrieval_context input",
    "RAGChecker": "response gt_answer retrieved_context query",
    "Promptfoo": "output reference contextChunks query",
    "MLflow": "outputs expected_response retrieved_context request",
    "Langfuse, pydantic-evals": "output expected_output context input",
    "LangSmith": "outputs reference_outputs context inputs",
    "LangChain": "result reference source_documents query",
    "LlamaIndex": "response reference_answer source_nodes query",
    "Braintrust": "output expected context input",
    "OpenAI evals": "completion ideal documents input",
    "TruLens": "output ground_truth_output contexts input",
    "FlashRAG": "pred golden_answers retrieval_result question",
    "predictions": "prediction gold_answer passages question",
    "generations": "generated_answer reference_output retrieved_documents query",
    "services": "rag_response ground_truth chunks question",
    "Phoenix": (
        "attributes.output.value reference attributes.retrieval.documents attributes.input.value"
    ),
    "pandas, flattened": "output.answer expected_output.answer output.contexts input.question",
    "LangSmith, flattened": "outputs.answer reference.answer outputs.contexts inputs.question",
}
"""What tools call the columns: a table may take each field from another line."""

NUMBERED = "context_* retrieved_context_* chunk_* retrieved_chunk_* passage_*"
"""Columns with one chunk each."""

# What a field is called in an object that holds nothing else of the sample.
ANSWERS = (
    "answer response output generation result actual_output completion final_answer prediction"
    " replies messages message choices text content"
)
QUESTIONS = "question query user_input input messages text content"
REFERENCES = (
    "reference ground_truth ground_truths expected_output expected_response reference_answer"
    " gt_answer gold_answer golden_answers expected ideal value"
)
CHUNK_LISTS = (
    "contexts retrieved_contexts retrieved_context retrieval_context context documents docs"
    " source_documents source_nodes nodes retrieved_documents chunks contextChunks passages"
    " retrieval_results retrieval_result matches points hits children objects results"
    " result_items value data retriever retrieval result root output outputs answer response"
)
"""Lists of chunks, and the objects around them, in a retriever's or an application's answer."""
HOLDERS = "output outputs answer response result metadata inputs input attributes"
"""The columns of objects in which a file may have the chunks."""
# Of a chunk.
CHUNK_TEXTS = (
    "page_content text content contents context chunk chunk_text body passage passage_text"
    " paragraph_text segment snippet page_snippet evidence_text"
)
CHUNK_PARTS = (
    "node document doc payload _source properties entity fields data kwargs text_resource"
    " content chunk retrieved_context document_excerpt sentences"
)
"""The objects in a chunk that may hold its text. Two of them are texts where there is no other."""
CHUNK_NAMES = (
    "id doc_id source doc_uri document_id docid doc_name document.id file_name filename"
    " document_name title url uri page_url name location.s3Location.uri"
)
PIECE_NAMES = "chunk_id id_ _id ids file_id"

ROW_NAMES = {
    field: " ".join(dict.fromkeys(names.split()[number] for names in FILES.values()))
    for number, field in enumerate(FIELDS)
}
ROW_NAMES["verdicts"] = "verdicts recording"
"""What the fields are called in an object that holds all of them, such as a row."""

SOURCES = f"{ROW_NAMES['retrieved_contexts']} sources citations search_results"
"""The lists by which an object in a text is an application's output."""

# The words of names, those that speak most for a field before the first bar.
WORDS = {
    "reference": (
        "reference references expected expectation expectations ground truth truths gold golden"
        " ideal target correct wellformed | | | answer answers"
    ),
    "response": (
        "prediction predicted pred generated response completion reply bot actual"
        " | output outputs | answer result generation"
    ),
    "user_input": "question query | prompt input inputs request",
    "retrieved_contexts": (
        "context contexts chunk chunks passage passages document documents docs retrieved"
        " retrieval evidence paragraphs nodes | | | doc results sources text"
    ),
}
NO_TEXTS = "id ids name names score scores model type url source status time date version index"
"""The last words of names that hold no text of a sample."""

# A place that ends in a dot is an object that holds all fields; of any other, the value is the
# field or an object with it. Places behind ">" count where those before it hold nothing: a host's
# task comes before its item, and what the author of a Promptfoo test chose before all.
HOSTS: dict[str, dict[str, str]] = {
    "langfuse": {
        "response": "output",
        "reference": "expected_output",
        "retrieved_contexts": "output. > metadata.",
        "user_input": "input",
        "chunk_labels": "metadata.chunk_labels",
        "verdicts": "metadata.verdicts",
    },
    "langsmith": {
        "response": "outputs",
        "reference": "reference_outputs",
        "retrieved_contexts": "outputs. context > inputs.",
        "user_input": "inputs",
        "chunk_labels": "reference_outputs.chunk_labels",
        "verdicts": "reference_outputs.verdicts",
    },
    "mlflow": {
        "response": "outputs",
        # MLflow's other expectations are facts and guidelines: no part of the reference.
        "reference": "expectations.expected_response",
        "retrieved_contexts": "retrieved > outputs. > inputs.",
        "user_input": "inputs",
        "chunk_labels": "expectations.chunk_labels",
        "verdicts": "expectations.verdicts",
    },
    "pydantic-evals": {
        "response": "output",
        "reference": "expected_output metadata.reference",
        "retrieved_contexts": "attributes. output. > metadata.",
        "user_input": "inputs",
        "chunk_labels": "metadata.chunk_labels",
        "verdicts": "metadata.verdicts",
    },
    "inspect": {
        "response": "output",
        "reference": "target",
        "retrieved_contexts": "store. > metadata.",
        "user_input": "input",
        "chunk_labels": "metadata.chunk_labels",
        "verdicts": "metadata.verdicts",
    },
    # Opik merges the item and what the task returned: nothing tells which is which.
    "opik": dict.fromkeys(FIELDS, ".") | {"chunk_labels": "chunk_labels", "verdicts": "verdicts"},
    # In Phoenix's own tables `reference` is the retrieved text.
    "phoenix": {
        **dict.fromkeys(FIELDS, "."),
        "reference": "expected_output expected ground_truth",
        "chunk_labels": "chunk_labels",
        "verdicts": "verdicts",
    },
    "ragas": {
        **{field: field for field in FIELDS},
        "retrieved_context_ids": "retrieved_context_ids",
        "chunk_labels": "rubrics.noisesense_labels",
        "verdicts": "rubrics.noisesense_verdicts",
    },
    "deepeval": {
        "response": "actual_output",
        "reference": "expected_output",
        "retrieved_contexts": "retrieval_context",
        "user_input": "input",
        "chunk_labels": "metadata.chunk_labels",
        "verdicts": "metadata.verdicts",
    },
    "validmind": {field: field for field in FIELDS},
    "promptfoo": {
        "response": "output",
        "reference": "config. > vars. > metadata.",
        "retrieved_contexts": "config. > vars. metadata. providerOutput.",
        "user_input": "config. > vars. > metadata.",
        "verdicts": "config. > vars. > metadata.",
    },
}

FILE = {
    **dict.fromkeys(FIELDS, "."),
    "retrieved_context_ids": "retrieved_context_ids",
    "verdicts": "verdicts",
}
"""A file's rows hold all fields under the names of `FILES`."""
