"""Take home: what is in view, or what is chosen, as files that other programs open."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect
from rdkit import Chem

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}"
NEW = "FCOc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
SVG = "{http://www.w3.org/2000/svg}"
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture(scope="module")
def subgraph(api: httpx.Client) -> dict[str, Any]:
    """The query and all its neighbours."""
    url = "/v1/collections/chembl/items"
    item = api.get(url, params={"smiles": QUERY}).json()["items"][0]
    found: dict[str, Any] = api.get(f"{url}/{item['id']}/subgraph", params={"max_items": 1000}).json()
    return found


def ends(edge: dict[str, Any]) -> tuple[int, int]:
    return edge["source"], edge["target"]


def taken(page: Page, button: str) -> Path:
    """The file that a button of the menu gives."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename.startswith("chembl.")
    return Path(download.value.path())


def test_the_table_is_taken_home(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    page.goto(ADDRESS)
    page.locator("tbody tr").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    look(page, "take home")
    ids = [node["item"]["id"] for node in subgraph["nodes"]]
    similarities = [1, *(edge["similarity"] for edge in subgraph["edges"] if ids[0] in ends(edge))]
    with taken(page, "CSV").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == ids
    assert sorted((float(row["similarity"]) for row in rows), reverse=True) == pytest.approx(
        sorted(similarities, reverse=True)
    )
    molecules = Chem.SDMolSupplier(str(taken(page, "SDF")))
    assert Chem.MolToSmiles(molecules[0]) == QUERY
    assert [molecule.GetProp("similarity") for molecule in molecules] == [row["similarity"] for row in rows]


def test_one_chosen_item_is_taken_home(page: Page, subgraph: dict[str, Any]) -> None:
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.get_by_role("img").click()
    page.get_by_text("Download", exact=True).click()
    page.get_by_label("only what is chosen").check()
    with taken(page, "CSV").open() as file:
        assert [int(row["id"]) for row in csv.DictReader(file)] == [subgraph["nodes"][1]["item"]["id"]]


def test_the_graph_is_taken_home(page: Page, subgraph: dict[str, Any]) -> None:
    page.goto(f"{ADDRESS}&view=graph&min_similarity=0.4&colour=molwt")
    page.get_by_role("list", name="Items of the graph").get_by_role("listitem").first.wait_for()
    edges = [edge for edge in subgraph["edges"] if edge["similarity"] >= 0.4]
    joined = {end for edge in edges for end in ends(edge)}
    page.get_by_text("Download", exact=True).click()
    graph = ElementTree.parse(taken(page, "GraphML")).getroot()
    assert len(list(graph.iter(f"{GRAPHML}edge"))) == len(edges)
    assert {int(node.attrib["id"][1:]) for node in graph.iter(f"{GRAPHML}node")} == joined
    picture = ElementTree.parse(taken(page, "SVG of the graph")).getroot()
    assert len(list(picture.iter(f"{SVG}line"))) == len(edges)
    assert len(picture.findall(f"{SVG}g/{SVG}g/{SVG}svg")) == len(subgraph["nodes"])
    words = " ".join(text.text or "" for text in picture.iter(f"{SVG}text"))
    weights = [node["item"]["properties"]["molwt"] for node in subgraph["nodes"]]
    for told in (QUERY, "Similarity ≥ 0.40", "Coloured by molwt", f"{min(weights):.3f} to {max(weights):.3f}"):
        assert told in words
    pixels = np.asarray(Image.open(taken(page, "PNG of the graph")).convert("L")).astype(int)
    assert (np.ptp(pixels[-130:-20], axis=1) > 100).mean() > 0.3  # the same words
    expect(page.get_by_role("alert")).to_have_count(0)


def test_who_is_not_stored_is_taken_home_with_its_graph(page: Page, api: httpx.Client) -> None:
    body = {"smiles": NEW, "min_similarity": 0.35, "limit": 1000}
    hits = api.post("/v1/collections/chembl/search", json=body).json()["hits"]
    page.goto(f"/?collection=chembl&q={NEW}&min_similarity=0.35")
    page.locator("section tbody tr").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    graph = ElementTree.parse(taken(page, "GraphML")).getroot()
    joined = [edge.attrib["target"] for edge in graph.iter(f"{GRAPHML}edge") if edge.attrib["source"] == "query"]
    assert sorted(joined) == sorted(f"n{hit['item']['id']}" for hit in hits)


def test_what_is_compared_below_the_threshold_is_taken_home(page: Page) -> None:
    page.goto(f"{ADDRESS}&exact=1&min_similarity=0.2")
    page.locator("section tbody tr").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    assert taken(page, "GraphML").read_bytes()


@pytest.mark.parametrize("left", ["cancelled", "away"])
def test_a_file_that_cannot_be_made_is_not_taken_home(page: Page, left: str) -> None:
    downloads: list[object] = []
    page.on("download", lambda download: downloads.append(download))
    page.clock.install()
    page.route("**/depiction.svg*", lambda route: route.abort() if left == "away" else None)
    page.goto(f"{ADDRESS}&view=graph")
    page.get_by_role("list", name="Items of the graph").get_by_role("listitem").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    page.get_by_role("button", name="SVG of the graph").click()
    if left == "away":
        expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    else:
        page.clock.fast_forward(5000)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Cancelled.")).to_be_visible()
    page.unroute_all()
    taken(page, "CSV")
    assert len(downloads) == 1


def busy(route: Route) -> None:
    """A server at its limit."""
    problem = {"title": "Not available now", "status": 503, "detail": "too many exports at once", "type": ""}
    route.fulfill(status=503, headers={"Retry-After": "7"}, json=problem)


def test_a_busy_server_is_asked_for_the_file_again(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.wait_for()
    page.clock.install()
    page.route("**/export*", busy, times=2)
    page.get_by_text("Download", exact=True).click()
    page.get_by_role("button", name="CSV").click()
    expect(page.get_by_text("too many exports at once")).to_be_visible()
    look(page, "file that is waited for")
    with page.expect_response("**/export*"):
        page.clock.run_for(7000)
    expect(page.get_by_text("too many exports at once")).to_be_visible()
    with page.expect_download() as download:
        page.clock.run_for(7000)
    with Path(download.value.path()).open() as file:
        assert len(list(csv.DictReader(file))) == len(subgraph["nodes"])
    expect(page.get_by_text("too many exports at once")).to_have_count(0)


def test_who_does_not_wait_for_a_busy_server_cancels(page: Page) -> None:
    asked: list[str] = []
    downloads: list[object] = []
    page.on("download", lambda download: downloads.append(download))
    page.on("request", lambda request: asked.append(request.url) if "/export" in request.url else None)
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.wait_for()
    page.clock.install()
    page.route("**/export*", busy)
    page.get_by_text("Download", exact=True).click()
    page.get_by_role("button", name="CSV").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled.")).to_be_visible()
    page.clock.run_for(60_000)
    assert len(asked) == 1
    assert downloads == []


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(page: Page) -> None:
    page.goto(ADDRESS)
    page.locator("tbody tr").first.wait_for()
    csv_button = page.get_by_role("button", name="CSV")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_text("Columns").click()):
        page.get_by_text("Download", exact=True).click()
        expect(csv_button).to_be_visible()
        close()
        expect(csv_button).to_be_hidden()
    expect(page.locator("details input").first).to_be_visible()
