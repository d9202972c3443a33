"""Readers of networks, which yield a record for each node (docs/concepts/method.md)."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO

import numpy as np
import pyarrow as pa

from graphkin.ingest.readers.columns import Delimiter
from graphkin.ingest.readers.delimited import DELIMITERS, read_delimited
from graphkin.ingest.readers.edgelist import Fault, NamedEdges, read_edgelist
from graphkin.ingest.readers.formats import WHOLE, choose_format, extension
from graphkin.ingest.readers.labels import Labels
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.matrices import MAX_NODES, read_matrix_market, read_npz
from graphkin.ingest.readers.raw import Raw, open_decompressed, spool_to_disk, translate_read_errors
from graphkin.ingest.readers.records import Record, batches, faulty_record
from graphkin.ingest.readers.source import ReadOptions, Source, open_raw
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.similarity.nodes.describer import node_texts
from graphkin.similarity.nodes.kind import NodeKind
from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.store.records import Int32, Int64

NETWORKS = {
    ".edgelist": "edgelist",
    ".edges": "edgelist",
    ".txt": "edgelist",
    ".csv": "csv",
    ".tsv": "tsv",
    ".graphml": "graphml",
    ".xml": "graphml",
    ".mtx": "mtx",
    ".npz": "npz",
}
"""Format by file extension in lower case, without the extension of a compressed file."""

_ROWS_PER_BLOCK = 65_536  # rows of a table that are read at a time
_CHOSEN_BY = ("--source-column", "--target-column")
_ISOLATED = "is isolated: no edge joins it to another node"


def open_network(path: str, recipe: NodeRecipe, options: ReadOptions, labels: str | None) -> Source:
    """Open a file of networks as a source whose records are the nodes.

    Args:
        path: Path of the file, or "-" for standard input.
        recipe: Recipe of the nodes, which decides the subgraphs around them.
        options: Options for reading the file.
        labels: Path of a second file with node labels, or None.

    Raises:
        InvalidInput: As `open_source` raises it.
    """
    format = choose_format(path, options.format, NodeKind.file_formats, NETWORKS)
    with ExitStack() as resources:
        raw, bytes_total = open_raw(path, None, resources)
        labels_raw, node_labels = _labels(labels, options.label_column, resources) if labels else (None, None)
        with translate_read_errors(path, raw):
            stream, _ = open_decompressed(path, raw, "at least one edge", whole=format in WHOLE)
            if format == "npz":
                stream = spool_to_disk(stream, resources)
            readings = read_network(path, stream, format, (options.source_column, options.target_column))
            records = (record for reading in readings for record in reading.records(recipe, node_labels))
        companions = [] if labels_raw is None or labels is None else [(labels, labels_raw)]
        return Source(path, NodeKind.notations[0], bytes_total, batches(records), raw, resources.pop_all(), companions)


def _labels(path: str, column: str | None, resources: ExitStack) -> tuple[Raw, Labels]:
    raw, _ = open_raw(path, None, resources)
    with translate_read_errors(path, raw):
        stream, _ = open_decompressed(path, raw, "at least one label")
        labels = Labels(path, stream, NETWORKS.get(extension(path)), column)
        raw.read_to(None)
    return raw, labels


@dataclass
class _Nodes:
    """Nodes, numbered in the order of their first appearance.

    Attributes:
        numbers: Number of each node by name.
        line: Line on which each node first appears.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    line: list[int] = field(default_factory=list)

    def number(self, names: pa.StringArray, lines: Int64) -> Int32:
        """Return the numbers of nodes, (n,) int32. New nodes get the next numbers.

        Args:
            names: (n,) names of the nodes.
            lines: (n,) lines on which they appear.

        Raises:
            InvalidInput: There are too many nodes.
        """
        encoded = names.dictionary_encode()
        codes = np.asarray(encoded.indices)
        _, first = np.unique(codes, return_index=True)
        for name, index in zip(encoded.dictionary.to_pylist(), first.tolist(), strict=True):
            if name not in self.numbers:
                self.numbers[name] = len(self.line)
                self.line.append(int(lines[index]))
        if len(self.line) > MAX_NODES:
            raise InvalidInput(
                "the network has too many nodes",
                given=f"{len(self.line):,}",
                expected=f"at most {MAX_NODES:,}",
                hint="ingest a part of the network",
            )
        numbers = (self.numbers[name] for name in encoded.dictionary.to_pylist())
        return np.fromiter(numbers, np.int32, len(encoded.dictionary))[codes]

    def names(self) -> pa.StringArray:
        """Return the names of the nodes in the order of their numbers."""
        return pa.array(self.numbers, pa.string())


