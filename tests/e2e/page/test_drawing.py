"""What the graph's own canvas, under Cytoscape.js, shows: edges, a path, plates in the colours of the clusters."""

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
LARGEST = (0, 114, 178)  # cluster
PALE = (191, 220, 236)  # the same, where structures are drawn on it

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
def opened(page: Page) -> Page:
    """The page, showing a graph."""
    page.goto(ADDRESS)
    page.get_by_role("list", name="Items of the graph").get_by_role("listitem").nth(1).wait_for()
    return page


def pixels(page: Page) -> Any:
    """(height, width, 4) red, green, blue, alpha, once all that is in view is drawn."""
    settled(page)
    page.evaluate(REST)
    address = page.evaluate("() => document.querySelector('.canvas > canvas').toDataURL()")
    return np.array(Image.open(io.BytesIO(b64decode(address.partition(",")[2]))))


def settled(page: Page) -> None:
    page.locator(".canvas[aria-busy=false]").wait_for()


def ink(image: Any, colour: tuple[int, int, int]) -> int:
    """How many pixels have a colour, more or less."""
    near = np.abs(image[..., :3].astype(int) - colour).max(axis=-1) <= 6
    return int((near & (image[..., 3] > 60)).sum())


def test_edges_are_drawn_as_far_as_they_hold(opened: Page) -> None:
    all_of_them = ink(pixels(opened), EDGE["light"])
    opened.get_by_role("slider").fill("0.4")
    some = ink(pixels(opened), EDGE["light"])
    opened.get_by_role("slider").fill("1")
    assert all_of_them > some > ink(pixels(opened), EDGE["light"]) == 0


def test_they_are_drawn_in_the_colours_of_the_scheme(opened: Page) -> None:
    assert ink(pixels(opened), LARGEST) > 1000
    assert ink(pixels(opened), PALE) > 10_000
    opened.emulate_media(color_scheme="dark")
    image = pixels(opened)
    assert ink(image, LARGEST) > 1000
    assert ink(image, EDGE["dark"]) > 100


def test_a_path_is_drawn(page: Page, api: httpx.Client) -> None:
    url = "/v1/collections/chembl/items"
    (item,) = api.get(url, params={"smiles": QUERY}).json()["items"]
    nearest = api.get(f"{url}/{item['id']}/neighbors", params={"limit": 1}).json()["neighbors"][0]["item"]
    page.goto(ADDRESS)
    expect(page.get_by_text(re.compile("1 cluster"))).to_be_visible()
    assert ink(pixels(page), ACCENT) == 0
    page.goto(f"{ADDRESS}&{httpx.QueryParams(to=nearest['smiles'])}")
    expect(page.get_by_label("Path", exact=True)).to_be_visible()
    assert ink(pixels(page), ACCENT) > 10


def test_edges_follow_a_node_that_is_dragged(opened: Page) -> None:
    before = pixels(opened)
    plate = np.abs(before[..., :3].astype(int) - PALE).max(axis=-1) <= 6
    inside = plate[:-16, :-16] & plate[16:, 16:] & plate[:-16, 16:] & plate[16:, :-16]
    down, right = (np.argwhere(inside)[0] + 8).tolist()
    box = opened.locator(".canvas").bounding_box()
    assert box is not None
    opened.mouse.move(box["x"] + right, box["y"] + down)
    opened.mouse.down()
    opened.mouse.move(box["x"] + right + 60, box["y"] + down + 40, steps=4)
    opened.mouse.up()
    after = pixels(opened)
    assert 0 < (after != before).any(axis=-1).mean() < 0.1


def labels(page: Page) -> set[float]:
    """How high on the screen the names of the nodes in view are; 0 where they are hidden."""
    settled(page)
    return {round(height, 3) for height in page.evaluate(LABELS)}


def test_what_was_zoomed_to_stays_in_view(opened: Page) -> None:
    assert labels(opened) == {11}
    opened.get_by_role("button", name="Zoom in").click()
    assert labels(opened) == {11}
    near = (pixels(opened)[..., 3] == 255).sum()
    opened.get_by_role("slider").fill("0.31")
    expect(opened).to_have_url(re.compile("min_similarity=0.31"))
    assert (pixels(opened)[..., 3] == 255).sum() > 0.8 * near
    for _ in range(3):
        opened.get_by_role("button", name="Zoom out").click()
    assert labels(opened) == {0}
    opened.get_by_role("button", name="Fit").click()
    assert (pixels(opened)[..., 3] == 255).sum() < 0.8 * near


def test_a_file_shows_the_same(opened: Page) -> None:
    drawn = {}
    for threshold in ("0.3", "1"):
        opened.get_by_role("slider").fill(threshold)
        opened.evaluate(REST)
        if threshold == "0.3":
            opened.get_by_text("Download", exact=True).click()
        with opened.expect_download() as download:
            opened.get_by_role("button", name="PNG of the graph").click()
        image = np.array(Image.open(io.BytesIO(Path(download.value.path()).read_bytes())).convert("RGBA"))
        red, green, blue = (round(255 + 0.45 * (part - 255)) for part in EDGE["light"])  # on paper
        drawn[threshold] = ink(image, (red, green, blue))
    assert drawn["0.3"] > 2 * drawn["1"]  # names are grey here and there too
