"""Readers of big graphs and of labels of their nodes from text files.

An edge file has `source target [weight]` on each line, separated by spaces or tabs. A .csv file is separated by commas
and has the header `source,target`. A label file has `node label`, optionally with these words as its header. Lines that
begin with # are comments. Both files may be gzipped (.gz). Names of nodes and labels are strings.
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
    """Return the graph of a file, and the number of each node by its name, in the order of first appearance.

    Directions, weights, loops and repetitions of edges are dropped.

    Raises:
        NotFound: There is no such file.
        Damaged: The file is no text.
        InvalidInput: A line is no edge, or there are no edges.
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
    return Network.from_edges(_simple(np.array(ends).reshape(-1, 2), len(numbers)), len(numbers)), numbers


def read_labels(path: Path) -> dict[str, str]:
    """Return the label of each labeled node. Raises the errors of `read_edges`, also for a node with two labels."""
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
    """Yield the number, from 1, and the fields of each line, without the header, comments and empty lines."""
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
    """Return each edge once, without loops, (E, 2)."""
    low, high = ends.min(1), ends.max(1)
    keys = np.unique((low * size + high)[low < high])
    return np.stack(np.divmod(keys, size), axis=1)
