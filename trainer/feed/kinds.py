"""Features of a collection's items: for each kind of items, the source column and the function that featurizes it.

No other module of `trainer.feed` depends on the kind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.features.nodes import featurize_nodes
from graphkin.trainer.feed.tables import Collection


def features(collection: Collection, workers: int = 1, name: str = "hu") -> Corpus:
    """Return the features of all items in id order. Their identity is the id of the generation.

    Args:
        collection: Collection to featurize.
        workers: Number of worker processes, for molecules.
        name: Set of features, for molecules.

    Raises:
        Conflict: Items of this kind have no features.
        InvalidInput: An item has no text.
        GraphkinError: The errors of `featurize`, `featurize_graphs` and `featurize_nodes`.
    """
    kind = _KINDS.get(collection.kind)
    if kind is None:
        raise Conflict(
            "the trainer has no features for items of this kind",
            given=f"{collection.name}, of kind {collection.kind}",
            expected=f"a collection of kind {' or '.join(_KINDS)}",
            hint="train on a collection of one of these kinds",
        )
    return kind.featurize(_texts(collection, kind.column), collection.generation, workers, name)


def _texts(collection: Collection, column: str) -> Iterator[Sequence[str]]:
    """Yield the blocks of a column.

    Raises:
        InvalidInput: An item has no text.
    """
    first_id = 0
    for block in collection.column(column):
        if not all(isinstance(text, str) for text in block):
            row = next(row for row, text in enumerate(block) if not isinstance(text, str))
            raise InvalidInput(
                f"item {first_id + row} has no {column}",
                given=str(block[row]),
                expected="a text",
                hint="run `graphkin verify` on the store",
            )
        first_id += len(block)
        yield block


class _Kind(NamedTuple):
    """A kind of items: the column with their structures, and the function that featurizes blocks of this column.

    Attributes:
        column: Name of the column.
        featurize: Takes the blocks, the identity of the features, the number of worker processes, and the set of
            features.
    """

    column: str
    featurize: Callable[[Iterable[Sequence[str]], str, int, str], Corpus]


def _molecules(blocks: Iterable[Sequence[str]], identity: str, workers: int, name: str) -> Corpus:
    return featurize([*chain.from_iterable(blocks)], identity, workers, name)


def _graphs(blocks: Iterable[Sequence[str]], identity: str, *_: object) -> Corpus:  # parsing needs no workers
    return Corpus.concatenate(identity, [featurize_graphs(block, identity) for block in [*blocks] or [[]]])


def _nodes(blocks: Iterable[Sequence[str]], identity: str, *_: object) -> Corpus:  # LAPACK has threads of its own
    return Corpus.concatenate(identity, [featurize_nodes(block, identity) for block in [*blocks] or [[]]])


_KINDS: Mapping[str, _Kind] = {
    "molecule": _Kind("smiles", _molecules),
    "graph": _Kind("structure", _graphs),
    "node": _Kind("structure", _nodes),
}
