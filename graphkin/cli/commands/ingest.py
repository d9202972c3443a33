"""`graphkin ingest`: build and publish a similarity graph."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options

if TYPE_CHECKING:
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.progress import Progress
    from graphkin.ingest.readers import ReadOptions
    from graphkin.protocol.manifest import Manifest
    from graphkin.similarity.devices import Device
    from graphkin.similarity.recipe import Recipe


_preset = click.option(
    "--preset", type=click.Choice(["default", "paper", "rc"]), default="default", help="Recipe to start from."
)

_name_column = click.option(
    "--name-column", metavar="COLUMN", help="Column with the name.  [default: id, in any case, if there is one]"
)


@click.group()
def ingest() -> None:
    """Build a similarity hierarchy from files and publish it."""


@ingest.command()
@_preset
@click.option(
    "--fingerprint",
    type=click.Choice(["morgan", "rdkit", "maccs", "atompair", "torsion", "given"]),
    help="Fingerprint; given: of your own, in a column of the files.  [default: morgan; paper, rc: rdkit]",
)
@click.option("--radius", type=int, help="Morgan radius.  [default: 2]")
@click.option(
    "--bits", type=int, help="Fingerprint length, a multiple of 64.  [default: 2048; given: as the files tell]"
)
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
@options.ingest_run
@options.device
@options.ingest_target
@click.option("--max-atoms", type=click.IntRange(1, 100_000), default=1_000, help="Larger molecules are rejected.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["smi", "csv", "tsv", "sdf", "parquet"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@options.table_columns
def molecules(
    preset: str,
    max_atoms: int,
    device: "Device",
    format: str | None,
    table_options: dict[str, Any],
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest molecules from FILE... and publish a generation of the collection.

    Files are .smi .smiles .cxsmiles .txt .csv .tsv .sdf .sd .parquet, each also compressed (.gz .bz2 .xz .zst); "-" is
    standard input. Records that are no molecule are rejected with a reason and kept: see `graphkin info --rejections`.
    With --fingerprint given they are compared by the bits in --fingerprint-column; the same molecule with other bits
    than before is rejected.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.ingest.recipes import molecule_recipe

    read = ReadOptions(format=format, **table_options)
    recipe_options["standardise"] = recipe_options["standardise"] or None
    recipe = molecule_recipe(run_options["files"], read, preset, **recipe_options)
    _ingest(recipe, read, max_atoms, device=device, **run_options, **target_options)


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
@options.ingest_run
@options.ingest_target
@click.option("--max-nodes", type=click.IntRange(1, 100_000), default=100_000, help="Larger graphs are rejected.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["tu", "graphml", "jsonl"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name; a folder: tu]',
)
def graphs(
    preset: str,
    max_nodes: int,
    format: str | None,
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest attribute-less graphs from FILE... and publish a generation of the collection.

    FILE is a collection in TUDataset's layout (.zip, or a folder), GraphML (.graphml), or JSON Lines (.jsonl, one
    {"name": ..., "edges": [[0, 1], ...], "num_nodes": ...} a line); the last two also compressed (.gz .bz2 .xz .zst);
    "-" is standard input. Self-loops and repeated edges are dropped and counted. What is no graph is rejected with a
    reason and kept: see `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.similarity.graphs.recipe import resolve_graphs

    _ingest(
        resolve_graphs(preset, **recipe_options), ReadOptions(format=format), max_nodes, **run_options, **target_options
    )


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
@options.ingest_run
@options.ingest_target
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
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest the nodes of big graphs from FILE... and publish a generation of the collection.

    Each FILE is one big graph, or several in GraphML: edge lists (.edgelist .edges .txt, `source target [weight]`),
    tables (.csv .tsv), GraphML, Matrix Market (.mtx), compressed sparse rows (.npz); each also compressed (.gz .bz2 .xz
    .zst); "-" is standard input. A node is compared by the subgraph that random walks with restart find around it.
    Directions and weights do not count; self-loops and repeated edges are dropped; isolated nodes, and lines that are
    no edge, are rejected with a reason and kept: see `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.similarity.nodes.recipe import resolve_nodes

    read = ReadOptions(
        format=format, source_column=source_column, target_column=target_column, label_column=label_column
    )
    recipe = resolve_nodes(walks=int(walks) if walks and walks.isdigit() else walks, **recipe_options)
    _ingest(recipe, read, None, labels=label_files, **run_options, **target_options)


@ingest.command()
@click.option("--bits", type=int, metavar="N", help="Length of the fingerprints.  [default: as the files tell]")
@click.option("--threshold", type=float, help="Smallest Tanimoto similarity, inclusive.  [default: 0.4]")
@click.option("--top-k", type=int, help="Most similar neighbours each item keeps; 0: all.  [default: 70]")
@options.ingest_run
@options.device
@options.ingest_target
@options.names
@click.option(
    "--format",
    "format",
    type=click.Choice(["fps", "npy", "parquet", "csv", "tsv"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@click.option(
    "--fingerprint-column", metavar="COLUMN", help="Column with the bits.  [default: fingerprint, in any case]"
)
@_name_column
def fingerprints(
    bits: int | None,
    names_files: tuple[str, ...],
    device: "Device",
    format: str | None,
    fingerprint_column: str | None,
    name_column: str | None,
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest fingerprints that others have computed from FILE... and publish a generation of the collection.

    FILE is FPS, chemfp's format (.fps), an array (N, bytes) of packed bits (.npy), or a table (.parquet .csv .tsv) with
    a column of them, in hexadecimal or, in Parquet, as bytes; each also compressed; "-" is standard input. Everywhere
    byte 0 comes first, and of each byte the least significant bit. All have one length, up to 16,384 bits. Equal
    fingerprints are one item with all their names. What is none is rejected with a reason and kept: see
    `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.ingest.recipes import bits_recipe

    read = ReadOptions(format=format, structure_column=fingerprint_column, name_column=name_column)
    recipe = bits_recipe(run_options["files"], read, bits, **recipe_options)
    _ingest(recipe, read, None, names=names_files, device=device, **run_options, **target_options)


@ingest.command()
@click.option("--dimension", type=int, metavar="N", help="Numbers of each vector.  [default: as the files tell]")
@click.option("--threshold", type=float, help="Smallest cosine, inclusive.  [default: 0.8]")
@click.option("--top-k", type=int, help="Most similar neighbours each item keeps; 0: all.  [default: 70]")
@options.ingest_run
@options.ingest_target
@options.names
@click.option(
    "--format",
    "format",
    type=click.Choice(["npy", "parquet"]),
    help='Format of the input; needed for standard input ("-").  [default: by file name]',
)
@click.option("--vector-column", metavar="COLUMN", help="Column with the vectors.  [default: vector, in any case]")
@_name_column
def vectors(
    dimension: int | None,
    names_files: tuple[str, ...],
    format: str | None,
    vector_column: str | None,
    name_column: str | None,
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Ingest dense vectors, such as embeddings, from FILE... and publish a generation of the collection.

    FILE is an array (N, D) of numbers (.npy), or a table with a column of lists (.parquet), as `graphkin embed` writes
    them; each also compressed; "-" is standard input. Numbers are kept as float32, and vectors compared by their
    cosine. All have one length, up to 4,096. Vectors that are zero or hold NaN are rejected with a reason and kept: see
    `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.ingest.recipes import vector_recipe

    read = ReadOptions(format=format, structure_column=vector_column, name_column=name_column)
    recipe = vector_recipe(run_options["files"], read, dimension, **recipe_options)
    _ingest(recipe, read, None, names=names_files, **run_options, **target_options)


def _ingest(
    recipe: "Recipe",
    read: "ReadOptions",
    max_size: int | None,
    *,
    labels: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    device: "Device" = "cpu",
    files: tuple[str, ...],
    collection: str,
    workers: int | None,
    max_rejected: float,
    rejections_file: Path | None,
    as_json: bool,
    store_location: str | None,
    lake: str | None,
    engine: str,
    master: str | None,
) -> None:
    from graphkin.cli.output import summarize, summary_json
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.progress_bars import terminal_progress

    ingest_options = IngestOptions(
        read=read,
        max_size=max_size,
        labels=labels,
        names=names,
        max_rejected=max_rejected,
        device=device,
        rejections_file=rejections_file or Path(f"{collection}.rejections.csv"),
        **({"workers": workers} if workers else {}),
    )
    arguments = (collection, files, recipe, ingest_options, terminal_progress())
    if device != "cpu" and engine != "local":
        raise click.UsageError(f"--device {device} needs --engine local.")
    if engine == "local":
        manifest = _ingest_in_one_stream(store_location, lake, *arguments)
    else:
        manifest = _ingest_by_tasks(engine, master, lake, *arguments)
    if lake is not None and store_location is not None:
        manifest = _load_lake(lake, collection, store_location)
    click.echo(summary_json(manifest) if as_json else summarize(collection, manifest))


def _ingest_in_one_stream(store_location: str | None, lake: str | None, *arguments: Any) -> "Manifest":
    from graphkin.ingest.pipeline import ingest as run
    from graphkin.store import open_lake, open_store

    with ExitStack() as stack:
        if lake is not None:
            return run(stack.enter_context(open_lake(lake, create=True)), *arguments)
        assert store_location is not None  # the option group checks that there is a store or a lake
        return run(stack.enter_context(open_store(store_location, create=True)), *arguments)


def _ingest_by_tasks(
    engine: str,
    master: str | None,
    lake: str | None,
    collection: str,
    files: tuple[str, ...],
    recipe: "Recipe",
    options: "IngestOptions",
    progress: "Progress",
) -> "Manifest":
    from graphkin.cli.runners import open_runner
    from graphkin.ingest.progress import report_compilation
    from graphkin.ingest.stages.pipeline import ingest as run
    from graphkin.ingest.warmup import compile_kernels
    from graphkin.similarity.kinds import kind_of_recipe

    assert lake is not None  # the option group checks that these engines have a lake to write
    kind = kind_of_recipe(recipe)
    if engine == "tasks":
        with report_compilation(progress):
            compile_kernels(kind.warmup_descriptors(recipe), recipe.top_k)
    preload = ("graphkin.ingest.stages.pipeline", kind.describer.__module__, *kind.describer.preload)
    with open_runner(engine, options.workers, master, *preload) as executor:
        return run(executor, lake, collection, files, recipe, options, progress)


def _load_lake(lake: str, collection: str, store_location: str) -> "Manifest":
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.ingest.reruns import make_report
    from graphkin.store import open_lake, open_store
    from graphkin.store.transfer import copy_generation

    with (
        open_lake(lake) as source,
        source.open(collection) as generation,
        open_store(store_location, create=True) as store,
    ):
        return make_report(
            copy_generation(generation, store, terminal_progress().stage), generation.manifest.provenance
        )
