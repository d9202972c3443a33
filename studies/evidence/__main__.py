"""`python -m studies.evidence --plan 2`: measure the missing cells of the second evidence plan."""

import os
import sys
from pathlib import Path

import click

from studies.evidence.options import cells_option


@click.command(context_settings={"show_default": True})
@click.option(
    "--plan", type=click.Choice(["2"]), required=True, expose_value=False, help="The plan: studies/evidence-plan-2.md."
)
@click.option("--arms", default="", show_default="all", metavar="A,B", help="Arms to measure.")
@click.option("--seeds", type=click.IntRange(1), default=3, metavar="N", help="Number of pre-training seeds.")
@click.option("--sets", default="", show_default="all", metavar="A,B", help="Data sets to score.")
@click.option("--tiny", is_flag=True, help="A few hundred molecules and a few steps. This measures nothing.")
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("evidence/plan-2"),
    metavar="DIR",
    help="Molecules, checkpoints and encoders, which must be kept.",
)
@cells_option
def evidence(arms: str, seeds: int, sets: str, tiny: bool, work: Path, cells: Path) -> None:
    """Measure the missing cells of the second evidence plan, in its order.

    The command continues where an earlier one was stopped. A stopped command loses one cell at most, or 100 steps of a
    training. Several of these commands can run at the same time. Missing cells need ../shared/data.
    """
    work, cells = work.absolute(), cells.absolute()
    if tiny:
        os.environ["GRAPHKIN_SHARED"] = str(work / "tiny" / "data")
    from studies.downstream.sets import DATA
    from studies.evidence.arms import ARMS
    from studies.evidence.measured import SETS, Cells
    from studies.evidence.plan import TINY_SETS, Plan
    from studies.evidence.tasks import run_tasks, summary
    from studies.gpu.setting import Setting, workers
    from studies.gpu.tiny import write_data

    setting = Setting(work / ("tiny" if tiny else "full"), "cpu", workers(), float("inf"), tiny)
    if tiny and not setting.data.exists():
        write_data(setting)
    if not DATA.is_dir():
        raise click.ClickException(f"{DATA} is missing: there is nothing to score on")
    selected_arms = _names("--arms", arms, tuple(ARMS))
    selected_sets = _names("--sets", sets, TINY_SETS if tiny else tuple(SETS))
    selection = Plan(setting, Cells(cells), selected_arms, range(seeds), selected_sets)
    try:
        tasks = run_tasks(selection.tasks, work / "locks")
    except KeyboardInterrupt:
        click.echo("stopped: the same command continues", err=True)
        sys.exit(130)
    for line in summary(tasks):
        click.echo(line)


def _names(option: str, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in a list with commas, or all known ones if it is empty.

    Raises:
        click.BadParameter: a name is unknown.
    """
    names = tuple(filter(None, text.split(",")))
    if unknown := sorted(set(names) - set(known)):
        raise click.BadParameter(f"{', '.join(unknown)}: give {', '.join(known)}", param_hint=option)
    return names or known


if __name__ == "__main__":
    evidence(prog_name="python -m studies.evidence")
