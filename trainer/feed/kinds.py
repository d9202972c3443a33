"""Features of a collection's items by kind: the column they are made from and the function that makes them.

No other module of the feed depends on the kind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.features.nodes import featurize_nodes


class Collection(Protocol):
    """The collection to featurize: the client's, or one that is opened without a server."""

    name: str

    @property
    def kind(self) -> str: ...

    @property
    def generation(self) -> str:
        """The id of the generation that is read."""

    def column(self, name: str) -> Iterable[Sequence[str]]:
        """Yield one column of all items in id order, in blocks."""


def features(collection: Collection, workers: int = 1) -> Corpus:
    """Return the features of all items in id order, with the generation's id as identity.

    Also raises the errors of `featurize`, `featurize_graphs` and `featurize_nodes`.

    Args:
        collection: The collection to featurize.
        workers: Number of worker processes.

    Raises:
        Conflict: Items of this kind have no features.
        InvalidInput: An item has no text.
    """
    kind = _KINDS.get(collection.kind)
    if kind is None:
        raise Conflict(
            "there are no features for items of this kind",
            given=f"{collection.name}, of kind {collection.kind}",
            expected=f"a collection of kind {' or '.join(_KINDS)}",
        )
    return kind.featurized(_texts(collection, kind.column), collection.generation, workers)


def _texts(collection: Collection, column: str) -> Iterator[Sequence[str]]:
    """Yield the blocks of a column.

    Raises:
        InvalidInput: An item has no text.
    """
    item = 0
    for block in collection.column(column):
        if not all(isinstance(text, str) for text in block):
            place = next(place for place, text in enumerate(block) if not isinstance(text, str))
            raise InvalidInput(f"item {item + place} has no {column}", given=block[place], expected="text")
        item += len(block)
        yield block


class _Kind(NamedTuple):
    """The column that describes an item, and the function that featurizes blocks of it."""

    column: str
    featurized: Callable[[Iterable[Sequence[str]], str, int], Corpus]


def _molecules(blocks: Iterable[Sequence[str]], identity: str, workers: int) -> Corpus:
    return featurize([*chain.from_iterable(blocks)], identity, workers)


def _graphs(blocks: Iterable[Sequence[str]], identity: str, workers: int) -> Corpus:  # noqa: ARG001  (parsing is quick)
    return Corpus.concatenate(identity, [featurize_graphs(block, identity) for block in [*blocks] or [[]]])


def _nodes(blocks: Iterable[Sequence[str]], identity: str, workers: int) -> Corpus:  # noqa: ARG001  (LAPACK has threads)
    return Corpus.concatenate(identity, [featurize_nodes(block, identity) for block in [*blocks] or [[]]])


_KINDS: Mapping[str, _Kind] = {
    "molecule": _Kind("smiles", _molecules),
    "graph": _Kind("structure", _graphs),
    "node": _Kind("structure", _nodes),
}