@dataclass(frozen=True)
class Reading:
    """A network as it was read from a file.

    Attributes:
        network: The network.
        line: Line on which each node first appears.
        faults: Lines that are not edges.
    """

    network: Network
    line: list[int]
    faults: list[Fault]

    @classmethod
    def from_blocks(cls, path: str, blocks: Iterable[NamedEdges], nodes: _Nodes | None = None) -> "Reading":
        """Build the network from blocks of edges.

        Args:
            path: Path of the file, for errors.
            blocks: The edges.
            nodes: Nodes that are known before the edges are read, or None.

        Raises:
            InvalidInput: There is no edge at all.
        """
        nodes = nodes or _Nodes()
        ends: list[Int32] = [np.empty((2, 0), np.int32)]
        faults: list[Fault] = []
        for edges in blocks:
            both = pa.concat_arrays([edges.source, edges.target])
            order = (
                np.arange(2 * len(edges.line)).reshape(2, -1).T.ravel()
            )  # reading order: source, target, source, ...
            ends.append(nodes.number(both.take(pa.array(order)), np.repeat(edges.line, 2)).reshape(-1, 2).T)
            faults += edges.faults
        source, target = np.concatenate(ends, axis=1)
        if not len(source):
            first = f"line {faults[0][0]} {faults[0][2]}" if faults else "nothing that could be one"
            raise InvalidInput(
                f"{path} holds no edge",
                given=first,
                expected="two node names on each line",
                hint=f"check the file, or name its format with {parameter('--format')}",
            )
        return cls(Network.from_edges(nodes.names(), source, target), nodes.line, faults)

    def records(self, recipe: NodeRecipe, labels: Labels | None) -> Iterator[Record]:
        """Yield a record for each node, in the order of their numbers, then faulty lines, and then unused labels."""
        yield from _node_records(self, recipe, labels)
        for line, text, reason in self.faults:
            yield faulty_record(line, text, reason)
        if labels is not None:
            yield from labels.unused_records(self.network)


def _node_records(reading: Reading, recipe: NodeRecipe, labels: Labels | None) -> Iterator[Record]:
    network = reading.network
    degrees = np.diff(network.links.indptr).tolist()
    graph_labels = [None] * len(network) if network.labels is None else network.labels.to_pylist()
    columns = (network.names.to_pylist(), reading.line, degrees, graph_labels, node_texts(network, recipe))
    for name, line, degree, label, text in zip(*columns, strict=True):
        node_label = label if labels is None else labels.label_of(name)
        keys = ["graph"] if node_label is None else ["graph", "label"]
        if degree:
            yield line, text, name, keys, [network.digest, *([] if node_label is None else [node_label])], None
        else:
            yield faulty_record(line, name, _ISOLATED)


def read_network(
    path: str, stream: IO[bytes], format: str, columns: tuple[str | None, str | None]
) -> Iterator[Reading]:
    """Yield the networks of a file.

    Args:
        path: Path of the file, for errors.
        stream: The content of the file.
        format: Format of the file.
        columns: Titles of the columns of a table that name the two nodes of an edge; None for `source` and `target`.
    """
    match format:
        case "edgelist":
            yield Reading.from_blocks(path, read_edgelist(path, stream))
        case "csv" | "tsv":
            yield Reading.from_blocks(path, _table(path, stream, DELIMITERS[format], columns))
        case "mtx":
            count, blocks = read_matrix_market(path, stream)
            yield Reading.from_blocks(path, blocks, _number_nodes(range(1, count + 1)))
        case "npz":
            count, edges, labels = read_npz(path, stream)
            reading = Reading.from_blocks(path, [edges], _number_nodes(range(count)))
            yield replace(reading, network=replace(reading.network, labels=labels))
        case "graphml":
            yield from _graphml(path, stream)


def _number_nodes(names: range) -> _Nodes:
    return _Nodes({str(name): number for number, name in enumerate(names)}, [*range(1, len(names) + 1)])


def _table(
    path: str, stream: IO[bytes], delimiter: Delimiter | None, columns: tuple[str | None, str | None]
) -> Iterator[NamedEdges]:
    source, target = (column or default for column, default in zip(columns, ("source", "target"), strict=True))
    records = read_delimited(path, read_lines(path, stream), delimiter, source, target, _CHOSEN_BY)
    while rows := [*islice(records, _ROWS_PER_BLOCK)]:
        edges = [(line, text, name) for line, text, name, *_, fault in rows if not fault and text and name]
        faults = [
            (line, text, fault or "has no source, or no target")
            for line, text, name, *_, fault in rows
            if fault or not (text and name)
        ]
        line, sources, targets = zip(*edges, strict=True) if edges else ((), (), ())
        yield NamedEdges(
            np.array(line, np.int64), pa.array(sources, pa.string()), pa.array(targets, pa.string()), faults
        )


def _graphml(path: str, stream: IO[bytes]) -> Iterator[Reading]:
    from graphkin.ingest.readers.graphml import read_graphs  # importing NetworkX is slow

    for line, graph in read_graphs(path, stream):
        names = [str(node) for node in graph]
        number = {node: index for index, node in enumerate(graph)}
        ends = np.array([(number[u], number[v]) for u, v in graph.edges()], np.int32).reshape(-1, 2).T
        node_labels = [data.get("label") for _, data in graph.nodes(data=True)]
        labels = pa.array([None if label is None else str(label) for label in node_labels], pa.string())
        network = Network.from_edges(pa.array(names, pa.string()), ends[0], ends[1], labels)
        yield Reading(network, [line] * len(names), [])
