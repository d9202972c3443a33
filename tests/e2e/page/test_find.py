"""Find: SMILES, InChI, name or id in one box, or a drawing; and what the page says of what it does not understand."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
INCHI = (
    "InChI=1S/C18H20N2O4S/c1-24-16-6-4-5-15(13-16)19-18(21)14-7-9-17(10-8-14)25(22,23)20-11-2-3-12-20"
    "/h4-10,13H,2-3,11-12H2,1H3,(H,19,21)"
)
NEW = "CC(=O)Nc1ccc(Br)cc1CCCN"
BENZOIC = "O=C(O)c1ccccc1"  # called 149 by the NCI


def said(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: value for name, (value,) in parse_qs(urlsplit(page.url).query).items()}


def test_an_empty_box_offers_examples(page: Page, look: Look) -> None:
    page.goto("/")
    page.get_by_label("Collection").select_option("chembl")
    examples = page.locator("main li a")
    expect(examples).to_have_count(8)
    look(page, "start")
    examples.first.click()
    expect(page.locator("section tbody tr").first).to_be_visible()


@pytest.mark.parametrize(
    ("text", "explained"),
    [
        ("c1cc(S(=O)(=O)N2CCCC2)ccc1C(=O)Nc1cccc(OC)c1", "this structure"),
        (INCHI, "this structure"),
        ("#{id}", "item {id}"),
        ("{id}", "item {id}"),
    ],
)
def test_what_was_understood_is_shown_at_once(page: Page, api: httpx.Client, text: str, explained: str) -> None:
    item = api.get("/v1/collections/chembl/items", params={"smiles": QUERY}).json()["items"][0]
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(text.format(id=item["id"]))
    option = page.locator("#readings li").first
    expect(option).to_contain_text(explained.format(id=item["id"]))
    expect(option.get_by_role("img")).not_to_have_js_property("naturalWidth", 0)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Query and comparison")).to_contain_text(QUERY)
    assert said(page) == {"collection": "chembl", "q": QUERY, "generation": said(page)["generation"]}


def test_an_item_is_found_by_name(page: Page) -> None:
    page.goto("/?collection=nci")
    page.get_by_role("combobox", name="SMILES").fill("149")
    expect(page.locator("#readings li").first).to_contain_text("named “149”")
    page.keyboard.press("Enter")
    expect(page.locator("#box")).to_have_value(BENZOIC)


def test_a_hurried_chemist_need_not_wait(page: Page) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(QUERY)
    page.keyboard.press("Enter")
    expect(page.locator("section tbody tr").first).to_be_visible()


def test_readings_are_chosen_by_arrow_keys(page: Page, look: Look) -> None:
    page.goto("/?collection=nci")
    page.locator("main li").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("12")
    expect(page.locator("#readings li")).to_have_count(2)
    look(page, "readings")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(chosen).to_contain_text("item 12")
    smiles = chosen.locator(".code").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#box")).to_have_value(smiles)


@pytest.mark.parametrize(
    "text", ["c1ccc(", "InChI=1S/nonsense", "<img src=x onerror=alert(1)>", "🧪", "C" * 20_000, "%"]
)
def test_garbage_in_the_box_is_explained(page: Page, text: str) -> None:
    page.goto("/?collection=chembl")
    box = page.get_by_role("combobox", name="SMILES")
    box.fill(text)
    expect(page.locator("#complaint")).to_contain_text(re.compile("nothing here is named|Too long|Not a structure"))
    expect(box).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Enter")
    assert "q" not in said(page)


def test_garbage_in_the_address_is_explained(page: Page, look: Look) -> None:
    page.goto("/?collection=chembl&q=c1ccc(&min_similarity=7&view=nonsense&sort=-nothing")
    expect(page.get_by_role("heading", name="Not understood")).to_be_visible()
    look(page, "not understood")
    page.goto("/?collection=nowhere&q=C")
    expect(page.get_by_role("heading", name="There is no collection nowhere")).to_be_visible()


def test_a_new_structure_is_compared_with_all(page: Page, api: httpx.Client, look: Look) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(NEW)
    expect(page.locator("#readings li")).to_contain_text("not in the collection")
    look(page, "new structure understood")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("The 100 most similar")
    expect(page.get_by_label("Similar", exact=True)).to_contain_text("compared with all 2,000 items")
    hits = api.post("/v1/collections/chembl/search", json={"smiles": NEW, "limit": 100}).json()["hits"]
    names = page.locator("tbody td.name a").all_inner_texts()
    assert names == [hit["item"]["smiles"] for hit in hits]
    look(page, "new structure")


def test_a_structure_is_drawn(page: Page, look: Look) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/?collection=chembl")
    page.locator("main li").first.wait_for()
    assert [url for url in asked if "openchemlib" in url] == []
    page.get_by_role("button", name="Draw").click()
    canvases = page.locator("dialog canvas")
    expect(canvases).to_have_count(2)
    assert [url for url in asked if "openchemlib" in url] != []
    use = page.get_by_role("button", name="Search this structure")
    expect(use).to_be_disabled()
    canvases.nth(0).click(position={"x": 32, "y": 200})  # benzene
    canvases.nth(1).click(position={"x": 300, "y": 200})
    look(page, "editor")
    use.click()
    expect(page.locator("#box")).to_have_value("c1ccccc1")


def test_the_editor_begins_with_the_query(page: Page) -> None:
    page.goto(f"/?collection=chembl&q={QUERY}")
    page.get_by_role("button", name="Draw").click()
    use = page.get_by_role("button", name="Search this structure")
    expect(use).to_be_enabled()
    use.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#box")).to_have_value(QUERY)


def test_graphs_are_found_by_name(page: Page, look: Look) -> None:
    page.goto("/?collection=graphs")
    expect(page.get_by_role("button", name="Draw")).to_have_count(0)
    page.get_by_role("combobox", name="Name or id").fill("b")
    expect(page.locator("#readings li")).to_contain_text("named “b”")
    page.keyboard.press("Enter")
    expect(page.locator("section tbody tr")).to_have_count(1)
    assert said(page)["q"] == "b"
    look(page, "graphs")
    page.goto("/?collection=graphs&q=a")
    expect(page.get_by_role("heading", name="2 items are named “a”")).to_be_visible()
    look(page, "namesakes")
    page.get_by_role("link", name="item 2").click()
    expect(page.locator("section tbody tr")).to_have_count(1)
