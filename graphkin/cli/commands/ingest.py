"""`graphkin ingest`: build and publish a similarity graph."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import group, option
from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.progress import Progress
    from graphkin.ingest.readers import ReadOptions
    from graphkin.protocol.manifest import Manifest
    from graphkin.protocol.values import Duplicates
    from graphkin.similarity.devices import Device
    from graphkin.similarity.recipe import Recipe


_preset = option(
    "--preset",
    type=click.Choice(["default", "paper", "rc"]),
    default="default",
    panel="Recipe",
    help="Recipe to start from: graphkin's, the paper's, or that of the authors' code (rc).",
)

_name_column = option(
    "--name-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the name. [default: id, in any case, if present]",
)


def _format(*formats: str, default: str = "by file name") -> Any:
    return option(
        "--format",
        "format",
        type=click.Choice(formats),
        panel="Input",
        help=f"Format of the input. Standard input (-) needs it. [default: {default}]",
    )


def _top_k(default: str) -> Any:
    return option(
        "--top-k",
        type=int,
        panel="Similarity",
        help=f"Top-k limit: the number of most similar neighbors that each item keeps, or 0 for all. "
        f"[default: {default}]",
    )


def _threshold(measure: str, default: str) -> Any:
    return option(
        "--threshold", type=float, panel="Similarity", help=f"Smallest {measure} of an edge. [default: {default}]"
    )


_iterations = option(
    "--iterations",
    type=int,
    panel="Recipe",
    help="Iterations of the Weisfeiler-Lehman kernel. [default: 3]",
)


@group(
    examples=[
        ("Ingest a file of SMILES", "graphkin ingest molecules small.smi --store s --collection m"),
        ("Ingest graphs in the layout of TUDataset", "graphkin ingest graphs MUTAG.zip --store s --collection mutag"),
        ("Ingest embeddings", "graphkin ingest vectors embeddings.npy --store s --collection embeddings"),
    ]
)
def ingest() -> None:
    """Build a similarity graph from files and publish it.

    A similarity graph has an edge between two items if their similarity is at least the threshold. All pairs are
    compared (--candidates exact), and each item keeps its most similar neighbors (--top-k).
    """


@ingest.command(
    examples=[
        ("Ingest a file of SMILES", "graphkin ingest molecules small.smi --store s --collection m"),
        (
            "Ingest a table, and keep all pairs with similarity 0.6 or more",
            (
                "graphkin ingest molecules table.csv --smiles-column structure --threshold 0.6 --top-k 0 --store s "
                "--collection m"
            ),
        ),
        (
            "Standardize the structures first",
            (
                "graphkin ingest molecules vendor.sdf.gz --standardize largest_fragment --standardize uncharge "
                "--store s --collection m"
            ),
        ),
        (
            "Ingest more molecules than fit into memory",
            "graphkin ingest molecules big.smi.gz --engine tasks --lake lake --collection big",
        ),
    ]
)
@_preset
@option(
    "--fingerprint",
    type=click.Choice(["morgan", "rdkit", "maccs", "atompair", "torsion", "given"]),
    panel="Recipe",
    help="Fingerprint. given: your own, in a column of the files. [default: morgan; paper, rc: rdkit]",
)
@option("--radius", type=int, panel="Recipe", help="Radius of Morgan fingerprints. [default: 2]")
@option(
    "--bits",
    type=int,
    panel="Recipe",
    help="Length of the fingerprints, a multiple of 64. [default: 2048; given: the length in the files]",
)
@option("--chirality", is_flag=True, default=None, panel="Recipe", help="Include chirality in the fingerprint.")
@option(
    "--candidates",
    type=click.Choice(["exact", "window"]),
    panel="Similarity",
    help="Candidate rule. exact: compare all pairs that can reach the threshold; window: the paper's approximate rule. "
    "[default: exact; paper, rc: window]",
)
@_threshold("Tanimoto similarity", "0.4; paper, rc: 0.36")
@_top_k("70; paper, rc: 0")
@options.standardize
@option("--inchikey", is_flag=True, default=None, panel="Recipe", help="Compute InChIKeys, which doubles the time.")
@options.ingest_run
@options.duplicates
@options.device
@options.ingest_target
@option(
    "--max-atoms",
    type=click.IntRange(1, 100_000),
    default=1_000,
    panel="Input",
    help="Largest molecule. Larger ones are rejected.",
)
@_format("smi", "csv", "tsv", "sdf", "parquet", "xlsx")
@options.table_columns
@option(
    "--descriptors",
    is_flag=True,
    panel="Execution",
    help="Also compute the molecular descriptors, so that the first filter by one need not wait for them.",
)
def molecules(
    preset: str,
    max_atoms: int,
    descriptors: bool,
    device: "Device",
    format: str | None,
    table_options: dict[str, Any],
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Build a similarity graph of molecules.

    FILE is .smi .smiles .cxsmiles .txt .csv .tsv .sdf .sd .parquet or .xlsx, also compressed (.gz .bz2 .xz .zst), or -
    for standard input. Invalid records are rejected with a reason: see `graphkin info --rejections`.

    --descriptors keeps molecular weight, cLogP, QED and others on this machine: see `graphkin descriptors`. They are
    not part of the generation.

    With --fingerprint given, molecules are compared by the bits in --fingerprint-column. A molecule that occurs again
    with different bits is rejected.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.ingest.recipes import molecule_recipe

    read = ReadOptions(format=format, **table_options)
    recipe_options["standardise"] = recipe_options["standardise"] or None
    recipe = molecule_recipe(run_options["files"], read, preset, **recipe_options)
    _ingest(recipe, read, max_atoms, device=device, descriptors=descriptors, **run_options, **target_options)


@ingest.command(
    examples=[
        ("Ingest graphs in the layout of TUDataset", "graphkin ingest graphs MUTAG.zip --store s --collection mutag"),
        (
            "Keep pairs with similarity 0.5 or more",
            "graphkin ingest graphs graphs.jsonl --threshold 0.5 --store s --collection graphs",
        ),
    ]
)
@_preset
@option(
    "--labels",
    type=click.Choice(["degree", "uniform", "index", "given"]),
    panel="Recipe",
    help="Initial labels of the nodes. index: the number of the node; given: the labels in the files. "
    "[default: degree; rc: index]",
)
@_iterations
@option(
    "--kernel",
    type=click.Choice(["wl", "grakel", "grakel-shortest-path", "grakel-graphlet"]),
    panel="Recipe",
    help="Graph kernel. wl: graphkin's Weisfeiler-Lehman kernel; grakel: the same values from GraKeL, which must be "
    "installed. [default: wl]",
)
@option(
    "--candidates",
    type=click.Choice(["exact", "window"]),
    panel="Similarity",
    help="Candidate rule. exact: compare all pairs of similar size; window: at most 70 of these per graph, the nearest "
    "in number of nodes. [default: exact; paper, rc: window]",
)
@option(
    "--closeness",
    type=int,
    metavar="N",
    panel="Similarity",
    help="Definition of similar size: the numbers of nodes and of edges differ by at most 1/N. [default: 10; rc: 5]",
)
@_threshold("similarity", "0, which means above 0")
@_top_k("70; paper, rc: 0")
@options.ingest_run
@options.duplicates
@options.ingest_target
@option(
    "--max-nodes",
    type=click.IntRange(1, 100_000),
    default=100_000,
    panel="Input",
    help="Largest graph. Larger ones are rejected.",
)
@_format("tu", "graphml", "jsonl", default="by file name; a folder: tu")
def graphs(
    preset: str,
    max_nodes: int,
    format: str | None,
    run_options: dict[str, Any],
    target_options: dict[str, Any],
    **recipe_options: Any,
) -> None:
    """Build a similarity graph of graphs.

    FILE is a collection in the layout of TUDataset (.zip or a folder), GraphML (.graphml) or JSON Lines (.jsonl, with
    {"name": ..., "edges": [[0, 1], ...], "num_nodes": ...} per line). GraphML and JSON Lines may be compressed (.gz
    .bz2 .xz .zst). - is standard input.

    Graphs have no attributes. Self-loops and repeated edges are dropped and counted. Invalid records are rejected with
    a reason: see `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.similarity.graphs.recipe import resolve_graphs

    _ingest(
        resolve_graphs(preset, **recipe_options), ReadOptions(format=format), max_nodes, **run_options, **target_options
    )


@ingest.command(
    examples=[
        ("Ingest the nodes of an edge list", "graphkin ingest nodes usa.edgelist --store s --collection usa"),
        (
            "Name the columns of a table of edges",
            "graphkin ingest nodes edges.csv --source-column from --target-column to --store s --collection usa",
        ),
        (
            "Find the subgraphs by random walks",
            "graphkin ingest nodes usa.edgelist --subgraph walks --seed 1 --store s --collection usa",
        ),
    ]
)
@option(
    "--preset",
    type=click.Choice(["default", "paper"]),
    default="default",
    panel="Recipe",
    help="Recipe to start from: graphkin's, or the paper's with its walks replaced by their average.",
)
@option(
    "--subgraph",
    type=click.Choice(["ppr", "walks"]),
    panel="Recipe",
    help="How the nodes around a node are found. ppr: those with the highest personalized PageRank; walks: those that "
    "random walks with restart visit, which depends on --seed. [default: ppr]",
)
@option(
    "--labels",
    "label_files",
    multiple=True,
    metavar="FILE",
    panel="Input",
    help="Labels of nodes: `node label` per line, or a table (.csv, .tsv). Repeat it for each FILE, in their order.",
)
@option(
    "--similarity",
    "kernel",
    type=click.Choice(["wl", "proximity"]),
    panel="Recipe",
    help="wl: Weisfeiler-Lehman kernel of the subgraphs around two nodes; proximity: 1 / (1 + distance). [default: wl]",
)
@option(
    "--restart",
    type=float,
    panel="Recipe",
    help="Probability that a walk ends before a step, for PageRank too. [default: 0.8]",
)
@option(
    "--walks",
    metavar="paper|N",
    panel="Recipe",
    help="With --subgraph walks: number of walks per node. paper: as many as make max(256, round(degree · e/(e-1) / "
    "restart)) steps. [default: paper]",
)
@option(
    "--max-nodes",
    type=int,
    panel="Recipe",
    help="Largest number of nodes of a subgraph. [default: 64; paper, walks: 256]",
)
@option("--seed", type=int, panel="Recipe", help="With --subgraph walks: random seed. [default: 0]")
@option(
    "--iterations",
    type=int,
    panel="Recipe",
    help="Iterations of the Weisfeiler-Lehman kernel. [default: 1; paper: 3]",
)
@option(
    "--initial",
    "labels",
    type=click.Choice(["log-degree", "degree", "uniform", "centre"]),
    panel="Recipe",
    help="Initial labels of the kernel: binary logarithm of the degree in the big graph, degree within the subgraph, "
    "the same for all, or whether the node is the center. [default: log-degree; paper: degree]",
)
@option(
    "--candidates",
    type=click.Choice(["exact", "window"]),
    panel="Similarity",
    help="Candidate rule. exact: compare all nodes with subgraphs of similar size; window: at most 70 per node. "
    "[default: exact; paper: window]",
)
@option(
    "--closeness",
    type=int,
    metavar="N",
    panel="Similarity",
    help="Definition of similar size: the numbers of nodes and of edges differ by at most 1/N; 0: any size. "
    "[default: 0; paper: 10]",
)
@option("--radius", type=int, panel="Recipe", help="Largest distance in proximity. [default: 2]")
@_threshold("similarity", "0.5; paper, proximity: 0, which means above 0")
@_top_k("70; paper: 0")
@options.ingest_run
@options.ingest_target
@_format("edgelist", "csv", "tsv", "graphml", "mtx", "npz")
@option(
    "--source-column", metavar="COLUMN", panel="Input", help="Column with the first node of an edge. [default: source]"
)
@option(
    "--target-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the second node of an edge. [default: target]",
)
@option("--label-column", metavar="COLUMN", panel="Input", help="Column with the label of a node. [default: label]")
def nodes(
    preset: str,
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
    """Build a similarity graph of the nodes of big graphs.

    FILE is one big graph, or several in GraphML: an edge list (.edgelist .edges .txt, `source target [weight]` per
    line), a table (.csv .tsv), GraphML, Matrix Market (.mtx) or compressed sparse rows (.npz), also compressed (.gz
    .bz2 .xz .zst), or - for standard input.

    A node is compared by the subgraph of the nodes around it, in which a node counts by its share of the personalized
    PageRank. Directions and weights are ignored: an edge joins both ends, whatever its direction, and all edges are
    equal. Self-loops and repeated edges are dropped. Isolated nodes and invalid lines are rejected with a reason: see
    `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.similarity.nodes.recipe import resolve_nodes

    read = ReadOptions(
        format=format, source_column=source_column, target_column=target_column, label_column=label_column
    )
    recipe = resolve_nodes(preset, walks=int(walks) if walks and walks.isdigit() else walks, **recipe_options)
    _ingest(recipe, read, None, labels=label_files, **run_options, **target_options)


