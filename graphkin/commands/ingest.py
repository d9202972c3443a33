"""`graphkin ingest`: build and publish a similarity hierarchy."""

import json
from pathlib import Path
from typing import Any

import click

from graphkin import options


@click.group()
def ingest() -> None:
    """Build a similarity hierarchy from files and publish it."""


@ingest.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.store
@options.collection
@click.option(
    "--preset", type=click.Choice(["default", "paper", "rc"]), default="default", help="Recipe to start from."
)
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
@click.option("--workers", type=click.IntRange(min=1), help="Processes and threads.  [default: all cores]")
@click.option("--max-atoms", type=click.IntRange(1, 100_000), default=1_000, help="Larger molecules are rejected.")
@click.option(
    "--max-rejected", type=click.FloatRange(0, 1), default=0.1, help="Share of rejected records that fails the run."
)
@click.option(
    "--rejections-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where a run that fails by rejections leaves them.  [default: NAME.rejections.csv]",
)
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
@options.as_json
def molecules(
    files: tuple[str, ...],
    store_location: str,
    collection: str,
    preset: str,
    workers: int | None,
    max_atoms: int,
    max_rejected: float,
    rejections_file: Path | None,
    format: str | None,
    smiles_column: str | None,
    name_column: str | None,
    as_json: bool,
    **recipe_options: Any,
) -> None:
    """Ingest molecules from FILE... and publish a generation of the collection.

    Files are .smi .txt .smiles .csv .tsv .sdf .parquet, each also gzipped; "-" is standard input. Records that are no
    molecule are rejected with a reason and kept: see `graphkin info --rejections`.
    """
    from graphkin.progress import terminal_progress
    from ingest.pipeline import IngestOptions, ingest_molecules
    from ingest.readers import ReadOptions
    from store import open_store

    options_ = IngestOptions(
        read=ReadOptions(format=format, smiles_column=smiles_column, name_column=name_column),
        max_atoms=max_atoms,
        max_rejected=max_rejected,
        rejections_file=rejections_file or Path(f"{collection}.rejections.csv"),
        **({"workers": workers} if workers else {}),
    )
    recipe = resolve_recipe(preset, recipe_options)
    with open_store(store_location, create=True) as store:
        manifest = ingest_molecules(store, collection, files, recipe, options_, terminal_progress())
    if as_json:
        click.echo(manifest.model_dump_json(exclude={"files"}))
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


def resolve_recipe(preset: str, given: dict[str, Any]) -> Any:
    """The recipe of a preset with the command line's options over it."""
    from ingest.recipe import resolve

    fingerprint = {
        "name": given.pop("fingerprint"),
        **{key: given.pop(key) for key in ("radius", "bits", "chirality")},
    }
    return resolve(preset, fingerprint=fingerprint, **{key: value for key, value in given.items() if value != ()})
