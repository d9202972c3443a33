"""A collection of nodes made of Zachary's karate club, a well-known network."""

from pathlib import Path

import networkx as nx

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.store.base import Store


def publish_karate(store: Store, folder: Path) -> None:
    """Publish the collection `karate`: the members `m0` to `m33` of the club, and the isolated node `hermit`."""
    club = nx.karate_club_graph()
    (folder / "karate.edgelist").write_text("".join(f"m{u} m{v}\n" for u, v in club.edges))
    label_lines = "".join(f"m{node} {side.replace(' ', '_')}\n" for node, side in club.nodes(data="club"))
    (folder / "sides.txt").write_text(f"node label\n{label_lines}hermit none\n")
    options = IngestOptions(workers=1, labels=[str(folder / "sides.txt")])
    pipeline.ingest(store, "karate", [str(folder / "karate.edgelist")], resolve_nodes(top_k=10), options)
