"""The features of a collection's items: what of an item they are made from, and how, by kind. No other module asks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.features.nodes import featurize_nodes


class Collection(Protocol):
    """What is featurised: the client's, or one that is opened without a server."""

    name: str

    @property
    def kind(self) -> str: ...

    @property
    def generation(self) -> str:
        """The id of the generation that is read."""

    def column(self, name: str) -> Iterable[Sequence[str]]:
        """One column of all items in id order, in blocks."""


def features(collection: Collection, workers: int = 1) -> Corpus:
    """The features of all items in id order, their identity being the generation's id; on so many processes.

    Raises `Conflict` for a kind of items without features, `InvalidInput` for an item without text, and as `featurize`,
    `featurize_graphs` and `featurize_nodes`.
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
    """The blocks of a column. Raises `InvalidInput` for an item without text."""
    item = 0
    for block in collection.column(column):
        if not all(isinstance(text, str) for text in block):
            place = next(place for place, text in enumerate(block) if not isinstance(text, str))
            raise InvalidInput(f"item {item + place} has no {column}", given=block[place], expected="text")
        item += len(block)
        yield block


class _Kind(NamedTuple):
    """The column that says what an item is, and its features, given in blocks."""

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
