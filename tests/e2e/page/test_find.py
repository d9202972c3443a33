"""Find: SMILES, InChI, name or id in one box, or a drawing; and what the page says of what it does not understand."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
INCHI = (
    "InChI=1S/C18H20N2O4S/c1-24-16-6-4-5-15(13-16)19-18(21)14-7-9-17(10-8-14)25(22,23)20-11-2-3-12-20"
    "/h4-10,13H,2-3,11-12H2,1H3,(H,19,21)"
)
NEW = "CC(=O)Nc1ccc(Br)cc1CCCN"
BENZOIC = "O=C(O)c1ccccc1"  # called 149 by the NCI
ASPIRIN_KEY = "BSYNRYMUTXBXSQ-UHFFFAOYSA-N"


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
def test_what_was_understood_is_shown_at_once(
    page: Page, api: httpx.Client, text: str, explained: str, shown: Callable[[Locator], str]
) -> None:
    item = api.get("/v1/collections/chembl/items", params={"smiles": QUERY}).json()["items"][0]
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(text.format(id=item["id"]))
    option = page.locator("#readings li").first
    expect(option).to_contain_text(explained.format(id=item["id"]))
    assert "bond-0" in shown(option.get_by_role("img"))
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
    page.get_by_label("Collection").select_option("nci")  # which is asked the same
    expect(page.get_by_label("Similar", exact=True)).to_contain_text("compared with all")
    expect(page.locator("#box")).to_have_value(QUERY)


@pytest.mark.parametrize("leave", ["Escape", "Tab"])
def test_who_leaves_the_box_stays_here(page: Page, leave: str) -> None:
    held: list[Route] = []
    page.goto(f"/?collection=chembl&q={QUERY}")
    page.locator("section tbody tr").first.wait_for()
    page.route("**/structure?smiles=CCO&*", lambda route: held.append(route))
    box = page.locator("#box")
    box.fill("CCO")
    with page.expect_request("**/structure?smiles=CCO&*"):
        page.keyboard.press("Enter")
    with page.expect_event("requestfailed", lambda request: "smiles=CCO&" in request.url):
        page.keyboard.press(leave)
    expect(box).to_have_value(QUERY)
    expect(page.locator("#complaint")).to_have_text("")
    assert said(page)["q"] == QUERY


def test_readings_are_chosen_by_arrow_keys(page: Page, look: Look) -> None:
    page.goto("/?collection=nci")
    page.locator("main li").first.wait_for()
    page.locator("#box").press_sequentially("12")
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
    expect(page.locator("#complaint")).to_contain_text(re.compile("[Nn]othing here is named|Too long"))
    expect(box).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Enter")
    assert "q" not in said(page)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("c1ccccc1C(=O", "Not a structure: extra open parentheses, and nothing here is named “c1ccccc1C(=O”."),
        ("c1ccccc1C(=", "Not a structure: syntax error around character 11, and nothing here is named “c1ccccc1C(=”."),
        ("aspirin", "Nothing here is named “aspirin”, nor is it a SMILES or InChI."),
        ("#99999", "There is no item 99999."),
        (ASPIRIN_KEY, "No InChIKeys are kept here: give a SMILES or InChI."),
    ],
)
def test_what_is_not_understood_is_told_in_a_sentence(page: Page, text: str, told: str) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(text)
    expect(page.locator("#complaint")).to_have_text(told)


def test_an_item_is_found_by_inchikey(page: Page, own_folder: Path, serve: Callable, tmp_path: Path) -> None:
    (tmp_path / "drugs.smi").write_text("CC(=O)Oc1ccccc1C(=O)O aspirin\nCCO ethanol\n")
    with open_store(own_folder) as store:
        recipe = resolve(inchikey=True)
        pipeline.ingest(store, "keyed", [str(tmp_path / "drugs.smi")], recipe, IngestOptions(workers=1))
    with serve(own_folder) as client:
        page.goto(f"{client.base_url}/?collection=keyed")
        page.get_by_role("combobox", name="SMILES").fill(ASPIRIN_KEY)
        expect(page.locator("#readings li")).to_contain_text("with this InChIKey")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Query and comparison")).to_contain_text("aspirin")
        page.locator("#box").fill(ASPIRIN_KEY.replace("BSYN", "BSYM"))
        expect(page.locator("#complaint")).to_have_text("Nothing here has this InChIKey: give a SMILES or InChI.")


def test_many_items_of_one_name_are_all_offered(
    page: Page, own_folder: Path, serve: Callable, publish: Callable
) -> None:
    publish(own_folder, "twins", [f"{'C' * length} {'twin' if length > 12 else 'other'}" for length in range(1, 121)])
    with serve(own_folder) as client:
        for name, told in (("twin", "100 or more"), ("other", "12")):
            page.goto(f"{client.base_url}/?collection=twins&q={name}")
            expect(page.get_by_role("heading", name=f"{told} items are named “{name}”")).to_be_visible()
            expect(page.locator("main li")).to_have_count(int(told.split()[0]))
        page.locator("#box").fill("twin")
        expect(page.locator("#readings li")).to_have_count(100)
        page.keyboard.press("ArrowUp")
        expect(page.locator("#readings li").last).to_be_in_viewport()


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
    expect(page.get_by_role("status").first).to_contain_text("2,000 compared")
    expect(page.get_by_label("Similar", exact=True)).to_contain_text("compared with all 2,000 items")
    hits = api.post("/v1/collections/chembl/search", json={"smiles": NEW, "limit": 100}).json()["hits"]
    names = page.locator("tbody td.name a").all_inner_texts()
    assert names == [hit["item"]["smiles"] for hit in hits][: len(names)]
    assert len(names) > 10
    look(page, "new structure")


def test_a_structure_is_drawn(page: Page, look: Look) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/?collection=chembl")
    page.locator("main li").first.wait_for()
    assert [url for url in asked if "openchemlib" in url] == []
    page.get_by_role("button", name="Draw", exact=True).click()
    canvases = page.locator("dialog canvas")
    expect(canvases).to_have_count(2)
    expect(canvases.nth(1)).to_be_focused()
    assert [url for url in asked if "openchemlib" in url] != []
    use = page.get_by_role("button", name="Search this structure")
    expect(use).to_be_disabled()
    canvases.nth(0).click(position={"x": 32, "y": 200})  # benzene
    canvases.nth(1).click(position={"x": 300, "y": 200})
    look(page, "editor")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.get_by_text("This is what you had drawn before.")).to_be_visible()
    use.click()
    expect(page.locator("#box")).to_have_value("c1ccccc1")


def test_the_editor_begins_with_the_query(page: Page) -> None:
    page.goto(f"/?collection=chembl&q={QUERY}")
    page.get_by_role("button", name="Draw", exact=True).click()
    use = page.get_by_role("button", name="Search this structure")
    expect(use).to_be_enabled()
    use.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#box")).to_have_value(QUERY)


def test_nodes_are_found_by_name(page: Page, look: Look) -> None:
    page.goto("/?collection=karate")
    page.get_by_role("combobox", name="Name or id").fill("M16")
    expect(page.locator("#readings li")).to_contain_text("named “M16”")
    page.keyboard.press("Enter")
    expect(page.locator("figure.query")).to_contain_text("m16")
    rows = page.locator("section tbody tr")
    expect(rows.first).to_be_visible()
    expect(page.locator("figure.query img")).to_be_visible()
    look(page, "nodes")
    page.goto("/?collection=karate&q=m16&view=graph")
    expect(page.locator(".canvas")).to_have_attribute("aria-busy", "false")
    look(page, "nodes around a node")


def test_graphs_are_found_by_name(page: Page, look: Look) -> None:
    page.goto("/?collection=graphs")
    expect(page.get_by_role("button", name="Draw", exact=True)).to_have_count(0)
    page.get_by_role("combobox", name="Name or id").fill("b")
    expect(page.locator("#readings li")).to_contain_text("named “b”")
    page.keyboard.press("Enter")
    expect(page.locator("section tbody tr")).to_have_count(1)
    assert said(page)["q"] == "b"
    expect(page.locator("figure.query")).to_contain_text("a, b")
    look(page, "graphs")
    page.goto("/?collection=graphs&q=a")
    expect(page.get_by_role("heading", name="2 items are named “a”")).to_be_visible()
    look(page, "namesakes")
    page.get_by_role("link", name="item 2").click()
    expect(page.locator("section tbody tr")).to_have_count(1)
