"""The scaffold tree of a series, from its roots to R-group tables."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.collection.sar.scaffolds import parent_of

Look = Callable[[Page, str], None]

FILE = Path(__file__).parents[3] / "docs" / "assets" / "pi3k-alpha.csv"
PATH = ["c1ncncn1", "c1cncc(-c2ncncn2)c1", "c1cncc(Nc2ncccc2-c2ncncn2)c1"]  # from a root to the largest scaffold


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return the compounds of the series with their scaffolds."""
    frame = pd.read_csv(FILE)
    return frame.assign(scaffold=frame["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles))


def branch(frame: pd.DataFrame, scaffold: str) -> pd.DataFrame:
    """Return the compounds in the branch of a scaffold."""

    def is_below(own: str) -> bool:
        above: str | None = own
        while above not in (scaffold, None):
            above = parent_of(above)
        return above == scaffold

    return frame[frame["scaffold"].map(is_below)]


def entry(page: Page, scaffold: str) -> Locator:
    """Return the entry of a scaffold, without those below it."""
    picture = page.get_by_role("img", name=f"Scaffold {scaffold}", exact=True)
    return page.locator(".scaffold").filter(has=picture)


def test_tree_leads_from_a_root_to_the_r_groups_of_a_scaffold(page: Page, frame: pd.DataFrame, look: Look) -> None:
    page.goto("/?collection=series")
    page.get_by_role("link", name="SAR").click()
    page.get_by_role("link", name="Scaffolds").click()
    page.get_by_label("Show the mean of").select_option("pKi")
    expect(page.get_by_role("status").filter(has_text="roots of the tree")).to_contain_text("240 compounds")
    for scaffold in PATH:
        members = branch(frame, scaffold)
        expect(entry(page, scaffold)).to_contain_text(f"{len(members)} compounds")
        expect(entry(page, scaffold)).to_contain_text(f"mean pKi {members['pKi'].mean():.2f}")
        if scaffold != PATH[-1]:
            entry(page, scaffold).get_by_role("button").click()
    look(page, "scaffolds")

    page.reload()
    series = entry(page, PATH[-1])
    own = frame[frame["scaffold"] == PATH[-1]]
    series.get_by_role("link", name=f"{len(own)} compounds with exactly this scaffold").click()
    page.get_by_text(f"{len(own)} of 240 items").wait_for()
    expect(page.get_by_role("main")).to_contain_text(f"Only compounds with the scaffold {PATH[-1]}.")
    page.go_back()
    series.get_by_role("link", name="R-group table of these").click()
    page.get_by_text(f"{len(own)} compounds with this core").wait_for()
    page.go_back()
    series.get_by_role("link", name="R-group table of all that contain it").click()
    core = Chem.MolFromSmiles(PATH[-1])
    containing = frame["smiles"].map(lambda smiles: Chem.MolFromSmiles(smiles).HasSubstructMatch(core)).sum()
    page.get_by_text(f"{containing} compounds with this core").wait_for()


def test_tree_of_a_filtered_series_and_of_a_cluster(page: Page, frame: pd.DataFrame) -> None:
    page.goto("/?collection=series&part=items")
    page.get_by_label("Substructure", exact=True).fill("N1CCNCC1")
    page.keyboard.press("Enter")
    piperazine = Chem.MolFromSmarts("N1CCNCC1")
    matches = frame[frame["smiles"].map(lambda smiles: Chem.MolFromSmiles(smiles).HasSubstructMatch(piperazine))]
    page.get_by_text(f"{len(matches)} of 240 items").wait_for()
    page.get_by_role("region", name="All items").get_by_role("link", name="Scaffolds").click()
    status = page.get_by_role("status").filter(has_text="of the tree")
    expect(status).to_contain_text(f"{len(matches)} compounds")
    assert parse_qs(urlsplit(page.url).query)["smarts"] == ["N1CCNCC1"]

    page.goto("/?collection=series&part=clusters&min_similarity=0.4")
    cluster = page.get_by_role("region", name="Clusters")
    cluster.get_by_role("listitem").first.get_by_role("link").first.click()
    size = cluster.locator("strong", has_text="Cluster 1: ").inner_text().split(": ")[1].split()[0]
    cluster.get_by_role("link", name="Scaffolds").click()
    page.get_by_text(f"Series: cluster 1 of the Butina clusters at 0.40 ({size} compounds).").wait_for()
    expect(status).to_contain_text(f"{size} compounds")


def test_graphs_have_no_scaffolds(page: Page) -> None:
    page.goto("/?collection=karate&part=scaffolds")
    page.get_by_text("Scaffolds need molecules, and this collection has none.").wait_for()
