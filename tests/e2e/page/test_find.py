"""The search box: SMILES, InChI, name, id or drawing, and explanations of text that it does not understand."""

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
BENZOIC = "O=C(O)c1ccccc1"  # Its name in the NCI collection is 149.
ASPIRIN_KEY = "BSYNRYMUTXBXSQ-UHFFFAOYSA-N"


def url_parameters(page: Page) -> dict[str, str]:
    """Return the parameters of the URL."""
    return {name: value for name, (value,) in parse_qs(urlsplit(page.url).query).items()}


def test_empty_box_offers_examples(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Collection").select_option("chembl")
    examples = page.get_by_role("region", name="Examples").get_by_role("link")
    expect(examples).to_have_count(8)
    examples.first.click()
    expect(page.locator("section tbody tr").first).to_be_visible()


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        ("c1cc(S(=O)(=O)N2CCCC2)ccc1C(=O)Nc1cccc(OC)c1", "this structure"),
        (INCHI, "this structure"),
        ("#{id}", "item {id}"),
        ("{id}", "item {id}"),
    ],
)
def test_interpretation_of_the_text_is_shown_immediately(
    page: Page, api: httpx.Client, text: str, explanation: str, picture_svg: Callable[[Locator], str]
) -> None:
    item = api.get("/v1/collections/chembl/items", params={"smiles": QUERY}).json()["items"][0]
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(text.format(id=item["id"]))
    option = page.locator("#readings li").first
    expect(option).to_contain_text(explanation.format(id=item["id"]))
    assert "bond-0" in picture_svg(option.get_by_role("img"))
    page.keyboard.press("Enter")
    expect(page.get_by_label("Query and comparison")).to_contain_text(QUERY)
    assert url_parameters(page) == {
        "collection": "chembl",
        "q": QUERY,
        "generation": url_parameters(page)["generation"],
    }


def test_item_is_found_by_name(page: Page) -> None:
    page.goto("/?collection=nci")
    page.get_by_role("combobox", name="SMILES").fill("149")
    expect(page.locator("#readings li").first).to_contain_text("named “149”")
    page.keyboard.press("Enter")
    expect(page.locator("#box")).to_have_value(BENZOIC)


def test_enter_works_before_the_interpretation_is_shown(page: Page) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(QUERY)
    page.keyboard.press("Enter")
    expect(page.locator("section tbody tr").first).to_be_visible()
    page.get_by_label("Collection").select_option("nci")  # The same query is now sent for this collection.
    expect(page.get_by_label("Similar", exact=True)).to_contain_text("compared with all")
    expect(page.locator("#box")).to_have_value(QUERY)


@pytest.mark.parametrize("leave", ["Escape", "Tab"])
def test_leaving_the_box_cancels_the_pending_search(page: Page, leave: str) -> None:
    routes: list[Route] = []
    page.goto(f"/?collection=chembl&q={QUERY}")
    page.locator("section tbody tr").first.wait_for()
    page.route("**/structure?smiles=CCO&*", lambda route: routes.append(route))
    box = page.locator("#box")
    box.fill("CCO")
    with page.expect_request("**/structure?smiles=CCO&*"):
        page.keyboard.press("Enter")
    with page.expect_event("requestfailed", lambda request: "smiles=CCO&" in request.url):
        page.keyboard.press(leave)
    expect(box).to_have_value(QUERY)
    expect(page.locator("#complaint")).to_have_text("")
    assert url_parameters(page)["q"] == QUERY


def test_interpretations_are_selected_with_arrow_keys(page: Page, look: Look) -> None:
    page.goto("/?collection=nci")
    page.get_by_role("region", name="Examples").get_by_role("listitem").first.wait_for()
    page.locator("#box").press_sequentially("12")
    expect(page.locator("#readings li")).to_have_count(2)
    look(page, "readings")
    page.keyboard.press("ArrowDown")
    selected = page.locator("[role=option][aria-selected=true]")
    expect(selected).to_contain_text("item 12")
    smiles = selected.locator(".code").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#box")).to_have_value(smiles)


