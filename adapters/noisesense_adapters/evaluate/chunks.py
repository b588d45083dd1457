"""Read retrieved chunks, in whatever form a retriever or a framework returns them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from types import GeneratorType
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from noisesense.errors import InputError, describe, error_context
from noisesense.verdicts.form import as_name
from noisesense_adapters.evaluate.inputs import (
    as_object,
    found_at,
    named,
    normal,
    opened,
    parsed,
    plain,
)

_MOST_CHUNKS = 10_000


SHAPES = (
    "page_content",  # LangChain, MLflow
    "pageContent",  # LangChain.js
    "text",  # LlamaIndex, Milvus, RAGChecker, BEIR
    "content",  # Haystack, Semantic Kernel, Vespa
    "context",  # DeepEval
    "chunk",  # Azure AI Search, Snowflake Cortex
    "chunk_text",  # Pinecone's examples
    "contents",  # Pyserini, Anserini
    "body",  # Vespa, Solr
    "passage",  # MS MARCO, TriviaQA
    "passage_text",  # MS MARCO
    "paragraph_text",  # MuSiQue
    "segment",  # TREC RAG
    "snippet",  # Cohere, web search
    "page_snippet",  # CRAG
    "evidence_text",  # FinanceBench
    "document",  # Voyage, fastembed
    "documents",  # Chroma's columns, side by side
    "Content",  # Amazon Kendra
    "document.content",  # Phoenix, OpenInference
    "document.text",  # Cohere and Jina rerankers
    "document.page_content",  # LangChain with scores
    "node.text",  # LlamaIndex, NodeWithScore
    "node.text_resource.text",  # LlamaIndex since 0.12
    "text_resource.text",  # LlamaIndex since 0.12
    "kwargs.page_content",  # LangChain, dumpd
    "content.text",  # Bedrock knowledge bases
    "content[].text",  # OpenAI file search
    "payload.page_content",  # Qdrant through LangChain
    "payload.text",  # Qdrant
    "payload.content",  # Qdrant through Haystack
    "payload.document",  # Qdrant with fastembed
    "_source.text",  # Elasticsearch, OpenSearch
    "_source.content",  # Elasticsearch, OpenSearch
    "_source.page_content",  # Elasticsearch through LangChain
    "properties.text",  # Weaviate
    "properties.content",  # Weaviate
    "entity.text",  # Milvus
    "fields.text",  # Pinecone, Vespa
    "fields.chunk_text",  # Pinecone
    "fields.content",  # Vespa
    "data.text",  # Cohere
    "data.content",  # Cohere
    "data.snippet",  # Cohere
    "doc.segment",  # TREC RAG
    "doc.text",  # TREC
    "doc.contents",  # Pyserini
    "chunk.content",  # Vertex AI Search
    "chunk.text",  # R2R, Vertex AI
    "retrievedContext.text",  # Gemini's grounding
    "retrieved_context.text",  # Gemini's grounding
    "DocumentExcerpt.Text",  # Amazon Kendra
    "sentences[]",  # HotpotQA on Hugging Face
    "metadata.text",  # Pinecone
    "metadata.content",  # Pinecone
    "metadata.page_content",  # Pinecone
)
"""The paths of a chunk's text, with who writes it there. The first text that is not blank counts.

The texts of a list's items (``content[].text``) are joined. Other fields, above all titles, do
not hold a chunk's text.
"""

_PINECONE = {"id", "score", "values", "sparse_values", "sparseValues", "namespace", "metadata"}
"""The metadata holds the text only in an object without other fields than these."""

LISTS = (
    "documents",  # openevals, Haystack, Chroma
    "contexts",  # ragas, Vertex AI
    "retrieved_contexts",  # ragas
    "retrieval_context",  # DeepEval
    "retrieved_context",  # RAGChecker
    "context",  # LangChain's retrieval chain
    "source_documents",  # LangChain's RetrievalQA
    "source_nodes",  # LlamaIndex's responses
    "nodes",  # LlamaIndex
    "chunks",  # common
    "docs",  # common
    "passages",  # common
    "retriever.documents",  # Haystack's pipelines
    "contexts.contexts",  # Vertex AI RAG
    "retrievalResults",  # Bedrock knowledge bases
    "matches",  # Pinecone
    "result.hits",  # Pinecone with inference
    "points",  # Qdrant
    "result",  # Qdrant over REST
    "result.points",  # Qdrant over REST
    "hits.hits",  # Elasticsearch, OpenSearch
    "root.children",  # Vespa
    "objects",  # Weaviate
    "value",  # Azure AI Search
    "results",  # Cohere, Semantic Kernel
    "ResultItems",  # Amazon Kendra
    "data",  # OpenAI file search
)
"""The paths of an object's list of chunks, with who writes it there."""

