"""`graphkin lineage`: follow the clusters of a collection from an earlier generation to a later one."""

from functools import partial
from pathlib import Path

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import ClusterMethod


@command(
    examples=[
        (
            "Compare with the generation before the last append or removal",
            "graphkin lineage --store s --collection m --method butina --output changes.csv",
        ),
        (
            "Compare two generations that `graphkin info` lists",
            "graphkin lineage --store s --collection m --before 3f1c --generation 9a02 --method scaffold --output -",
        ),
    ]
)
@options.source_generation
@option(
    "--before",
    metavar="ID",
    panel="Collection",
    help="Id of the earlier generation, or its beginning. [default: the one published before --generation]",
)
@options.clustering(required=True)
@options.output
@options.as_json
def lineage(
    store_location: str,
    collection: str,
    generation: str | None,
    before: str | None,
    method: ClusterMethod,
    threshold: float | None,
    workers: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write the changes of clusters since an earlier generation.

    The columns are change, event, before, size_before, after, size_after, shared, added, removed, smiles (graphs:
    structure) and names. A change has one row for each two clusters that share items. The changes of the largest
    clusters come first. before and after are numbers of clusters, as `graphkin cluster` writes them.

    The event is split if the items of a cluster are in several later clusters, and merged if they come from several
    earlier ones. It is grew, shrank or replaced if items were added or removed and the others stay together. A cluster
    appeared if all its items were added, and vanished if all were removed.
    """
    from graphkin.cli.conditions import parse_clustering
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.clusters.lineage import lineage_table, previous_generation
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.export.cells import csv_lines
    from graphkin.store import open_store

    require_json_apart(output, as_json)
    open_ports = partial(local_ports, threads=workers, stage=progress().stage)
    with open_store(store_location) as store, store.open(collection, store.full_id(collection, generation)) as later:
        id = before or previous_generation(collection, store.collection(collection).generations, later.id)
        with store.open(collection, store.full_id(collection, id)) as earlier:
            opened = OpenCollection(later, open_ports)
            clustering = opened.clusters(parse_clustering(method, threshold))
            changes = opened.lineage(OpenCollection(earlier, open_ports), clustering)
            structure = later.manifest.structure
            table = lineage_table(changes.rows(), structure, earlier.take, later.take)
            with atomic_file(output) as file:
                file.writelines(csv_lines([table], plain=(structure,)))
            fields = {"generation": later.id, "before": earlier.id}
    totals = changes.totals
    counts = {**totals.events, "added": totals.added, "removed": totals.removed}
    report_file(output, as_json, totals.text, **fields, **counts)
