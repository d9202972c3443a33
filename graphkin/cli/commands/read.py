"""`graphkin neighbors`, `search` and `positives`: items similar to one item or structure."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.json_lines import print_json

if TYPE_CHECKING:
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.protocol.measure import Measure
    from graphkin.similarity.devices import Device
    from graphkin.similarity.hits import Hits
    from graphkin.store.base import Generation, Neighbors
    from graphkin.store.sampling.base import Engine


@click.command()
@options.source_generation
@click.option("--smiles", help="Of the item with this structure.")
@click.option("--name", help="Of the item with this name.")
@click.option("--id", "id", type=int, help="Of the item with this id.")
@options.min_similarity
@click.option("--limit", type=click.IntRange(1), default=50, help="Neighbours to show.")
@options.as_json
def neighbors(
    store_location: str,
    collection: str,
    generation: str | None,
    smiles: str | None,
    name: str | None,
    id: int | None,
    min_similarity: float | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show the stored neighbours of one item, most similar first."""
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader)
        item_id = open_collection.item_id(id, smiles, name)
        page = open_collection.neighbors(item_id, min_similarity, limit=limit)
        (item,) = reader.items([item_id])
        result: dict[str, Any] = {
            "generation": reader.id,
            "item": item,
            "neighbors": _hit_rows(reader, page),
            "total": page.total,
            "capped": None if item["dropped"] is None else item["dropped"] != 0,
        }
    if as_json:
        print_json(result)
        return
    click.echo(_item_line(result["item"]))
    click.echo(f"{len(result['neighbors'])} of {result['total']} neighbours" + (", capped" if result["capped"] else ""))
    _show_hits(result["neighbors"])


def _hit_rows(reader: "Generation", hits: "Hits | Neighbors") -> list[dict[str, Any]]:
    from graphkin.store.records import to_decimal_floats

    rows = zip(reader.items(hits.ids), to_decimal_floats(hits.similarity), strict=True)
    return [{"item": item, "similarity": similarity} for item, similarity in rows]


def _show_hits(hits: list[dict[str, Any]]) -> None:
    for hit in hits:
        item = hit["item"]
        click.echo(f"{hit['similarity']:.4f}\t{_item_line(item)}")


def _item_line(item: dict[str, Any]) -> str:
    return f"{item['id']}\t{item['smiles'] or '-'}\t{', '.join(item['names'])}"


@click.command()
@options.source_generation
@click.argument("structure", required=False)
@click.option("--fingerprint", is_flag=True, help="STRUCTURE is a fingerprint of the recipe's, in hexadecimal.")
@click.option(
    "--tversky",
    type=(float, float),
    metavar="ALPHA BETA",
    help="Compare fingerprints by Tversky similarity; ALPHA weighs what STRUCTURE alone has.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="Compare molecules by how often they have each Morgan environment (min-max Tanimoto).",
)
@click.option("--min-similarity", type=float, metavar="X", help="Smallest similarity, above 0 to 1.")
@click.option(
    "--limit", type=click.IntRange(1), default=10, help="Hits to show; of each structure of a file, up to 100."
)
@click.option("--file", metavar="FILE", help="Search for every structure of a file that `graphkin ingest` reads.")
@click.option("--format", metavar="FORMAT", help="Format of the file.  [default: told by its name]")
@click.option(
    "--smiles-column", "structure_column", metavar="COLUMN", help="Of a table.  [default: smiles, in any case]"
)
@click.option(
    "--name-column", metavar="COLUMN", help="Of a table or SD file.  [default: as `graphkin ingest` finds it]"
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write the hits of a file: .csv or .parquet.",
)
@options.device
@options.as_json
def search(
    store_location: str,
    collection: str,
    generation: str | None,
    structure: str | None,
    fingerprint: bool,
    tversky: tuple[float, float] | None,
    counts: bool,
    min_similarity: float | None,
    limit: int,
    file: str | None,
    output: Path | None,
    device: "Device",
    as_json: bool,
    **read: str | None,
) -> None:
    """Search the whole collection for what is most similar to STRUCTURE, exactly and uncapped.

    STRUCTURE is a SMILES; for a collection of graphs, a graph as JSON: '{"edges": [[0, 1], [1, 2]]}'; for one of
    fingerprints, the bits in hexadecimal, as in FPS files. "-" reads it from standard input.

    With --file and --output every structure of a file is searched for, thousands at once: one row a hit, and one for
    each structure that cannot be read, which says why.
    """
    from graphkin.cli.conditions import parse_measure, require_search_similarity
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.protocol.requests import SearchFields
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    if (structure is None) == (file is None) or (file is None) != (output is None):
        raise click.UsageError("either STRUCTURE, or --file and --output")
    if file is not None and (as_json or fingerprint):
        raise click.UsageError("--json and --fingerprint are for one STRUCTURE")
    if file is None and device != "cpu":
        raise click.UsageError(f"--device {device} is for the structures of --file")
    require_search_similarity(min_similarity)
    measure = parse_measure(tversky, counts)
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader)
        if file is not None and output is not None:
            _search_file(open_collection, file, read, measure, min_similarity, limit, output, device)
            return
        text = sys.stdin.buffer.read().decode(errors="surrogateescape").strip() if structure == "-" else structure
        with translate_validation_errors():
            request = SearchFields(
                structure=None if fingerprint else text,
                fingerprint=text if fingerprint else None,
                measure=measure,
                min_similarity=min_similarity,
            )
        query, id, hits = open_collection.search(request, limit)
        result: dict[str, Any] = {
            "generation": reader.id,
            "query": {"smiles": query.smiles, "id": id},
            "hits": _hit_rows(reader, hits),
            "total": hits.total,
        }
    if as_json:
        print_json(result)
        return
    click.echo(query.text)
    _show_hits(result["hits"])