_DOCUMENTS = (
    *("id", "doc_id", "source", "doc_uri", "document_id", "docid", "doc_name", "document.id"),
    *("file_name", "filename", "document_name", "title", "url", "uri", "page_url", "DocumentId"),
    "location.s3Location.uri",
)
"""The paths at which a chunk names its document, in order of preference."""
_PIECES = ("chunk_id", "id_", "_id", "ids", "file_id")
"""The paths of the chunk's own name, which counts if no document is named."""

_LABEL_NAMES = ("relevant", "isrelevant")
_BOOL_NAMES = ("relevance", "issupporting", "isgold")  # labels only if they are true or false
_LABELS = {
    "true": True,
    "yes": True,
    "1": True,
    "1.0": True,
    "false": False,
    "no": False,
    "0": False,
    "0.0": False,
    **dict.fromkeys(("", "null", "none", "nan", "<na>", "nat")),
}
"""The labels in a table's columns, in lower case."""

_MARKED = re.compile(r"deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)
_NO_TEXT = re.compile(r"<[\w.<>]+ object at 0x[0-9a-fA-F]+>|b'.*'|b\".*\"", re.DOTALL)
_PRINTED = re.compile(
    r"(?:id='[^']*' )?page_content=(?P<text>'.*'|\".*\")(?: metadata=\{.*\})?", re.DOTALL
)
_DUMPED = frozenset(("page_content", "pageContent", "node", "kwargs"))

_generated: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()


def chunks_of(value: Any, *, labels: Any = None) -> list[Any]:
    """Read the retrieved contexts of a `Sample`.

    A chunk is a text; an object with a text at one of the paths of `SHAPES`; a pair of a chunk
    and its score; or a title with its sentences, as in HotpotQA. Its id and its label
    ``relevant`` or ``is_relevant`` are fields of the object, of the part that holds the text, or
    of the ``metadata`` of one of these.

    Args:
        value: a list, as an object, as JSON or as a literal of Python or numpy; or an object
            with a list at one of the paths of `LISTS`.
        labels: a list with ``true``, ``false`` or ``null`` for each chunk, or with anything else
            that may be a chunk's own label; as an object or as text.

    Raises:
        InputError: not a list of texts, or another number of labels.
    """
    items = _items(value)
    if len(items) > _MOST_CHUNKS:
        raise InputError(f"at most {_MOST_CHUNKS:,} chunks", f"{len(items):,}")
    chunks: list[Any] = []
    for number, item in enumerate(items):
        with error_context(f"chunk {number}"):
            chunks.append(_chunk(item))
    if label_of(labels) is None:  # an empty cell of a table
        return chunks
    return _labeled(chunks, labels)


def is_one_text(value: object) -> bool:
    """Is it a text that holds no list?"""
    starts = ("[", "{", "(", "array(")
    return isinstance(value, str) and not value.lstrip().startswith(starts)


def _items(value: Any) -> list[Any]:
    """The items of a list of chunks. Raises `InputError`."""
    if is_one_text(value):
        raise InputError("a list of chunks", f"one text, {describe(value)}")
    if isinstance(value, str):
        value = parsed(value)
    elif inspect.isgenerator(value):
        value = _yielded(value)
    value = unboxed(value)
    if isinstance(value, (list, tuple)):
        return [*cast("Sequence[Any]", value)]
    return _list_in(as_object(plain(value)), value)


def unboxed(value: Any) -> Any:
    """The list in an array or a column; anything else as it is."""
    if hasattr(value, "tolist"):  # numpy and pandas
        return value.tolist()
    if hasattr(value, "to_list"):  # polars
        return value.to_list()
    return value


def _yielded(generator: GeneratorType[Any, Any, Any]) -> list[Any]:
    """The items of a generator, kept for the next reader.

    Raises `InputError` if somebody else has read from it.
    """
    if generator not in _generated:
        if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
            hint = "give list(…) of it to all who read it"
            raise InputError("a list of chunks", "a generator that was read before", hint=hint)
        _generated[generator] = [*generator]
    return _generated[generator]


def _list_in(fields: Mapping[str, Any], value: object) -> list[Any]:
    """The list of chunks in a retriever's answer. Raises `InputError`."""
    lists: dict[str, list[Any]] = {}
    for path in LISTS:
        items = found_at(fields, path)
        if isinstance(items, list):
            lists[path] = cast("list[object]", items)
    rows = _side_by_side(fields)
    if rows and ("ids" in fields or not lists):
        return rows
    different = {str(items) for items in lists.values()}
    if len(different) == 1:
        return next(iter(lists.values()))
    if lists:
        raise InputError("one list of chunks", f"different ones in {named(lists)}")
    raise InputError("a list of chunks", describe(value))


def _side_by_side(fields: Mapping[str, Any]) -> list[Any]:
    """The chunks of an object with a list of texts beside one of titles or ids, as in Chroma."""
    columns = _columns_in(fields)
    lengths = {len(values) for values in columns.values()}
    if len(columns) < 2 or len(lengths) != 1:
        return []
    rows: list[Any] = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    return rows


def _columns_in(fields: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The lists of an object, or what is in them where each is a list for one query."""
    columns: dict[str, list[Any]] = {}
    is_of_one_query = True
    for name, values in fields.items():
        if isinstance(values, list) and name != "included":  # Chroma's own list of names
            columns[name] = cast("list[object]", values)
            is_of_one_query &= len(columns[name]) == 1 and isinstance(columns[name][0], list)
    if is_of_one_query:
        return {name: values[0] for name, values in columns.items()}
    return columns


def _chunk(item: Any) -> Any:
    """A chunk's text, id and label, without the other fields of an object (e.g. a rank)."""
    if isinstance(item, str):
        return _of_text(item)
    item = plain(item)
    if isinstance(item, list):
        return _of_pair(cast("list[object]", item))
    if hasattr(item, "to_dict"):
        item = plain(item.to_dict())
    elif hasattr(item, "__dict__"):
        item = plain(vars(item))
    if not isinstance(item, dict):
        raise InputError("a text, or an object that holds one", describe(item))
    chunk = as_object(cast("object", item))
    text, path = _text_of(chunk)
    holder = as_object(found_at(chunk, path.rpartition(".")[0]))
    homes = [chunk, holder]
    for name in ("metadata", "metadatas", "meta"):
        homes += [as_object(chunk.get(name)), as_object(holder.get(name))]
    return {"text": text, "id": _id(homes), "relevant": _label(homes)}


def _of_text(text: str) -> Any:
    """The chunk in a text: that text, or an object printed or marked by a framework.

    Raises `InputError` for an object that was printed without its text.
    """
    if marked := _MARKED.fullmatch(text):
        return marked.groupdict()
    if _NO_TEXT.fullmatch(text):
        got = f"{describe(text)}, how Python prints an object"
        hint = "it was written without its text: give its text, or a dict with it"
        raise InputError("a chunk's text", got, hint=hint)
    if printed := _PRINTED.fullmatch(text):
        return parsed(printed["text"])
    if text.lstrip().startswith("{"):
        dumped = opened(text)
        if _DUMPED & as_object(dumped).keys():
            return _chunk(dumped)
    return text


def _of_pair(items: list[Any]) -> Any:
    """A chunk and its score, or HotpotQA's title and sentences. Raises `InputError`."""
    if len(items) == 2:
        first, second = items
        # Real: LangChain's FAISS gives scores as numpy's float32, which is no float.
        if isinstance(second, Real) and not isinstance(first, list):
            return _chunk(first)
        sentences = texts_of(second)
        if isinstance(first, str) and sentences:
            return {"text": _joined(sentences), "id": first}
    raise InputError("a text, or an object that holds one", describe(items))


def texts_of(value: object) -> list[str]:
    """The texts in a list of nothing else, or an empty list."""
    if not isinstance(value, list):
        return []
    items = cast("list[object]", value)
    texts = [item for item in items if isinstance(item, str)]
    return texts if len(texts) == len(items) else []


def _joined(texts: Sequence[str]) -> str:
    return " ".join(text.strip() for text in texts)


class _Text(NamedTuple):
    text: str
    path: str


def _text_of(chunk: dict[str, Any]) -> _Text:
    """The first text of a chunk that is not blank, with its path; else the first blank one.

    Raises `InputError` if there is none.
    """
    blank: _Text | None = None
    for path in SHAPES:
        if path.startswith("metadata.") and chunk.keys() - _PINECONE:
            continue
        text = found_at(chunk, path)
        if "[]" in path:
            parts = texts_of(text)
            if parts:
                text = _joined(parts)
        if not isinstance(text, str):
            continue
        if text.strip():
            return _Text(text, path)
        if blank is None:
            blank = _Text(text, path)
    if blank is not None:
        return blank
    usual = ", ".join(map(repr, SHAPES[:5]))
    names = ", ".join(list(chunk)[:30]) or "an empty object"
    raise InputError(f"a chunk's text as {usual} or another known name", f"only {names}")


def _id(homes: Sequence[dict[str, Any]]) -> str | None:
    """The name of a chunk's document, or else its own."""
    for names in (_DOCUMENTS, _PIECES):
        for home in homes:
            for name in names:
                value = as_name(found_at(home, name))
                if is_name(value) and str(value).strip():
                    return str(value)
    return None


def is_name(value: object) -> bool:
    """Can it name a document? Texts and whole numbers can, also those of numpy."""
    return isinstance(value, (str, Integral)) and not isinstance(value, bool)


def _label(homes: Sequence[dict[str, Any]]) -> Any:
    """The first label in the objects; None if there is none."""
    for home in homes:
        for name, value in home.items():
            name = normal(name)
            if value is not None and name in _LABEL_NAMES:
                return label_of(value)
            if isinstance(value, bool) and name in _BOOL_NAMES:
                return value
    return None


def label_of(value: Any) -> Any:
    """A label such as ``"yes"`` or ``1`` as a bool or None; anything else as it is."""
    return _LABELS.get(str(value).strip().lower(), value)


def labeled_by(expected: Sequence[Any], chunks: Sequence[Any]) -> list[Any]:
    """The chunks with labels: relevant are those that equal, hold or are part of an expected one.

    White space makes no difference. A chunk keeps a label of its own.
    """
    expected_texts = {_words(chunk) for chunk in expected} - {""}
    labeled: list[Any] = []
    for chunk in chunks:
        fields = fields_of(chunk)
        if fields.get("relevant") is None:
            text = _words(chunk)
            is_expected = any(other in text or text in other for other in expected_texts)
            fields = {**fields, "relevant": is_expected and bool(text)}
        labeled.append(fields)
    return labeled


def fields_of(chunk: Any) -> dict[str, Any]:
    """The fields of a chunk of `chunks_of`; a text is the field ``text``."""
    return as_object(chunk) or {"text": chunk}


def _words(chunk: Any) -> str:
    """The text of a chunk with single spaces between its words."""
    return " ".join(str(fields_of(chunk)["text"]).split())


def _labeled(chunks: list[Any], labels: Any) -> list[Any]:
    """The chunks with the labels of a list, which win. Raises `InputError`."""
    with error_context("chunk_labels"):
        values = parsed(labels) if isinstance(labels, str) else unboxed(labels)
    if not isinstance(values, (list, tuple)) or len(cast("list[Any]", values)) != len(chunks):
        expected = f"true, false or null for each of {len(chunks)} chunks"
        raise InputError(expected, describe(labels), where="chunk_labels")
    labeled: list[Any] = []
    for chunk, value in zip(chunks, cast("list[Any]", values), strict=True):
        label = label_of(value)
        if label is not None:
            chunk = {**fields_of(chunk), "relevant": label}
        labeled.append(chunk)
    return labeled
