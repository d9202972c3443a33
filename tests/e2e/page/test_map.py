"""The map of a collection: its colors, zoom, and selection by lasso."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Page, expect
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
    page.get_by_role("combobox", name="Color by").select_option("molwt")
    values = [row["value"] for row in rows]
    expect(page.locator(".legend")).to_contain_text(f"{min(values):.3f}")
    expect(page.locator(".legend")).to_contain_text(f"{max(values):.3f}")

    box = sheet.bounding_box()
    assert box is not None
    positions = np.array([[row["x"], row["y"]] for row in rows])
    most = positions.max(0)
    inner = np.array([box["width"] - 2, box["height"] - 2])  # The size within the border.
    scale = ((inner - 2 * BORDER) / most).min()
    screen_positions = (positions - most / 2) * scale + inner / 2 + 1
    alone = int(KDTree(screen_positions).query(screen_positions, k=2)[0][:, 1].argmax())
    sheet.click(position={"x": screen_positions[alone, 0], "y": screen_positions[alone, 1]})
    card = page.get_by_role("complementary", name="Selected item")
    smiles = api.get(f"{URL}/items/{alone}").json()["smiles"]
    expect(card.get_by_role("link", name=smiles, exact=True)).to_be_visible()
    look(page, "map")

    page.get_by_role("button", name="Lasso").click()
    center_x = float(np.median(screen_positions[:, 0]))
    corners = [(2, 2), (center_x, 2), (center_x, inner[1] - 2), (2, inner[1] - 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.up()
    lasso_text = page.get_by_text("items in the lasso")
    lasso_size = int(lasso_text.inner_text().split()[0].replace(",", ""))
    assert (screen_positions[:, 0] < center_x - 2).sum() <= lasso_size <= (screen_positions[:, 0] < center_x + 2).sum()
    page.get_by_role("button", name="Add them to the selection").click()
    page.get_by_role("link", name=f"Selection ({lasso_size:,})").click()
    page.get_by_text(f"{lasso_size:,} items").first.wait_for()
    page.go_back()
    page.get_by_role("application", name="Map of 2,000 items").wait_for()  # The coloring is restored.
    expect(page.get_by_role("combobox", name="Color by")).to_have_value("molwt")


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
