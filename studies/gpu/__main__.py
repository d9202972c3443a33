"""`python -m studies.gpu`: prepared jobs for short periods of GPU time."""

import os
import time
from pathlib import Path

import click

_WORK = Path(__file__).with_name("work")
_RESERVE = 20.0  # seconds before the end, when pieces stop


@click.group()
def gpu() -> None:
    """Use the minutes of a GPU: prepared jobs that stop in time and continue in a later run."""


@gpu.command("list")
def list_jobs() -> None:
    """Show each job: its result, the minutes it takes, how much is done, on which card and when."""
    from studies.gpu.readme import table

    click.echo(table(), nl=False)


@gpu.command()
@click.argument("job", nargs=-1)
def pack(job: tuple[str, ...]) -> None:
    """Fill studies/gpu/payload with wheels, and the data of each JOB, by default of all.

    Needs ../shared/data and a package registry.
    """
    from studies.gpu.jobs import JOBS
    from studies.gpu.payload import LIMIT, PAYLOAD, pack, travelling

    for name in job:
        _require_job(name)
    size = pack([JOBS[name] for name in job or JOBS])
    click.echo(f"{PAYLOAD}: {size / 1e6:.1f} MB of {LIMIT / 1e6:.0f} MB")
    click.echo(f"with the repository {(size + travelling()) / 2**20:.1f} MiB, of which 64 can travel")


@gpu.command()
@click.argument("job")
@click.option(
    "--minutes", type=click.FloatRange(min=0.5), default=8.0, show_default=True, help="Stop before they are over."
)
@click.option("--tiny", is_flag=True, help="A few hundred molecules and a few steps, on a CPU.")
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="What comes back."
)
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    default=_WORK,
    metavar="DIR",
    help="Data and unfinished runs.  [default: studies/gpu/work]",
)
@click.option("--unit", "units", multiple=True, help="Do only these units, for example strategies.")
@click.option("--part", "parts", multiple=True, help="Do only these parts of them.")
def run(
    job: str, minutes: float, tiny: bool, output: Path, work: Path, units: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    """Do as much of JOB as the minutes allow, and continue where an earlier run stopped."""
    begin = time.time()
    if tiny:
        os.environ["TRITON_INTERPRET"] = "1"  # without a GPU, kernels can only be interpreted
    from studies.gpu.jobs import JOBS
    from studies.gpu.payload import unpack
    from studies.gpu.setting import Setting, device, select, workers

    _require_job(job)
    deadline = begin + max(minutes * 60 - _RESERVE, minutes * 30)
    setting = Setting(work.absolute() / ("tiny" if tiny else "full"), device(tiny), workers(), deadline, tiny)
    unpack(setting, JOBS[job])
    from studies.gpu.runner import Runner

    pieces = select(JOBS[job].program().pieces(setting), units, parts)
    if not pieces:
        raise click.BadParameter(f"{job} has no such units and parts", param_hint="--unit, --part")
    if not Runner(JOBS[job], setting, output).run(pieces):
        raise SystemExit(1)
    click.echo(f"{output}: {minutes - (time.time() - begin) / 60:.1f} of {minutes:g} minutes are left")


@gpu.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR")
def collect(folder: Path) -> None:
    """Merge what came back in DIR into studies/results, and print what is left to do."""
    from studies.gpu import readme
    from studies.gpu.collect import collect
    from studies.gpu.jobs import JOBS

    job = collect(folder)
    readme.PAGE.write_text(readme.page(), encoding="utf-8")
    click.echo(f"merged the results of {job}")
    for remaining_job in JOBS.values():
        progress = readme.state(remaining_job)
        click.echo(f"{remaining_job.name}: {progress.missing} of {progress.of} are left")


def _require_job(name: str) -> None:
    from studies.gpu.jobs import JOBS

    if name not in JOBS:
        raise click.BadParameter(f"{name!r} is no job: give {', '.join(JOBS)}", param_hint="JOB")


if __name__ == "__main__":
    gpu(prog_name="python -m studies.gpu")
