"""Molecular descriptors and activities on the page: of a query, and wherever a property can be chosen."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect
from rdkit import Chem
from rdkit.Chem import Descriptors

Look = Callable[[Page, str], None]

CORE = "c1cncc(Nc2ncccc2-c2ncncn2)c1"
QUERY = "CC(=O)Oc1ccccc1C(=O)OCC"  # not an item


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return the compounds of the series with descriptors by RDKit and the negative logarithms of their affinities."""
    frame = pd.read_csv(Path(__file__).parents[3] / "docs" / "assets" / "pi3k-alpha.csv").set_index("name")
    molecules = frame["smiles"].map(Chem.MolFromSmiles)
    return frame.assign(
        weight=molecules.map(Descriptors.MolWt),
        tpsa=molecules.map(Descriptors.TPSA),
        clogp=molecules.map(Descriptors.MolLogP),
        activity=9 - np.log10(frame["Ki nM"]),
    )


def test_new_query_gets_descriptors_with_labels_and_units(page: Page, look: Look) -> None:
    page.goto(f"/?collection=chembl&q={quote(QUERY)}")
    page.get_by_text("Descriptors of the query").click()
    molecule = Chem.MolFromSmiles(QUERY)
    cells = page.locator("details").filter(has_text="Descriptors of the query").locator("tr")
    expect(cells).to_have_count(11)
    expected = {
        "Molecular weight": (Descriptors.MolWt(molecule), "g/mol"),
        "TPSA": (Descriptors.TPSA(molecule), "Å²"),
        "H-bond acceptors": (Descriptors.NumHAcceptors(molecule), ""),
        "QED": (Descriptors.qed(molecule), ""),
    }
    for label, (value, unit) in expected.items():
        row = cells.filter(has=page.get_by_role("rowheader", name=label, exact=True))
        number, _, shown_unit = row.locator("td").inner_text().partition(" ")
        assert float(number) == pytest.approx(value, abs=0.005)
        assert shown_unit == unit
    look(page, "descriptors of a query")


def test_items_are_filtered_sorted_and_downloaded_by_computed_columns(
    page: Page, frame: pd.DataFrame, look: Look
) -> None:
    page.goto("/?collection=series&part=items")
    page.get_by_label("Filter by a property").select_option("TPSA (Å²)")
    page.get_by_label("TPSA (Å²) from").fill("100")
    page.get_by_label("TPSA (Å²) to").fill("120")
    page.keyboard.press("Enter")
    page.get_by_text("Columns").click()
    for title in ("Molecular weight (g/mol), computed", "pKi, computed"):  # The source has a column pKi.
        page.get_by_role("checkbox", name=title, exact=True).check()
    page.keyboard.press("Escape")
    page.get_by_role("columnheader", name="Molecular weight (g/mol), computed").get_by_role("button").click()
    expected = frame[frame["tpsa"].between(100, 120)].sort_values("weight", ascending=False)
    assert 10 < len(expected) < 200
    page.get_by_text(f"{len(expected)} of 240 items").wait_for()
    rows = page.locator("tbody tr:not(.space)")
    expect(rows.first.locator("td.name a")).to_have_text(expected.index[0])
    for row, (name, compound) in zip(rows.all()[:3], expected.iterrows(), strict=False):
        *_, activity, weight = row.locator("td").all_inner_texts()
        assert row.locator("td.name a").inner_text() == name
        assert (float(activity), float(weight)) == pytest.approx((compound["activity"], compound["weight"]), abs=0.005)
    look(page, "items with computed columns")
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    table = pd.read_csv(download.value.path())
    assert table.columns.tolist()[-2:] == ["pactivity.nM.Ki nM", "descriptor.molecular_weight"]
    np.testing.assert_allclose(table["descriptor.molecular_weight"], expected["weight"])


def test_every_view_of_a_property_offers_computed_ones(page: Page, frame: pd.DataFrame, look: Look) -> None:
    page.goto(f"/?collection=series&part=rgroups&core={quote(CORE)}")
    page.get_by_label("Color by").select_option("cLogP")
    page.locator("section[aria-label='R-group table'][aria-busy=false]").wait_for()
    page.get_by_role("columnheader", name="cLogP").get_by_role("button").click()
    row = page.locator("tbody tr:not(.space)").first
    value = frame.loc[row.locator("td").nth(1).inner_text(), "clogp"]
    assert float(row.locator("td").nth(2).inner_text()) == pytest.approx(value, abs=0.005)
    page.get_by_text("Matrix", exact=True).click()
    page.get_by_text("the mean cLogP").wait_for()
    look(page, "R groups by cLogP")

    page.goto("/?collection=series&part=cliffs")
    page.get_by_role("combobox", name="Property", exact=True).select_option("pKi, computed")
    page.get_by_text("differ in pKi, computed").wait_for()
    card = page.locator("section[aria-label='Activity cliffs'][aria-busy=false] .cards li").first
    card.wait_for()
    names, values = card.locator("figcaption a").all_inner_texts(), card.locator("figcaption strong").all_inner_texts()
    assert [float(value) for value in values] == pytest.approx(frame.loc[names, "activity"].tolist(), abs=0.005)

    page.goto("/?collection=series&part=pairs")
    page.get_by_role("combobox", name="Property", exact=True).select_option("TPSA (Å²)")
    page.get_by_role("columnheader", name="Mean change of TPSA (Å²)").wait_for()
    page.get_by_title("Show these pairs").first.click()
    card = page.get_by_role("region", name="Matched pairs").locator(".cards li").first
    card.wait_for()
    names, values = card.locator("figcaption a").all_inner_texts(), card.locator("figcaption strong").all_inner_texts()
    assert [float(value) for value in values] == pytest.approx(frame.loc[names, "tpsa"].tolist(), abs=0.005)

    page.goto("/?collection=series&part=map")
    page.get_by_label("Color by").select_option("Molecular weight (g/mol), computed")
    for value in (frame["weight"].min(), frame["weight"].max()):
        expect(page.locator(".legend")).to_contain_text(f"{value:.3f}")

    page.goto("/?collection=series&part=scaffolds")
    page.get_by_label("Show the mean of").select_option("cLogP")
    page.get_by_text("mean cLogP").first.wait_for()
