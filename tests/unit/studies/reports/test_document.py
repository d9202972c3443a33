"""The files of a report: JSON with its origin, SVG with text, and a page, with reproducible bytes."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from studies.reports.document import files
from studies.reports.origin import Origin
from studies.reports.report import Chart, Level, Line, Report, Spread, Table

ORIGIN = Origin(
    "c", "0f" * 32, "molecule", 1234, 7, {"threshold": 0.4}, "python -m studies.report x --store a$b$c", "0.2.0"
)
SPREADS = [Spread.from_values([0.25, 0.75]), Spread.from_values([0.5, 0.5])]


def report() -> Report:
    chart = Chart(
        "rises", "hops", "similarity", [Line.from_spreads("measured", [1, 2], SPREADS)], [Level("random", 0.1)]
    )
    other = Chart("falls", "ratio", "legal", [Line("molecules", [0.1, 0.2], [1.0, 0.5])])
    table = Table("Numbers", ["what", "how much"], [["a", 1234], ["b", 0.5], ["c", None], ["d", SPREADS[0]]])
    return Report("A title", [3, 4], {"mean": 0.5}, [chart, other], [table], ["A note."])


def test_json_names_the_origin_of_the_report() -> None:
    document = json.loads(files("x", report(), ORIGIN)["x.json"])
    assert (document["report"], document["seeds"], document["measured"], document["notes"]) == (
        "x",
        [3, 4],
        {"mean": 0.5},
        ["A note."],
    )
    assert (document["collection"], document["generation"], document["command"]) == (
        "c",
        ORIGIN.generation,
        ORIGIN.command,
    )
    assert (document["items"], document["edges"], document["recipe"], document["graphkin"]) == (
        1234,
        7,
        {"threshold": 0.4},
        "0.2.0",
    )


def test_svg_shows_charts_as_text() -> None:
    root = ElementTree.fromstring(files("x", report(), ORIGIN)["x.svg"])
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    content = " ".join(texts)
    for text in ("rises", "falls", "measured", "molecules", "random", "similarity", ORIGIN.command, "seeds: 3, 4"):
        assert text in content
    assert f"c (1,234 items, 7 edges), generation {ORIGIN.generation}" in content


def test_page_shows_tables_notes_and_origin() -> None:
    page = files("x", report(), ORIGIN)["x.md"].decode()
    assert "| what | how much |\n| --- | --- |\n| a | 1,234 |\n| b | 0.5000 |\n| c | – |\n" in page
    assert "| d | 0.5000 ± 0.3536 |\n" in page
    for text in ("# A title", "![A title](x.svg)", "A note.", f"`{ORIGIN.command}`", ORIGIN.generation):
        assert text in page


def test_files_of_a_report_are_reproducible() -> None:
    assert files("x", report(), ORIGIN) == files("x", report(), ORIGIN)


@pytest.mark.parametrize("values", [[0.2, 0.3, 0.7], [1, 5], [0.5]])
def test_spread_has_mean_and_sample_deviation(values: list[float]) -> None:
    spread = Spread.from_values(values)
    assert spread.mean == pytest.approx(np.mean(values))
    assert spread.deviation == (pytest.approx(np.std(values, ddof=1)) if len(values) > 1 else None)
