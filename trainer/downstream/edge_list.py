"""Readers of a big graph and of the labels of its nodes, from text files.

Each line of an edge file is `source target [weight]`, and each line of a label file is `node label`. The first line may
be a header: `source target` or `node label`. Fields are separated by commas in .csv files, and by spaces or tabs in all
other files. Lines that begin with # are comments. Both files may be compressed with gzip (.gz). Names of nodes and
labels are strings.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.features.network import Network

_EDGE_HEADER, _LABEL_HEADER = ("source", "target"), ("node", "label")


def read_edges(path: Path) -> tuple[Network, dict[str, int]]:
    """Read a graph from an edge file.

    The graph is simple: directions and weights are ignored, and self-loops and repeated edges are dropped. A node that
    occurs only in a self-loop is kept.

    Returns:
        The graph, and the index of each node by its name. Nodes are indexed from 0 in the order of first occurrence.

    Raises:
        NotFound: There is no such file.
        Damaged: The file cannot be read, or is not text in UTF-8.
        InvalidInput: A line is not an edge, or there are no edges.
    """
    indices: dict[str, int] = {}
    endpoints: list[int] = []
    for line, fields in _rows(path, _EDGE_HEADER):
        if len(fields) not in (2, 3) or not all(fields[:2]):
            raise InvalidInput(
                f"{path.name} has a line that is not an edge",
                given=f"line {line}: {' '.join(fields)}",
                expected="source target [weight]",
                hint="correct the line, or begin it with # if it is a comment",
            )
        endpoints += (indices.setdefault(name, len(indices)) for name in fields[:2])
    if not endpoints:
        raise InvalidInput(
            "the file holds no edge",
            given=str(path),
            expected="one or more lines with two nodes",
            hint="check the path of the edge list",
        )
    return Network.from_edges(_simple_edges(np.array(endpoints).reshape(-1, 2), len(indices)), len(indices)), indices


def read_labels(path: Path) -> dict[str, str]:
    """Read the label of each labeled node from a label file.

    Raises:
        NotFound: There is no such file.
        Damaged: The file cannot be read, or is not text in UTF-8.
        InvalidInput: A line is not a label, a node has two labels, or there are no labels.
    """
    labels: dict[str, str] = {}
    for line, fields in _rows(path, _LABEL_HEADER):
        if len(fields) != 2 or not all(fields):
            raise InvalidInput(
                f"{path.name} has a line that is not a label",
                given=f"line {line}: {' '.join(fields)}",
                expected="a node and its label",
                hint="correct the line, or begin it with # if it is a comment",
            )
        node, label = fields
        if labels.setdefault(node, label) != label:
            raise InvalidInput(
                f"a node of {path.name} has two labels",
                given=f"line {line}: {node} {label}",
                expected=f"{labels[node]}, as in an earlier line",
                hint="remove one of the two lines",
            )
    if not labels:
        raise InvalidInput(
            "the file holds no label",
            given=str(path),
            expected="one or more lines with a node and its label",
            hint="check the path of the labels",
        )
    return labels


def _rows(path: Path, header: tuple[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number (from 1) and the fields of each line, except the header, comments and blank lines.

    Raises:
        NotFound: There is no such file.
        Damaged: The file cannot be read, or is not text in UTF-8.
    """
    delimiter = "," if path.name.lower().removesuffix(".gz").endswith(".csv") else None
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8-sig") as file
        ):
            for line, text in enumerate(file, 1):
                fields = [field.strip() for field in text.split(delimiter)]
                is_header = line == 1 and tuple(field.lower() for field in fields) == header
                if text.strip() and not text.startswith("#") and not is_header:
                    yield line, fields
    except FileNotFoundError as error:
        raise NotFound(
            "the file does not exist", given=str(path), expected="the path of a text file", hint="check the path"
        ) from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Damaged(
            f"the file cannot be read: {error}",
            given=str(path),
            expected="text in UTF-8",
            hint="check the permissions and the encoding of the file, or copy it again",
        ) from error


def _simple_edges(endpoints: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return distinct edges without self-loops, (E, 2), with the lower index first.

    Args:
        endpoints: (L, 2) indices of the two nodes on each line of the file.
        size: Number of nodes.
    """
    low, high = endpoints.min(1), endpoints.max(1)
    keys = np.unique((low * size + high)[low < high])
    return np.stack(np.divmod(keys, size), axis=1)
