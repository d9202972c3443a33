"""Big graphs and labels of their nodes from text files.

Edges: `source target [weight]` on each line, split by spaces or tabs; in a .csv by commas, after the header
`source,target`. Labels: `node label`, with or without these words as header. Lines that begin with # are comments.
Either file may be gzipped (.gz). Names of nodes and labels are texts.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.features.network import Network

_EDGE, _LABEL = ("source", "target"), ("node", "label")


def read_edges(path: Path) -> tuple[Network, dict[str, int]]:
    """The graph of a file, and the numbers of its nodes, in order of first appearance.

    Directions, weights, loops and repetitions of edges are dropped. Raises `NotFound`, `Damaged` for what is no text,
    and `InvalidInput` for a line that is no edge, and where there is none.
    """
    numbers: dict[str, int] = {}
    ends: list[int] = []
    for line, fields in _rows(path, _EDGE):
        if len(fields) not in (2, 3) or not all(fields[:2]):
            raise InvalidInput(
                f"{path.name} has a line that is no edge",
                given=f"line {line}: {' '.join(fields)}",
                expected="source target [weight]",
                hint="comments begin with #",
            )
        ends += (numbers.setdefault(name, len(numbers)) for name in fields[:2])
    if not ends:
        raise InvalidInput("there is no edge", given=str(path), expected="one or more")
    return Network.of(_simple(np.array(ends).reshape(-1, 2), len(numbers)), len(numbers)), numbers


def read_labels(path: Path) -> dict[str, str]:
    """The label of each node that has one. Raises as `read_edges`, also for a node with two labels."""
    labels: dict[str, str] = {}
    for line, fields in _rows(path, _LABEL):
        if len(fields) != 2 or not all(fields):
            raise InvalidInput(
                f"{path.name} has a line that is no label",
                given=f"line {line}: {' '.join(fields)}",
                expected="node label",
                hint="comments begin with #",
            )
        node, label = fields
        if labels.setdefault(node, label) != label:
            raise InvalidInput(
                f"a node of {path.name} has two labels",
                given=f"line {line}: {node} {label}",
                expected=f"{labels[node]}, as before",
            )
    if not labels:
        raise InvalidInput("there is no label", given=str(path), expected="one or more")
    return labels


def _rows(path: Path, header: tuple[str, str]) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line and its number, from 1; without header, comments and empty lines."""
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
        raise NotFound("there is no such file", given=str(path)) from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Damaged(f"the file cannot be read: {error}", given=str(path), expected="text in UTF-8") from error


def _simple(ends: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """(E, 2): each edge once, without loops."""
    low, high = ends.min(1), ends.max(1)
    once = np.unique((low * size + high)[low < high])
    return np.stack(np.divmod(once, size), axis=1)
