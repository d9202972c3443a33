"""`graphkin epochs`: write the positives of whole epochs as Parquet, so that training needs no server."""

from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.protocol.values import MAX_SEED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphkin.export.epochs import EpochsPlan
    from graphkin.protocol.epochs import EpochPart, Epochs
    from graphkin.store.base import Generation

_MAX_EPOCHS = 1_000_000  # epochs per folder


class _EpochRange(click.ParamType[range]):
    """The type of an option for a range of epochs: FIRST:STOP, or a count of epochs from 0."""

    name = "range of epochs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        first, separator, stop = str(value).rpartition(":")
        try:
            epochs = range(int(first) if separator else 0, int(stop))
        except ValueError:
            epochs = range(0)
        if not 0 <= epochs.start < epochs.stop <= MAX_SEED or epochs.stop - epochs.start > _MAX_EPOCHS:
            self.fail(
                f"{value!r} is not FIRST:STOP with FIRST < STOP, or a count; at most {_MAX_EPOCHS:,} epochs", param, ctx
            )
        return epochs


@click.command()
@options.source_generation
@click.option("--output", required=True, metavar="URL", help="Where to write them; new or empty. A folder or a URL.")
@click.option(
    "--epochs",
    "epoch_range",
    type=_EpochRange(),
    required=True,
    metavar="FIRST:STOP",
    help="Epochs, or how many from 0 on.",
)
@options.seed
@options.sampling_policy
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    help="What draws: this machine, or Spark, from a lake.",
)
@options.master
def epochs(
    store_location: str,
    collection: str,
    generation: str | None,
    output: str,
    epoch_range: range,
    seed: int,
    policy_options: dict[str, Any],
    engine: str,
    master: str | None,
) -> None:
    """Draw the positives of every anchor in some epochs, and write them as Parquet files.

    They hold the rows of the API's positives/epochs/EPOCH, equal for the same generation, policy, seed and epoch, in
    epoch=EPOCH/part-NNNNN.parquet. They lie in a folder, or on S3, GCS, HDFS or whatever else fsspec knows, and there
    is no manifest.json until all are written. The same command, started again, goes on with the parts that are missing.
    `graphkin pretrain --epochs-from` reads them instead of asking the server.
    """
    from graphkin.protocol.validation import parse_policy
    from graphkin.store import is_lake, open_export_folder, open_generation

    options.require_engine_options(engine, None, master)
    if engine == "spark" and not is_lake(store_location):
        raise click.UsageError(
            "--engine spark reads a lake: give its URL (file:///..., s3://...) as --store. "
            "`graphkin export lake` writes one of a collection."
        )
    policy, export_folder = parse_policy(**policy_options), open_export_folder(output)
    from graphkin.export.epochs import EpochsPlan

    with open_generation(store_location, collection, generation) as reader:
        plan = EpochsPlan(export_folder, reader.collection, reader.id, reader.size, policy, seed, epoch_range)
        manifest = _write_by_spark(master, store_location, plan) if engine == "spark" else _write_locally(reader, plan)
    size = sum(part.bytes for part in manifest.parts)
    click.echo(
        f"{export_folder.display_url}: {len(epoch_range):,} epochs of {manifest.size:,} anchors, {size / 2**20:.1f} MiB"
    )


def _write_locally(reader: "Generation", plan: "EpochsPlan") -> "Epochs":
    from graphkin.export.epochs import write_epochs
    from graphkin.ingest.progress_bars import terminal_progress

    def sample(missing: list[int]) -> "Iterable[EpochPart]":
        sampler = reader.sampler()
        with terminal_progress().stage("epochs", len(missing), "parts") as advance:
            for task in missing:
                yield plan.write_part(sampler, task)
                advance(1)

    return write_epochs(plan, sample)


def _write_by_spark(master: str | None, lake: str, plan: "EpochsPlan") -> "Epochs":
    from graphkin.cli.runners import open_runner
    from graphkin.export.epochs import write_epochs
    from graphkin.ingest.progress_bars import terminal_progress
    from graphkin.ingest.stages.epochs import sample_parts

    def sample(missing: list[int]) -> "Iterable[EpochPart]":
        with (
            open_runner("spark", None, master) as spark,
            terminal_progress().stage("epochs", len(missing), "parts") as advance,
        ):
            return sample_parts(spark, lake, plan, missing, advance)

    return write_epochs(plan, sample)
