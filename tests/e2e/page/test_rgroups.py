"""The R-group table of a series: of a substructure, a cluster, a selection or a scaffold."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit
from zipfile import ZipFile

import httpx
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect
from rdkit import Chem
from rdkit.Chem import rdRGroupDecomposition
from rdkit.Chem.Scaffolds import MurckoScaffold

Look = Callable[[Page, str], None]

SERIES = "c1cncc(Nc2ncccc2-c2ncncn2)c1"  # the largest scaffold of the example data
FILE = Path(__file__).parents[3] / "docs" / "assets" / "pi3k-alpha.csv"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return the R groups and the activity of each compound of the series, by name."""
    molecules = pd.read_csv(FILE, index_col="name")
    parsed = molecules["smiles"].map(Chem.MolFromSmiles)
    core = Chem.MolFromSmiles(SERIES)
    members = parsed[[molecule.HasSubstructMatch(core) for molecule in parsed]]
    decomposition = rdRGroupDecomposition.RGroupDecomposition([core])
    for molecule in members:
        decomposition.Add(molecule)
    decomposition.Process()
    groups = pd.DataFrame(decomposition.GetRGroupsAsColumns(asSmiles=True), index=members.index)
    return groups.join(molecules["pKi"])


def short(group: str) -> str:
    """Return an R group as the page writes it."""
    text = re.sub(r"\[\*:\d+\]", "*", group)
    return "H" if text in ("[H]*", "*[H]") else text


def download(page: Page, button: str) -> Path:
    """Click a button of the download menu and return the file."""
    with page.expect_download() as event:
        page.get_by_role("button", name=button).click()
    return Path(event.value.path())


def names(table: Locator) -> list[str]:
    """Return the names of the compounds in the document, in the order of the table."""
    return table.locator("tbody td:nth-child(2)").all_inner_texts()


def test_series_is_a_table_of_r_groups(page: Page, frame: pd.DataFrame) -> None:
    labels = [column for column in frame if column.startswith("R")]
    page.goto("/?collection=series&part=items")
    page.get_by_label("Substructure", exact=True).fill(SERIES)
    page.keyboard.press("Enter")
    page.get_by_text(f"{len(frame)} of 240 items").wait_for()
    page.get_by_role("link", name="R-group table").click()
    page.get_by_label("Core", exact=True).fill(SERIES)
    page.keyboard.press("Enter")
    page.get_by_label("Color by").select_option("pKi")
    page.get_by_text(f"{len(frame)} compounds with this core").wait_for()
    table = page.get_by_role("region", name="R groups of the compounds")
    for label in labels:
        options = page.get_by_label(f"Only rows with this {label}").locator("option").all_inner_texts()
        counts = frame[label].value_counts().items()
        assert sorted(options) == sorted(["any", *(f"{short(group)} ({count})" for group, count in counts)])

    page.get_by_role("columnheader", name="pKi").get_by_role("button").click()
    values = table.locator("td.numeric[style]")
    expect(values.first).to_have_text(f"{frame['pKi'].max():.2f}")
    cells = values.evaluate_all("cells => cells.map((cell) => [cell.innerText, cell.style.background])")
    ranking = [f"{value:.2f}" for value in sorted(frame["pKi"], reverse=True)]
    assert [text for text, _ in cells] == ranking[: len(cells)]
    assert len({color for _, color in cells}) > len({text for text, _ in cells}) / 2  # Close values may share a color.

    (first, second), group = labels[2:4], frame[labels[2]].value_counts().index[1]
    page.get_by_label(f"Only rows with this {first}").select_option(group)
    narrowed = frame[frame[first] == group]
    page.get_by_text(f"{len(narrowed)} of {len(frame)} compounds with these R groups").wait_for()
    assert sorted(names(table)) == sorted(narrowed.index)
    other = narrowed[second].value_counts().index[-1]
    page.get_by_label(f"Only rows with this {second}").select_option(other)
    both = narrowed[narrowed[second] == other]
    page.get_by_text(f"{len(both)} of {len(frame)} compounds with these R groups").wait_for()
    page.reload()
    expect(page.get_by_label(f"Only rows with this {first}")).to_have_value(group)
    assert sorted(names(table)) == sorted(both.index)
    page.go_back()
    page.get_by_text(f"{len(narrowed)} of {len(frame)} compounds with these R groups").wait_for()


