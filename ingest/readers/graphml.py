"""GraphML files, parsed by NetworkX."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import IO, Any
from xml.etree.ElementTree import ParseError, fromstring

from networkx import NetworkXError
from networkx.readwrite.graphml import GraphMLReader

from graphkin.ingest.readers.records import Record, faulted
from graphkin.protocol.errors import InvalidInput

_GRAPH = re.compile(rb"<(?:\w+:)?graph[\s>/]")
_LABEL = "label"
_MALFORMED = (ParseError, NetworkXError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_graphml(path: str, stream: IO[bytes]) -> Iterator[Record]:
    """Every <graph> is a record: its name is the data item `name`, else its id; its other data are properties; nodes'
    labels are their data `label`, where all of them have one. Directed edges count as edges.

    Raises `InvalidInput` for a file that is no XML.
    """
    for line, element, graph in _graphs(path, stream):
        if isinstance(graph, Exception):
            yield faulted(line, element.get("id") or "", f"no valid GraphML: {graph}")
        else:
            yield _record(line, graph, element.get("id"))


def read_graphs(path: str, stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """The line of every <graph>, and what NetworkX makes of it. Raises `InvalidInput` for one that is malformed too."""
    for line, _, graph in _graphs(path, stream):
        if isinstance(graph, Exception):
            raise InvalidInput(f"{path}, line {line}: no valid GraphML: {graph}") from graph
        yield line, graph


def _graphs(path: str, stream: IO[bytes]) -> Iterator[tuple[int, Any, Any]]:
    """Line, element and graph, or what was raised where that was made."""
    data = stream.read()
    starts = [found.start() for found in _GRAPH.finditer(data)]
    lines = [1 + passed for passed in accumulate(data.count(b"\n", *part) for part in pairwise([0, *starts]))]
    reader = _Reader()
    try:
        elements = reader.elements(data)
    except _MALFORMED as error:
        raise InvalidInput(f"{path} is no GraphML: {error}", expected="a <graphml> document") from error
    if len(elements) != len(lines):
        lines = [1] * len(elements)  # a <graph> in a comment: their places cannot be told
    for line, element in zip(lines, elements, strict=True):
        try:
            graph = reader.graph(element)
        except _MALFORMED as error:
            graph = error
        yield line, element, graph


class _Reader(GraphMLReader):  # type: ignore[misc]
    """NetworkX's reader, one graph at a time, so that one that is malformed costs no other."""

    def elements(self, data: bytes) -> list[Any]:
        self.xml = fromstring(data)  # noqa: S314 - expat refuses entities that grow
        self.keys, self.defaults = self.find_graphml_keys(self.xml)
        return list(self.xml.findall(f"{{{self.NS_GRAPHML}}}graph"))

    def graph(self, element: Any) -> Any:
        self.multigraph = False  # what it keeps from one graph to the next
        self.edge_ids.clear()
        graph = self.make_graph(element, self.keys, self.defaults)
        if len(graph) != sum(1 for _ in element.iter(f"{{{self.NS_GRAPHML}}}node")):
            raise NetworkXError("nodes share an id, lie in a graph of their own, or are not there but have edges")
        return graph


def _record(line: int, graph: Any, id: str | None) -> Record:
    number = {node: place for place, node in enumerate(graph)}
    content: dict[str, Any] = {"num_nodes": len(number), "edges": [[number[u], number[v]] for u, v in graph.edges()]}
    labels = [data[_LABEL] for _, data in graph.nodes(data=True) if _LABEL in data]
    if labels and len(labels) == len(number):
        content["labels"] = [str(label) for label in labels]
    properties = {key: str(value) for key, value in graph.graph.items() if key not in {"node_default", "edge_default"}}
    name = properties.pop("name", id)
    return line, json.dumps(content), name, list(properties), list(properties.values()), None
