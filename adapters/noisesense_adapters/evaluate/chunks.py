"""Retrieved chunks, in whatever form a retriever or a framework hands them over."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from types import GeneratorType
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from noisesense.errors import InputError, describe, error_context
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


SHAPES = {
    "page_content": "LangChain, MLflow",
    "pageContent": "LangChain.js",
    "text": "LlamaIndex, Milvus, RAGChecker, BEIR",
    "content": "Haystack, Semantic Kernel, Vespa",
    "context": "DeepEval",
    "chunk": "Azure AI Search, Snowflake Cortex",
    "chunk_text": "Pinecone's examples",
    "contents": "Pyserini, Anserini",
    "body": "Vespa, Solr",
    "passage": "MS MARCO, TriviaQA",
    "passage_text": "MS MARCO",
    "paragraph_text": "MuSiQue",
    "segment": "TREC RAG",
    "snippet": "Cohere, web search",
    "page_snippet": "CRAG",
    "evidence_text": "FinanceBench",
    "document": "Voyage, fastembed",
    "documents": "Chroma's columns, side by side",
    "Content": "Amazon Kendra",
    "document.content": "Phoenix, OpenInference",
    "document.text": "Cohere and Jina rerankers",
    "document.page_content": "LangChain with scores",
    "node.text": "LlamaIndex, NodeWithScore",
    "node.text_resource.text": "LlamaIndex since 0.12",
    "text_resource.text": "LlamaIndex since 0.12",
    "kwargs.page_content": "LangChain, dumpd",
    "content.text": "Bedrock knowledge bases",
    "content[].text": "OpenAI file search",
    "payload.page_content": "Qdrant through LangChain",
    "payload.text": "Qdrant",
    "payload.content": "Qdrant through Haystack",
    "payload.document": "Qdrant with fastembed",
    "_source.text": "Elasticsearch, OpenSearch",
    "_source.content": "Elasticsearch, OpenSearch",
    "_source.page_content": "Elasticsearch through LangChain",
    "properties.text": "Weaviate",
    "properties.content": "Weaviate",
    "entity.text": "Milvus",
    "fields.text": "Pinecone, Vespa",
    "fields.chunk_text": "Pinecone",
    "fields.content": "Vespa",
    "data.text": "Cohere",
    "data.content": "Cohere",
    "data.snippet": "Cohere",
    "doc.segment": "TREC RAG",
    "doc.text": "TREC",
    "doc.contents": "Pyserini",
    "chunk.content": "Vertex AI Search",
    "chunk.text": "R2R, Vertex AI",
    "retrievedContext.text": "Gemini's grounding",
    "retrieved_context.text": "Gemini's grounding",
    "DocumentExcerpt.Text": "Amazon Kendra",
    "sentences[]": "HotpotQA on Hugging Face",
    "metadata.text": "Pinecone",
    "metadata.content": "Pinecone",
    "metadata.page_content": "Pinecone",
}
"""Where the text of a chunk stands, and who writes it there: the first that is not blank counts.

