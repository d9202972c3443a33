"""`python -m studies.evidence.report`: write the page and the figures of tier 1 from the measured cells."""

from pathlib import Path

import click

from studies.evidence.options import cells_option

_DOCS = Path(__file__).parents[2] / "docs"
PAGE = _DOCS / "about" / "measurements" / "evidence-tier-1.md"


@click.command()
@click.option("--ended", is_flag=True, help="The study has ended: report incomplete outcomes, without tests.")
@cells_option
@click.option(
    "--docs",
    type=click.Path(path_type=Path, file_okay=False),
    default=_DOCS,
    show_default="docs",
    metavar="DIR",
    help="Where the page and the figure are written.",
)
def report(ended: bool, cells: Path, docs: Path) -> None:
    """Write the page and the figures of tier 1 from the measured cells. It needs no other data."""
    from studies.evidence.figures import draw, draw_residuals
    from studies.evidence.measured import Cells
    from studies.evidence.outcomes import decision_dose
    from studies.evidence.page import FIGURE, RESIDUALS, Report

    made = Report(Cells(cells), decision_dose(), ended)
    page = docs / PAGE.relative_to(_DOCS)
    for folder in (page.parent, docs / "assets"):
        folder.mkdir(parents=True, exist_ok=True)
    page.write_text(made.page(), encoding="utf-8")
    click.echo(f"wrote {page}")
    if groups := made.figure_groups():
        (docs / "assets" / FIGURE).write_bytes(draw(groups))
        (docs / "assets" / RESIDUALS).write_bytes(draw_residuals(made.residual_groups()))
        click.echo(f"wrote {FIGURE} and {RESIDUALS} in {docs / 'assets'}")


if __name__ == "__main__":
    report(prog_name="python -m studies.evidence.report")
