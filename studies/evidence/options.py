"""The option that the commands of the second evidence plan share."""

from pathlib import Path

import click

CELLS = Path(__file__).parents[1] / "results" / "evidence"
"""Folder of the measured cells."""

cells_option = click.option(
    "--cells",
    type=click.Path(path_type=Path, file_okay=False),
    default=CELLS,
    show_default="studies/results/evidence",
    metavar="DIR",
    help="Measured cells.",
)
