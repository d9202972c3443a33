"""The molecular descriptors of a query on the page."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from rdkit import Chem
from rdkit.Chem import Descriptors

Look = Callable[[Page, str], None]

QUERY = "CC(=O)Oc1ccccc1C(=O)OCC"  # not an item


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
