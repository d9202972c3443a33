"""Graph collections in TUDataset's raw layout (Morris et al., 2020): NAME_A.txt and its companions."""

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from graphkin.ingest.readers.raw import require_proportion
from graphkin.ingest.readers.records import Record, faulty_record
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.store.records import Int64

Bool: TypeAlias = NDArray[np.bool_]

_EDGES = "_A.txt"


def read_tu(path: str) -> Iterator[Record]:
    """Yield the graphs of a folder or a zip archive.

    A data set NAME consists of the files NAME_A.txt, NAME_graph_indicator.txt and so on. Its graphs have the names
    NAME/0, NAME/1 and so on. Their properties are `source`, which is NAME, `label`, which is the class, and their
    attributes. The files list each edge in both directions, which is one edge.

    Raises:
        InvalidInput: Files are missing, damaged or inconsistent, or as `require_proportion` raises it.
    """
    collections = [_Dataset(path, file.parent, file.name.removesuffix(_EDGES)) for file in _edge_files(path)]
    if not collections:
        raise InvalidInput(
            f"{path} holds no graphs in the TUDataset layout",
            expected="NAME_A.txt and NAME_graph_indicator.txt, in a folder or a zip archive",
            hint=f"name the folder that holds these files, or name another format with {parameter('--format')}",
        )
    for collection in collections:
        yield from collection.records()


def _edge_files(path: str) -> list[Any]:
    """Return the edge files of a folder and of its subfolders, without the hidden ones that macOS adds to archives."""
    files = _archive_files(path) if zipfile.is_zipfile(path) else [*Path(path).glob("*"), *Path(path).glob("*/*")]
    return sorted((file for file in files if file.name.endswith(_EDGES) and not file.name.startswith(".")), key=str)


def _archive_files(path: str) -> list[zipfile.Path]:
    """Return the files of an archive and of its top-level folders.

    Raises:
        InvalidInput: As `require_proportion` raises it.
    """
    archive = zipfile.ZipFile(path)
    require_proportion(path, sum(entry.file_size for entry in archive.infolist()), Path(path).stat().st_size)
    return [zipfile.Path(archive, name) for name in archive.namelist() if name.strip("/").count("/") <= 1]


