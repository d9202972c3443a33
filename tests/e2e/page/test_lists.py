"""Named lists: noted, combined, kept in a new generation and used as a filter; colors and highlights in tables."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, expect

from tests.until import until, until_available

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
URL = "/v1/collections/chembl"
RINGED = "filter=%5B%22rings%22,4,null%5D"
HIGHLIGHT = "#99D3ED"


def matching_ids(api: httpx.Client, **query: Any) -> list[int]:
    body = {**query, "limit": 1000, "columns": []}
    reply = until_available(lambda: api.post(f"{URL}/items/query", json=body))
    return [item["id"] for item in reply.json()["items"]]


def choose_list(page: Page, name: str) -> None:
    page.get_by_role("group", name="List", exact=True).get_by_text(name).click()


def stored_lists(page: Page, collection: str) -> list[dict[str, Any]]:
    stored = page.evaluate(f"JSON.parse(localStorage.getItem('graphkin.lists.{collection}'))")
    lists: list[dict[str, Any]] = stored["lists"]
    return lists


def test_lists_are_named_combined_and_filter_all_views(page: Page, api: httpx.Client, look: Look) -> None:
    heavy = matching_ids(api, filters=[{"property": "molwt", "min": 500}])
    ringed = matching_ids(api, filters=[{"property": "rings", "min": 4}])
    both = [id for id in heavy if id in ringed]
    page.goto("/?collection=chembl&part=items&filter=%5B%22molwt%22,500,null%5D")
    page.get_by_role("button", name=f"Add all {len(heavy)} to the selection").click()
    page.get_by_role("link", name=f"Selection ({len(heavy)})").click()
    page.get_by_role("button", name="Remove the filter on").click()
    page.get_by_label("Name", exact=True).fill("Heavy & large")
    page.get_by_label("Note").fill("above 500")
    page.get_by_role("button", name="New list").click()
    expect(page.get_by_role("heading", name="This list is empty")).to_be_visible()
    look(page, "selection empty")
    page.goto(f"/?collection=chembl&part=items&{RINGED}")
    page.get_by_role("button", name=f"Add all {len(ringed)} to the selection").click()
    page.get_by_role("link", name=f"Selection ({len(ringed)})").click()
    page.locator("summary", has_text="Combine").click()
    page.get_by_label("Other list").select_option("Heavy & large")
    look(page, "lists combined")
    page.get_by_role("button", name="Make the list").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("List and Heavy & large")
    page.get_by_role("button", name="Remove the filter on").click()
    page.get_by_role("status").filter(has_text=re.compile(f"^{len(both)} items$")).wait_for()
    look(page, "selection")
    link = page.get_by_role("link", name="Link", exact=True).get_attribute("href") or ""
    page.get_by_role("link", name="Filter by this list").click()
    page.get_by_text(f"{len(both)} of 2,000 items").wait_for()
    expect(page.get_by_text(f"List “List and Heavy & large” ({len(both)})")).to_be_visible()
    page.locator("tbody td.name a").first.wait_for()
    page.get_by_role("button", name="Remove the filter by a list").click()
    page.get_by_text("2,000 items", exact=True).first.wait_for()
    page.get_by_label("Filter by a list").select_option("Heavy & large")
    page.get_by_text(f"{len(heavy)} of 2,000 items").wait_for()
    assert {each["name"]: each["note"] for each in stored_lists(page, "chembl")} == {
        "Heavy & large": "above 500",
        "List": "",
        "List and Heavy & large": "",
    }
    page.evaluate("localStorage.clear()")
    page.goto(link)
    page.get_by_text("These items come from a link to the list “List and Heavy & large”.").wait_for()
    page.get_by_role("button", name="Save as a list").click()
    choose_list(page, f"List and Heavy & large ({len(both)})")
    page.get_by_role("status").filter(has_text=re.compile(f"^{len(both)} items$")).wait_for()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete list").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Selection")


def test_list_keeps_its_items_in_a_new_generation(
    page: Page,
    own_folder: Path,
    serve: Callable[..., AbstractContextManager[httpx.Client]],
    publish: Callable[[Path, str, list[str]], None],
    look: Look,
) -> None:
    alcohols = [f"{'C' * length}O alcohol{length}" for length in range(4, 12)]
    publish(own_folder, "truncated", alcohols)
    with serve(own_folder) as client:
        old = client.get("/v1/collections/truncated").json()["generation"]
        url = f"{client.base_url}/?collection=truncated"
        basket = json.dumps({"generation": old, "ids": [0, 1, 3]})  # Earlier versions of the page stored this.
        page.goto(url)
        page.evaluate("basket => localStorage.setItem('graphkin.basket.truncated', basket)", basket)
        page.goto(f"{url}&part=basket")
        names = page.locator("tbody td.name a")
        expect(names).to_have_text(["alcohol4", "alcohol5", "alcohol7"])
        page.locator("tbody input.tick").nth(1).click()
        page.wait_for_function("() => localStorage.getItem('graphkin.lists.truncated')?.includes('CCCCCCCO')")
        publish(own_folder, "truncated", [*alcohols[5:], "CCO ethanol", *alcohols[1:5]])
        until(lambda: client.get("/v1/collections/truncated").json()["generation"] != old)
        page.goto(f"{url}&part=basket")
        expect(page.get_by_text("1 of 2 items of this list are not in this generation: CCCCO.")).to_be_visible()
        expect(names).to_have_text(["alcohol7"])
        look(page, "list with a missing item")
        page.goto(f"{url}&part=basket&generation={old}")
        expect(names).to_have_text(["alcohol4", "alcohol7"])
        page.goto(f"{url}&part=basket")
        page.get_by_role("button", name="Remove them").click()
        expect(names).to_have_text(["alcohol7"])
        (stored,) = stored_lists(page, "truncated")
        assert stored["keys"] == ["CCCCCCCO"]


def test_values_are_colored_and_matches_highlighted(
    page: Page, api: httpx.Client, look: Look, picture_svg: Callable[[Locator], str]
) -> None:
    ids = matching_ids(api, substructure="C(=O)N", filters=[{"property": "rings", "min": 4}])
    page.goto(f"/?collection=chembl&part=items&smarts=C(%3DO)N&{RINGED}")
    page.get_by_text(f"{len(ids)} of 2,000 items").wait_for()
    page.get_by_role("combobox", name="Color by").select_option("molwt")
    cells = page.locator("td .colored")
    cells.first.wait_for()
    values = cells.all_inner_texts()
    assert cells.first.evaluate("cell => getComputedStyle(cell).backgroundColor").startswith("rgb")
    first = page.locator("tbody img").first
    assert HIGHLIGHT in picture_svg(first)
    look(page, "table colored and highlighted")
    page.get_by_text("Tiles", exact=True).click()
    expect(page.locator("li .colored").first).to_have_text(values[0])
    assert HIGHLIGHT in picture_svg(page.locator("li img").first)
    look(page, "tiles colored and highlighted")


def test_items_beyond_the_filter_fade_in_the_graph(page: Page, api: httpx.Client, look: Look) -> None:
    (query,) = api.get(f"{URL}/items", params={"smiles": QUERY}).json()["items"]
    near = api.get(f"{URL}/items/{query['id']}/neighbors", params={"limit": 100}).json()["neighbors"]
    items = [query, *(each["item"] for each in near)]
    expected = sum(item["properties"]["rings"] >= 4 for item in items)
    assert 0 < expected < len(items)
    page.goto(f"/?collection=chembl&q={QUERY}&view=graph&{RINGED}")
    page.get_by_text(re.compile(rf"{expected} items? match(es)? the filters, and the others are faded")).wait_for()
    look(page, "graph filtered")
