"""`graphkin recall` and `graphkin verify`: measure the completeness and check the integrity of a similarity graph."""

import json
from typing import TYPE_CHECKING

import click

from graphkin.cli import options

if TYPE_CHECKING:
    from graphkin.store.base import Store


@click.command()
@options.reading
@click.option("--rule", type=click.Choice(["window"]), help="Candidate rule to measure.  [default: the stored edges]")
@click.option("--sample", type=click.IntRange(min=1), default=1_000, help="Random items to measure.")
@click.option("--threshold", type=float, help="Similarity that counts.  [default: the stored threshold]")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the sample.")
@options.as_json
def recall(
    store_location: str,
    collection: str,
    generation: str | None,
    rule: str | None,
    sample: int,
    threshold: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure which share of all similar pairs a rule, or the stored hierarchy, finds."""
    from graphkin.similarity.recall import measure
    from graphkin.store import open_generation

    with open_generation(store_location, collection, generation) as opened:
        measured = measure(opened, "window" if rule else None, sample, threshold, seed)
        answer = {"generation": opened.id, **measured.as_dict()}
    if as_json:
        click.echo(json.dumps(answer))
        return
    share = "none exist" if measured.recall is None else f"{measured.recall:.2%}"
    click.echo(f"{measured.rule} at {measured.threshold:g}, {measured.sample:,} items sampled")
    click.echo(f"  recall          {share} ({measured.found_pairs:,} of {measured.exact_pairs:,} pairs)")
    for label, values in (("mean degree", measured.mean_degree), ("isolated share", measured.isolated_share)):
        click.echo(f"  {label:15} {values['found']:.3f} (exact: {values['exact']:.3f})")


@click.command()
@options.store
@options.one_or_all
@options.generation
@click.option("--sample", type=click.IntRange(min=0), default=1_000, help="Items and edges to recompute with RDKit.")
@options.as_json
def verify(store_location: str, collection: str | None, generation: str | None, sample: int, as_json: bool) -> None:
    """Check checksums and content hashes, and recompute a random sample of edges with RDKit.

    Exits 1 if anything is wrong: it is reported, whatever it is.
    """
    if generation and not collection:
        raise click.UsageError("--generation needs --collection")
    checked = _checked(store_location, collection, generation, sample)
    if as_json:
        click.echo(json.dumps([{"collection": c, "generation": g, "problems": problems} for c, g, problems in checked]))
    else:
        for name, id, problems in checked:
            subject = "the store" if name is None else f"{name} {id}"
            click.echo(f"{subject}: {'whole' if not problems else f'{len(problems)} problems'}")
            for problem in problems:
                click.echo(f"  {problem}")
    if any(problems for *_, problems in checked):
        raise click.exceptions.Exit(1)


_Checked = tuple[str | None, str | None, list[str]]
"""A collection, a generation and its problems. The first two are None for problems of the store itself."""


def _checked(location: str, collection: str | None, generation: str | None, sample: int) -> list[_Checked]:
    from graphkin.protocol.errors import StoreFormat
    from graphkin.protocol.generations import begun_with
    from graphkin.store import open_store

    try:
        with open_store(location) as store:
            chosen = [store.collection(collection)] if collection else store.collections()
            return _keys_checked(store) + [
                (found.name, id, _problems(store, found.name, id, sample))
                for found in chosen
                for id in ([begun_with(generation, found.generations)] if generation else found.generations)
            ]
    except StoreFormat as error:
        return [(None, None, [error.detail])]


def _keys_checked(store: "Store") -> list[_Checked]:
    """Return the problem of the API keys of the store, if they are damaged."""
    from graphkin.protocol.errors import StoreFormat

    try:
        store.keys().all()
    except StoreFormat as error:
        return [(None, None, [error.detail])]
    return []


def _problems(store: "Store", collection: str, generation: str, sample: int) -> list[str]:
    from graphkin.protocol.errors import GraphkinError, NotFound, StoreDamaged
    from graphkin.similarity.verify import verify as verify_generation

    try:
        with store.open(collection, generation) as opened:
            return verify_generation(opened, sample)
    except StoreDamaged as error:
        return [f"{error.damage.file}: {error.damage.problem}"]
    except NotFound:
        raise
    except Exception as error:
        told = error.detail if isinstance(error, GraphkinError) else f"{type(error).__name__}: {error}"
        return [f"the check failed: {told}"]
