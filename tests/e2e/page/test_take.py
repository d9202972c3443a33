"""Take home: what is in view, or what is chosen, as files that other programs open."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from playwright.sync_api import Page, expect
from rdkit import Chem

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}"
SVG = "{http://www.w3.org/2000/svg}"
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture(scope="module")
def subgraph(api: httpx.Client) -> dict[str, Any]:
    """The query and all its neighbours."""
    url = "/v1/collections/chembl/items"
    item = api.get(url, params={"smiles": QUERY}).json()["items"][0]
    found: dict[str, Any] = api.get(f"{url}/{item['id']}/subgraph", params={"max_items": 1000}).json()
    return found


def taken(page: Page, button: str) -> Path:
    """The file that a button of the menu gives."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename.startswith("chembl.")
    return Path(download.value.path())


def test_the_table_is_taken_home(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    page.goto(ADDRESS)
    page.locator("tbody tr").first.wait_for()
    page.get_by_text("Take home").click()
    look(page, "take home")
    ids = [node["item"]["id"] for node in subgraph["nodes"]]
    with taken(page, "CSV").open() as file:
        assert [int(row["id"]) for row in csv.DictReader(file)] == ids
    molecules = Chem.SDMolSupplier(str(taken(page, "SDF")))
    assert Chem.MolToSmiles(molecules[0]) == QUERY
    assert len(molecules) == len(ids)


def test_one_chosen_item_is_taken_home(page: Page, subgraph: dict[str, Any]) -> None:
    page.goto(ADDRESS)
    page.locator("section tbody tr").first.get_by_role("img").click()
    page.get_by_text("Take home").click()
    page.get_by_label("only what is chosen").check()
    with taken(page, "CSV").open() as file:
        assert [int(row["id"]) for row in csv.DictReader(file)] == [subgraph["nodes"][1]["item"]["id"]]


def test_the_graph_is_taken_home(page: Page, subgraph: dict[str, Any]) -> None:
    page.goto(f"{ADDRESS}&view=graph&min_similarity=0.4")
    page.get_by_role("list", name="Items of the graph").get_by_role("listitem").first.wait_for()
    edges = [edge for edge in subgraph["edges"] if edge["similarity"] >= 0.4]
    ends = {edge[end] for edge in edges for end in ("source", "target")}
    page.get_by_text("Take home").click()
    graph = ElementTree.parse(taken(page, "GraphML")).getroot()
    assert len(list(graph.iter(f"{GRAPHML}edge"))) == len(edges)
    assert {int(node.attrib["id"][1:]) for node in graph.iter(f"{GRAPHML}node")} == ends
    picture = ElementTree.parse(taken(page, "SVG of the graph")).getroot()
    assert len(list(picture.iter(f"{SVG}line"))) == len(edges)
    assert len(picture.findall(f"{SVG}g/{SVG}g/{SVG}svg")) == len(subgraph["nodes"])
    assert taken(page, "PNG of the graph").read_bytes().startswith(b"\x89PNG")
    expect(page.get_by_role("alert")).to_have_count(0)
