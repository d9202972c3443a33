"""Report files: figures as JSON, charts as SVG, and a Markdown page."""

import json
from dataclasses import asdict

from studies.reports.chart import draw
from studies.reports.origin import Origin
from studies.reports.page import page
from studies.reports.report import Report


def files(name: str, report: Report, origin: Origin) -> dict[str, bytes]:
    """Return the content of NAME.json, NAME.svg and NAME.md by file name. The same report gives the same bytes."""
    figures = {
        "report": name,
        "title": report.title,
        **asdict(origin),
        "seeds": list(report.seeds),
        "measured": report.measured,
        "notes": list(report.notes),
    }
    return {
        f"{name}.json": json.dumps(figures, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n",
        f"{name}.svg": draw(report, origin),
        f"{name}.md": page(name, report, origin).encode(),
    }
