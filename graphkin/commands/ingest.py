"""`graphkin ingest`: build and publish a similarity hierarchy."""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin import options

if TYPE_CHECKING:
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.progress import Progress
    from graphkin.ingest.readers import ReadOptions
    from graphkin.protocol.manifest import Manifest
    from graphkin.similarity.recipe import Recipe


_preset = click.option(
    "--preset", type=click.Choice(["default", "paper", "rc"]), default="default", help="Recipe to start from."
)
_RUNNING = (
    *("files", "store_location", "collection", "workers", "max_rejected", "rejections_file", "as_json"),
    *("engine", "master", "lake"),
)


def _running(command: Callable[..., None]) -> Callable[..., None]:
    """What every ingest is told: files, where to, and how to run. The command gets it as one mapping, `running`."""

    @options.as_json
    @click.option("--workers", type=click.IntRange(min=1), help="Processes and threads.  [default: all cores]")
    @click.option(
        "--rejections-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Where a run that fails by rejections leaves them.  [default: NAME.rejections.csv]",
    )
    @click.option(
        "--max-rejected", type=click.FloatRange(0, 1), default=0.1, help="Share of rejected records that fails the run."
    )
    @options.collection
    @click.option("--lake", metavar="URL", help="Folder or URL to write a lake into, new or empty.")
    @click.option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[N], spark://HOST:PORT, ...  [default: as spark-submit says]",
    )
    @click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        help="What does the work: this machine, or Spark, which writes a lake.",
    )
    @click.option(
        "--store",
        "store_location",
        metavar="STORE",
        help="Folder of the store, neo4j://HOST or bolt://HOST of a Neo4j server, or the URL of a lake; with --lake, "
        "where the lake is loaded then.",
    )
    @click.argument("files", nargs=-1, required=True, metavar="FILE...")
    @wraps(command)
    def gathered(**given: Any) -> None:
        command(running={name: given.pop(name) for name in _RUNNING}, **given)

    return gathered


@click.group()
def ingest() -> None:
    """Build a similarity hierarchy from files and publish it."""


