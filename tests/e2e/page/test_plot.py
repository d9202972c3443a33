"""Plots of all items: brushing, filters, clusters, pairs and files."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

Look = Callable[..., None]

URL = "/v1/collections/series"
PADDING = 0.03  # Share of an axis that is empty at each end.


@pytest.fixture(scope="module")
def frame(api: httpx.Client) -> pd.DataFrame:
    reply = api.get(f"{URL}/export", params={"what": "items", "format": "csv"})
    return pd.read_csv(io.StringIO(reply.text))


def drag(page: Page, target: Locator, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag from one point of a canvas to another one, both as fractions of its width and of its height upward."""
    box = target.bounding_box()
    assert box is not None
    points = [(box["x"] + box["width"] * x, box["y"] + box["height"] * (1 - y)) for x, y in (begin, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=3)
    page.mouse.up()


def fractions(values: pd.Series) -> pd.Series:
    """Return where values lie on their axis."""
    span = values.max() - values.min()
    return (values - values.min() + PADDING * span) / (span * (1 + 2 * PADDING))


def count_of(region: Locator) -> int:
    return int(region.inner_text().split()[0].replace(",", ""))


def test_scatter_plot_brushes_items_of_all_views(page: Page, frame: pd.DataFrame, look: Look, tmp_path: Path) -> None:
    page.goto("/?collection=series")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Plot", exact=True).click()
    page.get_by_role("combobox", name="X", exact=True).select_option("pKi")
    page.get_by_role("combobox", name="Y", exact=True).select_option("Ki nM")
    page.get_by_role("combobox", name="Color by").select_option("pKi")
    page.get_by_role("heading", name="Ki (nM) against pKi").wait_for()
    expect(page.get_by_role("checkbox", name="log scale of Y")).to_be_checked()  # Concentrations span decades.
    canvas = page.get_by_role("application", name=f"Scatter plot of {len(frame)} items")
    page.get_by_role("button", name="Rectangle").click()
    drag(page, canvas, (0.25, 0.3), (0.5, 0.99))
    x, y = fractions(frame["pKi"]), fractions(np.log10(frame["Ki nM"]))
    expected = int((x.between(0.25, 0.5) & y.between(0.3, 0.99)).sum())
    bar = page.get_by_role("complementary", name="Brushed items")
    expect(bar).to_contain_text("brushed")
    assert abs(count_of(bar) - expected) <= 1 < expected  # The pointer is at a whole pixel.
    count = count_of(bar)
    look(page, "plot with brushed items")

    with page.expect_download() as saved:
        page.get_by_role("main").get_by_text("Download", exact=True).click()
        page.get_by_role("button", name="Plot as SVG").click()
    saved.value.save_as(tmp_path / "plot.svg")
    svg = (tmp_path / "plot.svg").read_text()
    assert svg.count("<circle") == len(frame)
    assert "Ki (nM), logarithmic" in svg
    with page.expect_download() as saved:
        page.get_by_role("button", name="Plot as PNG").click()
    saved.value.save_as(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    page.keyboard.press("Escape")
    bar.get_by_text("Download", exact=True).click()
    with page.expect_download() as saved:
        bar.get_by_role("button", name="CSV").click()
    assert len(pd.read_csv(saved.value.path())) == count
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Table", exact=True).click()
    expect(page.locator("tr.brushed").first).to_be_visible()
    page.go_back()
    canvas.wait_for()
    bar.get_by_role("link", name="Show in table").click()
    expect(page.get_by_text(f"{count} items", exact=True).first).to_be_visible()

    page.locator(".item").first.click()  # A brushed compound, and its neighbors as a graph.
    page.get_by_role("radio", name="Graph").check()
    expect(page.get_by_text("brushed, and the others are faded")).to_be_visible()


def test_histogram_and_boxes_agree_with_the_export(page: Page, api: httpx.Client, frame: pd.DataFrame) -> None:
    page.goto("/?collection=series&part=plot&plot=histogram&x=pKi")
    bars = page.get_by_role("button", name=re.compile(r"^pKi .*items$"))
    bars.first.wait_for()
    counts = [
        int(label.split(": ")[1].split()[0]) for label in bars.evaluate_all("all => all.map((each) => each.ariaLabel)")
    ]
    assert sum(counts) == len(frame)
    bars.nth(3).click()
    bar = page.get_by_role("complementary", name="Brushed items")
    expect(bar).to_contain_text(f"{counts[3]} items brushed")

    page.get_by_role("link", name="Box by cluster").click()
    page.get_by_role("combobox", name="Property").select_option("pKi")
    boxes = page.get_by_role("button", name=re.compile("^(All items|Cluster)"))
    expect(boxes).to_have_count(13)
    cluster = api.get(f"{URL}/clusters/1", params={"limit": 1000}).json()
    members = frame.set_index("id")["pKi"][[item["id"] for item in cluster["items"]]]
    label = boxes.nth(1).get_attribute("aria-label") or ""
    summary = re.search(r"(\d+) items, median ([\d.]+), quartiles ([\d.]+) and ([\d.]+)$", label)
    assert summary is not None, label
    assert [float(text) for text in summary.groups()] == [len(members), *members.quantile([0.5, 0.25, 0.75]).round(3)]
    expect(page.get_by_text(f"Butina clusters at {cluster['threshold']:.2f}: the 12 largest")).to_be_visible()
    boxes.nth(1).press("Enter")
    expect(bar).to_contain_text(f"{len(members)} items brushed")


def test_pairs_are_plotted_by_similarity_and_difference(page: Page, api: httpx.Client, frame: pd.DataFrame) -> None:
    edges = pd.read_csv(io.StringIO(api.get(f"{URL}/export", params={"what": "edges", "format": "csv"}).text))
    condition = json.dumps(["pKi", 7, None])
    page.goto(f"/?collection=series&part=plot&plot=pairs&y=pKi&min_similarity=0.6&filter={condition}")
    kept = set(frame["id"][frame["pKi"] >= 7])
    expected = edges[(edges["similarity"] >= 0.6) & edges["source"].isin(kept) & edges["target"].isin(kept)]
    page.get_by_text(f"{len(expected):,} pairs of neighbors with similarity ≥ 0.60", exact=True).wait_for()
    canvas = page.get_by_role("application")
    values = frame.set_index("id")["pKi"]
    difference = np.abs(values[expected["source"]].to_numpy() - values[expected["target"]].to_numpy())
    steepest = int(difference.argmax())
    box = canvas.bounding_box()
    assert box is not None
    x = fractions(expected["similarity"]).iloc[steepest] * box["width"]
    y = (1 - fractions(pd.Series(difference)).iloc[steepest]) * box["height"]
    canvas.click(position={"x": float(x), "y": float(y)})
    card = page.get_by_role("complementary", name="Point")
    expect(card.get_by_role("img")).to_have_count(2)
    page.get_by_role("button", name="Brush visible").click()
    bar = page.get_by_role("complementary", name="Brushed items")
    expect(bar).to_contain_text(f"{len({*expected['source'], *expected['target']})} items brushed")


def test_rectangle_becomes_a_filter(page: Page, frame: pd.DataFrame) -> None:
    page.goto("/?collection=series&part=plot&x=pKi&y=Ki%20nM")
    canvas = page.get_by_role("application", name=f"Scatter plot of {len(frame)} items")
    canvas.press("+")
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="Rectangle").click()
    drag(page, canvas, (0.25, 0.05), (0.5, 0.99))
    bar = page.get_by_role("complementary", name="Brushed items")
    expect(bar).to_contain_text("brushed")
    count = count_of(bar)
    page.get_by_role("button", name="Filter to this rectangle").click()
    page.get_by_role("application", name=f"Scatter plot of {count} items").wait_for()
    assert page.url.count("filter=") == 2
    expect(bar).not_to_contain_text("brushed")