def _search_file(
    open_collection: "OpenCollection",
    file: str,
    read: dict[str, Any],
    measure: "Measure | None",
    min_similarity: float | None,
    limit: int,
    output: Path,
    device: "Device",
) -> None:
    from graphkin.cli.file_search import FileSearch, encode_tables
    from graphkin.cli.output import atomic_file
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.protocol.errors import require
    from graphkin.protocol.values import MAX_HITS
    from graphkin.similarity.kinds import kind_of

    require(limit <= MAX_HITS, "limit", limit, f"at most {MAX_HITS} for each structure of a file")
    require(
        output.suffix in (".csv", ".parquet"), "file of hits", str(output), "a name that ends with .csv or .parquet"
    )
    with closing(open_source(file, kind_of(open_collection.generation).file_formats, ReadOptions(**read))) as source:
        file_search = FileSearch(open_collection, source, measure, min_similarity, limit, device)
        with atomic_file(output) as stream:
            for piece in encode_tables(file_search.tables(), output.suffix):
                stream.write(piece)
    without_hits = file_search.structures - file_search.with_hits - file_search.unreadable
    click.echo(
        f"{file_search.structures:,} structures: {file_search.with_hits:,} found something, "
        f"{file_search.stored_items:,} of them themselves; {without_hits:,} found nothing, "
        f"{file_search.unreadable:,} could not be read",
        err=True,
    )


@click.command()
@options.source_generation
@click.option("--id", "anchor", type=int, required=True, help="Anchor.")
@options.sampling_policy
@click.option("--seed", type=int, default=0, help="Seed, 0 to 2^53 - 1.")
@click.option("--epoch", type=int, default=0, help="Epoch.")
@click.option(
    "--sampler", "engine", type=click.Choice(["snapshot", "gds"]), default="snapshot", help="What draws; gds: Neo4j."
)
@options.as_json
def positives(
    store_location: str,
    collection: str,
    generation: str | None,
    anchor: int,
    policy_options: dict[str, Any],
    seed: int,
    epoch: int,
    engine: "Engine",
    as_json: bool,
) -> None:
    """Draw positives of an anchor. The same seed, epoch, policy and generation give the same positives."""
    import numpy as np

    from graphkin.protocol.validation import parse_policy
    from graphkin.store import open_generation
    from graphkin.store.records import to_decimal_floats

    policy = parse_policy(**policy_options)
    with open_generation(store_location, collection, generation) as reader:
        samples = reader.sampler(engine, threads=1).explain(anchor, policy, seed, epoch)
        items = reader.items([positive.id for positive in samples])
        rows = [
            {
                "item": item,
                "similarity": None
                if positive.similarity is None
                else to_decimal_floats(np.array([positive.similarity]))[0],
                "direct": positive.direct,
                "visits": positive.visits,
                "path": list(positive.path),
            }
            for item, positive in zip(items, samples, strict=True)
        ]
        result: dict[str, Any] = {
            "generation": reader.id,
            "anchor": anchor,
            "policy": policy.model_dump(),
            "seed": seed,
            "epoch": epoch,
            "isolated": not samples,
            "positives": rows,
        }
    if as_json:
        print_json(result)
        return
    if result["isolated"]:
        click.echo(f"item {anchor} has no neighbour: no positives")
    for positive in result["positives"]:
        item, path = positive["item"], " > ".join(map(str, positive["path"]))
        click.echo(f"{item['id']}\t{item['smiles'] or '-'}\tvisits {positive['visits']}\tpath {path}")
