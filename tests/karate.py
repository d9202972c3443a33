"""A collection of nodes that everybody knows."""

from pathlib import Path

import networkx as nx

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.store.base import Store


def publish_karate(store: Store, folder: Path) -> None:
    """The members of Zachary's karate club, called m0 to m33, and one whom nobody knows."""
    club = nx.karate_club_graph()
    (folder / "karate.edgelist").write_text("".join(f"m{u} m{v}\n" for u, v in club.edges))
    sides = "".join(f"m{node} {side.replace(' ', '_')}\n" for node, side in club.nodes(data="club"))
    (folder / "sides.txt").write_text(f"node label\n{sides}hermit none\n")
    options = IngestOptions(workers=1, labels=[str(folder / "sides.txt")])
    pipeline.ingest(store, "karate", [str(folder / "karate.edgelist")], resolve_nodes(top_k=10), options)
