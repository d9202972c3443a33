"""The result views: a ranked table and tiles with a shared selection, and a panel with the query and its comparison."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}"


@pytest.fixture(scope="module")
def neighbors(api: httpx.Client) -> list[dict[str, Any]]:
    """Return the neighbors of the query from the API."""
    url = "/v1/collections/chembl/items"
    item = api.get(url, params={"smiles": QUERY}).json()["items"][0]
    reply: list[dict[str, Any]] = api.get(f"{url}/{item['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
    return reply


def cells(page: Page, place: int) -> list[str]:
    return page.locator(f"tbody tr td:nth-child({place})").all_inner_texts()


def open_table(page: Page, address: str = ADDRESS) -> Locator:
    """Open a URL and return the table rows once they are loaded."""
    page.goto(address)
    rows = page.locator("main section tbody tr")
    expect(rows.first).to_be_visible()
    return rows


def test_table_has_the_order_of_the_api(page: Page, neighbors: list[dict[str, Any]]) -> None:
    rows = open_table(page)
    expect(rows).to_have_count(len(neighbors))
    expect(page.get_by_text(f"{len(neighbors)} similar, ≥ 0.30")).to_be_visible()
    assert page.locator("tbody td.name a").all_inner_texts() == [each["item"]["smiles"] for each in neighbors]
    similarities = [float(text) for text in page.locator("section tbody td:nth-child(2)").all_inner_texts()]
    assert similarities == pytest.approx([each["similarity"] for each in neighbors], abs=0.001)


def test_column_sorts_and_back_restores(page: Page, neighbors: list[dict[str, Any]]) -> None:
    open_table(page)
    header = page.get_by_role("columnheader", name="Neighbors")
    for sort, direction in (("-neighbours", "descending"), ("neighbours", "ascending")):
        header.get_by_role("button").click()
        expect(header).to_have_attribute("aria-sort", direction)
        degrees = sorted((each["item"]["degree"] for each in neighbors), reverse=direction == "descending")
        expect(page.locator("section tbody td:nth-child(4)")).to_have_text([*map(str, degrees)], timeout=20_000)
        assert parse_qs(urlsplit(page.url).query)["sort"] == [sort]
    page.go_back()
    expect(header).to_have_attribute("aria-sort", "descending")
    page.go_forward()
    expect(header).to_have_attribute("aria-sort", "ascending")


def test_columns_are_shown_and_hidden(page: Page, look: Look) -> None:
    open_table(page)
    headers = page.locator("section thead th")
    before = headers.all_inner_texts()
    page.get_by_text("Columns").click()
    choices = page.locator("details input")
    look(page, "columns")
    name = choices.first.locator("..").inner_text()
    assert name in before
    choices.first.uncheck()
    expect(headers).to_have_count(len(before) - 1)
    page.reload()
    expect(headers).to_have_count(len(before) - 1)
    assert name not in headers.all_inner_texts()


def test_unknown_column_is_ignored(page: Page) -> None:
    open_table(page, f"{ADDRESS}&column=constructor")
    expect(page.locator("section thead th")).to_have_count(4)


def test_tiles_equal_the_table(page: Page, neighbors: list[dict[str, Any]]) -> None:
    open_table(page, f"{ADDRESS}&sort=-neighbours")
    page.get_by_text("Tiles").click()
    tiles = page.locator("section li")
    expect(tiles).to_have_count(len(neighbors))
    ranked = sorted((each["item"] for each in neighbors), key=lambda item: (-item["degree"], item["id"]))
    assert tiles.locator("a").all_inner_texts() == [item["smiles"] for item in ranked]
    tiles.nth(2).get_by_role("button").click()
    page.get_by_role("group", name="View").get_by_text("Table").click()
    expect(page.locator("tr.chosen")).to_contain_text(ranked[2]["smiles"])


def test_hovered_item_is_enlarged(page: Page, api: httpx.Client, neighbors: list[dict[str, Any]]) -> None:
    """The sorted property comes first, equal properties are folded, and the SMILES can be copied."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    rows = open_table(page, f"{ADDRESS}&sort=-property:rings&column=heavy_atoms&column=rings")
    (query,) = api.get("/v1/collections/chembl/items", params={"smiles": QUERY}).json()["items"]
    neighbors = sorted(neighbors, key=lambda each: (-each["item"]["properties"]["rings"], each["item"]["id"]))
    compared = page.get_by_label("Query and comparison").locator("figure.other")
    expect(compared).to_contain_text(neighbors[0]["item"]["smiles"])
    rows.nth(3).hover()
    expect(compared).to_contain_text(neighbors[3]["item"]["smiles"])
    picture = compared.get_by_role("img")
    large, small = picture.bounding_box(), rows.nth(3).get_by_role("img").bounding_box()
    assert large is not None
    assert small is not None
    assert large["width"] > 1.5 * small["width"]
    rows.nth(1).get_by_role("img").click()
    page.locator("#box").hover()
    expect(compared).to_contain_text(neighbors[1]["item"]["smiles"])
    compared.get_by_role("button", name="Copy SMILES").click()
    expect(compared.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == neighbors[1]["item"]["smiles"]

    query_properties, other = query["properties"], neighbors[1]["item"]["properties"]
    texts = page.locator("aside > table tbody tr").all_inner_texts()
    titles = {"Rings": "rings", "Heavy atoms": "heavy_atoms", "Molecular weight (g/mol)": "molwt"}
    table_rows = [(titles.get(title, title), *values) for title, *values in (line.split("\t") for line in texts)]
    assert [name for name, *_ in table_rows[:2]] == ["rings", "heavy_atoms"]
    for name, one, two, more in table_rows:
        assert [float(one), float(two)] == pytest.approx([query_properties[name], other[name]], abs=1e-4)
        assert float(more.replace("−", "-")) == pytest.approx(other[name] - query_properties[name], abs=1e-4)
    folded = [
        name
        for name in query_properties
        if query_properties[name] == other[name] and name not in ("rings", "heavy_atoms")
    ]
    assert {name for name, *_ in table_rows} == set(query_properties) - set(folded)
    assert page.locator("aside > details:not(.descriptors)").count() == bool(folded)


def is_selected(smiles: str, url: str) -> bool:
    return parse_qs(urlsplit(url).query).get("chosen") == [smiles]


def test_selection_is_part_of_the_url(page: Page, neighbors: list[dict[str, Any]]) -> None:
    rows = open_table(page)
    for place in (2, 5):
        rows.nth(place).get_by_role("img").click()
        smiles = neighbors[place]["item"]["smiles"]
        page.wait_for_url(partial(is_selected, smiles))
    page.go_back()
    expect(rows.nth(2)).to_have_class(re.compile("chosen"))
    similarity = rows.nth(2).locator("td").nth(1).inner_text()
    page.reload()
    expect(rows.nth(2)).to_have_class(re.compile("chosen"))
    page.goto(page.url.replace("collection=chembl", "collection=chembl&view=graph"))
    compared = page.get_by_label("Query and comparison").locator("figure.other")
    expect(compared).to_contain_text(neighbors[2]["item"]["smiles"])
    expect(compared).to_contain_text(similarity)
    expect(page.locator("li.chosen")).to_contain_text(neighbors[2]["item"]["smiles"], timeout=20_000)


def test_only_the_picture_selects(page: Page) -> None:
    rows = open_table(page)
    rows.nth(1).locator("td").last.click()
    assert "chosen" not in parse_qs(urlsplit(page.url).query)
    rows.nth(2).locator("td").nth(1).dblclick()
    rows.nth(3).locator("td.name a").click(modifiers=["ControlOrMeta"])
    assert "chosen" not in parse_qs(urlsplit(page.url).query)
    assert page.evaluate("getSelection().toString()").strip() == rows.nth(2).locator("td").nth(1).inner_text().strip()


@pytest.mark.parametrize("view", ["table", pytest.param("tiles", marks=pytest.mark.long), "graph"])
def test_list_is_one_tab_stop(page: Page, view: str, look: Look) -> None:
    page.goto(f"{ADDRESS}&view={view}")
    items = page.locator("section button.item")
    expect(items.nth(2)).to_be_visible()
    page.locator("#box").focus()
    while not items.first.evaluate("button => button === document.activeElement"):
        page.keyboard.press("Tab")
    hint = page.get_by_text("Use the arrow keys, Home and End")
    for key, place in (("ArrowDown", 1), ("ArrowRight", 2), ("ArrowUp", 1), ("End", -1), ("Home", 0), ("ArrowDown", 1)):
        page.keyboard.press(key)
        expect(items.nth(place)).to_be_focused()
    assert hint.evaluate("hint => getComputedStyle(hint).clipPath") == "none"
    look(page, f"keys {view}")
    page.keyboard.press("Tab")  # Focus moves to the other controls of this item.
    query_properties = "(button) => button.closest('li, tr').contains(document.activeElement)"
    assert items.nth(1).evaluate(query_properties)
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('li, tr')?.querySelector('button.item') ?? false")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(items.nth(1)).to_be_focused()
    page.locator("#box").focus()
    assert hint.evaluate("hint => getComputedStyle(hint).clipPath") != "none"


def test_table_is_used_by_the_keyboard(page: Page, neighbors: list[dict[str, Any]]) -> None:
    rows = open_table(page)
    for key in ("Tab", "Enter"):  # Skip everything above the first row.
        page.keyboard.press(key)
    expect(rows.first.get_by_role("button").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(rows.nth(1)).to_have_class(re.compile("chosen"))
    expect(page.locator("figure.other")).to_contain_text(neighbors[1]["item"]["smiles"])
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#box")).to_have_value(neighbors[1]["item"]["smiles"])
    page.go_back()
    expect(page.locator("#box")).to_have_value(QUERY)


def test_highlights_follow_the_setting(page: Page, picture_svg: Callable[[Locator], str]) -> None:
    picture = open_table(page).first.get_by_role("img")
    svg_by_mark = {"differences": picture_svg(picture)}
    for mark in ("shared", "nothing"):
        page.get_by_label("Highlight").select_option(mark)
        svg_by_mark[mark] = picture_svg(picture)
        assert parse_qs(urlsplit(page.url).query)["mark"] == [mark]
    highlights = {mark: len(re.findall("fill:#99D3ED|stroke:#99D3ED", svg)) for mark, svg in svg_by_mark.items()}
    assert highlights["shared"] > highlights["differences"] > highlights["nothing"] == 0


def test_query_stays_in_view(page: Page) -> None:
    rows = open_table(page)
    rows.last.scroll_into_view_if_needed()
    expect(page.locator("figure.query img")).to_be_in_viewport()
    page.set_viewport_size({"width": 1024, "height": 768})
    for name in ("Heavy atoms", "Molecular weight", "Rings"):
        expect(page.get_by_role("columnheader", name=name)).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 390, "height": 800})
    rows.last.scroll_into_view_if_needed()
    expect(page.locator("figure.query img")).to_be_in_viewport()


