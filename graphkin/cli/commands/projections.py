"""`graphkin projections`: list and drop the graphs in the memory of Neo4j Graph Data Science."""

from dataclasses import asdict

import click

from graphkin.cli import options
from graphkin.cli.help import group
from graphkin.cli.output import print_json, print_table
from graphkin.protocol.generations import short_id

_MEBIBYTE = 2**20


@group(
    examples=[
        ("List the projections of this user", "graphkin projections list --store neo4j://localhost"),
        ("Free their memory", "graphkin projections drop --store neo4j://localhost"),
    ]
)
def projections() -> None:
    """List and drop the projections of a Neo4j store.

    The sampler gds keeps each generation that it samples as a projection in the memory of the server. Neo4j shows each
    user only their own projections, so use the user that graphkin serve uses.
    """


@projections.command(
    "list", examples=[("List the projections of this user", "graphkin projections list --store neo4j://localhost")]
)
@options.store
@options.as_json
def list_projections(store_location: str, as_json: bool) -> None:
    """List the projections of this user with their memory.

    Columns: collection, generation, state, items, edges, MiB, time of creation.
    """
    from graphkin.store import open_store

    with open_store(store_location) as store:
        rows = store.projections()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    alignments = {"collection": "left", "generation": "left", "state": "left"}
    print_table(
        {**alignments, **dict.fromkeys(("items", "edges", "MiB"), "right"), "created": "left"},
        [
            (
                row.collection or "-",
                short_id(row.generation) if row.generation else "-",
                "deleted" if row.generation is None else "current" if row.is_current else "superseded",
                row.items,
                row.edges,
                f"{row.bytes / _MEBIBYTE:.1f}",
                row.created_at,
            )
            for row in rows
        ],
    )


@projections.command(
    examples=[
        ("Drop all projections of this user", "graphkin projections drop --store neo4j://localhost"),
        ("Drop those of one collection", "graphkin projections drop --store neo4j://localhost --collection m"),
    ]
)
@options.store
@options.optional_collection
@options.as_json
def drop(store_location: str, collection: str | None, as_json: bool) -> None:
    """Drop projections of this user, and free their memory.

    The next request for samples creates the projection of its generation again.
    """
    from graphkin.store import open_store

    with open_store(store_location) as store:
        dropped = [row for row in store.projections() if collection in (None, row.collection)]
        for row in dropped:
            store.drop_projection(row.name)
    if as_json:
        print_json({"dropped": [asdict(row) for row in dropped]})
        return
    for row in dropped:
        generation = f"{row.collection} {short_id(row.generation)}" if row.generation else "a deleted generation"
        click.echo(f"dropped {generation}, {row.bytes / _MEBIBYTE:.1f} MiB")
    if not dropped:
        click.echo("nothing to drop")
