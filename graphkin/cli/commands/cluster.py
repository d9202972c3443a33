"""`graphkin cluster`: cluster a collection, and write one row per item."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphkin.cli import options
from graphkin.cli.help import command
from graphkin.protocol.values import ClusterMethod

if TYPE_CHECKING:
    import pyarrow as pa

    from graphkin.collection.clusters.partition import Clusters
    from graphkin.store.base import Generation

_ROWS = 65_536  # rows per block of output


@command(
    examples=[
        ("Cluster by Taylor-Butina", "graphkin cluster --store s --collection m --method butina --output clusters.csv"),
        ("Group molecules by scaffold", "graphkin cluster --store s --collection m --method scaffold --output -"),
    ]
)
@options.source_generation
@options.clustering(required=True)
@options.output
@options.as_json
def cluster(
    store_location: str,
    collection: str,
    generation: str | None,
    method: ClusterMethod,
    threshold: float | None,
    workers: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Cluster a collection and write one row per item.

    The columns are cluster, id, smiles (graphs: structure) and names. The largest cluster comes first, and each cluster
    begins with its center: the centroid of Taylor-Butina, the medoid of single linkage, or the first molecule with a
    scaffold.

    butina uses all pairs of similar items, so the top-k limit of the collection does not matter.
    """
    from graphkin.cli.conditions import parse_clustering
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        clusters = open_collection.clusters(parse_clustering(method, threshold)).clusters
        structure = reader.manifest.structure
        with atomic_file(output) as file:
            file.writelines(csv_lines(_tables(reader, clusters, ["id", structure, "names"]), plain=(structure,)))
    counts, largest = clusters.counts, int(clusters.sizes[0])
    text = f"{counts.text}; the largest has {largest:,}"
    share = counts.singleton_share
    report_file(output, as_json, text, generation=reader.id, **counts._asdict(), largest=largest, singleton_share=share)


def _tables(reader: "Generation", clusters: "Clusters", columns: list[str]) -> "Iterator[pa.Table]":
    """Yield the items in blocks, cluster by cluster, with the number of their cluster from 1."""
    import pyarrow as pa

    for start in range(0, len(clusters.order), _ROWS):
        ids = clusters.order[start : start + _ROWS]
        items = reader.take(ids, columns)
        numbers = pa.array(clusters.label[ids].astype("int64") + 1)
        yield pa.table({"cluster": numbers, **{name: items[name] for name in columns}})
