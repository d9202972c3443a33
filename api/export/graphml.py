"""Items and edges as GraphML 1.0 (http://graphml.graphdrawing.org/specification.html)."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from api.export.edges import similarity_texts
from api.export.items import fixed_titles, property_columns, rows, text
from store.base import Generation
from store.records import Edges, Int32

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not characters of XML 1.0
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""


def document(generation: Generation, edges: Iterable[Edges], ids: Int32 | None) -> Iterator[bytes]:
    """The whole document, a piece per batch: nodes `n{id}` with the item's columns, edges with their similarity.

    Characters that XML cannot hold are left out.
    """
    manifest = generation.manifest
    columns = [(title, "string") for title in fixed_titles(manifest)[1:]]
    columns += [(each.title, "double" if each.kind == "number" else "string") for each in property_columns(manifest)]
    keys = [_key(f"d{at}", "node", title, type) for at, (title, type) in enumerate(columns)]
    keys.append(_key("s", "edge", "similarity", "double"))
    yield f'{_HEAD}{"".join(keys)}<graph id="{generation.collection}" edgedefault="undirected">\n'.encode()
    for batch in rows(generation, None if ids is None else np.unique(ids)):
        yield "".join(map(_node, batch)).encode()
    for block in edges:
        yield _edges(block)
    yield b"</graph>\n</graphml>\n"


def _key(id: str, of: str, title: str, type: str) -> str:
    return f'<key id="{id}" for="{of}" attr.name={quoteattr(_FORBIDDEN.sub("", title))} attr.type="{type}"/>\n'


def _node(row: list[Any]) -> str:
    id, *values = row
    data = (f'<data key="d{at}">{_escaped(text(v))}</data>' for at, v in enumerate(values) if v is not None)
    return f'<node id="n{id}">{"".join(data)}</node>\n'


def _edges(block: Edges) -> bytes:
    ends = zip(
        block.source.tolist(), block.target.tolist(), similarity_texts(block.similarity).to_pylist(), strict=True
    )
    lines = (
        f'<edge source="n{a}" target="n{b}"><data key="s">{similarity}</data></edge>\n' for a, b, similarity in ends
    )
    return "".join(lines).encode()


def _escaped(value: str) -> str:
    return escape(_FORBIDDEN.sub("", value), {"\r": "&#13;"})  # a parser would read a bare CR as a line feed
