"""Items and edges as GraphML 1.0 (http://graphml.graphdrawing.org/specification.html)."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from graphkin.export.edges import similarity_texts
from graphkin.export.table import Comparison, ItemTable, text
from graphkin.store.columns import unique_titles
from graphkin.store.records import Edges, Float32, Int32

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML 1.0 forbids
_LABEL = "label"
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


def document(table: ItemTable, edges: Iterable[Edges], threshold: np.float32) -> Iterator[bytes]:
    """Yield the document, one chunk per batch: nodes `n{id}` with the item's columns, edges with their similarity.

    Other programs display the `label` of a node, which is the item's first name, or its structure if it has none. They
    compute with the `weight` of an edge, which is its similarity. A property named `label` gets the prefix `property.`.

    If the structure of the table's comparison is not one of its items, it is the node `query`, joined to the items with
    similarity ≥ `threshold`. Characters that XML cannot represent are removed.
    """
    columns = [(title, "double" if title == "similarity" else "string") for title in table.titles[1:]]
    called = unique_titles((each.title for each in table.properties), [_LABEL])
    columns += [(called[each.title], "double" if each.kind == "number" else "string") for each in table.properties]
    keys = [_key("l", "node", _LABEL, "string")]
    keys += [_key(f"d{at}", "node", title, type) for at, (title, type) in enumerate(columns)]
    keys += [_key(id, "edge", title, "double") for id, title in (("s", "similarity"), ("w", "weight"))]
    yield f'{_HEAD}{"".join(keys)}<graph id="{table.generation.collection}" edgedefault="undirected">\n'.encode()
    for batch in table.rows():
        yield "".join(map(_node, batch)).encode()
    if table.comparison is not None:
        yield _query(table.comparison, _ids(table), threshold)
    for block in edges:
        yield _edges(block)
    yield b"</graph>\n</graphml>\n"


def _key(id: str, element: str, title: str, type: str) -> str:
    return f'<key id="{id}" for="{element}" attr.name={quoteattr(_FORBIDDEN.sub("", title))} attr.type="{type}"/>\n'


def _node(row: list[Any]) -> str:
    id, *values = row
    structure, names, *_ = values
    label = _data("l", names[0] if names else structure)
    data = (_data(f"d{at}", text(v)) for at, v in enumerate(values) if v not in (None, []))
    return f'<node id="n{id}">{label}{"".join(data)}</node>\n'


def _data(key: str, value: str) -> str:
    return f'<data key="{key}">{_escape(value)}</data>'


def _ids(table: ItemTable) -> Int32:
    return np.arange(table.generation.size, dtype=np.int32) if table.ids is None else table.ids


def _query(comparison: Comparison, ids: Int32, threshold: np.float32) -> bytes:
    """Return the node and edges of the comparison; nothing if its structure is one of the items."""
    if comparison.stored in ids.tolist():
        return b""
    similarity = comparison.similarity(ids)
    mask = similarity >= threshold
    neighbors = zip(ids[mask].tolist(), _texts(similarity[mask]), strict=True)
    lines = (_edge("query", f"n{id}", similarity) for id, similarity in neighbors)
    data = "".join(_data(key, comparison.smiles) for key in ("l", "d0"))
    return f'<node id="query">{data}</node>\n{"".join(lines)}'.encode()


def _edges(block: Edges) -> bytes:
    ends = zip(block.source.tolist(), block.target.tolist(), _texts(block.similarity), strict=True)
    return "".join(_edge(f"n{a}", f"n{b}", similarity) for a, b, similarity in ends).encode()


def _edge(source: str, target: str, similarity: str) -> str:
    data = f'<data key="s">{similarity}</data><data key="w">{similarity}</data>'
    return f'<edge source="{source}" target="{target}">{data}</edge>\n'


def _texts(similarity: Float32) -> list[str]:
    texts: list[str] = similarity_texts(similarity).to_pylist()
    return texts


def _escape(value: str) -> str:
    return escape(_FORBIDDEN.sub("", value), {"\r": "&#13;"})  # a parser would read a bare CR as a line feed
