"""The map of a collection: its colors, zoom, and selection by lasso."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import FloatRect, Page, Position, expect
from scipy.spatial import KDTree

from tests.until import until_available

Look = Callable[[Page, str], None]

URL = "/v1/collections/chembl"
BORDER = 16


@pytest.fixture(scope="module")
def rows(api: httpx.Client) -> list[dict[str, Any]]:
    reply = until_available(lambda: api.get(f"{URL}/map", params={"property": "molwt"}))
    return [json.loads(line) for line in reply.text.splitlines()]


def test_map_shows_all_items_and_selects_by_lasso(
    page: Page, api: httpx.Client, rows: list[dict[str, Any]], look: Look
) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="Map", exact=True).click()
    page.get_by_text("2,000 items", exact=True).wait_for()
    sheet = page.get_by_role("application", name="Map of 2,000 items")
    page.get_by_role("heading", name="Map, colored by Butina clusters at 0.55").wait_for()
    page.get_by_role("combobox", name="Color by").select_option("molwt")
    values = [row["value"] for row in rows]
    cut = len(values) // 50  # Few heavy molecules would take most of the scale.
    expect(page.locator(".legend")).to_contain_text(f"≤ {sorted(values)[cut]:.3f}")
    expect(page.locator(".legend")).to_contain_text(f"≥ {sorted(values)[-1 - cut]:.3f}")

    box = sheet.bounding_box()
    assert box is not None
    screen_positions = screen_positions_of(rows, box)
    alone = int(KDTree(screen_positions).query(screen_positions, k=2)[0][:, 1].argmax())
    place: Position = {"x": float(screen_positions[alone, 0]), "y": float(screen_positions[alone, 1])}
    smiles = api.get(f"{URL}/items/{alone}").json()["smiles"]
    sheet.hover(position=place)
    expect(page.get_by_role("tooltip")).to_contain_text(smiles)
    expect(page.get_by_role("tooltip")).to_contain_text("Molecular weight")
    sheet.click(position=place)
    card = page.get_by_role("complementary", name="Selected item")
    expect(card.get_by_role("link", name=smiles, exact=True)).to_be_visible()
    look(page, "map")
    card.get_by_role("button", name="Close").click()

    page.get_by_role("button", name="Lasso").click()
    center_x = float(np.median(screen_positions[:, 0]))
    corners = [(2, 2), (center_x, 2), (center_x, box["height"] - 4), (2, box["height"] - 4)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.up()
    members = page.get_by_role("complementary", name="Items in the lasso")
    lasso_size = int(members.get_by_role("heading").inner_text().split()[0].replace(",", ""))
    assert (screen_positions[:, 0] < center_x - 2).sum() <= lasso_size <= (screen_positions[:, 0] < center_x + 2).sum()
    expect(members.get_by_role("listitem")).to_have_count(50)
    look(page, "map with lasso")
    page.reload()  # The address holds the outline.
    expect(members.get_by_role("heading")).to_have_text(f"{lasso_size:,} items in the lasso")
    page.get_by_role("button", name="Add to selection").click()
    page.get_by_role("link", name=f"Selection ({lasso_size:,})").click()
    page.get_by_text(f"{lasso_size:,} items").first.wait_for()
    page.go_back()
    expect(members).to_be_visible()
    expect(page.get_by_role("combobox", name="Color by")).to_have_value("molwt")
    page.get_by_role("button", name="Clear", exact=True).click()  # Clearing the brush clears the lasso.
    expect(members).to_have_count(0)


def screen_positions_of(rows: list[dict[str, Any]], box: FloatRect) -> NDArray[np.float64]:
    """Return the pixel of each item on a map that fills its box up to the border."""
    positions = np.array([[row["x"], row["y"]] for row in rows])
    most = positions.max(0)
    inner = np.array([box["width"] - 2, box["height"] - 2])  # The size within the line around the box.
    return (positions - most / 2) * (inner - 2 * BORDER) / most + inner / 2 + 1


def test_map_shows_clusters_and_fades_what_a_filter_excludes(page: Page, api: httpx.Client) -> None:
    query = {"filters": [{"property": "molwt", "min": 500}], "limit": 1}
    matches = api.post(f"{URL}/items/query", json=query).json()["total"]
    cluster = until_available(lambda: api.get(f"{URL}/clusters", params={"limit": 1})).json()["clusters"][0]
    page.goto("/?collection=chembl&part=map&filter=%5B%22molwt%22%2C500%2Cnull%5D")
    expect(page.get_by_text(f"{matches:,} of 2,000 items, the others are pale")).to_be_visible()
    page.get_by_role("link", name=f"{cluster['size']} items: open cluster 1 as a list").click()
    expect(page.get_by_text(f"Cluster 1: {cluster['size']} items")).to_be_visible()


def test_map_is_used_by_the_keyboard(page: Page) -> None:
    page.goto("/?collection=chembl&part=map")
    sheet = page.get_by_role("application", name="Map of 2,000 items")
    sheet.focus()
    everything = page.get_by_role("button", name="Show all")
    expect(everything).to_be_disabled()
    before = sheet.screenshot()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    expect(everything).to_be_enabled()
    assert sheet.screenshot() != before
    page.keyboard.press("0")
    expect(everything).to_be_disabled()