@ingest.command()
@_preset
@click.option(
    "--fingerprint",
    type=click.Choice(["morgan", "rdkit", "maccs", "atompair", "torsion"]),
    help="Fingerprint.  [default: morgan; paper, rc: rdkit]",
)
@click.option("--radius", type=int, help="Morgan radius.  [default: 2]")
@click.option("--bits", type=int, help="Fingerprint length, a multiple of 64.  [default: 2048]")
@click.option("--chirality", is_flag=True, default=None, help="Let the fingerprint see chirality.")
@click.option(
    "--candidates",
    type=click.Choice(["exact", "window"]),
    help="Pairs to compare: all that can reach the threshold, or the published window.  "
    "[default: exact; paper, rc: window]",
)
@click.option(
    "--threshold", type=float, help="Smallest Tanimoto similarity, inclusive.  [default: 0.4; paper, rc: 0.36]"
)
@click.option("--top-k", type=int, help="Most similar neighbours each item keeps; 0: all.  [default: 70; paper, rc: 0]")
@click.option(
    "--standardise",
    type=click.Choice(["largest_fragment", "uncharge"]),
    multiple=True,
    help="Standardise every structure, also those searched later; repeatable, in the order given.",
)
@click.option("--inchikey", is_flag=True, default=None, help="Compute InChIKeys (doubles the ingest).")
@_running
@click.option("--max-atoms", type=click.IntRange(1, 100_000), default=1_000, help="Larger molecules are rejected.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@click.option("--smiles-column", metavar="COLUMN", help="Column with the SMILES.  [default: smiles, in any case]")
@click.option(
    "--name-column",
    metavar="COLUMN",
    help="Column with the name.  [default: id, in any case, if there is one; SDF: the title line]",
)
def molecules(
    preset: str,
    max_atoms: int,
    format: str | None,
    smiles_column: str | None,
    name_column: str | None,
    running: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest molecules from FILE... and publish a generation of the collection.

    Files are .smi .txt .smiles .csv .tsv .sdf .parquet, each also gzipped; "-" is standard input. Records that are no
    molecule are rejected with a reason and kept: see `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions

    read = ReadOptions(format=format, structure_column=smiles_column, name_column=name_column)
    _ingest(resolve_recipe(preset, recipe_options), read, max_atoms, **running)


@ingest.command()
@_preset
@click.option(
    "--labels",
    type=click.Choice(["degree", "uniform", "index", "given"]),
    help="Initial labels of nodes; index: the node's number; given: those of the input.  [default: degree; rc: index]",
)
@click.option("--iterations", type=int, help="Refinements of the Weisfeiler-Lehman kernel.  [default: 3]")
@click.option(
    "--kernel",
    type=click.Choice(["wl", "grakel", "grakel-shortest-path", "grakel-graphlet"]),
    help="Ours, or one of GraKeL's where that is installed; grakel gives the same numbers as wl.  [default: wl]",
)
@click.option(
    "--candidates",
    type=click.Choice(["exact", "window"]),
    help="Pairs to compare: all of similar size, or at most 70 a graph of these, the nearest in number of nodes.  "
    "[default: exact; paper, rc: window]",
)
@click.option(
    "--closeness",
    type=int,
    metavar="N",
    help="Similar size: numbers of nodes and of edges differ by at most 1/N.  [default: 10; rc: 5]",
)
@click.option("--threshold", type=float, help="Smallest similarity, inclusive; 0: any above 0.  [default: 0]")
@click.option("--top-k", type=int, help="Most similar neighbours each item keeps; 0: all.  [default: 70; paper, rc: 0]")
@_running
@click.option("--max-nodes", type=click.IntRange(1, 100_000), default=100_000, help="Larger graphs are rejected.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["tu", "graphml", "jsonl"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name; a folder: tu]',
)
def graphs(preset: str, max_nodes: int, format: str | None, running: dict[str, Any], **recipe_options: Any) -> None:
    """Ingest attribute-less graphs from FILE... and publish a generation of the collection.

    FILE is a collection in TUDataset's layout (.zip, or a folder), GraphML (.graphml), or JSON Lines (.jsonl, one
    {"name": ..., "edges": [[0, 1], ...], "num_nodes": ...} a line); the last two also gzipped; "-" is standard input.
    Self-loops and repeated edges are dropped and counted. What is no graph is rejected with a reason and kept: see
    `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.similarity.graphs.recipe import resolve_graphs

    _ingest(resolve_graphs(preset, **recipe_options), ReadOptions(format=format), max_nodes, **running)


@ingest.command()
@click.option(
    "--labels",
    "label_files",
    multiple=True,
    metavar="FILE",
    help="Labels of nodes: `node label` on each line, or a table (.csv, .tsv); once for each FILE, in order.",
)
@click.option(
    "--similarity",
    "kernel",
    type=click.Choice(["wl", "proximity"]),
    help="wl: of the subgraphs around two nodes, by the Weisfeiler-Lehman kernel; proximity: 1 / (1 + distance).  "
    "[default: wl]",
)
@click.option("--restart", type=float, help="Probability that a walk ends before a step.  [default: 0.8]")
@click.option(
    "--walks",
    metavar="paper|N",
    help="Walks from a node; paper: max(64, round(degree · e/(e-1) / restart)).  [default: paper]",
)
@click.option("--max-nodes", type=int, help="A subgraph is of the first so many nodes visited.  [default: 256]")
@click.option("--seed", type=int, help="Of the walks.  [default: 0]")
@click.option("--iterations", type=int, help="Refinements of the Weisfeiler-Lehman kernel.  [default: 3]")
@click.option(
    "--initial",
    "labels",
    type=click.Choice(["degree", "uniform", "centre"]),
    help="What the kernel begins with: degrees within the subgraph, nothing, or which node is its centre.  "
    "[default: degree]",
)
@click.option(
    "--candidates",
    type=click.Choice(["exact", "window"]),
    help="Pairs to compare: all with subgraphs of similar size, or at most 70 a node of these.  [default: exact]",
)
@click.option(
    "--closeness",
    type=int,
    metavar="N",
    help="Similar size: numbers of nodes and of edges differ by at most 1/N.  [default: 10]",
)
@click.option("--radius", type=int, help="Greatest distance that proximity looks at.  [default: 2]")
@click.option("--threshold", type=float, help="Smallest similarity, inclusive; 0: any above 0.  [default: 0]")
@click.option("--top-k", type=int, help="Most similar neighbours each item keeps; 0: all.  [default: 70]")
@_running
@click.option(
    "--format",
    "format",
    type=click.Choice(["edgelist", "csv", "tsv", "graphml", "mtx", "npz"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@click.option("--source-column", metavar="COLUMN", help="Column of a table with one end.  [default: source]")
@click.option("--target-column", metavar="COLUMN", help="Column of a table with the other.  [default: target]")
@click.option("--label-column", metavar="COLUMN", help="Column of a table with labels.  [default: label]")
def nodes(
    label_files: tuple[str, ...],
    walks: str | None,
    format: str | None,
    source_column: str | None,
    target_column: str | None,
    label_column: str | None,
    running: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest the nodes of big graphs from FILE... and publish a generation of the collection.

    Each FILE is one big graph, or several in GraphML: edge lists (.edgelist .edges .txt, `source target [weight]`),
    tables (.csv .tsv), GraphML, Matrix Market (.mtx), compressed sparse rows (.npz); each also gzipped; "-" is standard
    input. A node is compared by the subgraph that random walks with restart find around it. Directions and weights do
    not count; self-loops and repeated edges are dropped; isolated nodes, and lines that are no edge, are rejected with
    a reason and kept: see `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.similarity.nodes.recipe import resolve_nodes

    read = ReadOptions(
        format=format, source_column=source_column, target_column=target_column, label_column=label_column
    )
    recipe = resolve_nodes(walks=int(walks) if walks and walks.isdigit() else walks, **recipe_options)
    _ingest(recipe, read, None, labels=label_files, **running)


def _ingest(
    recipe: "Recipe",
    read: "ReadOptions",
    max_size: int | None,
    *,
    labels: tuple[str, ...] = (),
    files: tuple[str, ...],
    store_location: str | None,
    lake: str | None,
    engine: str,
    master: str | None,
    collection: str,
    workers: int | None,
    max_rejected: float,
    rejections_file: Path | None,
    as_json: bool,
) -> None:
    from graphkin.ingest.pipeline import IngestOptions
    from graphkin.progress import terminal_progress

    options_ = IngestOptions(
        read=read,
        max_size=max_size,
        labels=labels,
        max_rejected=max_rejected,
        rejections_file=rejections_file or Path(f"{collection}.rejections.csv"),
        **({"workers": workers} if workers else {}),
    )
    progress = terminal_progress()
    if engine == "spark":
        if lake is None:
            raise click.UsageError("--engine spark writes a lake: give --lake.")
        manifest = _by_spark(master, lake, collection, files, recipe, options_, progress)
    elif (target := lake or store_location) is None:
        raise click.UsageError("Missing option '--store', or '--lake'.")
    else:
        manifest = _here(target, lake is not None, collection, files, recipe, options_, progress)
    if lake is not None and store_location is not None:
        manifest = _loaded(lake, store_location, collection, progress)
    if as_json:
        click.echo(manifest.model_dump_json(exclude={"fragments"}))
        return
    counts, dropped = manifest.counts, manifest.dropped
    capped = "" if dropped is None else f" ({dropped:,} dropped by the cap)"
    click.echo(
        f"published {collection} generation {manifest.generation}\n"
        f"  {counts.kept:,} items ({counts.read:,} records, {counts.duplicates:,} duplicates, "
        f"{counts.rejected:,} rejected)\n"
        f"  {manifest.edges:,} edges with similarity ≥ {manifest.threshold:g}{capped}\n"
        f"  seconds: {json.dumps(manifest.times)}"
    )


def _here(
    target: str,
    is_lake: bool,
    collection: str,
    files: tuple[str, ...],
    recipe: "Recipe",
    options_: "IngestOptions",
    progress: "Progress",
) -> "Manifest":
    from graphkin.ingest.pipeline import ingest as run
    from graphkin.store import open_lake, open_store

    with (open_lake if is_lake else open_store)(target, create=True) as store:
        return run(store, collection, files, recipe, options_, progress)


def _by_spark(
    master: str | None,
    lake: str,
    collection: str,
    files: tuple[str, ...],
    recipe: "Recipe",
    options_: "IngestOptions",
    progress: "Progress",
) -> "Manifest":
    from graphkin.ingest.spark.pipeline import ingest as run
    from graphkin.ingest.spark.session import session

    with session(master) as context:
        return run(context, lake, collection, files, recipe, options_, progress)


def _loaded(lake: str, store_location: str, collection: str, progress: "Progress") -> "Manifest":
    from graphkin.store import open_lake, open_store
    from graphkin.store.transfer import copy_generation

    with (
        open_lake(lake) as source,
        source.open(collection) as opened,
        open_store(store_location, create=True) as target,
    ):
        return copy_generation(opened, target, progress.stage)


def resolve_recipe(preset: str, given: dict[str, Any]) -> Any:
    """The recipe of a preset with the command line's options over it."""
    from graphkin.similarity.molecules.recipe import resolve

    fingerprint = {
        "name": given.pop("fingerprint"),
        **{key: given.pop(key) for key in ("radius", "bits", "chirality")},
    }
    return resolve(preset, fingerprint=fingerprint, **{key: value for key, value in given.items() if value != ()})
