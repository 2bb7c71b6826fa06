"""
Results of retrievers, and ground truths of texts: objects of other packages, read by their attributes alone.

LangChain's documents have `id`, also in pairs with a score. LlamaIndex's nodes have `node_id`, and stand in objects
with `node` and `score`. Haystack's documents have `id`, and a retriever returns {"documents": [...]}. TruLens's golden
sets are records of a query and chunks with a text and a score.

Scores are not read: the list is in the order in which the prompt has it, and a score may be a distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten

ID_NAMES = ("node_id", "id", "doc_id", "document_id")
GOLDEN = ("query", "expected_chunks")


def holds_retrieved(value: Any) -> bool:
    """Return True for a mapping of queries whose first filled list has objects with an id."""
    if not isinstance(value, Mapping):
        return False
    for row in value.values():
        found = _list_documents(row)
        if found is None:
            return False
        if found:
            return _is_document(found[0])
    return False


def _list_documents(row: Any) -> list[Any] | tuple[Any, ...] | None:
    """Return the list of a query, which Haystack has in a dict, or None for other values."""
    if isinstance(row, Mapping):
        row = row.get("documents")
    return row if isinstance(row, list | tuple) else None


def _is_document(item: Any) -> bool:
    document = _unwrap(item)
    if isinstance(document, str | int | float | np.generic | Mapping | list | tuple):
        return False
    return any(hasattr(document, name) for name in ID_NAMES)


def _unwrap(item: Any) -> Any:
    """Return the document of a pair with a score, or of an object with a node."""
    if isinstance(item, tuple) and len(item) == 2:
        item = item[0]
    return getattr(item, "node", item)


def read_retrieved(value: Mapping[Any, Any]) -> dict[Any, list[Any]]:
    """Return the ids of the documents of each query, in their order."""
    found = {}
    for query, row in value.items():
        documents = _list_documents(row)
        if documents is None:
            raise InvalidTypeError(
                f"the run must map each query to a list of documents, but {shorten(query)} maps to {shorten(row)}. "
                "Give lists for all queries"
            )
        found[query] = [_find_id(query, place, item) for place, item in enumerate(documents)]
    return found


def _find_id(query: Any, place: int, item: Any) -> str | int:
    document = _unwrap(item)
    for name in ID_NAMES:
        found = getattr(document, name, None)
        if isinstance(found, str | int) and not isinstance(found, bool):
            return found
    raise InvalidInputError(
        f"the run: each document must have an id, a text or a whole number, but document {place} of query "
        f"{shorten(query)}, a {type(document).__name__}, has none. Give ids when you index, or lists of what tells "
        "documents apart: {query: [document.metadata[NAME] for document in documents]}"
    )


def is_golden_set(value: Any) -> bool:
    """Return True for a list of records of a query and expected chunks."""
    if not isinstance(value, list) or not value or not isinstance(value[0], Mapping):
        return False
    return all(name in value[0] for name in GOLDEN)


def read_golden_set(value: list[Mapping[str, Any]]) -> dict[Any, dict[str, float]]:
    """Return the labels of a golden set's chunks by query and text. A chunk without a score has the label 1."""
    found: dict[Any, dict[str, float]] = {}
    for row, record in enumerate(value):
        chunks = record.get("expected_chunks")
        if not isinstance(chunks, list) or not all(isinstance(chunk, Mapping) and "text" in chunk for chunk in chunks):
            raise InvalidTypeError(
                f"`truth`, row {row}: expected_chunks must be a list of dicts with a text, but is {shorten(chunks)}. "
                "Correct it"
            )
        labels = {chunk["text"]: chunk.get("expect_score", 1) for chunk in chunks}
        if record["query"] in found or len(labels) < len(chunks):
            raise InvalidInputError(
                f"`truth`, row {row}: each query must stand in one record, and each text once in it, but query "
                f"{shorten(record['query'])} has one twice. Keep one of them"
            )
        found[record["query"]] = labels
    return found
