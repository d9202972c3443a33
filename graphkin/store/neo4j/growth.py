"""Append to a generation on the server: small changes in one transaction, others by a new graph."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphkin.protocol.manifest import Manifest, Provenance
from graphkin.store import csr
from graphkin.store.columns import item_schema
from graphkin.store.growth import RewrittenGrowth
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.draft import (
    Addition,
    Neo4jDraft,
    fingerprint_blocks,
    item_rows,
    name_rows,
    rejection_rows,
    truncated_rows,
)
from graphkin.store.neo4j.generation import Neo4jGeneration
from graphkin.store.neo4j.items import NodeProperties, caption
from graphkin.store.records import Edges, to_decimal_floats

_MAX_ROWS = 200_000  # rows of one transaction, which the server keeps in its heap


class Neo4jGrowth(RewrittenGrowth):
    """A growth that changes the graph of its base in the transaction that publishes it.

    Readers of the base do not see the change. A new graph is written instead if the change is large, if a later
    generation has changed the graph, or if columns of the base are stored in another way.
    """

    base: Neo4jGeneration
    _draft: Neo4jDraft

    def publish(self, provenance: Provenance) -> Manifest:
        base_blocks = self.base.block_hashes()
        if base_blocks is None or not self.base.is_newest() or not _keeps_columns(self.base.manifest, provenance):
            return super().publish(provenance)
        additions = list(self._additions(provenance))
        if sum(len(rows) for _, rows in additions) > _MAX_ROWS:
            return super().publish(provenance)
        blocks = self._hash_blocks(provenance, base_blocks)
        manifest = self._draft.publish_graph(provenance, blocks, self.base, additions)
        self.discard()
        return manifest

    def _additions(self, provenance: Provenance) -> Iterator[Addition]:
        revision, first = self._draft.revision, self.base.size
        items = item_rows(provenance.kind, self._new_items(provenance), first)
        names = self._new_names().to_pylist()
        yield cypher.CREATE_ITEMS, items
        yield cypher.CREATE_NAMES, [{**row, "since": revision} for row in name_rows(items)]
        yield (
            cypher.CREATE_NAMES,
            [
                {**row, "since": revision}
                for row in name_rows([{"id": row["id"], "properties": {"names": row["names"]}} for row in names])
            ],
        )
        yield (
            cypher.ADD_TO_NAMES,
            [{**row, "name": name} for row, name in zip(names, self._captions(names, provenance), strict=True)],
        )
        rejected = self.base.manifest.counts.rejected
        for batch in self._rejections:
            yield cypher.CREATE_REJECTIONS, rejection_rows(batch, rejected)
            rejected += batch.num_rows
        words = np.concatenate(self._words)
        if words.shape[1]:
            yield (
                cypher.CREATE_FINGERPRINTS,
                [[start, block.tobytes()] for start, block in fingerprint_blocks(words, first)],
            )
        change, forest = self._change(), csr.difference(self.base.forest(), self._forest)
        yield cypher.REMOVE_EDGES, _pairs(change.removed)
        yield cypher.ADD_EDGES, _pairs(change.added)
        yield cypher.REMOVE_FROM_FOREST, _pairs(forest.removed)
        yield cypher.ADD_TO_FOREST, _pairs(forest.added)
        if self._dropped is not None:
            yield cypher.CREATE_TRUNCATED, truncated_rows(self._dropped, revision)

    def _captions(self, names: list[dict[str, Any]], provenance: Provenance) -> list[str]:
        """Return the captions of items of the base with their added names."""
        ids = np.array([row["id"] for row in names], np.int32)
        older = self.base.take(ids, ["names", provenance.structure]).to_pylist()
        return [
            caption([*item["names"], *row["names"]], item[provenance.structure])
            for item, row in zip(older, names, strict=True)
        ]


def _keeps_columns(base: Provenance, provenance: Provenance) -> bool:
    """Return whether the columns of the base have the same types and node properties afterwards."""
    older, newer = item_schema(base), item_schema(provenance)
    older_keys, newer_keys = NodeProperties(older), NodeProperties(newer)
    return all(
        field.equals(newer.field(field.name)) and older_keys.for_column(field.name) == newer_keys.for_column(field.name)
        for field in older
    )


def _pairs(edges: Edges) -> list[list[float]]:
    columns = (edges.source.tolist(), edges.target.tolist(), to_decimal_floats(edges.similarity))
    return [list(row) for row in zip(*columns, strict=True)]