@ingest.command(
    examples=[
        ("Ingest an FPS file", "graphkin ingest fingerprints chembl.fps.gz --store s --collection chembl"),
        (
            "Ingest an array of packed bits with names",
            "graphkin ingest fingerprints bits.npy --names names.txt --store s --collection mine",
        ),
    ]
)
@option(
    "--bits",
    type=int,
    metavar="N",
    panel="Recipe",
    help="Length of the fingerprints. [default: the length in the files]",
)
@_threshold("Tanimoto similarity", "0.4")
@_top_k("70")
@options.ingest_run
@options.duplicates
@options.device
@options.ingest_target
@options.names
@_format("fps", "npy", "parquet", "csv", "tsv")
@option(
    "--fingerprint-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the bits. [default: fingerprint, in any case]",
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
    """Build a similarity graph of your own fingerprints.

    FILE is FPS, the format of chemfp (.fps), an array (N, bytes) of packed bits (.npy), or a table (.parquet .csv .tsv)
    with a column of fingerprints in hexadecimal, or as bytes in Parquet. Files may be compressed. - is standard input.

    Byte 0 comes first, and in each byte the least significant bit. All fingerprints have the same length, at most
    16,384 bits. Equal fingerprints become one item with all names. Invalid records are rejected with a reason: see
    `graphkin info --rejections`.
    """
    from graphkin.ingest.readers import ReadOptions
    from graphkin.ingest.recipes import bits_recipe

    read = ReadOptions(format=format, structure_column=fingerprint_column, name_column=name_column)
    recipe = bits_recipe(run_options["files"], read, bits, **recipe_options)
    _ingest(recipe, read, None, names=names_files, device=device, **run_options, **target_options)


@ingest.command(
    examples=[
        ("Ingest an array of embeddings", "graphkin ingest vectors embeddings.npy --store s --collection embeddings"),
        (
            "Ingest the output of graphkin embed",
            "graphkin ingest vectors embeddings.parquet --vector-column embedding --store s --collection embeddings",
        ),
    ]
)
@option(
    "--dimension",
    type=int,
    metavar="N",
    panel="Recipe",
    help="Length of the vectors. [default: the length in the files]",
)
@_threshold("cosine", "0.8")
@_top_k("70")
@options.ingest_run
@options.duplicates
@options.ingest_target
@options.names
@_format("npy", "parquet")
@option(
    "--vector-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the vectors. [default: vector, in any case]",
)
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
    """Build a similarity graph of vectors, such as embeddings.

    FILE is an array (N, D) of numbers (.npy), or a table with a column of lists (.parquet), also compressed, or - for
    standard input. `graphkin embed` writes both formats.

    Numbers are stored as float32. Vectors are compared by cosine, and have the same length, at most 4,096. Vectors that
    are zero or contain NaN are rejected with a reason: see `graphkin info --rejections`.
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
    descriptors: bool = False,
    duplicates: "Duplicates" = "first",
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
    from graphkin.cli.output import print_manifest, progress, summarize
    from graphkin.ingest.options import IngestOptions

    ingest_options = IngestOptions(
        read=read,
        max_size=max_size,
        labels=labels,
        names=names,
        max_rejected=max_rejected,
        duplicates=duplicates,
        device=device,
        rejections_file=rejections_file or Path(f"{collection}.rejections.csv"),
        **({"workers": workers} if workers else {}),
    )
    arguments = (collection, files, recipe, ingest_options, progress())
    if device != "cpu" and engine != "local":
        raise InvalidInput(
            f"--device {device} needs --engine local",
            given=f"--engine {engine}",
            expected="--engine local",
            hint="remove --device",
        )
    if engine == "local":
        manifest = _ingest_in_one_stream(store_location, lake, *arguments)
    else:
        manifest = _ingest_by_tasks(engine, master, lake, *arguments)
    if lake is not None and store_location is not None:
        manifest = _load_lake(lake, collection, store_location)
    if descriptors:
        _compute_descriptors(str(store_location or lake), collection, manifest.generation, workers)
    if as_json:
        print_manifest(manifest)
    else:
        click.echo(summarize(collection, manifest))


def _compute_descriptors(location: str, collection: str, generation: str, workers: int | None) -> None:
    from graphkin.cli.output import progress
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.store import open_generation

    with open_generation(location, collection, generation) as reader:
        OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage)).descriptors()


def _ingest_in_one_stream(store_location: str | None, lake: str | None, *arguments: Any) -> "Manifest":
    """Ingest in this process, into the lake if there is one, else into the store."""
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
    """Ingest into the lake, by worker processes or on Spark."""
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
    """Copy a collection from the lake into the store, and return the manifest to report."""
    from graphkin.cli.output import progress
    from graphkin.ingest.reruns import make_report
    from graphkin.store import open_lake, open_store
    from graphkin.store.transfer import copy_generation

    with (
        open_lake(lake) as source,
        source.open(collection) as generation,
        open_store(store_location, create=True) as store,
    ):
        return make_report(copy_generation(generation, store, progress().stage), generation.manifest.provenance)
