"""`graphkin epochs`: write the positives of whole epochs as Parquet, so that training needs no server."""

from typing import TYPE_CHECKING, Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.cli.output import print_json, progress
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_SEED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphkin.export.epochs import EpochsPlan
    from graphkin.protocol.epochs import EpochPart, Epochs
    from graphkin.store.base import Generation

_MAX_EPOCHS = 1_000_000  # epochs per folder


class _EpochRange(click.ParamType[range]):
    """The type of an option for a range of epochs: FIRST:STOP without STOP, or STOP alone for epochs from 0."""

    name = "range of epochs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        first, separator, stop = str(value).rpartition(":")
        try:
            epochs = range(int(first) if separator else 0, int(stop))
        except ValueError:
            epochs = range(0)
        if not 0 <= epochs.start < epochs.stop <= MAX_SEED or epochs.stop - epochs.start > _MAX_EPOCHS:
            self.fail(f"FIRST:STOP with FIRST < STOP, or a number, of at most {_MAX_EPOCHS:,} epochs", param, ctx)
        return epochs


@command(
    examples=[
        (
            "Write the positives of epochs 0 to 9",
            "graphkin epochs --store s --collection m --policy first_order --epochs 0:10 --output positives",
        ),
        (
            "Train from them",
            (
                "graphkin pretrain --api http://127.0.0.1:8000 --collection m --strategy hgc-ho "
                "--epochs-from positives --output runs/hgc"
            ),
        ),
    ]
)
@options.source_generation
@option("--output", required=True, metavar="URL", panel="Output", help="New or empty folder, or URL, to write.")
@option(
    "--epochs",
    "epoch_range",
    type=_EpochRange(),
    required=True,
    metavar="FIRST:STOP",
    panel="Sampling",
    help="Range of epochs without STOP, or the number of epochs from 0.",
)
@options.seed
@options.sampling_policy
@option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    panel="Execution",
    help="local: this process; spark: Spark, from a lake.",
)
@options.master
@options.as_json
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
    as_json: bool,
) -> None:
    """Write the positives of whole epochs as Parquet files.

    The files epoch=EPOCH/part-NNNNN.parquet hold the rows of the API's positives/epochs/EPOCH. They are equal for the
    same generation, policy, seed and epoch. `graphkin pretrain --epochs-from` reads them instead of the server.

    The target is a folder, or a URL of S3, GCS, HDFS or another file system of fsspec. manifest.json is written last.
    If the command was interrupted, start it again: it writes the missing parts.
    """
    from graphkin.protocol.validation import parse_policy
    from graphkin.store import is_lake, open_export_folder, open_generation

    options.require_engine_options(engine, None, master)
    if engine == "spark" and not is_lake(store_location):
        raise InvalidInput(
            "--engine spark reads a lake",
            given=f"--store {store_location}",
            expected="--store with a lake: its folder, or a URL such as s3://...",
            hint="`graphkin export lake` writes a collection as a lake",
        )
    policy, export_folder = parse_policy(**policy_options), open_export_folder(output)
    from graphkin.export.epochs import EpochsPlan

    with open_generation(store_location, collection, generation) as reader:
        plan = EpochsPlan(export_folder, reader.collection, reader.id, reader.size, policy, seed, epoch_range)
        manifest = _write_by_spark(master, store_location, plan) if engine == "spark" else _write_locally(reader, plan)
    size = sum(part.bytes for part in manifest.parts)
    if as_json:
        print_json({"output": output, "generation": manifest.generation, "epochs": len(epoch_range), "bytes": size})
        return
    click.echo(
        f"{export_folder.display_url}: {len(epoch_range):,} epochs of {manifest.size:,} anchors, {size / 2**20:.1f} MiB"
    )


def _write_locally(reader: "Generation", plan: "EpochsPlan") -> "Epochs":
    from graphkin.export.epochs import write_epochs

    def sample(missing: list[int]) -> "Iterable[EpochPart]":
        sampler = reader.sampler()
        with progress().stage("epochs", len(missing), "parts") as advance:
            for number in missing:
                yield plan.write_part(sampler, number)
                advance(1)

    return write_epochs(plan, sample)


def _write_by_spark(master: str | None, lake: str, plan: "EpochsPlan") -> "Epochs":
    from graphkin.cli.runners import open_runner
    from graphkin.export.epochs import write_epochs
    from graphkin.ingest.stages.epochs import sample_parts
    from graphkin.runtime.files import absolute_location

    def sample(missing: list[int]) -> "Iterable[EpochPart]":
        with (
            open_runner("spark", None, master) as spark,
            progress().stage("epochs", len(missing), "parts") as advance,
        ):
            return sample_parts(spark, absolute_location(lake), plan, missing, advance)

    return write_epochs(plan, sample)
