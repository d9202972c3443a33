"""`graphkin neighbors`, `search` and `positives`: items similar to one item or structure."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json, print_table
from graphkin.protocol.errors import InvalidInput

if TYPE_CHECKING:
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.protocol.measure import Measure
    from graphkin.similarity.devices import Device
    from graphkin.similarity.hits import Hits
    from graphkin.store.base import Generation, Neighbors
    from graphkin.store.sampling.base import Engine


@command(
    examples=[
        ("Show the neighbors of the item with an id", "graphkin neighbors --store s --collection m --id 7"),
        ("Show the neighbors of aspirin", "graphkin neighbors --store s --collection m --name aspirin --limit 10"),
    ]
)
@options.source_generation
@option("--id", "id", type=int, panel="Query", help="Id of the item.")
@option("--smiles", metavar="SMILES", panel="Query", help="Structure of the item.")
@option("--name", metavar="NAME", panel="Query", help="Name of the item, in any case.")
@options.min_similarity
@option("--limit", type=click.IntRange(1), default=50, panel="Output", help="Number of neighbors to show.")
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
    """Show the stored neighbors of one item, the most similar first.

    Select the item with --id, --smiles or --name. A terminal gets a table; a pipe gets the item, the number of
    neighbors, and one line per neighbor with the columns similarity, id, smiles and names, separated by tabs.
    """
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
    click.echo("\t".join(map(str, _item_cells(result["item"]))))
    truncated = ", truncated by the top-k limit" if result["capped"] else ""
    click.echo(f"{len(result['neighbors'])} of {result['total']} neighbors{truncated}")
    _show_hits(result["neighbors"])


def _hit_rows(reader: "Generation", hits: "Hits | Neighbors") -> list[dict[str, Any]]:
    from graphkin.store.records import to_decimal_floats

    rows = zip(reader.items(hits.ids), to_decimal_floats(hits.similarity), strict=True)
    return [{"item": item, "similarity": similarity} for item, similarity in rows]


def _show_hits(hits: list[dict[str, Any]]) -> None:
    columns = {"similarity": "right", "id": "right", "smiles": "left", "names": "left"}
    print_table(columns, [(f"{hit['similarity']:.4f}", *_item_cells(hit["item"])) for hit in hits])


def _item_cells(item: dict[str, Any]) -> tuple[object, ...]:
    return item["id"], item["smiles"] or "-", ", ".join(item["names"])


@command(
    examples=[
        ("Find the molecules that are most similar to ethanol", "graphkin search CCO --store s --collection m"),
        (
            "Print the 5 best hits with similarity 0.5 or more as JSON",
            "graphkin search CCO --store s --collection m --min-similarity 0.5 --limit 5 --json",
        ),
        (
            "Search for all structures of a file",
            "graphkin search --file queries.smi --output hits.csv --store s --collection m",
        ),
    ]
)
@options.source_generation
@click.argument("structure", required=False)
@option("--fingerprint", is_flag=True, panel="Query", help="STRUCTURE is a fingerprint in hexadecimal.")
@option(
    "--tversky",
    type=(float, float),
    metavar="ALPHA BETA",
    panel="Similarity",
    help="Compare fingerprints by Tversky similarity. ALPHA is the weight of the bits that only STRUCTURE has.",
)
@option(
    "--dice",
    is_flag=True,
    panel="Similarity",
    help="Compare fingerprints by their Dice similarity, 2 c / (a + b), for a and b bits and c common ones.",
)
@option(
    "--cosine",
    is_flag=True,
    panel="Similarity",
    help="Compare fingerprints by their cosine, c / √(a b), in the same terms.",
)
@option(
    "--counts",
    is_flag=True,
    panel="Similarity",
    help="Compare molecules by the counts of their Morgan environments (min-max Tanimoto).",
)
@option("--min-similarity", type=float, metavar="X", panel="Similarity", help="Smallest similarity, above 0 to 1.")
@option(
    "--limit",
    type=click.IntRange(1),
    default=10,
    panel="Output",
    help="Number of hits. With --file, for each structure, at most 100.",
)
@option("--file", metavar="FILE", panel="Input", help="File of structures, in a format of `graphkin ingest`.")
@option("--format", metavar="FORMAT", panel="Input", help="Format of the file. [default: by file name]")
@options.smiles_column
@option(
    "--name-column",
    metavar="COLUMN",
    panel="Input",
    help="Column with the name. [default: as in `graphkin ingest`]",
)
@option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    panel="Output",
    help="File for the hits of --file: .csv or .parquet.",
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
    dice: bool,
    cosine: bool,
    counts: bool,
    min_similarity: float | None,
    limit: int,
    file: str | None,
    output: Path | None,
    device: "Device",
    as_json: bool,
    **read: str | None,
) -> None:
    """Search a collection for the items most similar to a structure.

    STRUCTURE is a SMILES, or - to read it from standard input. For a collection of graphs it is a graph as JSON:
    '{"edges": [[0, 1], [1, 2]]}', and for one of fingerprints the bits in hexadecimal. The search compares STRUCTURE
    with all items, so the top-k limit of the collection does not matter.

    With --file and --output, the command searches for all structures of a file. It writes one row per hit, and one row
    with the reason for each invalid structure.

    A terminal gets a table; a pipe gets the structure, and one line per hit with the columns similarity, id, smiles and
    names, separated by tabs.
    """
    from graphkin.cli.conditions import parse_measure, read_argument, require_search_similarity
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.protocol.requests import SearchFields
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    if (structure is None) == (file is None) or (file is None) != (output is None):
        raise InvalidInput(
            "`graphkin search` needs a structure or a file",
            expected="either STRUCTURE, or --file and --output",
            hint="try `graphkin search CCO` or `graphkin search --file queries.smi --output hits.csv`",
        )
    if file is not None and fingerprint:
        raise InvalidInput(
            "--fingerprint cannot be combined with --file", expected="STRUCTURE", hint="remove one of them"
        )
    if file is None and device != "cpu":
        raise InvalidInput(f"--device {device} needs --file", expected="--file and --output", hint="remove --device")
    require_search_similarity(min_similarity)
    measure = parse_measure(tversky, dice=dice, cosine=cosine, counts=counts)
    with open_generation(store_location, collection, generation) as reader:
        open_collection = OpenCollection(reader)
        if file is not None and output is not None:
            _search_file(open_collection, file, read, measure, min_similarity, limit, output, device, as_json)
            return
        text = read_argument(structure)
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
    as_json: bool,
) -> None:
    from graphkin.cli.file_search import FileSearch, encode_tables
    from graphkin.cli.output import atomic_file, report_file
    from graphkin.ingest.readers import ReadOptions, open_source
    from graphkin.protocol.values import MAX_HITS
    from graphkin.similarity.kinds import kind_of

    if limit > MAX_HITS:
        expected = f"at most {MAX_HITS} for each structure of a file"
        raise InvalidInput("invalid --limit", given=limit, expected=expected, hint=f"add `--limit {MAX_HITS}`")
    if output.suffix not in (".csv", ".parquet"):
        raise InvalidInput(
            "invalid name of --output",
            given=str(output),
            expected="a name that ends with .csv or .parquet",
            hint="the end of the name selects the format, as in `--output hits.csv`",
        )
    with closing(open_source(file, kind_of(open_collection.generation).file_formats, ReadOptions(**read))) as source:
        file_search = FileSearch(open_collection, source, measure, min_similarity, limit, device)
        with atomic_file(output) as stream:
            for piece in encode_tables(file_search.tables(), output.suffix):
                stream.write(piece)
    without_hits = file_search.structures - file_search.with_hits - file_search.unreadable
    report_file(
        output,
        as_json,
        f"{file_search.structures:,} structures: {file_search.with_hits:,} have hits, {file_search.stored_items:,} are "
        f"items themselves, {without_hits:,} have no hits, {file_search.unreadable:,} are invalid",
        generation=open_collection.generation.id,
        structures=file_search.structures,
        with_hits=file_search.with_hits,
        stored_items=file_search.stored_items,
        unreadable=file_search.unreadable,
    )


@command(
    examples=[
        (
            "Sample three neighbors by similarity",
            "graphkin positives --store s --collection m --id 7 --policy first_order --seed 1",
        ),
        (
            "Sample by random walks",
            "graphkin positives --store s --collection m --id 7 --policy random_walk --length 3 --seed 1",
        ),
    ]
)
@options.source_generation
@option("--id", "anchor", type=int, required=True, panel="Query", help="Id of the anchor.")
@options.sampling_policy
@option("--seed", type=int, default=0, panel="Sampling", help="Random seed, 0 to 2^53 - 1.")
@option("--epoch", type=int, default=0, panel="Sampling", help="Epoch.")
@option(
    "--sampler",
    "engine",
    type=click.Choice(["snapshot", "cypher", "gds"]),
    default="snapshot",
    panel="Sampling",
    help="Engine. snapshot reads the whole graph. For stores in Neo4j, cypher gives the same samples and reads only "
    "what they need, and gds is Graph Data Science, whose samples differ.",
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
    """Sample the positives of an anchor.

    The same generation, policy, seed and epoch give the same positives.
    """
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
        click.echo(f"item {anchor} has no neighbors, so it has no positives")
        return
    columns = {"id": "right", "smiles": "left", "visits": "right", "path": "left"}
    print_table(columns, [_positive_cells(positive) for positive in result["positives"]])


def _positive_cells(positive: dict[str, Any]) -> tuple[object, ...]:
    item, path = positive["item"], " > ".join(map(str, positive["path"]))
    return item["id"], item["smiles"] or "-", f"visits {positive['visits']}", f"path {path}"