@dataclass(frozen=True)
class _Dataset:
    """The files of one data set. Nodes are numbered in the order of their graphs unless stated otherwise.

    Attributes:
        path: Path of the source, for errors.
        folder: Folder of the files, a `Path` or a `zipfile.Path`.
        name: Name of the data set.
    """

    path: str
    folder: Any
    name: str

    def records(self) -> Iterator[Record]:
        node_counts = np.bincount(self._graph_of_node, minlength=self._graphs)
        first_node = np.append(0, np.cumsum(node_counts))
        edges = self._edges
        first_edge = np.searchsorted(edges[:, 0], first_node)
        for graph in range(self._graphs):
            begin, line = (
                int(first_node[graph]),
                int(self._line_of_node[first_node[graph]]) if node_counts[graph] else 1,
            )
            name = f"{self.name}/{graph}"
            fault = self._faults.get(graph) or ("" if node_counts[graph] else "has no nodes")
            if fault:
                yield faulty_record(line, name, fault)
                continue
            content: dict[str, Any] = {"num_nodes": int(node_counts[graph])}
            content["edges"] = (edges[first_edge[graph] : first_edge[graph + 1]] - begin).tolist()
            if self._labels is not None:
                content["labels"] = self._labels[begin : first_node[graph + 1]].tolist()
            properties = {"source": self.name, **{key: values[graph] for key, values in self._properties.items()}}
            yield line, json.dumps(content), name, list(properties), list(properties.values()), None

    @cached_property
    def _indicator(self) -> Int64:
        """(V,) graph of each node, from 0, with the nodes in the order of the file."""
        (graph,) = self._numbers("graph_indicator", columns=1).T
        if not len(graph) or graph.min() < 1:
            raise self._damage_error("graph_indicator", "it names no graph, or one below 1")
        highest = max(len(graph), *map(len, self._properties.values()), 0)
        if graph.max() > highest:
            raise self._damage_error(
                "graph_indicator", f"it names graph {graph.max()}, but there are {highest} at most"
            )
        return graph - 1

    @cached_property
    def _line_of_node(self) -> Int64:
        """(V,) line of each node in graph_indicator."""
        return np.argsort(self._indicator, kind="stable") + 1

    @cached_property
    def _graph_of_node(self) -> Int64:
        return self._indicator[self._line_of_node - 1]

    @cached_property
    def _graphs(self) -> int:
        graphs = int(self._indicator.max()) + 1
        for key, values in self._properties.items():
            if len(values) < graphs:
                raise self._damage_error(
                    "graph_indicator", f"it names graph {graphs}, but only {len(values)} have a {key}"
                )
            graphs = max(graphs, len(values))
        return graphs

    @cached_property
    def _listed_edges(self) -> tuple[Int64, Bool]:
        """The listed edges, (E, 2), with -1 for a node that does not exist, and whether both nodes exist, (E,)."""
        ends = self._numbers("A", columns=2) - 1
        is_known = (ends >= 0) & (ends < len(self._indicator))
        if (none := ~is_known.any(axis=1)).any():
            raise self._damage_error("A", f"line {np.argmax(none) + 1} joins nodes that graph_indicator does not have")
        number_in_order = np.empty(len(self._indicator), np.int64)
        number_in_order[self._line_of_node - 1] = np.arange(len(number_in_order))
        return np.where(is_known, number_in_order[np.where(is_known, ends, 0)], -1), np.asarray(is_known.all(axis=1))

    @cached_property
    def _faults(self) -> dict[int, str]:
        """First fault of each faulty graph."""
        ends, has_both_nodes = self._listed_edges
        graph = np.where(ends >= 0, self._graph_of_node[ends], -1)
        wrong = np.flatnonzero(~has_both_nodes | (graph[:, 0] != graph[:, 1]))
        faults: dict[int, str] = {}
        for line in wrong.tolist():
            for faulty_graph in {int(number) for number in graph[line] if number >= 0}:
                faults.setdefault(faulty_graph, f"{self.name}{_EDGES} line {line + 1}: an edge leaves its graph")
        return faults

    @cached_property
    def _edges(self) -> Int64:
        """(E, 2) lower and higher end of each edge, sorted by lower end. The two directions are merged."""
        listed_ends, has_both_nodes = self._listed_edges
        graph = self._graph_of_node[listed_ends]
        ends = listed_ends[has_both_nodes & (graph[:, 0] == graph[:, 1])]
        nodes = len(self._indicator)
        code, edge_of_end = np.unique(
            ends.min(axis=1, initial=nodes) * nodes + ends.max(axis=1, initial=0), return_inverse=True
        )
        # A pair that is listed n times in one direction counts as n edges.
        upwards = ends[:, 0] <= ends[:, 1]
        times = np.maximum(*(np.bincount(edge_of_end[side], minlength=len(code)) for side in (upwards, ~upwards)))
        return np.stack(np.divmod(np.repeat(code, times), nodes), axis=1)

    @cached_property
    def _labels(self) -> np.ndarray | None:
        """(V,) node labels; with several columns of labels, the labels of a node joined by spaces."""
        if not self._file("node_labels").exists():
            return None
        labels = self._numbers("node_labels")
        if len(labels) != len(self._indicator):
            raise self._damage_error("node_labels", f"{len(labels)} lines for {len(self._indicator)} nodes")
        labels = labels[self._line_of_node - 1]
        return labels[:, 0] if labels.shape[1] == 1 else np.array([" ".join(map(str, row)) for row in labels.tolist()])

    @cached_property
    def _properties(self) -> dict[str, list[str]]:
        properties: dict[str, list[str]] = {}
        if self._file("graph_labels").exists():
            properties["label"] = self._lines("graph_labels")
        if self._file("graph_attributes").exists():
            rows = [[cell.strip() for cell in line.split(",")] for line in self._lines("graph_attributes")]
            for column, values in enumerate(zip_longest(*rows, fillvalue="")):
                properties[f"attribute_{column}"] = list(values)
        return properties

    def _file(self, ending: str) -> Any:
        return self.folder / f"{self.name}_{ending}.txt"

    def _lines(self, ending: str) -> list[str]:
        text = self._data(ending).decode(errors="replace")
        return [line.strip() for line in text.rstrip().split("\n")]

    def _numbers(self, ending: str, columns: int | None = None) -> Int64:
        """Return the integers of a file, by line and column.

        Args:
            ending: End of the name of the file, such as "graph_indicator".
            columns: Required number of columns, or None.
        """
        data = self._data(ending)
        if not data.strip():
            return np.empty((0, columns or 1), np.int64)
        try:
            table = csv.read_csv(io.BytesIO(data), csv.ReadOptions(use_threads=False, autogenerate_column_names=True))
        except pa.ArrowInvalid as error:
            raise self._damage_error(ending, str(error)) from error
        if columns is not None and table.num_columns != columns:
            raise self._damage_error(ending, f"{table.num_columns} columns, not {columns}")
        if not all(pa.types.is_integer(column.type) and not column.null_count for column in table.columns):
            raise self._damage_error(ending, "it holds other values than whole numbers")
        return np.stack(table.columns, axis=1)

    def _data(self, ending: str) -> bytes:
        file = self._file(ending)
        if not file.exists():
            raise InvalidInput(
                f"the file {file.name} is missing in {self.path}",
                expected=f"{file.name} next to {self.name}{_EDGES}",
                hint="unpack or download the collection again",
            )
        try:
            data: bytes = file.read_bytes()
        except RuntimeError as error:  # encrypted, or compressed by an unsupported method
            raise self._damage_error(ending, str(error)) from error
        return data

    def _damage_error(self, ending: str, reason: str) -> InvalidInput:
        return InvalidInput(
            f"{self.path}: {self.name}_{ending}.txt is damaged: {reason}",
            expected="a file as the collection's authors published it",
            hint="unpack or download the collection again",
        )