Of a list's items (``content[].text``) the texts are joined. What stands in other fields, titles
above all, is no chunk's text.
"""

_BESIDE_METADATA = {
    *("id", "score", "values", "sparse_values", "sparseValues", "namespace", "metadata")
}
"""Only beside these does the metadata hold the text."""

LISTS = {
    "documents": "openevals, Haystack, Chroma",
    "contexts": "ragas, Vertex AI",
    "retrieved_contexts": "ragas",
    "retrieval_context": "DeepEval",
    "retrieved_context": "RAGChecker",
    "context": "LangChain's retrieval chain",
    "source_documents": "LangChain's RetrievalQA",
    "source_nodes": "LlamaIndex's responses",
    "nodes": "LlamaIndex",
    "chunks": "common",
    "docs": "common",
    "passages": "common",
    "retriever.documents": "Haystack's pipelines",
    "contexts.contexts": "Vertex AI RAG",
    "retrievalResults": "Bedrock knowledge bases",
    "matches": "Pinecone",
    "result.hits": "Pinecone with inference",
    "points": "Qdrant",
    "result": "Qdrant over REST",
    "result.points": "Qdrant over REST",
    "hits.hits": "Elasticsearch, OpenSearch",
    "root.children": "Vespa",
    "objects": "Weaviate",
    "value": "Azure AI Search",
    "results": "Cohere, Semantic Kernel",
    "ResultItems": "Amazon Kendra",
    "data": "OpenAI file search",
}
"""Where an object holds its list of chunks, and whose it is."""

_DOCUMENTS = (
    *("id", "doc_id", "source", "doc_uri", "document_id", "docid", "doc_name", "document.id"),
    *("file_name", "filename", "document_name", "title", "url", "uri", "page_url", "DocumentId"),
    "location.s3Location.uri",
)
_PIECES = ("chunk_id", "id_", "_id", "ids", "file_id")
"""The names of the document that a chunk comes from, and of the chunk, in order of preference."""

_LABEL_NAMES = ("relevant", "isrelevant")
_BOOL_NAMES = ("relevance", "issupporting", "isgold")  # labels only if they are true or false
_LABELS = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
    **dict.fromkeys(("", "null", "none", "nan"), None),
}
"""As the columns of tables hold them."""

_MARKED = re.compile(r"deepeval_source=(?P<id>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)
_NO_TEXT = re.compile(r"<[\w.<>]+ object at 0x[0-9a-fA-F]+>|b'.*'|b\".*\"", re.DOTALL)
_PRINTED = re.compile(
    r"(?:id='[^']*' )?page_content=(?P<text>'.*'|\".*\")(?: metadata=\{.*\})?", re.DOTALL
)
_DUMPED = frozenset(("page_content", "pageContent", "node", "kwargs"))

_generated: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()


def chunks_of(value: Any, *, labels: Any = None) -> list[Any]:
    """The retrieved contexts of a `Sample`.

    A chunk is a text, or an object with one at one of the paths of `SHAPES`; a pair of a chunk
    and its score; or a title with its sentences, as in HotpotQA. Its id and its label
    ``relevant`` or ``is_relevant`` are fields of the object, of what holds its text, or of the
    ``metadata`` of one of them. An object is searched for its list at the paths of `LISTS`.

    Args:
        value: a list, as an object, as JSON or as a literal of Python or numpy.
        labels: a list with ``true``, ``false`` or ``null`` for each chunk, or what else a chunk's
            own label may be; as an object or as text.

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
    is_empty = label_of(labels) is None  # a cell of a table
    return chunks if is_empty else _labeled(chunks, labels)


def is_one_text(value: object) -> bool:
    """Is it a text that holds no list?"""
    starts = ("[", "{", "(", "array(")
    return isinstance(value, str) and not value.lstrip().startswith(starts)


def _items(value: Any) -> list[Any]:
    """What is to be a list of chunks. Raises `InputError`."""
    if is_one_text(value):
        raise InputError("a list of chunks", f"one text, {describe(value)}")
    if isinstance(value, str):
        value = parsed(value)
    elif inspect.isgenerator(value):
        value = _kept(value)
    value = unboxed(value)
    if isinstance(value, (list, tuple)):
        return [*cast("Sequence[Any]", value)]
    return _list_in(as_object(plain(value)), value)


def unboxed(value: Any) -> Any:
    """The list in an array or a column; anything else as it is."""
    if hasattr(value, "tolist"):  # of numpy and pandas
        return value.tolist()
    if hasattr(value, "to_list"):  # of polars
        return value.to_list()
    return value


def _kept(generator: GeneratorType[Any, Any, Any]) -> list[Any]:
    """What a generator yields, also for who asks again. Raises `InputError`."""
    if generator not in _generated:
        if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
            hint = "give list(…) of it to all who read it"
            raise InputError("a list of chunks", "a generator that was read before", hint=hint)
        _generated[generator] = [*generator]
    return _generated[generator]


def _list_in(fields: Mapping[str, Any], value: object) -> list[Any]:
    """The list of chunks in a retriever's answer. Raises `InputError`."""
    found: dict[str, list[Any]] = {}
    for path in LISTS:
        items = found_at(fields, path)
        if isinstance(items, list):
            found[path] = cast("list[object]", items)
    rows = _side_by_side(fields)
    if rows and ("ids" in fields or not found):
        return rows
    different = {str(items) for items in found.values()}
    if len(different) == 1:
        return next(iter(found.values()))
    if found:
        raise InputError("one list of chunks", f"different ones in {named(found)}")
    raise InputError("a list of chunks", describe(value))


