"""Filters: the server narrows, sorts, counts and exports a whole collection or the items similar to a query."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pandas as pd
import pytest
from playwright.sync_api import Page, expect
from rdkit import Chem

from graphkin.api.generations.patterns import PatternMatches

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"


@pytest.fixture(scope="module")
def frame(api: httpx.Client) -> pd.DataFrame:
    reply = api.get("/v1/collections/chembl/export", params={"what": "items", "format": "csv"})
    return pd.read_csv(io.StringIO(reply.text))


def test_whole_collection_is_filtered_sorted_and_downloaded(page: Page, frame: pd.DataFrame, look: Look) -> None:
    page.goto("/?collection=chembl")
    page.get_by_role("link", name="Table", exact=True).click()
    page.get_by_role("status").filter(has_text=re.compile("^2,000 items$")).wait_for()
    page.get_by_label("Filter by a property").select_option("molwt")
    page.get_by_label("Molecular weight (g/mol) from").fill("300")
    page.get_by_label("Molecular weight (g/mol) to").fill("350")
    page.keyboard.press("Enter")
    expected = frame[frame["molwt"].between(300, 350)].sort_values(["molwt", "id"], ascending=[False, True])
    assert 200 < len(expected) < 1000
    page.get_by_text(f"{len(expected)} of 2,000 items").wait_for()
    page.get_by_role("columnheader", name="Molecular weight").get_by_role("button").click()
    names = page.locator("tbody td.name a")
    expect(names.first).to_have_text(expected["smiles"].iloc[0])
    assert names.all_inner_texts() == expected["smiles"].tolist()[: names.count()]
    look(page, "items filtered")
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    with Path(download.value.path()).open() as file:
        assert [int(row["id"]) for row in csv.DictReader(file)] == expected["id"].tolist()
    page.reload()
    expect(names.first).to_have_text(expected["smiles"].iloc[0])
    page.get_by_label("Molecular weight (g/mol) to").fill("")
    page.keyboard.press("Enter")
    page.get_by_text(f"{(frame['molwt'] >= 300).sum():,} of 2,000 items").wait_for()
    page.get_by_label("Molecular weight (g/mol) from").fill("100000")
    page.keyboard.press("Enter")
    page.get_by_text("No item matches the filter.").wait_for()
    page.get_by_role("button", name="Remove the filter on Molecular weight").click()
    page.get_by_role("status").filter(has_text=re.compile("^2,000 items$")).wait_for()
    page.get_by_text("Tiles").click()
    page.locator("section li a.item").nth(3).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("figure.query")).to_be_visible()


def test_items_are_filtered_by_the_beginning_of_their_name(page: Page, api: httpx.Client) -> None:
    body = {"name": "12", "limit": 1000}
    reply = api.post("/v1/collections/nci/items/query", json=body).json()
    page.goto("/?collection=nci&part=items")
    page.get_by_label("Name begins with").fill("12")
    page.keyboard.press("Enter")
    page.get_by_text(f"{reply['total']} of ").wait_for()
    assert parse_qs(urlsplit(page.url).query)["name"] == ["12"]
    page.locator("tbody td.name a").first.click()
    expect(page.locator("figure.query")).to_be_visible()
    assert "name" not in parse_qs(urlsplit(page.url).query)
    page.go_back()
    expect(page.get_by_label("Name begins with")).to_have_value("12")
    page.get_by_text(f"{reply['total']} of ").wait_for()
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_label("Name begins with")).to_have_value("")


def test_similar_items_are_filtered_below_the_query(page: Page, frame: pd.DataFrame, look: Look) -> None:
    query_row = frame[frame["smiles"] == QUERY].iloc[0]
    page.goto(f"/?collection=chembl&q={QUERY}&filter=%5B%22molwt%22,null,370%5D")
    rows = page.locator("main section tbody tr")
    expect(rows.first).to_be_visible()
    weights = [float(text) for text in page.locator("section tbody td:nth-child(6)").all_inner_texts()]
    total = len(weights)
    assert max(weights) <= 370
    page.get_by_text(f"{total} similar, ≥ 0.30, filtered").wait_for()
    query = page.locator("thead tr.query")
    expect(query).to_contain_text(QUERY)
    expect(query).to_contain_text(f"{query_row['molwt']:.3f}")
    page.set_viewport_size({"width": 700, "height": 700})
    rows.last.scroll_into_view_if_needed()
    page.locator(".scroll").evaluate("box => box.scrollBy(400, 0)")
    look(page, "table scrolled")
    expect(query.locator("td").first).to_be_in_viewport(ratio=1)
    expect(rows.last.get_by_role("img")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Clear").click()
    page.get_by_text(re.compile(r"^\d+ similar, ≥ 0.30$")).wait_for()
    page.get_by_label("Name begins with").fill("nothing is called so")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Clear the filter").click()
    expect(rows.first).to_be_visible()


def test_series_is_downloaded_with_four_clicks(page: Page, frame: pd.DataFrame, look: Look) -> None:
    series = "S(=O)(=O)N1CCCC1"
    pattern = Chem.MolFromSmarts(series)
    members = [each for each in frame["smiles"] if Chem.MolFromSmiles(each).HasSubstructMatch(pattern)]
    assert len(members) > 3
    page.goto("/?collection=chembl")
    clicks = (
        lambda: page.get_by_role("link", name="Table", exact=True).click(),
        lambda: page.get_by_label("Substructure", exact=True).click(),
        lambda: page.get_by_text("Download", exact=True).click(),
        lambda: page.get_by_role("button", name="SDF").click(),
    )
    for click in clicks[:2]:
        click()
    page.keyboard.type(series)
    page.keyboard.press("Enter")
    page.get_by_text(f"{len(members)} of 2,000 items").wait_for()
    look(page, "series")
    clicks[2]()
    with page.expect_download() as download:
        clicks[3]()
    downloaded = [Chem.MolToSmiles(molecule) for molecule in Chem.SDMolSupplier(str(download.value.path()))]
    assert downloaded == members
    page.reload()
    expect(page.get_by_label("Substructure", exact=True)).to_have_value(series)
    page.get_by_label("Substructure", exact=True).fill("c1ccc(")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("SMARTS")
    page.goto("/?collection=chembl&part=items&drawn=C1=CC=NC=C1")
    pattern_from_url = Chem.MolFromSmiles("C1=CC=NC=C1")
    pyridines = [each for each in frame["smiles"] if Chem.MolFromSmiles(each).HasSubstructMatch(pattern_from_url)]
    page.get_by_text(f"{len(pyridines)} of 2,000 items").wait_for()
    page.get_by_role("button", name="Draw a substructure").click()
    page.get_by_role("button", name="Filter by this substructure").click()
    page.get_by_text(f"{len(pyridines)} of 2,000 items").wait_for()


def test_slow_substructure_filter_shows_its_progress(
    page: Page, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PatternMatches, "patience", 0)  # Act as if every search took longer.
    abandoned_pattern, series = "[#7]!@[#7]", "[#8]!@[#16]"
    members = [
        each for each in frame["smiles"] if Chem.MolFromSmiles(each).HasSubstructMatch(Chem.MolFromSmarts(series))
    ]
    substructure = page.get_by_label("Substructure", exact=True)
    progress = page.get_by_text("computing matches of this substructure: 0 of 2000")
    page.goto("/?collection=chembl&part=items")
    substructure.fill(abandoned_pattern)
    page.keyboard.press("Enter")
    progress.wait_for()
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("status").filter(has_text=re.compile("^2,000 items$")).wait_for()
    expect(progress).to_have_count(0)
    substructure.fill(series)
    page.keyboard.press("Enter")
    progress.wait_for()
    page.get_by_text(f"{len(members)} of 2,000 items").wait_for()
    expect(progress).to_have_count(0)
