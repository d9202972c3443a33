"""Own files on the page: a file becomes a collection, which then grows and shrinks by other lists."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, expect

from graphkin.store import open_store

Look = Callable[..., None]
Serve = Callable[..., Any]

PATIENCE = 60_000  # milliseconds: a preview and a job start a process each, which yields to all others

TABLE = """Code;Structure;IC50 nM;Batch;Ki
AB-1;O=C(Nc1ccccc1)c1ccc(F)cc1;37,5;7;4
AB-2;O=C(Nc1ccccc1)c1ccc(Cl)cc1;>10000;7;9
AB-3;O=C(Nc1ccccc1)c1ccc(Br)cc1;14,5;7;16
AB-4;O=C(Nc1ccccc1)c1ccc(C)cc1;;7;25
AB-5;O=C(Nc1ccccc1)c1ccc(O)cc1;n.d.;8;36
AB-6;O=C(Nc1ccccc1)c1ccc(N)cc1;2,5;8;49
AB-7;O=C(Nc1ccccc1)c1ccc(OC)cc1;820;8;64
AB-8;O=C(Nc1ccccc1)c1ccc(CC)cc1;95,5;8;81
AB-9;O=C(Nc1ccccc1)c1ccc(SC)cc1;61;8;100
AB-10;CN(C)(C)(C)c1ccccc1;5,5;8;121
"""

DROP = """([name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    const options = { dataTransfer, bubbles: true, cancelable: true };
    for (const type of ["dragover", "drop"]) document.querySelector("main").dispatchEvent(new DragEvent(type, options));
}"""


def details(client: httpx.Client, collection: str) -> dict[str, Any]:
    reply: dict[str, Any] = client.get(f"/v1/collections/{collection}").json()
    return reply


def test_dropped_table_becomes_the_first_collection(page: Page, serve: Serve, look: Look, tmp_path: Path) -> None:
    with serve(tmp_path / "store") as client:
        page.goto(f"{client.base_url}/")
        expect(page.get_by_role("heading", name="Welcome to graphkin")).to_be_visible()
        look(page, "welcome")
        page.evaluate(DROP, ["Compounds 2026.csv", TABLE])
        page.get_by_text("9 of 10 records can be read.").wait_for(timeout=PATIENCE)
        expect(page.get_by_label("Structures (SMILES)")).to_have_value("Structure")
        expect(page.get_by_role("combobox", name="Names")).to_have_value("Code")
        page.get_by_role("list", name="First records").get_by_text("AB-1", exact=True).wait_for(timeout=PATIENCE)
        expect(page.get_by_role("combobox", name="Decimal separator")).to_have_value(",")
        expect(page.get_by_role("row", name="IC50 nM")).to_contain_text("Numbers, in nM, so pIC50 is computed")
        expect(page.get_by_role("row", name="Ki ")).to_contain_text("Numbers")
        page.get_by_label("Unit of Ki").select_option("nM")
        expect(page.get_by_role("row", name="Ki ")).to_contain_text(
            "Numbers, in nM, so pKi is computed", timeout=PATIENCE
        )
        page.get_by_role("checkbox", name="Batch").uncheck()
        expect(page.get_by_role("list", name="First records").get_by_role("img")).to_have_count(6)
        look(page, "upload preview")
        expect(page.get_by_label("Name of the collection")).to_have_value("compounds-2026")
        page.get_by_label("Name of the collection").fill("My Assay")
        expect(page.get_by_text("lower-case letters")).to_be_visible()
        page.get_by_label("Name of the collection").fill("assay")
        page.get_by_label("A few series").check()
        page.get_by_role("button", name="Create the collection").click()
        page.get_by_text("assay was created with 9 compounds.").wait_for(timeout=PATIENCE)
        expect(page.locator("tbody td.name")).to_have_count(9)
        page.get_by_role("button", name="Show 1 rejected record").click()
        expect(page.get_by_role("region", name="Rejected records")).to_contain_text("Explicit valence")
        look(page, "upload done")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download as CSV").click()
        with Path(download.value.path()).open() as file:
            (rejected,) = csv.DictReader(file)
        assert rejected["line"] == "11"
        assert "CN(C)(C)(C)c1ccccc1" in rejected["input"]
        manifest = details(client, "assay")["manifest"]
        assert manifest["properties"]["IC50 nM"] == "number"
        assert manifest["properties"]["Ki (nM)"] == "number"
        assert "Batch" not in manifest["properties"]
        assert [manifest["recipe"][name] for name in ("threshold", "top_k")] == [0.5, 0]


def test_collection_grows_by_a_file_and_shrinks_by_a_list(
    page: Page, serve: Serve, publish: Callable[[Path, str, list[str]], None], look: Look, tmp_path: Path
) -> None:
    alcohols = [f"{'C' * length}O alcohol{length}" for length in range(4, 8)]
    folder = tmp_path / "store"
    with open_store(folder, create=True):
        publish(folder, "alcohols", alcohols)
    (tmp_path / "more.smi").write_text("CCCCCCCCO alcohol8\nCCCCO again\n")
    with serve(folder) as client:
        page.goto(f"{client.base_url}/?collection=alcohols&part=collection")
        page.get_by_role("link", name="Add compounds from a file").click()
        page.get_by_label("Choose a file").set_input_files(tmp_path / "more.smi")
        expect(page.get_by_label("Add the compounds to alcohols")).to_be_checked()
        page.get_by_role("button", name="Add to alcohols").click()
        page.get_by_text("1 compound was added to alcohols.").wait_for(timeout=PATIENCE)
        expect(page.locator("tbody td.name")).to_have_count(5)
        page.get_by_role("link", name="About").click()
        page.get_by_text("Remove compounds by a list").click()
        page.get_by_label("Compounds to remove").fill("alcohol8\nalcohol4\nalcohol99\n")
        look(page, "remove by list")
        page.get_by_role("button", name="Remove 3 compounds").click()
        page.get_by_text("2 compounds were removed from alcohols.").wait_for(timeout=PATIENCE)
        page.get_by_role("button", name="Show 1 line").click()
        expect(page.get_by_role("cell", name="alcohol99")).to_be_visible()
        assert details(client, "alcohols")["manifest"]["counts"]["kept"] == 3


def test_failed_and_canceled_uploads_publish_nothing(
    page: Page, serve: Serve, look: Look, nci_file: Path, tmp_path: Path
) -> None:
    """Too many rejected records are listed, the settings are kept, and the address of a job can be opened again."""
    with serve(tmp_path / "store") as client:
        page.goto(f"{client.base_url}/?part=upload")
        page.get_by_label("SMILES and a name per line").fill("CCO ethanol\nc1ccc( broken\nCCN amine\n")
        page.get_by_role("button", name="Continue with this list").click()
        page.get_by_role("button", name="Create the collection").click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("The collection was not created", timeout=PATIENCE)
        expect(page.get_by_role("region", name="Rejected records")).to_contain_text("syntax error")
        look(page, "upload failed")
        page.reload()
        expect(alert).to_contain_text("The collection was not created")
        page.go_back()
        page.get_by_label("Choose a file").set_input_files(nci_file)
        page.get_by_role("button", name="Create the collection").click()
        expect(page.get_by_role("heading", name="Creating first_5k")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Canceled. Nothing was published.").wait_for(timeout=PATIENCE)
        look(page, "upload canceled")
        page.get_by_role("link", name="Back to the settings").click()
        expect(page.get_by_label("Name of the collection")).to_have_value("first_5k")
        assert client.get("/v1/collections").json()["collections"] == []
