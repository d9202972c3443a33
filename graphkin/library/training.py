"""Training data from a store on this machine, without a server."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pyarrow as pa

from graphkin.export import export_links, read_edges, read_items
from graphkin.protocol.errors import Damaged
from graphkin.protocol.policy import Policy
from graphkin.protocol.values import PolicyName
from graphkin.store.base import Generation
from graphkin.store.sampling.rows import negatives_rows, positives_provenance, positives_rows, schema_metadata
from graphkin.trainer.feed.arrow import ArrowSource
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.kinds import features as featurize
from graphkin.trainer.strategy import Sampling

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions

_BLOCK = 100_000  # number of items whose structures are read at once


def open_stored(
    generation: Generation,
    draws: Sampling,
    workers: int = 1,
    *,
    second: Generation | None = None,
    cache: Cache | None = None,
    last: int | None = None,
    features: str = "hu",
) -> ArrowSource:
    """Return a source of training data that reads a generation in this process.

    The samples and features equal those from a server of the store. The source does not close the generations.

    Args:
        generation: The open generation.
        draws: Sampling settings.
        workers: Number of worker processes that compute features.
        second: A generation of a second collection of the same items; None for none.
        cache: The local cache; None for none.
        last: Last epoch that the training needs; None if unknown.
        features: Name of the set of features.

    Raises:
        GraphkinError: The errors of `ArrowSource`.
    """
    return ArrowSource(
        StoredTables(generation),
        draws,
        partial(featurize, workers=workers, name=features),
        _damaged,
        cache=cache,
        second=None if second is None else StoredTables(second),
        last=last,
        features=features,
    )


class StoredTables:
    """`feed.tables.Tables` of an open generation. The tables equal those of `client.Collection`."""

    def __init__(self, generation: Generation) -> None:
        self.name = generation.collection
        self.kind = generation.manifest.kind
        self.generation = generation.id
        self.size = generation.size
        self.manifest = generation.manifest
        self._generation = generation
        self._sampler = generation.sampler()

    def column(self, name: str) -> Iterator[list[str]]:
        for start in range(0, self.size, _BLOCK):
            table = read_items(self._generation, columns=[name], start=start, stop=min(start + _BLOCK, self.size))
            yield table[name].to_pylist()

    def epoch(
        self, epoch: int, policy: PolicyName, *, seed: int = 0, **parameters: Unpack["PolicyOptions"]
    ) -> pa.Table:
        validated = Policy.from_name(policy, **parameters)
        rows = positives_rows(self._sampler.positives(np.arange(self.size, dtype=np.int32), validated, seed, epoch))
        return _with_metadata(rows, **positives_provenance(self.generation, validated, seed, epoch))

    def negatives(self, epoch: int, *, seed: int = 0, batches: int = 1, count: int = 255) -> pa.Table:
        rows = negatives_rows(0, self._sampler.negatives(seed, epoch, 0, batches, count))
        return _with_metadata(rows, generation=self.generation, seed=seed, epoch=epoch)

    def edges(self, *, min_similarity: float | None = None) -> pa.Table:
        return read_edges(self._generation, min_similarity)

    def links(self) -> pa.Table:
        return pa.ipc.open_stream(b"".join(export_links(self._generation, "arrow"))).read_all()


def _with_metadata(rows: pa.RecordBatch, **provenance: object) -> pa.Table:
    return pa.Table.from_batches([rows]).replace_schema_metadata(schema_metadata(provenance))


def _damaged(collection: str, path: str, problem: str) -> Damaged:
    return Damaged(
        f"collection {collection!r} is damaged: {problem}",
        given=path,
        expected="data as `graphkin ingest` writes them",
        hint="run `graphkin verify` on the store",
    )
