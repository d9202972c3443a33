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


def graphml_document(table: ItemTable, edges: Iterable[Edges], threshold: np.float32) -> Iterator[bytes]:
    """Yield a GraphML document, one chunk per batch of items or edges.

    An item is the node `n{id}` with its columns as data. The node also has a `label`, which other programs display: the
    first name of the item, or its structure if it has no name. An edge has its `similarity`, and again as `weight`,
    which other programs compute with. A property named `label` gets the prefix `property.`. Characters that XML cannot
    represent are removed.

    Args:
        table: The items. If it has a comparison whose structure is not one of the items, this structure is the node
            `query`.
        edges: The edges between the items.
        threshold: Lowest similarity of an edge between the node `query` and an item.
    """
    columns = [(title, "double" if title == "similarity" else "string") for title in table.titles[1:]]
    titles = unique_titles((column.title for column in table.properties), [_LABEL])
    columns += [
        (titles[column.title], "double" if column.kind == "number" else "string") for column in table.properties
    ]
    keys = [_key("l", "node", _LABEL, "string")]
    keys += [_key(f"d{index}", "node", title, type) for index, (title, type) in enumerate(columns)]
    keys += [_key(id, "edge", title, "double") for id, title in (("s", "similarity"), ("w", "weight"))]
    yield f'{_HEAD}{"".join(keys)}<graph id="{table.generation.collection}" edgedefault="undirected">\n'.encode()
    for batch in table.rows():
        yield "".join(map(_node, batch)).encode()
    if table.comparison is not None:
        yield _query_node(table.comparison, _ids(table), threshold)
    for block in edges:
        yield _edges(block)
    yield b"</graph>\n</graphml>\n"


def _key(id: str, element: str, title: str, type: str) -> str:
    return f'<key id="{id}" for="{element}" attr.name={quoteattr(_FORBIDDEN.sub("", title))} attr.type="{type}"/>\n'


def _node(row: list[Any]) -> str:
    id, *values = row
    structure, names, *_ = values
    label = _data("l", names[0] if names else structure)
    data = (_data(f"d{index}", text(value)) for index, value in enumerate(values) if value not in (None, []))
    return f'<node id="n{id}">{label}{"".join(data)}</node>\n'


def _data(key: str, value: str) -> str:
    return f'<data key="{key}">{_escape(value)}</data>'


def _ids(table: ItemTable) -> Int32:
    return np.arange(table.generation.size, dtype=np.int32) if table.ids is None else table.ids


def _query_node(comparison: Comparison, ids: Int32, threshold: np.float32) -> bytes:
    """Return the node `query` and its edges, or nothing if its structure is one of the items."""
    if comparison.item_id in ids.tolist():
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
