"""GraphML files, parsed by NetworkX."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import IO, Any
from xml.etree.ElementTree import ParseError, fromstring

from networkx import NetworkXError
from networkx.readwrite.graphml import GraphMLReader

from graphkin.ingest.readers.records import Record, faulty_record
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter

_GRAPH = re.compile(rb"<(?:\w+:)?graph[\s>/]")
_LABEL = "label"
_MALFORMED = (ParseError, NetworkXError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_graphml(path: str, stream: IO[bytes]) -> Iterator[Record]:
    """Yield each <graph> as a record. Directed edges count as undirected.

    The name is the data item `name` of the graph, or its id. Other data items of the graph are properties. Node labels
    are the data items `label` of the nodes, if all nodes have one.

    Raises:
        InvalidInput: The file is not XML.
    """
    for line, element, graph in _graphs(path, stream):
        if isinstance(graph, Exception):
            yield faulty_record(line, element.get("id") or "", f"no valid GraphML: {graph}")
        else:
            yield graph_record(line, graph, element.get("id"))


def read_graphs(path: str, stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """Yield the line of each <graph>, and the NetworkX graph.

    Raises:
        InvalidInput: The file is not XML, or a graph is malformed.
    """
    for line, _, graph in _graphs(path, stream):
        if isinstance(graph, Exception):
            raise InvalidInput(
                f"{path}, line {line}: the graph is not valid GraphML: {graph}",
                expected="nodes with ids, and edges between them",
                hint="correct the graph, or write the file again with the program that made it",
            ) from graph
        yield line, graph


def _graphs(path: str, stream: IO[bytes]) -> Iterator[tuple[int, Any, Any]]:
    """Yield the line, the XML element and the NetworkX graph of each <graph>.

    If NetworkX raised an exception, it takes the place of the graph.
    """
    data = stream.read()
    starts = [match.start() for match in _GRAPH.finditer(data)]
    lines = [1 + passed for passed in accumulate(data.count(b"\n", *part) for part in pairwise([0, *starts]))]
    reader = _Reader()
    try:
        elements = reader.elements(data)
    except _MALFORMED as error:
        raise InvalidInput(
            f"{path} is not GraphML: {error}",
            expected="a <graphml> document",
            hint=f"check the file, or name its format with {parameter('--format')}",
        ) from error
    if len(elements) != len(lines):
        lines = [1] * len(elements)  # a comment contains <graph>, so the lines are unknown
    for line, element in zip(lines, elements, strict=True):
        try:
            graph = reader.graph(element)
        except _MALFORMED as error:
            graph = error
        yield line, element, graph


class _Reader(GraphMLReader):  # type: ignore[misc]
    """NetworkX's reader, applied to one graph at a time, so that a malformed graph does not affect the others."""

    def elements(self, data: bytes) -> list[Any]:
        self.xml = fromstring(data)  # noqa: S314 - expat limits the expansion of entities
        self.keys, self.defaults = self.find_graphml_keys(self.xml)
        return list(self.xml.findall(f"{{{self.NS_GRAPHML}}}graph"))

    def graph(self, element: Any) -> Any:
        self.multigraph = False  # the base class keeps this state from one graph to the next
        self.edge_ids.clear()
        graph = self.make_graph(element, self.keys, self.defaults)
        if len(graph) != sum(1 for _ in element.iter(f"{{{self.NS_GRAPHML}}}node")):
            raise NetworkXError("duplicate node ids, a nested graph, or edges to undefined nodes")
        return graph


def graph_record(line: int, graph: Any, id: str | None = None) -> Record:
    """Return a graph of NetworkX as a record.

    Args:
        line: Line or position of the record.
        graph: The graph.
        id: Name of the graph if it has no attribute `name`.
    """
    number = {node: index for index, node in enumerate(graph)}
    content: dict[str, Any] = {"num_nodes": len(number), "edges": [[number[u], number[v]] for u, v in graph.edges()]}
    labels = [data[_LABEL] for _, data in graph.nodes(data=True) if _LABEL in data]
    if labels and len(labels) == len(number):
        content["labels"] = [str(label) for label in labels]
    properties = {key: str(value) for key, value in graph.graph.items() if key not in {"node_default", "edge_default"}}
    name = properties.pop("name", id)
    return line, json.dumps(content), name, list(properties), list(properties.values()), None
