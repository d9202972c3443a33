"""`graphkin recall` and `graphkin verify`: how complete, and how sound, a hierarchy is."""

import json
from typing import Any

import click

from graphkin import options


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
    from ingest.recall import measure
    from store import open_store

    with open_store(store_location) as store, store.open(collection, generation) as opened:
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
@click.option("--collection", metavar="NAME", help="Collection.  [default: all]")
@options.generation
@click.option("--sample", type=click.IntRange(min=0), default=1_000, help="Items and edges to recompute with RDKit.")
@options.as_json
def verify(store_location: str, collection: str | None, generation: str | None, sample: int, as_json: bool) -> None:
    """Check checksums and content hashes, and recompute a random sample of edges with RDKit.

    Exits 1 if anything is wrong.
    """
    from ingest.verify import verify as verify_generation
    from store import open_store

    if generation and not collection:
        raise click.UsageError("--generation needs --collection")
    with open_store(store_location) as store:
        chosen = [store.collection(collection)] if collection else store.collections()
        checked = [
            (found.name, id, _problems(store, found.name, id, sample, verify_generation))
            for found in chosen
            for id in ([generation] if generation else found.generations)
        ]
    if as_json:
        click.echo(json.dumps([{"collection": c, "generation": g, "problems": problems} for c, g, problems in checked]))
    else:
        for name, id, problems in checked:
            click.echo(f"{name} {id}: {'whole' if not problems else f'{len(problems)} problems'}")
            for problem in problems:
                click.echo(f"  {problem}")
    if any(problems for *_, problems in checked):
        raise click.exceptions.Exit(1)


def _problems(store: Any, collection: str, generation: str, sample: int, verify_generation: Any) -> list[str]:
    from store.errors import StoreFormat

    try:
        with store.open(collection, generation) as opened:
            problems: list[str] = verify_generation(opened, sample)
            return problems
    except StoreFormat as error:
        return [error.detail]
