"""`python -m studies.report`: the paper's analyses of a collection, each as figures, picture and page."""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from graphkin.cli import options, run

if TYPE_CHECKING:
    from graphkin.store.base import Generation
    from graphkin.trainer.pretraining.masking import LossOver, Score
    from studies.reports.report import Report

Command = TypeVar("Command", bound=Callable[..., Any])

_SCORES = ["softmax", "one_minus_ce", "kl"]

_output = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    default=Path(),
    show_default="the current folder",
    help="Folder for the files, made if it is missing; those of an earlier report are replaced.",
)
_targets = click.option("--targets", type=click.IntRange(1), default=1_000, help="Random items of a run.")
_runs = click.option("--runs", type=click.IntRange(1), default=3, help="Runs, each with the next seed.")
_seed = click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the first run.")


def _sampling_options(command: Command) -> Command:
    """Add --targets, --runs and --seed, which choose the random items of a report."""
    return _targets(_runs(_seed(command)))


@click.group(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
def report() -> None:
    """Make one of the paper's analyses of a collection: figures, picture and page.

    Writes NAME.json, NAME.svg and NAME.md and prints the tables. The same command gives the same files.
    """


@report.command()
@options.source_generation
@_sampling_options
@click.option("--max-hops", type=click.IntRange(1), default=6, help="Hops to go.")
@_output
def hops(max_hops: int, targets: int, runs: int, seed: int, **where: Any) -> None:
    """Similarity against exact hops, beside random pairs (the paper's figure 4)."""

    def make(generation: "Generation") -> "Report":
        from studies.reports import hops

        return hops.report(generation, targets, runs, seed, max_hops)

    _write(make, **where)


@report.command()
@options.source_generation
@_sampling_options
@click.option(
    "--samples",
    type=click.IntRange(1, 64),
    multiple=True,
    default=(3, 5, 10),
    help="Draws for a target; again for more.",
)
@_output
def orders(samples: tuple[int, ...], targets: int, runs: int, seed: int, **where: Any) -> None:
    """Positives of the first order against those of the second (table 19)."""

    def make(generation: "Generation") -> "Report":
        from studies.reports import orders

        return orders.report(generation, targets, samples, runs, seed)

    _write(make, **where)


@report.command()
@options.source_generation
@_sampling_options
@click.option(
    "--threshold",
    "thresholds",
    type=click.FloatRange(0, 1, min_open=True),
    multiple=True,
    default=(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    help="Similarity that counts; again for more. The stored one is measured too.",
)
@_output
def recall(thresholds: tuple[float, ...], targets: int, runs: int, seed: int, **where: Any) -> None:
    """What the published window rule finds of all similar pairs."""

    def make(generation: "Generation") -> "Report":
        from studies.reports import recall

        return recall.report(generation, targets, thresholds, runs, seed)

    _write(make, **where)


@report.command()
@options.source_generation
@_targets
@click.option(
    "--same",
    metavar="PROPERTY",
    help="What true positives share.  [default: molecules the Bemis-Murcko scaffold, others the property label]",
)
@_seed
@_output
def theory(same: str | None, targets: int, seed: int, **where: Any) -> None:
    """Posterior, risk and gap at every threshold, by the collection's own densities (B.3, B.5)."""

    def make(generation: "Generation") -> "Report":
        from studies.reports import theory

        return theory.report(generation, targets, same, seed)

    _write(make, **where)


@report.command()
@options.source_generation
@_sampling_options
@_output
def augmentations(targets: int, runs: int, seed: int, **where: Any) -> None:
    """Damaged copies: legality and similarity (figures 1, 5 and 6, tables 13 to 15)."""

    def make(generation: "Generation") -> "Report":
        from studies.reports import augmentations

        return augmentations.report(generation, targets, runs, seed)

    _write(make, **where)


@report.command()
@options.source_generation
@click.option("--molecules", type=click.IntRange(2), default=20_000, help="Random molecules to train on.")
@click.option(
    "--steps",
    "ends",
    type=click.IntRange(1),
    multiple=True,
    default=(400, 800, 1200, 1600),
    help="Where a bin of training steps ends; again, ascending, for more. The last is how long a run is.",
)
@click.option("--times", type=click.IntRange(1), multiple=True, default=(5,), help="Masking steps T; again for more.")
@click.option("--score", "scores", type=click.Choice(_SCORES), multiple=True, default=("softmax", "kl"))
@click.option("--loss", "losses", type=click.Choice(["all", "masked"]), multiple=True, default=("all",))
@click.option("--batch-size", type=click.IntRange(2), default=256, help="Molecules of a step.")
@click.option("--bf16", is_flag=True, help="Autocast to bfloat16.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where to train.")
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep runs there after every epoch: the same command goes on where it was killed.",
)
@_runs
@_seed
@_output
def masks(
    molecules: int,
    ends: tuple[int, ...],
    times: tuple[int, ...],
    scores: "tuple[Score, ...]",
    losses: "tuple[LossOver, ...]",
    batch_size: int,
    bf16: bool,
    device: str,
    work: Path | None,
    runs: int,
    seed: int,
    **where: Any,
) -> None:
    """Distances between masked atoms while AdaM trains, beside uniform masks (table 17).

    Trains a model for every score, loss, T and run: hours, where the defaults are many steps for the machine.
    """
    if list(ends) != sorted({*ends}):
        raise click.BadParameter("give them in ascending order", param_hint="--steps")

    def make(generation: "Generation") -> "Report":
        from graphkin.ingest.progress_bars import terminal_progress
        from studies.reports import masks

        kinds = masks.kinds_of_masks(times, losses, scores)
        training = masks.Training(ends, batch_size, bf16, device, work)
        return masks.report(generation, molecules, kinds, training, runs, seed, terminal_progress().stage)

    _write(make, **where)


def _write(
    make: "Callable[[Generation], Report]", store_location: str, collection: str, generation: str | None, output: Path
) -> None:
    """Make the report named after the current command, write its files and print its tables."""
    from graphkin.store import open_generation
    from studies.reports.document import files  # fails without matplotlib, before anything is measured
    from studies.reports.origin import Origin
    from studies.reports.page import table

    context = click.get_current_context()
    name = str(context.info_name)
    with open_generation(store_location, collection, generation) as opened:
        report_made = make(opened)
        contents = files(name, report_made, Origin.from_generation(opened, _command(context)))
    _keep(contents, output)
    click.echo("\n\n".join(map(table, report_made.tables)))
    click.echo(f"\n{', '.join(str(output / file) for file in contents)}")


def _command(context: click.Context) -> str:
    """Return the command line with all options that the user gave, except the output folder."""
    words = context.command_path.split()
    for option in context.command.params:
        name = str(option.name)
        if name != "output" and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            value_given = context.params[name]
            words += [
                word
                for value in (value_given if option.multiple else [value_given])
                for word in (option.opts[-1], str(value))
            ]
    return shlex.join(words)


def _keep(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write each file atomically.

    Raises:
        InvalidInput: the files cannot be written.
    """
    from graphkin.cli.output import atomic_file
    from graphkin.protocol.errors import InvalidInput

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make the folder: {error}", given=str(folder), expected="a writable path") from error
    for name, content in contents.items():
        with atomic_file(folder / name) as file:
            file.write(content)


def main(arguments: list[str]) -> int:
    """Run the command line and return the exit code, as `graphkin.cli.run` does."""
    return run(arguments, report, "python -m studies.report")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
