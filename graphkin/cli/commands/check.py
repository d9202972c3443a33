"""`graphkin recall` and `graphkin verify`: measure the completeness and check the integrity of a similarity graph."""

from typing import TYPE_CHECKING

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.generations import short_id

if TYPE_CHECKING:
    from graphkin.similarity.devices import Device
    from graphkin.store.base import Store


@command(
    examples=[
        ("Measure the recall of the stored edges", "graphkin recall --store s --collection m"),
        ("Measure the recall of the window rule", "graphkin recall --store s --collection m --rule window"),
    ]
)
@options.source_generation
@option(
    "--rule",
    type=click.Choice(["window"]),
    panel="Similarity",
    help="Candidate rule to measure. [default: the stored edges]",
)
@option("--sample", type=click.IntRange(min=1), default=1_000, panel="Sampling", help="Number of random items.")
@option(
    "--threshold",
    type=float,
    panel="Similarity",
    help="Smallest similarity of a similar pair. [default: the stored threshold]",
)
@option("--seed", type=click.IntRange(min=0), default=0, panel="Sampling", help="Random seed.")
@options.device
@options.as_json
def recall(
    store_location: str,
    collection: str,
    generation: str | None,
    rule: str | None,
    sample: int,
    threshold: float | None,
    seed: int,
    device: "Device",
    as_json: bool,
) -> None:
    """Measure the share of similar pairs that a graph contains.

    An exact search gives all similar pairs of a random sample of items. The recall is the share of them that are stored
    edges, or with --rule the share that the candidate rule finds.
    """
    from graphkin.similarity.recall import measure_recall
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as reader:
        measurement = measure_recall(reader, "window" if rule else None, sample, threshold, seed, device)
        result = {"generation": reader.id, **measurement.as_dict()}
    if as_json:
        print_json(result)
        return
    share = "none exist" if measurement.recall is None else f"{measurement.recall:.2%}"
    click.echo(f"{measurement.rule} at {measurement.threshold:g}, {measurement.sample:,} items sampled")
    click.echo(f"  recall          {share} ({measurement.found_pairs:,} of {measurement.exact_pairs:,} pairs)")
    for label, values in (("mean degree", measurement.mean_degree), ("isolated share", measurement.isolated_share)):
        click.echo(f"  {label:15} {values['found']:.3f} (exact: {values['exact']:.3f})")


@command(
    examples=[
        ("Verify all collections of a store", "graphkin verify --store s"),
        (
            "Verify one collection, and recompute 10,000 edges",
            "graphkin verify --store s --collection m --sample 10000",
        ),
    ]
)
@options.store
@options.optional_collection
@options.generation
@option(
    "--sample",
    type=click.IntRange(min=0),
    default=1_000,
    panel="Sampling",
    help="Number of random items and edges to recompute with RDKit.",
)
@options.as_json
def verify(store_location: str, collection: str | None, generation: str | None, sample: int, as_json: bool) -> None:
    """Check all files of a store against their checksums.

    The command also checks the content hashes, and recomputes a random sample of items and edges with RDKit. The exit
    code is 1 if it finds a problem.
    """
    if generation and not collection:
        raise InvalidInput("--generation needs --collection", given=generation, hint="add `--collection NAME`")
    results = _check_generations(store_location, collection, generation, sample)
    if as_json:
        print_json([{"collection": c, "generation": g, "problems": problems} for c, g, problems in results])
    else:
        for name, id, problems in results:
            subject = "the store" if name is None or id is None else f"{name} {short_id(id)}"
            click.echo(f"{subject}: {'intact' if not problems else f'{len(problems)} problems'}")
            for problem in problems:
                click.echo(f"  {problem}")
    if any(problems for *_, problems in results):
        raise click.exceptions.Exit(1)


_Result = tuple[str | None, str | None, list[str]]
"""A collection, a generation and its problems. Collection and generation are None for problems of the store itself."""


def _check_generations(location: str, collection: str | None, generation: str | None, sample: int) -> list[_Result]:
    """Check the keys of a store and its generations. Damage of the store itself is a problem too."""
    from graphkin.protocol.errors import StoreFormat
    from graphkin.protocol.generations import expand_id
    from graphkin.store import open_store

    try:
        with open_store(location) as store:
            collections = [store.collection(collection)] if collection else store.collections()
            return _check_keys(store) + [
                (entry.name, id, _find_problems(store, entry.name, id, sample))
                for entry in collections
                for id in ([expand_id(generation, entry.generations)] if generation else entry.generations)
            ]
    except StoreFormat as error:
        return [(None, None, [error.detail])]


def _check_keys(store: "Store") -> list[_Result]:
    """Return a result for the store if its API keys are damaged, else an empty list."""
    from graphkin.protocol.errors import StoreFormat

    try:
        store.keys().all()
    except StoreFormat as error:
        return [(None, None, [error.detail])]
    return []


def _find_problems(store: "Store", collection: str, generation: str, sample: int) -> list[str]:
    """Return the problems of a generation, or the reason why it could not be checked."""
    from graphkin.protocol.errors import GraphkinError, NotFound, StoreDamaged
    from graphkin.similarity.verify import verify as verify_generation

    try:
        with store.open(collection, generation) as reader:
            return verify_generation(reader, sample)
    except StoreDamaged as error:
        return [f"{error.damage.file}: {error.damage.problem}"]
    except NotFound:
        raise
    except Exception as error:
        message = error.detail if isinstance(error, GraphkinError) else f"{type(error).__name__}: {error}"
        return [f"the check failed: {message}"]
