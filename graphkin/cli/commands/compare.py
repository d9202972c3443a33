"""`graphkin compare`: compare two files or collections, and write pairs, nearest items and a report."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import count_text, print_json
from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    from graphkin.library.comparison import Comparison

_RELATIONS = ("identical", "near_duplicates", "novel")


@command(
    examples=[
        ("Compare two files", "graphkin compare catalog.smi candidates.csv --threshold 0.7 --output comparison"),
        ("Compare a collection with a file", "graphkin compare s#m candidates.csv --output comparison"),
        (
            "Write only the most similar item of A for each item of B, as CSV",
            "graphkin compare catalog.smi candidates.csv --top-k 1 --format csv --output comparison",
        ),
        (
            "Ignore salts and charges",
            (
                "graphkin compare catalog.sdf.gz candidates.csv --standardize largest_fragment --standardize uncharge "
                "--output comparison"
            ),
        ),
    ]
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@option(
    "--threshold",
    type=float,
    default=0.7,
    panel="Similarity",
    help="Smallest similarity of a pair, and of a near duplicate.",
)
@option(
    "--top-k",
    type=click.IntRange(1),
    panel="Output",
    help="Number of pairs to write for each item of B, the most similar ones. [default: all]",
)
@option(
    "--format",
    type=click.Choice(["parquet", "csv"]),
    default="parquet",
    panel="Output",
    help="Format of the file of pairs.",
)
@option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    panel="Output",
    help="New or empty folder to write.",
)
@options.smiles_column
@options.standardize
@options.workers
@options.as_json
def compare(
    a: str,
    b: str,
    threshold: float,
    top_k: int | None,
    format: str,
    output: Path,
    structure_column: str | None,
    standardise: tuple[str, ...],
    workers: int | None,
    as_json: bool,
) -> None:
    """Compare two files or collections of molecules or fingerprints.

    A and B are files, as for `graphkin ingest molecules` or `graphkin ingest fingerprints`, or collections:
    STORE#COLLECTION or STORE#COLLECTION@GENERATION. Every item of B is compared with every item of A, by the Tanimoto
    similarity of their fingerprints. The recipe of a collection decides the fingerprint and the standardization of the
    other set. Two files have Morgan fingerprints of radius 2 with 2048 bits.

    The folder gets pairs.parquet or pairs.csv (all pairs with similarity ≥ the threshold), nearest.csv (the nearest
    item of A for each item of B, whatever the threshold), summary.json, report.html and rejected.csv. An item of B is
    identical if A has the same canonical structure, else a near duplicate if its nearest item reaches the threshold,
    else novel. The folder appears when everything is written.
    """
    from graphkin.cli.file_search import encode_tables
    from graphkin.cli.output import atomic_folder, progress
    from graphkin.library.pairs import require_threshold, thread_count
    from graphkin.library.two_sets import open_run

    similarity, threads = require_threshold(threshold), thread_count(workers)
    with ExitStack() as stack:
        folder = stack.enter_context(atomic_folder(output))
        first, second = _open_source(a, stack), _open_source(b, stack)
        if standardise and not (isinstance(first, str) and isinstance(second, str)):
            raise InvalidInput(
                "a collection already decides the standardization of both sets",
                given="--standardize",
                expected="--standardize only with two files",
                hint="leave --standardize out, or name the files of the molecules",
            )
        run = open_run(first, second, similarity, threads, progress(), smiles=structure_column, standardise=standardise)
        with (folder / f"pairs.{format}").open("wb") as file:
            file.writelines(encode_tables(run.pair_tables(top_k), f".{format}"))
        comparison = run.result()
        with (folder / "nearest.csv").open("wb") as file:
            file.writelines(encode_tables(comparison.nearest_tables(), ".csv"))
        (folder / "rejected.csv").write_bytes(_rejected_rows(comparison))
        (folder / "report.html").write_text(comparison.to_html(a, b), encoding="utf-8")
        summary = _summary(comparison, a, b)
        (folder / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if as_json:
        print_json({"output": str(output), **summary})
        return
    for line in _text(comparison, a, b):
        click.echo(line)
    click.echo(f"{output / 'report.html'} shows the comparison")


def _open_source(text: str, stack: ExitStack) -> Any:
    """Return the path of a file, or the collection that STORE#COLLECTION names. `stack` closes the collection."""
    location, sign, name = text.rpartition("#")
    if Path(text).exists():
        return text
    if not sign:
        raise InvalidInput(
            f"there is no file {text}",
            given=text,
            expected="a file, or a collection as STORE#COLLECTION",
            hint="check the path",
        )
    from graphkin.library import open as open_store

    name, _, generation = name.partition("@")
    collections = stack.enter_context(open_store(location))
    return stack.enter_context(collections.collection(name, generation or None))


def _rejected_rows(comparison: "Comparison") -> bytes:
    """Return the rejected records of both sets as CSV."""
    from graphkin.export.cells import csv_rows

    rows = [
        (end, position, reason)
        for end, records in (("a", comparison.a), ("b", comparison.b))
        for position, reason in zip(records.rejected.tolist(), records.reasons, strict=True)
    ]
    return csv_rows([("set", "record", "reason"), *rows])


def _summary(comparison: "Comparison", a: str, b: str) -> dict[str, Any]:
    """Return the summary of the comparison, with the sources of both sets."""
    sources = {"a": {"source": a, **comparison.a.counts}, "b": {"source": b, **comparison.b.counts}}
    return {**comparison.summary, **sources}


def _text(comparison: "Comparison", a: str, b: str) -> list[str]:
    """Return the counts as lines of text."""
    counts = comparison.summary
    items = counts["b"]["items"]
    shares = {name: f"{counts[name]:,} ({counts[name] / max(items, 1):.1%})" for name in _RELATIONS}
    sets = [
        f"{source}: {count_text(each['items'], 'item')} ({each['distinct']:,} distinct, {each['rejected']:,} rejected)"
        for source, each in ((a, counts["a"]), (b, counts["b"]))
    ]
    return [
        *sets,
        f"{b} against {a}:",
        f"  identical        {shares['identical']}",
        f"  near duplicates  {shares['near_duplicates']}, nearest similarity ≥ {comparison.threshold:g}",
        f"  novel            {shares['novel']}",
        f"  {count_text(counts['pairs'], 'pair')} with similarity ≥ {comparison.threshold:g}",
    ]
