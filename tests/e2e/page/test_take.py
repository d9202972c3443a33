"""Downloads of the current view or selection as files for other programs."""

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
    """Return the query and all its neighbors."""
    url = "/v1/collections/chembl/items"
    item = api.get(url, params={"smiles": QUERY}).json()["items"][0]
    reply: dict[str, Any] = api.get(f"{url}/{item['id']}/subgraph", params={"max_items": 1000}).json()
    return reply


def ends(edge: dict[str, Any]) -> tuple[int, int]:
    return edge["source"], edge["target"]


def download_file(page: Page, button: str) -> Path:
    """Click a button of the download menu and return the file."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename.startswith("chembl.")
    return Path(download.value.path())


def test_table_is_downloaded(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    page.goto(ADDRESS)
    page.locator("tbody tr").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    look(page, "take home")
    ids = [node["item"]["id"] for node in subgraph["nodes"]]
    similarities = [1, *(edge["similarity"] for edge in subgraph["edges"] if ids[0] in ends(edge))]
    with download_file(page, "CSV").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == ids
    assert sorted((float(row["similarity"]) for row in rows), reverse=True) == pytest.approx(
        sorted(similarities, reverse=True)
    )
    molecules = Chem.SDMolSupplier(str(download_file(page, "SDF")))
    assert Chem.MolToSmiles(molecules[0]) == QUERY
    assert [molecule.GetProp("similarity") for molecule in molecules] == [row["similarity"] for row in rows]


def test_selected_item_is_downloaded(page: Page, subgraph: dict[str, Any]) -> None:
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.get_by_role("img").click()
    page.get_by_text("Download", exact=True).click()
    page.get_by_label("selected item only").check()
    with download_file(page, "CSV").open() as file:
        assert [int(row["id"]) for row in csv.DictReader(file)] == [subgraph["nodes"][1]["item"]["id"]]


def test_graph_is_downloaded(page: Page, subgraph: dict[str, Any]) -> None:
    page.goto(f"{ADDRESS}&view=graph&min_similarity=0.4&colour=molwt")
    page.get_by_role("list", name="Items in the graph").get_by_role("listitem").first.wait_for()
    edges = [edge for edge in subgraph["edges"] if edge["similarity"] >= 0.4]
    joined = {end for edge in edges for end in ends(edge)}
    page.get_by_text("Download", exact=True).click()
    graph = ElementTree.parse(download_file(page, "GraphML")).getroot()
    assert len(list(graph.iter(f"{GRAPHML}edge"))) == len(edges)
    assert {int(node.attrib["id"][1:]) for node in graph.iter(f"{GRAPHML}node")} == joined
    picture = ElementTree.parse(download_file(page, "Graph as SVG")).getroot()
    assert len(list(picture.iter(f"{SVG}line"))) == len(edges)
    assert len(picture.findall(f"{SVG}g/{SVG}g/{SVG}svg")) == len(subgraph["nodes"])
    words = " ".join(text.text or "" for text in picture.iter(f"{SVG}text"))
    weights = [node["item"]["properties"]["molwt"] for node in subgraph["nodes"]]
    weight_range = f"{min(weights):.3f} to {max(weights):.3f}"
    for told in (QUERY, "similarity ≥ 0.40", "Colored by Molecular weight (g/mol)", weight_range):
        assert told in words
    pixels = np.asarray(Image.open(download_file(page, "Graph as PNG")).convert("L")).astype(int)
    assert (np.ptp(pixels[-130:-20], axis=1) > 100).mean() > 0.3  # The image has the same words.
    expect(page.get_by_role("alert")).to_have_count(0)


def test_graph_of_a_new_structure_is_downloaded(page: Page, api: httpx.Client) -> None:
    body = {"smiles": NEW, "min_similarity": 0.35, "limit": 1000}
    hits = api.post("/v1/collections/chembl/search", json=body).json()["hits"]
    page.goto(f"/?collection=chembl&q={NEW}&min_similarity=0.35")
    page.locator("section tbody tr").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    graph = ElementTree.parse(download_file(page, "GraphML")).getroot()
    joined = [edge.attrib["target"] for edge in graph.iter(f"{GRAPHML}edge") if edge.attrib["source"] == "query"]
    assert sorted(joined) == sorted(f"n{hit['item']['id']}" for hit in hits)


def test_items_below_the_stored_threshold_are_downloaded(page: Page) -> None:
    page.goto(f"{ADDRESS}&exact=1&min_similarity=0.2")
    page.locator("section tbody tr").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    assert download_file(page, "GraphML").read_bytes()


@pytest.mark.parametrize("outcome", ["cancelled", "away"])
def test_incomplete_file_is_not_downloaded(page: Page, outcome: str) -> None:
    downloads: list[object] = []
    page.on("download", lambda download: downloads.append(download))
    page.clock.install()
    page.route("**/depiction.svg*", lambda route: route.abort() if outcome == "away" else None)
    page.goto(f"{ADDRESS}&view=graph")
    page.get_by_role("list", name="Items in the graph").get_by_role("listitem").first.wait_for()
    page.get_by_text("Download", exact=True).click()
    page.get_by_role("button", name="Graph as SVG").click()
    if outcome == "away":
        expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    else:
        page.clock.fast_forward(5000)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Canceled.")).to_be_visible()
    page.unroute_all()
    download_file(page, "CSV")
    assert len(downloads) == 1


def refuse(route: Route) -> None:
    """Reply as a server at its limit."""
    problem = {"title": "Not available now", "status": 503, "detail": "too many exports at once", "type": ""}
    route.fulfill(status=503, headers={"Retry-After": "7"}, json=problem)


def test_download_from_a_busy_server_is_retried(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.wait_for()
    page.clock.install()
    page.route("**/export*", refuse, times=2)
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


def test_waiting_for_a_busy_server_can_be_canceled(page: Page) -> None:
    requests: list[str] = []
    downloads: list[object] = []
    page.on("download", lambda download: downloads.append(download))
    page.on("request", lambda request: requests.append(request.url) if "/export" in request.url else None)
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.wait_for()
    page.clock.install()
    page.route("**/export*", refuse)
    page.get_by_text("Download", exact=True).click()
    page.get_by_role("button", name="CSV").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Canceled.")).to_be_visible()
    page.clock.run_for(60_000)
    assert len(requests) == 1
    assert downloads == []


def test_menu_closes_by_escape_and_by_a_click_elsewhere(page: Page) -> None:
    page.goto(ADDRESS)
    page.locator("tbody tr").first.wait_for()
    csv_button = page.get_by_role("button", name="CSV")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_text("Columns").click()):
        page.get_by_text("Download", exact=True).click()
        expect(csv_button).to_be_visible()
        close()
        expect(csv_button).to_be_hidden()
    expect(page.locator("details input").first).to_be_visible()
