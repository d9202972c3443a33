"""Generations with known, small content, for tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa

from graphkin.protocol.manifest import Counts, Histogram, Input, Manifest, Provenance
from graphkin.protocol.values import Kind
from graphkin.store import csr
from graphkin.store.base import Draft, Store
from graphkin.store.columns import item_schema, titles
from graphkin.store.identity import links_digest
from graphkin.store.records import ADDED_NAMES, REJECTION_SCHEMA, Edges, Links, UInt64

Pairs = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Hierarchy:
    """The content of a draft: item rows, similar pairs (a < b), rejections.

    Attributes:
        rows: The items.
        pairs: The similarity of each similar pair (a, b) with a < b.
        rejections: The rejected records.
        kind: The kind of the items.
        dropped: The number of truncated pairs of each item, or None.
        properties: The type of each property.
        written: The format specification, such as "+.3e", that makes the source text of each number of a property. A
            row may instead hold a number together with its text (`NUMBER_WITH_TEXT`).
        qualifiers: The name for the signs of the censored numbers of a property.
        recipe: The recipe.
        rdkit: The version of RDKit in the provenance, or None.
        linked: The linked pairs (a, b), a < b, ascending, of the big graph whose nodes the items are, or None.
    """

    rows: Sequence[Mapping[str, Any]]
    pairs: Pairs
    rejections: Sequence[Mapping[str, Any]] = ()
    kind: Kind = "molecule"
    dropped: Sequence[int] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=lambda: {"threshold": 0.4})
    rdkit: str | None = "2026.09.1"
    linked: Sequence[tuple[int, int]] | None = None

    @property
    def words(self) -> UInt64:
        """Made-up fingerprints, (n, 2) uint64. They all differ, and the first one has no bits.

        Items that are not molecules have fingerprints without words, (n, 0).
        """
        if self.kind != "molecule":
            return np.empty((len(self.rows), 0), np.uint64)
        ids = np.arange(len(self.rows), dtype=np.uint64)
        return np.stack([ids, ids * np.uint64(0x9E3779B97F4A7C15)], axis=1)

    @property
    def items(self) -> pa.RecordBatch:
        """The rows as a batch of the item table."""
        rows = [{**row, **self._columns(row.get("properties", {}))} for row in self.rows]
        return pa.RecordBatch.from_pylist(rows, schema=item_schema(self.provenance()))

    def _columns(self, row_properties: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: self._column(name, value) for name, value in row_properties.items()}
        return {title: values.get(name) for name, title in titles(self.properties).items()}

    def _column(self, name: str, value: Any) -> Any:
        if name not in self.written or isinstance(value, dict):
            return value
        return {"number": value, "text": format(value, self.written[name])}

    @property
    def links(self) -> Links | None:
        if self.linked is None:
            return None
        source, target = np.array(self.linked, np.int32).reshape(-1, 2).T
        return csr.links(source, target, len(self.rows))

    @property
    def edges(self) -> Edges:
        return _edges([(a, b, s) for (a, b), s in self.pairs.items()])

    @property
    def forest(self) -> Edges:
        graph = nx.Graph()
        graph.add_weighted_edges_from((a, b, s) for (a, b), s in self.pairs.items())
        edges = [(min(a, b), max(a, b), d["weight"]) for a, b, d in nx.maximum_spanning_edges(graph)]
        return _edges(sorted(edges, key=lambda edge: (-edge[2], edge[0], edge[1])))

    @property
    def _degrees(self) -> Histogram:
        edges = self.edges
        degrees = np.bincount(np.concatenate([edges.source, edges.target]), minlength=len(self.rows))
        counts = np.bincount(degrees).tolist()
        return Histogram(edges=list(range(len(counts) + 1)), counts=counts)

    def provenance(self, seconds: float = 1.0) -> Provenance:
        versions = {} if self.rdkit is None else {"rdkit": self.rdkit}
        return Provenance(
            kind=self.kind,
            recipe=dict(self.recipe),
            structure="smiles" if self.kind == "molecule" else "structure",
            versions=versions,
            libraries=list(versions),
            inputs=[Input(name="made-up.smi", bytes=1, sha256="0" * 64)],
            counts=Counts(
                read=len(self.rows) + len(self.rejections),
                kept=len(self.rows),
                duplicates=0,
                rejected=len(self.rejections),
            ),
            edges=len(self.pairs),
            dropped=None if self.dropped is None else sum(self.dropped) // 2,
            properties=dict(self.properties),
            links=None if self.links is None else links_digest(self.links),
            written=[*self.written],
            qualifiers=dict(self.qualifiers),
            histograms={"degree": self._degrees, "similarity": Histogram(edges=[0.4, 1.0], counts=[len(self.pairs)])},
            times={"all": seconds},
        )

    def write(self, draft: Draft, batch: int = 1000) -> None:
        """Write everything into a draft in batches of `batch` rows, without publishing it."""
        items = self.items
        rejections = pa.RecordBatch.from_pylist(list(self.rejections), schema=REJECTION_SCHEMA)
        for start in range(0, max(items.num_rows, rejections.num_rows), batch):
            draft.append_items(items.slice(start, batch))
            draft.append_rejections(rejections.slice(start, batch))
        for start in range(0, len(self.words), batch):
            draft.append_fingerprints(self.words[start : start + batch])
        if self.links is not None:
            draft.write_links(self.links)
        edges = self.edges
        for start in range(0, len(edges), batch):
            part = slice(start, start + batch)
            draft.append_edges(Edges(edges.source[part], edges.target[part], edges.similarity[part]))
        if self.dropped is not None:
            draft.write_dropped(np.array(self.dropped, np.int32))
        draft.write_forest(self.forest)

    def publish(self, store: Store, collection: str, batch: int = 1000, seconds: float = 1.0) -> Manifest:
        with store.draft(collection, self.kind) as draft:
            self.write(draft, batch)
            return draft.publish(self.provenance(seconds))

    def grow(self, store: Store, collection: str, before: "Hierarchy") -> Manifest:
        """Publish this content by growth of the current generation, whose content is `before`.

        The items of `before` are the first items of this content, each with some or all of its first names. The
        rejected records of `before` are the first rejected records of this content.
        """
        with store.growth(collection) as draft:
            item_count, rejection_count = len(before.rows), len(before.rejections)
            draft.append_items(self.items.slice(item_count))
            new_names = {id: self.rows[id]["names"][len(row["names"]) :] for id, row in enumerate(before.rows)}
            name_rows = [{"id": id, "names": names} for id, names in new_names.items() if names]
            draft.append_names(pa.RecordBatch.from_pylist(name_rows, schema=ADDED_NAMES))
            rejected = list(self.rejections[rejection_count:])
            draft.append_rejections(pa.RecordBatch.from_pylist(rejected, schema=REJECTION_SCHEMA))
            draft.append_fingerprints(self.words[item_count:])
            draft.remove_edges(_edges([(*ends, s) for ends, s in before.pairs.items() if self.pairs.get(ends) != s]))
            draft.append_edges(_edges([(*ends, s) for ends, s in self.pairs.items() if before.pairs.get(ends) != s]))
            if self.dropped is not None:
                draft.write_dropped(np.array(self.dropped, np.int32))
            draft.write_forest(self.forest)
            return draft.publish(self.provenance())


def _edges(rows: list[tuple[int, int, float]]) -> Edges:
    source, target, similarity = zip(*rows, strict=True) if rows else ((), (), ())
    return Edges(np.array(source, np.int32), np.array(target, np.int32), np.array(similarity, np.float32))


def _row(
    smiles: str | None, *names: str, inchikey: str | None = None, structure: str | None = None, **properties: Any
) -> dict[str, Any]:
    identity = {"smiles": smiles, "structure": structure, "inchikey": inchikey}
    return {**identity, "names": list(names), "properties": properties}


MOLECULES = Hierarchy(
    rows=[
        _row("CCO", "ethanol", "alcohol", inchikey="LFQSCWFLJHTTHZ-UHFFFAOYSA-N", logP=-0.3, note="plain"),
        _row("CCCO", "alcohol", inchikey="BDERNNFJNOPAEC-UHFFFAOYSA-N", logP=0.25),
        _row("CO", inchikey="OKKJLVBELUTLKV-UHFFFAOYSA-N"),
        _row("CC(C)O", "Zürich 東京 🧪", "alcohol", note="naïve — ∞"),
        _row("OCCO", 'O\'Brien "x" \\ ; DROP TABLE items; --', note='it\'s "quoted" \\ back'),
        _row("OCC(O)CO", "line\nbreak\ttab", note="two\r\nlines", logP=2),
        _row("[Na+].[Cl-]", "", "  padded  "),
        _row("c1ccccc1", "[1, 2]", logP=1e-7),
        _row("Cc1ccccc1", "null"),
        _row("CC/C=C\\C", "%", "_"),
    ],
    pairs={
        (0, 1): 0.7,
        (0, 2): 0.7,
        (0, 3): 0.9,
        (0, 4): 0.5,
        (1, 2): 0.7,
        (1, 5): 0.6,
        (2, 5): 0.6,
        (3, 5): 0.45,
        (4, 5): 1.0,
        (7, 8): 0.4,
    },
    rejections=[
        {"source": "made-up.smi", "line": 7, "input": "C1CC", "reason": "unclosed ring"},
        {"source": "-", "line": 2, "input": "", "reason": "empty record"},
        {"source": "ünï 'codé'\n.csv", "line": 3_000_000_000, "input": 'x"\ty', "reason": "a\nb"},
    ],
    dropped=[2, 0, 1, 0, 1, 0, 0, 0, 0, 0],
    properties={"logP": "number", "note": "text"},
    written={"logP": "+.3e"},
    recipe={"threshold": 0.4, "inchikey": True, "fingerprint": {"name": "morgan"}},
)
"""Ten molecules.

Items 6 and 9 are isolated, {7, 8} is a component of its own, and 0.7 is not representable in float32.
"""

GRAPHS = Hierarchy(
    rows=[
        _row(None, "a", structure='{"num_nodes":3,"edges":[[0,1],[1,2]]}', size=3),
        _row(None, structure='{"num_nodes":4,"edges":[]}', size=4),
        _row(None, "a", "b", structure='{"num_nodes":3,"edges":[[0,2],[1,2]],"labels":["Zürich","\\"","C"]}', size=3),
    ],
    pairs={(0, 2): 1.0},
    kind="graph",
    rdkit=None,
    properties={"size": "number"},
)

NODES = Hierarchy(
    rows=[_row(None, name, structure='{"num_nodes":2,"edges":[[0,1]],"centre":0}', degree=2) for name in "abcde"],
    pairs={(0, 4): 0.5, (1, 2): 1.0},
    kind="node",
    rdkit=None,
    properties={"degree": "number"},
    linked=[(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)],
)
"""The nodes of a ring of five."""
