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
    "retrievers": "generated_answer ground_truth retrieved_chunks question",
    "Phoenix": (
        "attributes.output.value reference attributes.retrieval.documents attributes.input.value"
    ),
    "pandas, flattened": "output.answer expected_output.answer output.contexts input.question",
    "LangSmith, flattened": "outputs.answer reference.answer outputs.contexts inputs.question",
}
"""What tools call the columns: a table may take each field from another line."""

ROW_NAMES = {
    field: " ".join(dict.fromkeys(names.split()[number] for names in FILES.values()))
    for number, field in enumerate(FIELDS)
}
ROW_NAMES["verdicts"] = "verdicts recording"
"""What the fields are called in an object that holds all of them, such as a row."""

# What a field may be called, too, in an object that holds nothing else of the sample.
ANSWERS = (
    f"{ROW_NAMES['response']} generation final_answer reply replies messages message choices"
    " text content"
)
QUESTIONS = f"{ROW_NAMES['user_input']} messages text content kwargs"
REFERENCES = f"{ROW_NAMES['reference']} value"
CHUNK_LISTS = (
    f"{ROW_NAMES['retrieved_contexts']} docs nodes retrieval_results matches points hits children"
    " objects results result_items value data retriever retrieval"
    " result root output outputs answer response passage_text"
)
"""Lists of chunks, and the objects around them, in a retriever's or an application's answer."""
SOURCES = f"{ROW_NAMES['retrieved_contexts']} docs nodes hits sources citations search_results"
"""The lists by which an object in a text is an application's output."""
# Of a chunk.
CHUNK_TEXTS = (
    "page_content text content contents context chunk chunk_text body passage passage_text"
    " paragraph_text segment snippet page_snippet evidence_text sentences"
)
CHUNK_PARTS = (
    "node document doc payload _source properties entity fields data kwargs text_resource"
    " content chunk retrieved_context document_excerpt sentences location s3_location"
)
"""The objects in a chunk that may hold its text or its name."""
CHUNK_NAMES = (
    "id doc_id source doc_uri document_id docid doc_name document.id file_name filename"
    " document_name file file_path filepath path title url uri page_url name document doc"
    " chunk_id id_ _id ids file_id"
)
"""The names of a chunk's document, and then its own."""

# The words of names, by which columns are proposed. An answer beside a prediction is the gold one.
GOLD = (
    "reference references expected expectation expectations ground truth truths gt gold golden"
    " ideal soll target targets correct wellformed referenz musterantwort erwartet erwartete"
    " referencia esperada attendue expert experte fachbereich should example gabarito wzorcowa"
    " verwacht attesa 正解 标准答案 参考答案"
)
WORDS = {
    "retrieved_contexts": (
        "context contexts chunk chunks passage passages document documents docs doc retrieved"
        " retrieval evidence paragraphs nodes results sources citations ctxs kontext kontexte"
        " quelle quellen fundstellen hits matches snippets reranked contexto contextos contexte"
        " contextes positive fundstelle extraits trechos fragmenty fragmentos kontekst contesto"
        " 検索結果 文脈 上下文"
    ),
    "user_input": (
        "question questions query prompt input inputs request frage fragen pregunta preguntas"
        " prüffrage testfrage pergunta domanda vraag pytanie 質問 问题"
    ),
    "response": (
        "prediction predictions predicted pred generated generation generations response responses"
        " completion completions reply replies bot bots llm ist modellantwort actual output"
        " outputs result chatbot assistant assistent asistente agent modelu resps"
    ),
    "answer": (
        "answer answers antwort antworten respuesta respuestas réponse réponses resposta risposta"
        " antwoord odpowiedź 回答 答案"
    ),
}
OTHER_LISTS = "queries query messages history claims"
"""The words of lists of something else than chunks, as are the words of gold ones."""
NOT_MEANT = (
    "incorrect wrong rejected negative distractor distractors baseline evaluator judge summary"
    " summaries"
)
"""Words of names that hold no sample's own text."""
NO_TEXTS = (
    "id ids name names score scores model type url source status time date version index role"
    " tokens cost llm title titles reason rating ratings csat grade latency feedback"
)
"""The last words of names that hold no text of a sample."""

NAMED = (
    "source sources document documents doc docs file files filename filenames title titles url"
    " urls ids quelle quellen dokument dokumente fuente fuentes documento documentos"
)
"""The last words of names that may hold the names of chunks' documents."""

_READ = (*FIELDS, "chunk_labels", "verdicts")


def _by_field(places: str) -> dict[str, str]:
    """Return the places of each field, in the order of the table's columns."""
    columns = map(str.strip, places.split("|"))
    return {field: place for field, place in zip(_READ, columns, strict=True) if place}


# The response, the reference, the chunks, the question, their labels, and given verdicts.
# A place that ends in a dot is an object that holds all fields; of any other, the value is the
# field or an object with it. Places behind ">" count where those before it hold nothing: a host's
# task comes before its item, and what the author of a Promptfoo test chose before all.
_ANYWHERE = ". output. outputs. answer. response. result. metadata. inputs. input. attributes."
_CASES = "metadata.chunk_labels | metadata.verdicts"
HOSTS = {
    "ragas": _by_field(
        "response | reference | retrieved_contexts | user_input"
        " | rubrics.noisesense_labels | rubrics.noisesense_verdicts"
    ),
    "deepeval": _by_field(
        f"actual_output | expected_output | retrieval_context | input | {_CASES}"
    ),
    "promptfoo": _by_field(
        "output | config. > vars. > metadata. | config. > vars. metadata. providerOutput."
        " | config. > vars. > metadata. | | config. > vars. > metadata."
    ),
    "langsmith": _by_field(
        "outputs | reference_outputs | outputs. outputs.output. context > inputs. | inputs"
        " | reference_outputs.chunk_labels | reference_outputs.verdicts"
    ),
    "langfuse": _by_field(f"output | expected_output | output. > metadata. | input | {_CASES}"),
    # MLflow's other expectations are facts and guidelines: no part of the reference.
    "mlflow": _by_field(
        "outputs | expectations.expected_response | retrieved > outputs. > inputs. | inputs"
        " | expectations.chunk_labels | expectations.verdicts"
    ),
    "pydantic-evals": _by_field(
        "output | expected_output metadata.reference | attributes. output. > metadata. | inputs"
        f" | {_CASES}"
    ),
    "inspect": _by_field(f"output | target | store. output. > metadata. | input | {_CASES}"),
    # Opik merges the item and what the task returned: nothing tells which is which.
    "opik": _by_field(f". | . | {_ANYWHERE} | . | chunk_labels | verdicts"),
    # In Phoenix's own tables `reference` is the retrieved text.
    "phoenix": _by_field(
        f". | expected_output expected ground_truth | {_ANYWHERE} | . | chunk_labels | verdicts"
    ),
    "validmind": _by_field("response | reference | retrieved_contexts | user_input | |"),
}
FILE = {
    **_by_field(f". | . | {_ANYWHERE} | . | chunk_labels | verdicts"),
    "retrieved_context_ids": "retrieved_context_ids",
}
"""A file's rows hold all fields under the names of `FILES`."""