def test_matrix_and_contributions_compare_the_groups(page: Page, api: httpx.Client, frame: pd.DataFrame) -> None:
    page.goto(f"/?collection=series&part=rgroups&property=pKi&core={quote(SERIES)}")
    page.get_by_text("Matrix", exact=True).click()
    page.get_by_label("Rows").select_option("R5")
    page.get_by_label("Columns").select_option("R6")
    matrix = page.get_by_role("region", name="Matrix of R5 and R6")
    means = frame.groupby(["R5", "R6"])["pKi"].agg(["mean", "size"])
    expect(matrix.locator("td a")).to_have_count(len(means))
    rows, columns = frame["R5"].value_counts(), frame["R6"].value_counts()
    row, column = rows.index[rows.argmax()], columns.index[columns.argmax()]
    largest = means.loc[row, column]
    cell = matrix.get_by_role("row").nth(1).get_by_role("cell").first
    expect(cell).to_have_text(re.compile(rf"{largest['mean']:.2f}\s*n = {largest['size']:.0f}"))
    cell.get_by_role("link").click()
    page.get_by_text(f"{largest['size']:.0f} of {len(frame)} compounds with these R groups").wait_for()
    expect(page.get_by_label("Only rows with this R5")).to_have_value(row)

    page.get_by_text("Contributions", exact=True).click()
    body = {"core": SERIES, "property": "pKi"}
    model = api.post("/v1/collections/series/rgroups", json=body).json()["free_wilson"]
    contributions = page.get_by_role("region", name="Free-Wilson contributions")
    expect(contributions.locator("tbody tr")).to_have_count(len(model["contributions"]))
    page.get_by_text(f"a baseline of {model['baseline']:.2f}").wait_for()
    chlorine = next(each for each in model["contributions"] if (each["position"], each["group"]) == ("R5", "Cl[*:5]"))
    shown = contributions.get_by_role("row").filter(has=page.get_by_role("cell", name="R5", exact=True))
    sign = "+" if chlorine["contribution"] > 0 else "−"
    expect(shown.filter(has_text="Cl*")).to_contain_text(
        re.compile(
            rf"{chlorine['compounds']}\s*\{sign}{abs(chlorine['contribution']):.2f}\s*{chlorine['standard_error']:.2f}"
        )
    )
    page.get_by_label("Name begins with").fill("PI3K-01")
    page.keyboard.press("Enter")
    page.get_by_text("There is not enough data for Free-Wilson contributions to pKi").wait_for()


def test_cluster_opens_at_its_common_core(page: Page, api: httpx.Client) -> None:
    page.goto("/?collection=series&part=clusters&min_similarity=0.4")
    page.get_by_role("region", name="Clusters").get_by_role("listitem").first.get_by_role("link").first.click()
    page.get_by_role("link", name="R-group table").click()
    reply = api.post(
        "/v1/collections/series/rgroups", json={"cluster": {"id": 1, "threshold": 0.4}, "property": "pKi"}
    ).json()
    page.get_by_text(f"{len(reply['rows'])} compounds with this core").wait_for()
    expect(page.get_by_role("main")).to_contain_text(reply["core"])
    page.get_by_role("button", name="Keep this core").click()
    expect(page.get_by_label("Core", exact=True)).to_have_value(reply["pattern"])
    assert parse_qs(urlsplit(page.url).query)["core"] == [reply["pattern"]]


