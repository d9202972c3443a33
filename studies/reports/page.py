"""Report as Markdown: tables, chart, notes and origin."""

from collections.abc import Sequence

from studies.reports.origin import Origin
from studies.reports.report import Report, Spread, Table


def page(name: str, report: Report, origin: Origin) -> str:
    """Return the content of NAME.md, which shows NAME.svg."""
    return "\n\n".join(
        [
            f"# {report.title}",
            f"![{report.title}]({name}.svg)",
            *map(table, report.tables),
            *report.notes,
            _provenance(report, origin),
        ]
    )


def table(source: Table) -> str:
    """Return the title and the rows of a table as Markdown."""
    lines = [source.columns, ["---"] * len(source.columns), *(list(map(_cell, row)) for row in source.rows)]
    return "\n".join([f"{source.title}:", "", *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: str | int | float | Spread | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _provenance(report: Report, origin: Origin) -> str:
    seeds = ", ".join(map(str, report.seeds)) or "none"
    return (
        f"Made by `{origin.command}` (graphkin {origin.graphkin}; seeds: {seeds}) of the {origin.items:,} items and "
        f"{origin.edges:,} edges of `{origin.collection}`, generation `{origin.generation}`.\n"
    )
