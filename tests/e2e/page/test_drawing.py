"""The canvas of the graph, drawn by Cytoscape.js: edges, a path, and node backgrounds in the colors of the clusters."""

import io
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}&view=graph"
EDGE = {"light": (128, 138, 148), "dark": (125, 135, 145)}
ACCENT = (10, 106, 143)
LARGEST = (0, 114, 178)  # Color of a cluster.
PALE = (191, 220, 236)  # The lighter color of the same cluster behind structures.

LABELS = """() => {
    const { cy } = document.querySelector(".canvas")._cyreg;
    const { x1, x2, y1, y2 } = cy.extent();
    const seen = cy.nodes().filter((node) => {
        const { x, y } = node.position();
        return x > x1 && x < x2 && y > y1 && y < y2;
    });
    return seen.map((node) => (node.style("label") ? parseFloat(node.style("font-size")) * cy.zoom() : 0));
}"""
REST = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def graph_page(page: Page) -> Page:
    """Return the page with an open graph."""
    page.goto(ADDRESS)
    page.get_by_role("list", name="Items in the graph").get_by_role("listitem").nth(1).wait_for()
    return page


def pixels(page: Page) -> Any:
    """Return red, green, blue and alpha of the canvas, of shape (height, width, 4), once all pictures are drawn."""
    wait_until_drawn(page)
    page.evaluate(REST)
    address = page.evaluate("() => document.querySelector('.canvas > canvas').toDataURL()")
    return np.array(Image.open(io.BytesIO(b64decode(address.partition(",")[2]))))


def wait_until_drawn(page: Page) -> None:
    page.locator(".canvas[aria-busy=false]").wait_for()


def count_pixels(image: Any, color: tuple[int, int, int]) -> int:
    """Return how many pixels have approximately this color."""
    near = np.abs(image[..., :3].astype(int) - color).max(axis=-1) <= 6
    return int((near & (image[..., 3] > 60)).sum())


def test_edges_below_the_threshold_disappear(graph_page: Page) -> None:
    all_edges = count_pixels(pixels(graph_page), EDGE["light"])
    graph_page.get_by_role("slider").fill("0.4")
    fewer_edges = count_pixels(pixels(graph_page), EDGE["light"])
    graph_page.get_by_role("slider").fill("1")
    assert all_edges > fewer_edges > count_pixels(pixels(graph_page), EDGE["light"]) == 0


def test_colors_follow_the_scheme(graph_page: Page) -> None:
    assert count_pixels(pixels(graph_page), LARGEST) > 1000
    assert count_pixels(pixels(graph_page), PALE) > 10_000
    graph_page.emulate_media(color_scheme="dark")
    image = pixels(graph_page)
    assert count_pixels(image, LARGEST) > 1000
    assert count_pixels(image, EDGE["dark"]) > 100


def test_path_is_highlighted(page: Page, api: httpx.Client) -> None:
    url = "/v1/collections/chembl/items"
    (item,) = api.get(url, params={"smiles": QUERY}).json()["items"]
    nearest = api.get(f"{url}/{item['id']}/neighbors", params={"limit": 1}).json()["neighbors"][0]["item"]
    page.goto(ADDRESS)
    expect(page.get_by_text(re.compile("1 component"))).to_be_visible()
    assert count_pixels(pixels(page), ACCENT) == 0
    page.goto(f"{ADDRESS}&{httpx.QueryParams(to=nearest['smiles'])}")
    expect(page.get_by_label("Path", exact=True)).to_be_visible()
    assert count_pixels(pixels(page), ACCENT) > 10


def test_edges_follow_a_dragged_node(graph_page: Page) -> None:
    before = pixels(graph_page)
    plate = np.abs(before[..., :3].astype(int) - PALE).max(axis=-1) <= 6
    inside = plate[:-16, :-16] & plate[16:, 16:] & plate[:-16, 16:] & plate[16:, :-16]
    down, right = (np.argwhere(inside)[0] + 8).tolist()
    box = graph_page.locator(".canvas").bounding_box()
    assert box is not None
    graph_page.mouse.move(box["x"] + right, box["y"] + down)
    graph_page.mouse.down()
    graph_page.mouse.move(box["x"] + right + 60, box["y"] + down + 40, steps=4)
    graph_page.mouse.up()
    after = pixels(graph_page)
    assert 0 < (after != before).any(axis=-1).mean() < 0.1


def label_heights(page: Page) -> set[float]:
    """Return the heights on screen of the visible node labels, 0 for hidden ones."""
    wait_until_drawn(page)
    return {round(height, 3) for height in page.evaluate(LABELS)}


def test_zoomed_part_stays_in_view(graph_page: Page) -> None:
    assert label_heights(graph_page) == {11}
    graph_page.get_by_role("button", name="Zoom in").click()
    assert label_heights(graph_page) == {11}
    near = (pixels(graph_page)[..., 3] == 255).sum()
    graph_page.get_by_role("slider").fill("0.31")
    expect(graph_page).to_have_url(re.compile("min_similarity=0.31"))
    assert (pixels(graph_page)[..., 3] == 255).sum() > 0.8 * near
    for _ in range(3):
        graph_page.get_by_role("button", name="Zoom out").click()
    assert label_heights(graph_page) == {0}
    graph_page.get_by_role("button", name="Fit").click()
    assert (pixels(graph_page)[..., 3] == 255).sum() < 0.8 * near


def test_downloaded_image_equals_the_canvas(graph_page: Page) -> None:
    pixel_counts = {}
    for threshold in ("0.3", "1"):
        graph_page.get_by_role("slider").fill(threshold)
        graph_page.evaluate(REST)
        if threshold == "0.3":
            graph_page.get_by_text("Download", exact=True).click()
        with graph_page.expect_download() as download:
            graph_page.get_by_role("button", name="Graph as PNG").click()
        image = np.array(Image.open(io.BytesIO(Path(download.value.path()).read_bytes())).convert("RGBA"))
        # The color on a white background.
        red, green, blue = (round(255 + 0.45 * (part - 255)) for part in EDGE["light"])
        pixel_counts[threshold] = count_pixels(image, (red, green, blue))
    assert pixel_counts["0.3"] > 2 * pixel_counts["1"]  # Labels have some pixels of this gray too.