def test_selection_opens_by_its_link(page: Page, frame: pd.DataFrame) -> None:
    page.goto("/?collection=series&part=items")
    page.get_by_label("Substructure", exact=True).fill(SERIES)
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Add all {len(frame)} to the selection").click()
    page.get_by_role("link", name=f"Selection ({len(frame)})").click()
    page.get_by_role("link", name="R-group table").click()
    page.get_by_text(f"Series: the list “Selection” ({len(frame)} compounds)").wait_for()
    page.evaluate("localStorage.clear()")
    page.reload()
    page.get_by_text(f"Series: the list “Selection” ({len(frame)} compounds)").wait_for()
    page.get_by_label("Core", exact=True).fill("C1CCCCCCCCC1")
    page.keyboard.press("Enter")
    page.get_by_text("No compound of the series contains this core.").wait_for()
    page.get_by_label("Core", exact=True).fill("c1ccc(")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("the core cannot be read")


def test_scaffold_opens_at_itself(page: Page) -> None:
    molecules = pd.read_csv(FILE, index_col="name")
    scaffolds = molecules["smiles"].map(lambda smiles: MurckoScaffold.MurckoScaffoldSmiles(smiles=smiles))
    members = sorted(molecules.index[scaffolds == SERIES])
    page.goto(f"/?collection=series&part=rgroups&scaffold={quote(SERIES)}")
    page.get_by_text(f"Series: compounds with the scaffold {SERIES}.").wait_for()
    page.get_by_text(f"{len(members)} compounds with this core").wait_for()
    page.get_by_text("The scaffold of the series.").wait_for()
    table = page.get_by_role("region", name="R groups of the compounds")
    page.get_by_role("columnheader", name="Name").get_by_role("button").click()
    expect(table.locator("tbody td:nth-child(2)").first).to_have_text(members[0])
    shown = names(table)
    assert shown == members[: len(shown)]


def test_compounds_without_the_core_are_listed(page: Page, frame: pd.DataFrame) -> None:
    others = pd.read_csv(FILE)["name"][lambda names: ~names.isin(frame.index)]
    page.goto(f"/?collection=series&part=rgroups&core={quote(SERIES)}")
    page.get_by_text(f"{len(others)} compounds do not contain the core").click()
    rows = page.get_by_role("group").filter(has_text="not contain the core").get_by_role("listitem")
    expect(rows).to_have_count(len(others))
    assert sorted(rows.get_by_role("link").all_inner_texts()) == sorted(others)


def test_table_is_downloaded(page: Page, frame: pd.DataFrame) -> None:
    labels = [column for column in frame if column.startswith("R")]
    page.goto(f"/?collection=series&part=rgroups&property=pKi&core={quote(SERIES)}")
    page.get_by_text("Download", exact=True).click()
    page.get_by_text("The whole table: 240 compounds").wait_for()
    table = pd.read_csv(download(page, "CSV"), index_col="names")
    assert len(table) == 240
    pd.testing.assert_frame_equal(table.loc[frame.index, labels], frame[labels], check_names=False, check_dtype=False)
    molecules = [*Chem.SDMolSupplier(str(download(page, "SDF")))]
    assert len(molecules) == 240
    assert [molecule.GetProp("R3") for molecule in molecules if molecule.HasProp("R3")] == table["R3"].dropna().tolist()
    assert "xl/worksheets/sheet1.xml" in ZipFile(download(page, "Excel")).namelist()


def test_diverse_collection_asks_for_a_series(page: Page, look: Look) -> None:
    page.goto("/?collection=nci")
    page.get_by_role("link", name="SAR").click()
    alert = page.get_by_role("alert")
    expect(alert.locator("strong")).to_have_text("No R-group table")
    expect(alert).to_contain_text("no common substructure")
    expect(alert).to_contain_text(
        "set a core, select the molecules of one series by filters, or open one of their clusters"
    )
    expect(page.get_by_role("main")).to_contain_text(
        "Filter them, or open a cluster or the selection as an R-group table."
    )
    look(page, "R groups without a series")