def test_threshold_filters_the_table(page: Page, neighbors: list[dict[str, Any]], look: Look) -> None:
    rows = open_table(page)
    page.get_by_role("slider").fill("0.4")
    expected = [each for each in neighbors if each["similarity"] >= 0.4]
    expect(rows).to_have_count(len(expected))
    assert parse_qs(urlsplit(page.url).query)["min_similarity"] == ["0.4"]
    page.get_by_role("slider").fill("1")
    expect(page.get_by_text("No item is this similar to the query.")).to_be_visible()
    look(page, "nothing that similar")
    page.get_by_role("link", name="Show the most similar items").click()
    expect(rows).to_have_count(len(neighbors))


def test_isolated_item_is_compared_with_all_items(page: Page, api: httpx.Client) -> None:
    items = api.get("/v1/collections/chembl/items", params={"limit": 1000}).json()["items"]
    isolated = next(item for item in items if item["degree"] == 0)
    page.goto("/?" + str(httpx.QueryParams(collection="chembl", q=isolated["smiles"])))
    page.get_by_role("link", name="Show the most similar items of the whole collection").click()
    expect(page.locator("section tbody tr").first).to_be_visible()
    expect(page.get_by_text("1,999 compared")).to_be_visible()
    expect(page.get_by_text("The query was compared with all 2,000 items")).to_be_visible()


def test_molecule_of_300_atoms_is_shown(page: Page, look: Look, picture_svg: Callable[[Locator], str]) -> None:
    page.goto("/?collection=large")
    page.get_by_role("region", name="Examples").get_by_role("link").click()
    assert "<title>large</title>" in picture_svg(page.locator("figure.query img"))
    look(page, "300 atoms")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_comparison_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_table(page)
    page.locator("button.item").nth(1).click()
    expect(page.locator("figure.other")).to_be_visible()
    for row in page.locator("aside > table tbody tr").all()[:3]:
        expect(row).to_be_in_viewport()
