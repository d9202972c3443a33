"""A list is looked up, and a selection is filled, compared, shown as a graph, sent and downloaded."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect
from rdkit import Chem

from tests.until import until_available

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
NEW = "FCOc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
URL = "/v1/collections/chembl"


@pytest.fixture(scope="module")
def items(api: httpx.Client) -> list[dict[str, Any]]:
    stored_items: list[dict[str, Any]] = api.get(f"{URL}/items", params={"limit": 300}).json()["items"]
    return stored_items


def test_list_of_structures_is_looked_up(page: Page, api: httpx.Client, items: list[dict[str, Any]]) -> None:
    stored = [item["smiles"] for item in items[:20]]
    (nearest,) = api.post(f"{URL}/search", json={"smiles": NEW, "limit": 1}).json()["hits"]
    lines = [f"{stored[0]} called so", *stored[1:], NEW, "c1ccc(", "no such name"]
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="Paste a list").click()
    page.get_by_label("Paste SMILES").fill("\n".join(lines))
    page.get_by_role("button", name="Look up").click()
    page.get_by_text("20 found, 1 not found, 1 name not found, 1 unreadable").wait_for()
    rows = page.get_by_role("region", name="Results").locator("tbody tr")
    expect(rows).to_have_count(len(lines))
    expect(rows.nth(3)).to_contain_text("Found")
    expect(rows.nth(3).get_by_role("link")).to_have_text(stored[3])
    expect(rows.nth(20)).to_contain_text("Not found")
    expect(rows.nth(20)).to_contain_text(nearest["item"]["smiles"])
    expect(rows.nth(20)).to_contain_text(f"similarity {int(nearest['similarity'] * 1000) / 1000:.3f}")
    expect(rows.nth(21)).to_contain_text(re.compile("Unreadable.*syntax error", re.DOTALL))
    expect(rows.nth(22)).to_contain_text("Name not found")
    expect(rows.nth(22)).not_to_contain_text("syntax error")
    page.get_by_label("Show").select_option("unread")
    expect(rows).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    with Path(download.value.path()).open() as file:
        saved = [*csv.DictReader(file)]
    assert [row["input"] for row in saved] == lines
    assert [row["id"] for row in saved] == [
        *(str(item["id"]) for item in items[:20]),
        str(nearest["item"]["id"]),
        "",
        "",
    ]
    page.get_by_role("button", name="Add found to the selection").click()
    page.get_by_role("button", name="Add nearest to the selection").click()
    expect(page.get_by_role("link", name="Selection (21)")).to_be_visible()


@pytest.mark.parametrize("format", ["sdf", "csv"])
def test_dropped_file_is_looked_up(page: Page, items: list[dict[str, Any]], format: str, tmp_path: Path) -> None:
    file = tmp_path / f"list.{format}"
    if format == "sdf":
        with Chem.SDWriter(str(file)) as writer:
            for item in items[:5]:
                writer.write(Chem.MolFromSmiles(item["smiles"]))
    else:
        file.write_text("name,smiles\n" + "".join(f"n,{item['smiles']}\n" for item in items[:5]))
    page.goto("/?collection=chembl&part=list")
    page.get_by_label("or choose a file").set_input_files(file)
    page.get_by_text("5 found, 0 not found, 0 name not found, 0 unreadable").wait_for()


def test_names_and_lines_pasted_into_the_box_are_looked_up(page: Page, api: httpx.Client) -> None:
    names = [item["names"][0] for item in api.get("/v1/collections/nci/items", params={"limit": 20}).json()["items"]]
    page.goto("/?collection=nci")
    box = page.locator("#box")
    box.evaluate(
        """(box, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text", text);
            box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
        }""",
        "\n".join(names),
    )
    page.get_by_text("20 found, 0 not found, 0 name not found, 0 unreadable").wait_for()


def test_unknown_names_come_with_suggestions(page: Page, look: Look) -> None:
    """A word that is valid SMILES is a structure, and any other word is a name."""
    page.goto("/?collection=pairs&part=list")
    page.get_by_label("Paste SMILES").fill("aspirin\ndiclofenak\nCCO\nc1ccc(")
    page.get_by_role("button", name="Look up").click()
    page.get_by_text("0 found, 1 not found, 2 name not found, 1 unreadable").wait_for()
    rows = page.get_by_role("region", name="Results").locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("Name not found")
    expect(rows.nth(1)).to_contain_text("Name not found")
    expect(rows.nth(1)).to_contain_text("Did you mean diclofenac?")
    expect(rows.nth(2)).to_contain_text("Not found")
    expect(rows.nth(3)).to_contain_text("and no item has this name")
    look(page, "unknown names")
    rows.nth(1).get_by_role("link", name="diclofenac").click()
    expect(page.locator("figure.query")).to_contain_text("diclofenac")
    page.goto("/?collection=pairs&q=diclofenak")
    expect(page.get_by_text("No item is named “diclofenak”, and the text is not a SMILES or InChI.")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name="diclofenac")).to_be_visible()


def test_selection_is_filled_compared_shown_sent_and_downloaded(page: Page, api: httpx.Client, look: Look) -> None:
    page.goto(f"/?collection=chembl&q={QUERY}&min_similarity=0.45")
    ticks = page.locator("tbody input.tick")
    ticks.nth(0).check()
    ticks.nth(1).check()
    page.get_by_text("Tiles").click()
    page.locator("section li input.tick").nth(2).check()
    expect(page.locator("section li input.tick").nth(0)).to_be_checked()
    page.get_by_role("button", name=re.compile("Add all .* to the selection")).click()
    (query_item,) = api.get(f"{URL}/items", params={"smiles": QUERY}).json()["items"]
    near = api.get(f"{URL}/items/{query_item['id']}/neighbors", params={"min_similarity": 0.45, "limit": 1000}).json()
    ids = [each["item"]["id"] for each in near["neighbors"]]
    page.get_by_role("link", name=f"Selection ({len(ids)})").click()
    page.reload()
    page.get_by_role("status").filter(has_text=f"{len(ids)} items").wait_for()
    page.get_by_role("region", name="Selection").get_by_text("Compare", exact=True).click()
    compared = page.get_by_role("region", name="Comparison")
    expect(compared.locator("thead img")).to_have_count(min(len(ids), 12))
    page.get_by_text("Graph", exact=True).click()
    members = page.get_by_role("list", name="Items in the graph").get_by_role("listitem")
    members.last.wait_for()
    expect(members).to_have_count(len(ids))
    edges = api.post(f"{URL}/export", json={"ids": ids, "what": "edges", "format": "csv"}).text.count("\n") - 1
    page.get_by_text(re.compile(rf"{edges} edges?")).wait_for()
    look(page, "selection graph")
    page.get_by_role("group", name="View").get_by_text("Table").click()
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SDF").click()
    downloaded = [Chem.MolToSmiles(molecule) for molecule in Chem.SDMolSupplier(str(download.value.path()))]
    assert downloaded == [each["item"]["smiles"] for each in near["neighbors"]]
    page.keyboard.press("Escape")
    address = page.get_by_role("link", name="Link", exact=True).get_attribute("href")
    page.get_by_role("button", name="Empty the list").click()
    expect(page.get_by_role("heading", name="This list is empty")).to_be_visible()
    page.goto(address or "")
    page.get_by_text("These items come from a link to the list “Selection”.").wait_for()
    expect(page.locator("tbody td.name")).to_have_count(len(ids))
    page.get_by_role("button", name="Save as a list").click()
    expect(page.get_by_role("link", name=f"Selection ({len(ids)})")).to_be_visible()


def test_list_is_limited_to_the_ids_of_one_request(page: Page, api: httpx.Client) -> None:
    generation = api.get(URL).json()["generation"]
    page.add_init_script(
        f"localStorage.setItem('graphkin.basket.chembl', JSON.stringify({{generation: '{generation}', "
        "ids: Array.from({length: 10000}, (_, k) => 100000 + k)}))"
    )
    page.goto(f"/?collection=chembl&q={QUERY}")
    page.locator("tbody input.tick").first.click()
    expect(page.get_by_role("alert")).to_have_text(re.compile("at most 10,000 items.* would hold 10,001"))


def test_diverse_items_are_picked_into_the_selection(page: Page, api: httpx.Client) -> None:
    body = {"count": 7, "from": {"filters": [{"property": "rings", "min": 5}]}}
    expected_ids = api.post(f"{URL}/pick", json=body).json()["ids"]
    page.goto("/?collection=chembl&part=items&filter=%5B%22rings%22,5,null%5D")
    page.get_by_text(re.compile(r"^\d+ of 2,000 items$")).wait_for()
    page.locator("summary", has_text="Pick").click()
    page.get_by_label("Number of items").fill("7")
    page.get_by_role("button", name="Pick").click()
    page.get_by_text("7 items picked.").wait_for()
    ids = page.evaluate("JSON.parse(localStorage.getItem('graphkin.lists.chembl')).lists[0].ids")
    assert ids == expected_ids


def test_cliffs_are_shown_side_by_side(page: Page, api: httpx.Client) -> None:
    query: dict[str, Any] = {"property": "molwt", "by": "difference", "min_similarity": 0.5, "limit": 20}
    expected = api.get(f"{URL}/cliffs", params=query).json()
    page.goto("/?collection=chembl&min_similarity=0.5")
    page.get_by_role("link", name="Cliffs", exact=True).click()
    page.get_by_role("combobox", name="Property", exact=True).select_option("molwt")
    page.get_by_role("combobox", name="Rank by", exact=True).select_option("difference")
    page.get_by_role("slider").fill("0.5")
    page.get_by_text(f"{expected['total']:,} pairs of neighbors differ in Molecular weight (g/mol)").wait_for()
    items = {item["id"]: item["smiles"] for item in expected["items"]}
    names = page.get_by_role("region", name="Activity cliffs").locator("ul").first.locator("figcaption a")
    expect(names.nth(1)).to_have_text(items[expected["pairs"][0]["b"]])
    expected_smiles = [items[pair[end]] for pair in expected["pairs"] for end in "ab"]
    assert names.all_inner_texts() == expected_smiles


def test_cluster_is_opened_from_the_list(page: Page, api: httpx.Client) -> None:
    query = {"method": "scaffold", "property": "molwt"}
    scaffolds = until_available(lambda: api.get(f"{URL}/clusters", params=query)).json()
    largest = scaffolds["clusters"][0]
    smiles = {item["id"]: item["smiles"] for item in scaffolds["items"]}
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="Clusters", exact=True).click()
    page.get_by_role("combobox", name="Method", exact=True).select_option("scaffold")
    page.get_by_role("combobox", name="Summarize", exact=True).select_option("molwt")
    page.get_by_role("heading", name="Bemis-Murcko scaffolds").wait_for()
    share = f"{100 * scaffolds['singleton_share']:.1f} % of all items"
    singletons = f"{scaffolds['singletons']:,} of them contain a single item: {share}."
    page.get_by_text(f"{scaffolds['total']:,} clusters. {singletons}").wait_for()
    listed_clusters = page.get_by_role("region", name="Clusters").get_by_role("listitem")
    expect(listed_clusters.first).to_contain_text(f"{largest['size']} items")
    least, most = largest["range"]["min"], largest["range"]["max"]
    expect(listed_clusters.first).to_contain_text(f"Molecular weight (g/mol) {least:.3f} to {most:.3f}")
    listed_clusters.first.get_by_role("link").first.click()
    members = api.get(f"{URL}/clusters/1", params={"method": "scaffold", "limit": 1000}).json()["items"]
    page.get_by_text(f"{len(members)} members", exact=True).wait_for()
    names = page.locator("tbody td.name a")
    assert names.all_inner_texts() == [item["smiles"] for item in members][: names.count()]
    mcs = api.get(f"{URL}/clusters/1/mcs", params={"method": "scaffold"}).json()
    shared = page.get_by_role("figure", name="Common substructure")
    expect(shared).to_contain_text(f"Maximum common substructure of all {len(members)} members: {mcs['atoms']} atoms.")
    shared.get_by_role("link", name="Show all compounds with it").click()
    having = {"substructure": mcs["smarts"], "limit": 1}
    counted = until_available(lambda: api.post(f"{URL}/items/query", json=having)).json()["total"]
    page.get_by_text(f"{counted:,} of 2,000 items").first.wait_for()
    page.go_back()
    page.reload()
    page.get_by_text(f"Cluster 1: {largest['size']} items").wait_for()
    names.first.click()
    page.get_by_role("link", name="Show its Butina cluster").click()
    page.get_by_text(re.compile(r"Cluster [\d,]+: \d+ items?")).wait_for()
    assert smiles[largest["centre"]] in [item["smiles"] for item in members]


def test_clusters_are_sorted_and_filtered_by_a_property(page: Page, api: httpx.Client) -> None:
    """The clusters with the highest mean affinity open as R-group tables and on the map."""
    url = "/v1/collections/series/clusters"
    query: dict[str, Any] = {"property": "pKi", "by": "mean", "min_size": 3}
    expected = until_available(lambda: api.post(url, json=query)).json()
    page.goto("/?collection=series&part=clusters&property=pKi")
    page.get_by_role("heading", name="Butina clusters at 0.55").wait_for()
    page.get_by_role("combobox", name="Order").select_option("highest mean of pKi")
    page.get_by_text(
        f"{expected['total']} clusters of at least 3 items, with {expected['matches']} of 240 items."
    ).wait_for()
    cards = page.get_by_role("region", name="Clusters").get_by_role("list").first.get_by_role("listitem")
    expect(cards).to_have_count(expected["total"])
    for place in (0, expected["total"] - 1):
        cluster = expected["clusters"][place]
        expect(cards.nth(place)).to_contain_text(f"{cluster['size']} items")
        expect(cards.nth(place)).to_contain_text(f"mean {cluster['range']['mean']:.2f} ± {cluster['sd']:.2f}")
    largest = max(expected["clusters"], key=lambda cluster: cluster["size"])
    potent = {**query, "filters": [{"property": "pKi", "min": 8}]}
    filtered = until_available(lambda: api.post(url, json=potent)).json()
    page.goto(f"{page.url}&filter=%5B%22pKi%22%2C8%2Cnull%5D")
    page.get_by_text(f"with {filtered['matches']} of the items that match the filters.").wait_for()
    expect(cards).to_have_count(filtered["total"])
    matches = next(cluster["matches"] for cluster in filtered["clusters"] if cluster["id"] == largest["id"])
    expect(cards.filter(has_text=f"{matches} of {largest['size']} items")).to_have_count(1)
    page.get_by_role("link", name=f"R groups of cluster {largest['id']}", exact=True).click()
    page.get_by_text(f"cluster {largest['id']} of the Butina clusters at 0.55 ({largest['size']} compounds)").wait_for()
    page.go_back()
    page.get_by_role("link", name=f"Map of cluster {largest['id']}", exact=True).click()
    expect(page.get_by_text(f"Only cluster {largest['id']} with {largest['size']} items")).to_be_visible()
