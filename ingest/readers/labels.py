"""Node labels of a network, from a file of their own."""

from collections.abc import Iterator
from typing import IO

from graphkin.ingest.readers.delimited import DELIMITERS, read_delimited
from graphkin.ingest.readers.edgelist import NO_EDGE, Fault, read_edgelist
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.records import Record, faulty_record
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.nodes.network import Network

_CHOSEN_BY = ("--labels", "--label-column")


class Labels:
    """The labels of nodes, by the name of the node.

    The file is a table with the columns `node` and `label`, or it has lines `node label` whose parts are separated by
    spaces or tabs. If a node has several labels, the first one counts.

    Args:
        path: Path of the file, for errors.
        stream: The content of the file.
        format: "csv" or "tsv" if the file is a table.
        column: Title of the column of labels if it is not `label`.

    Raises:
        InvalidInput: The file has no label.
    """

    def __init__(self, path: str, stream: IO[bytes], format: str | None, column: str | None) -> None:
        self._path = path
        self._faults: list[Fault] = []
        self._labels: dict[str, tuple[int, str]] = {}
        for line, node, label in _label_rows(path, stream, format, column, self._faults):
            line_before, before = self._labels.setdefault(node, (line, label))
            if before != label:
                self._faults.append((line, f"{node} {label}", f"gives a node another label than line {line_before}"))
        if not self._labels:
            raise InvalidInput(
                f"{path} holds no label",
                expected="a node and its label on each line",
                hint="write one node and its label on each line",
            )

    def label_of(self, name: str) -> str | None:
        """Return the label of a node, or None."""
        entry = self._labels.get(name)
        return None if entry is None else entry[1]

    def unused_records(self, network: Network) -> Iterator[Record]:
        """Yield faulty records for labels of nodes that the network lacks, and for lines that cannot be read."""
        node_names = set(network.names.to_pylist())
        unknown = (
            (line, name, "labels a node that no edge names")
            for name, (line, _) in self._labels.items()
            if name not in node_names
        )
        for line, text, reason in sorted([*self._faults, *unknown]):
            yield faulty_record(line, text, f"{reason} (in {self._path})")


def _label_rows(
    path: str, stream: IO[bytes], format: str | None, column: str | None, faults: list[Fault]
) -> Iterator[tuple[int, str, str]]:
    if format in DELIMITERS:
        columns = ("node", column or "label", _CHOSEN_BY)
        lines = read_lines(path, stream)
        for line, node, label, _, _, fault in read_delimited(path, lines, DELIMITERS[format], *columns):
            if fault or not node or label is None:
                faults.append((line, node, fault or "has no node, or no label"))
            else:
                yield line, node, label
        return
    for block in read_edgelist(path, stream):
        faults += [
            (line, text, "is not `node label`" if reason.startswith(NO_EDGE) else reason)
            for line, text, reason in block.faults
        ]
        for line, node, label in zip(
            block.line.tolist(), block.source.to_pylist(), block.target.to_pylist(), strict=True
        ):
            if not (line == 1 and node == "node"):  # such a line is a header
                yield line, node, label
