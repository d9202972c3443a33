"""`graphkin carry`: copy what users attached to the items of one generation to another one."""

from dataclasses import asdict
from typing import Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json

_GENERATION: dict[str, Any] = {"metavar": "ID", "required": True, "panel": "Collection"}


@command(
    examples=[
        (
            "Copy own labels, properties and relationships to a newer generation",
            "graphkin carry --store neo4j://localhost --collection m --from 5141f97b --to 0c2d9e4f",
        )
    ]
)
@options.store
@options.collection
@option("--from", "source", **_GENERATION, help="Generation to copy from, by its id or the beginning of it.")
@option("--to", "target", **_GENERATION, help="Generation to copy to, by its id or the beginning of it.")
@options.as_json
def carry(store_location: str, collection: str, source: str, target: str, as_json: bool) -> None:
    """Copy your data in Neo4j from the items of one generation to another one.

    Labels, properties and relationships that you attached to items are copied to the items of the same structure.
    Values that are there are replaced. Running the command again changes nothing.

    Data on entities, such as GraphkinCompound, needs no copy: an entity belongs to all generations of its collection.
    """
    from graphkin.protocol.generations import expand_id
    from graphkin.store import open_store

    with open_store(store_location) as store:
        entities, generations = store.entities(), store.collection(collection).generations
        carried = entities.carry(collection, expand_id(source, generations), expand_id(target, generations))
    if as_json:
        print_json(asdict(carried))
        return
    click.echo(
        f"carried {carried.labels:,} labels, {carried.properties:,} properties and {carried.relationships:,} "
        f"relationships of {carried.items:,} items"
    )
    if carried.missing:
        click.echo(f"{carried.missing:,} more items with data of yours are not in the other generation")