def _side_by_side(fields: Mapping[str, Any]) -> list[Any]:
    """The chunks of an object with a list of texts beside one of titles or ids, as in Chroma."""
    columns: dict[str, list[Any]] = {}
    for name, values in fields.items():
        if isinstance(values, list) and name != "included":  # Chroma's own list of names
            columns[name] = cast("list[object]", values)
    if all(len(values) == 1 and isinstance(values[0], list) for values in columns.values()):
        columns = {name: values[0] for name, values in columns.items()}  # of the one query
    lengths = {len(values) for values in columns.values()}
    if len(columns) < 2 or len(lengths) != 1:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _chunk(item: Any) -> Any:
    """A chunk's text, id and label, without other fields of an object (e.g. a rank)."""
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
    if marked := _MARKED.fullmatch(text):
        return marked.groupdict()
    if _NO_TEXT.fullmatch(text):
        hint = "it was written without its text: give its text, or a dict with it"
        raise InputError(
            "a chunk's text", f"{describe(text)}, how Python prints an object", hint=hint
        )
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
    """The text of a chunk and its place: the first that is not blank. Raises `InputError`."""
    blank: _Text | None = None
    for path in SHAPES:
        if path.startswith("metadata.") and chunk.keys() - _BESIDE_METADATA:
            continue
        text = found_at(chunk, path)
        parts = texts_of(text) if "[]" in path else []
        if parts:
            text = _joined(parts)
        if isinstance(text, str):
            blank = blank or _Text(text, path)
            if text.strip():
                return _Text(text, path)
    if blank is not None:
        return blank
    known = ", ".join(repr(path) for path in islice(SHAPES, 5))
    names = ", ".join(list(chunk)[:30]) or "an empty object"
    raise InputError(f"a chunk's text as {known} or another known name", f"only {names}")


def _id(homes: Sequence[dict[str, Any]]) -> str | None:
    """The name of its document, or else its own."""
    for names in (_DOCUMENTS, _PIECES):
        for home in homes:
            for name in names:
                value = found_at(home, name)
                if is_name(value) and str(value).strip():
                    return str(value)
    return None


def is_name(value: object) -> bool:
    """Can it name a document? A text can, and a whole number, also of numpy."""
    return isinstance(value, (str, Integral)) and not isinstance(value, bool)


def _label(homes: Sequence[dict[str, Any]]) -> Any:
    for home in homes:
        for name, value in home.items():
            name = normal(name)
            if value is not None and name in _LABEL_NAMES:
                return label_of(value)
            if isinstance(value, bool) and name in _BOOL_NAMES:
                return value
    return None


def label_of(value: Any) -> Any:
    """A label as tables hold it (``"yes"``, ``1``) as a bool or None; what is none, as it is."""
    return _LABELS.get(str(value).strip().lower(), value)


def labeled_by(expected: Sequence[Any], chunks: Sequence[Any]) -> list[Any]:
    """The chunks with labels: relevant is what is, holds or stands in an expected one.

    White space does not count, and a chunk's own label stays.
    """
    wanted = [_words(each) for each in expected]
    labeled: list[Any] = []
    for chunk in chunks:
        text = _words(chunk)
        found = any(each in text or text in each for each in wanted if each and text)
        fields = as_object(chunk) or {"text": chunk}
        own = fields.get("relevant")
        labeled.append({**fields, "relevant": found if own is None else own})
    return labeled


def _words(chunk: Any) -> str:
    return " ".join(str(as_object(chunk).get("text", chunk)).split())


def _labeled(chunks: list[Any], labels: Any) -> list[Any]:
    with error_context("chunk_labels"):
        given = parsed(labels) if isinstance(labels, str) else unboxed(labels)
    if not isinstance(given, (list, tuple)) or len(cast("list[Any]", given)) != len(chunks):
        expected = f"true, false or null for each of {len(chunks)} chunks"
        raise InputError(expected, describe(labels), where="chunk_labels")
    labeled: list[Any] = []
    for chunk, value in zip(chunks, cast("list[Any]", given), strict=True):
        label = label_of(value)
        if label is not None:
            chunk = {**(as_object(chunk) or {"text": chunk}), "relevant": label}
        labeled.append(chunk)
    return labeled
