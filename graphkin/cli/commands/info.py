"""`graphkin info`: show collections, their generations and their provenance."""

import sys
from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import note, print_json, print_table
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphkin.protocol.errors import Damage
    from graphkin.protocol.manifest import DifferingValues, Manifest
    from graphkin.protocol.values import Duplicates
    from graphkin.store.base import Generation, Store
    from graphkin.store.reruns import RerunRecord


@command(
    examples=[
        ("List the collections of a store", "graphkin info --store s"),
        ("Show one collection", "graphkin info --store s --collection m"),
        ("List the rejected records", "graphkin info --store s --collection m --rejections"),
    ]
)
@options.store
@options.optional_collection
@options.generation
@option("--rejections", is_flag=True, panel="Query", help="List the rejected records.")
@option(
    "--differing",
    is_flag=True,
    panel="Query",
    help="Count the values of repeated items that differ from those of an earlier record, and list the first 100.",
)
@options.as_json
def info(
    store_location: str,
    collection: str | None,
    generation: str | None,
    rejections: bool,
    differing: bool,
    as_json: bool,
) -> None:
    """Show collections, their generations, their origin and damaged files."""
    from graphkin.ingest.info import CollectionInfo
    from graphkin.store import open_store

    if not collection and (rejections or differing or generation):
        raise InvalidInput(
            "--rejections, --differing and --generation need --collection", hint="add `--collection NAME`"
        )
    with open_store(store_location) as store:
        if not collection:
            _show_collections(store, as_json)
        elif rejections:
            with store.open(collection, store.full_id(collection, generation)) as reader:
                _show_rejections(reader, store.rerun(collection, reader.id), as_json)
        elif differing:
            manifest = store.manifest(collection, store.full_id(collection, generation))
            _show_differing(manifest, store.rerun(collection, manifest.generation), as_json)
        else:
            facts = CollectionInfo.from_store(store, collection, generation)
            if as_json:
                print_json(facts.to_dict())
            else:
                click.echo(str(facts))


def _show_collections(store: "Store", as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for entry in store.collections():
        manifest, damage = store.manifest(entry.name, entry.current), store.damage(entry.name, entry.current)
        rows.append(
            {
                "name": entry.name,
                "kind": entry.kind,
                "generation": manifest.generation,
                "items": manifest.counts.kept,
                "edges": manifest.edges,
                "published_at": manifest.published_at,
                "damaged": _damage_fields(damage),
            }
        )
    if as_json:
        print_json({"collections": rows})
        return
    if sys.stdout.isatty():
        numbers = dict.fromkeys(("items", "edges"), "right")
        columns = {"collection": "left", "kind": "left", **numbers, "published": "left", "generation": "left"}
        print_table(
            columns,
            [
                (
                    row["name"],
                    row["kind"],
                    f"{row['items']:,}",
                    f"{row['edges']:,}",
                    row["published_at"],
                    short_id(row["generation"]),
                )
                for row in rows
            ],
        )
    for row in rows:
        if not sys.stdout.isatty():
            click.echo(
                f"{row['name']}: {row['items']:,} items ({row['kind']}), {row['edges']:,} edges, "
                f"published {row['published_at']}, generation {short_id(row['generation'])}"
            )
        _show_damage(row["damaged"])


def _damage_fields(damage: "Damage | None") -> dict[str, str] | None:
    """Return the value of the JSON field `damaged`."""
    return None if damage is None else {"file": damage.file, "problem": damage.problem}


def _show_damage(damaged: dict[str, str] | None) -> None:
    if damaged is not None:
        click.echo(f"  DAMAGED: {damaged['file']}: {damaged['problem']}")


def _show_differing(manifest: "Manifest", rerun_record: "RerunRecord | None", as_json: bool) -> None:
    if as_json:
        rerun = rerun_record and rerun_record.rerun.model_dump(mode="json")
        fields = {"duplicates": manifest.duplicates, **manifest.differing.model_dump(), "rerun": rerun}
        print_json({"generation": manifest.generation, **fields})
        return
    _show_values(manifest.differing, manifest.duplicates)
    if rerun_record is not None:
        note(f"The run of {rerun_record.rerun.ran_at} gave the same generation. Its values:")
        _show_values(rerun_record.rerun.differing, manifest.duplicates)


def _show_values(differing: "DifferingValues", duplicates: "Duplicates") -> None:
    """Print the counts of values that differ from those of an earlier record of an item, then the first values."""
    if not differing.counts:
        note("no values of repeated items differ from those of the first record")
    for name, count in differing.counts.items():
        click.echo(f"{name}: {count:,} values of repeated items differ from those of the first record")
    is_first = duplicates == "first"
    before, after = ("kept", "not kept") if is_first else ("first", "later")
    for value in differing.first:
        kept_value = "no value" if value.kept is None else value.kept
        click.echo(f"{value.structure or '-'}\t{value.property}\t{before} {kept_value}\t{after} {value.value}")
    if differing.counts and not is_first:
        click.echo(f"duplicates: {duplicates}")


def _show_rejections(reader: "Generation", rerun_record: "RerunRecord | None", as_json: bool) -> None:
    rows = (row for batch in reader.rejections() for row in batch.to_pylist())
    if as_json:
        rerun = rerun_record and {
            **rerun_record.rerun.model_dump(mode="json"),
            "rejections": rerun_record.rejections.to_pylist(),
        }
        print_json({"generation": reader.id, "rejections": list(rows), "rerun": rerun})
        return
    _show_records(rows)
    if rerun_record is not None:
        note(f"The run of {rerun_record.rerun.ran_at} gave the same generation. Its rejected records:")
        _show_records(rerun_record.rejections.to_pylist())


def _show_records(rejections: "Iterable[dict[str, Any]]") -> None:
    """Print one line per rejected record: its source and line, the reason and the first line of its text."""
    has_rejections = False
    for row in rejections:
        has_rejections = True
        first_line = row["input"].partition("\n")[0]
        click.echo(f"{row['source']}:{row['line']}: {row['reason']}\t{first_line[:200]}")
    if not has_rejections:
        note("no rejected records")