@pytest.mark.parametrize(
    "text", ["c1ccc(", "InChI=1S/nonsense", "<img src=x onerror=alert(1)>", "🧪", "C" * 20_000, "%"]
)
def test_invalid_text_in_the_box_is_explained(page: Page, text: str) -> None:
    page.goto("/?collection=chembl")
    box = page.get_by_role("combobox", name="SMILES")
    box.fill(text)
    expect(page.locator("#complaint")).to_contain_text(re.compile("[Nn]o item is named|too long"))
    expect(box).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Enter")
    assert "q" not in url_parameters(page)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c1ccccc1C(=O", "Not a structure (extra open parentheses), and no item is named “c1ccccc1C(=O”."),
        ("c1ccccc1C(=", "Not a structure (syntax error around character 11), and no item is named “c1ccccc1C(=”."),
        ("aspirin", "No item is named “aspirin”, and the text is not a SMILES or InChI."),
        ("#99999", "No item has the id 99999."),
        (ASPIRIN_KEY, "This collection stores no InChIKeys. Type a SMILES or InChI."),
    ],
)
def test_invalid_text_has_a_specific_message(page: Page, text: str, message: str) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("combobox", name="SMILES").fill(text)
    expect(page.locator("#complaint")).to_have_text(message)


def test_item_is_found_by_inchikey(page: Page, own_folder: Path, serve: Callable, tmp_path: Path) -> None:
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
        expect(page.locator("#complaint")).to_have_text("No item has this InChIKey. Type a SMILES or InChI.")


def test_all_items_of_a_shared_name_are_offered(
    page: Page, own_folder: Path, serve: Callable, publish: Callable
) -> None:
    publish(own_folder, "twins", [f"{'C' * length} {'twin' if length > 12 else 'other'}" for length in range(1, 121)])
    with serve(own_folder) as client:
        for name, message in (("twin", "100 or more"), ("other", "12")):
            page.goto(f"{client.base_url}/?collection=twins&q={name}")
            expect(page.get_by_role("heading", name=f"{message} items are named “{name}”")).to_be_visible()
            expect(page.locator("main li")).to_have_count(int(message.split()[0]))
        page.locator("#box").fill("twin")
        expect(page.locator("#readings li")).to_have_count(100)
        page.keyboard.press("ArrowUp")
        expect(page.locator("#readings li").last).to_be_in_viewport()


def test_invalid_url_is_explained(page: Page) -> None:
    page.goto("/?collection=chembl&q=c1ccc(&min_similarity=7&view=nonsense&sort=-nothing")
    expect(page.get_by_role("heading", name="Query not recognized")).to_be_visible()
    page.goto("/?collection=nowhere&q=C")
    expect(page.get_by_role("heading", name="There is no collection “nowhere”")).to_be_visible()


def test_new_structure_is_compared_with_all_items(page: Page, api: httpx.Client, look: Look) -> None:
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


def test_structure_is_drawn_in_the_editor(page: Page, look: Look) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("/?collection=chembl")
    page.get_by_role("region", name="Examples").get_by_role("listitem").first.wait_for()
    assert [url for url in requests if "openchemlib" in url] == []
    page.get_by_role("button", name="Draw", exact=True).click()
    canvases = page.locator("dialog canvas")
    expect(canvases).to_have_count(2)
    expect(canvases.nth(1)).to_be_focused()
    assert [url for url in requests if "openchemlib" in url] != []
    use = page.get_by_role("button", name="Search this structure")
    expect(use).to_be_disabled()
    canvases.nth(0).click(position={"x": 32, "y": 200})  # The benzene template.
    canvases.nth(1).click(position={"x": 300, "y": 200})
    look(page, "editor")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.get_by_text("This is your unfinished drawing.")).to_be_visible()
    use.click()
    expect(page.locator("#box")).to_have_value("c1ccccc1")


def test_editor_starts_with_the_query(page: Page) -> None:
    page.goto(f"/?collection=chembl&q={QUERY}")
    page.get_by_role("button", name="Draw", exact=True).click()
    use = page.get_by_role("button", name="Search this structure")
    expect(use).to_be_enabled()
    use.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#box")).to_have_value(QUERY)


def test_node_is_found_by_name(page: Page, look: Look) -> None:
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


def test_graph_is_found_by_name(page: Page, look: Look) -> None:
    page.goto("/?collection=graphs")
    expect(page.get_by_role("button", name="Draw", exact=True)).to_have_count(0)
    page.get_by_role("combobox", name="Name or id").fill("b")
    expect(page.locator("#readings li")).to_contain_text("named “b”")
    page.keyboard.press("Enter")
    expect(page.locator("section tbody tr")).to_have_count(1)
    assert url_parameters(page)["q"] == "b"
    expect(page.locator("figure.query")).to_contain_text("a, b")
    look(page, "graphs")
    page.goto("/?collection=graphs&q=a")
    expect(page.get_by_role("heading", name="2 items are named “a”")).to_be_visible()
    look(page, "namesakes")
    page.get_by_role("link", name="item 2").click()
    expect(page.locator("section tbody tr")).to_have_count(1)
