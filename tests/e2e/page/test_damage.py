"""A collection with a damaged file: the page names the file and shows no data from it."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

Look = Callable[..., None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
FILE = "similarity.npy"


@pytest.fixture
def damaged_folder(own_folder: Path, api: httpx.Client) -> Path:
    """Return a store in which one bit of a similarity in the collection chembl is flipped."""
    generation = api.get("/v1/collections/chembl").json()["generation"]
    file = own_folder / "collections" / "chembl" / generation / FILE
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    return own_folder


def test_damage_is_reported_and_other_collections_work(
    page: Page, damaged_folder: Path, serve: Callable, look: Look
) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if "/neighbors" in request.url else None)
    with serve(damaged_folder) as client:
        page.goto(f"{client.base_url}/?collection=chembl&q={QUERY}")
        alert = page.get_by_role("alert").first
        expect(alert).to_contain_text("Damaged")
        expect(alert).to_contain_text(FILE)
        expect(page.locator("main section tbody tr")).to_have_count(0)
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
        assert len(requests) <= 1
        look(page, "really damaged")
        page.get_by_role("link", name="About").click()
        expect(page.get_by_role("heading", name="chembl")).to_be_visible()
        expect(alert).to_contain_text("Damaged")
        expect(alert).to_contain_text(FILE)
        options = page.get_by_label("Collection").locator("option")
        expect(options.filter(has_text="Damaged")).to_have_text(["Damaged: chembl (2,000)"])
        page.goto(f"{client.base_url}/?collection=nci&q=O=C(O)c1ccccc1")
        expect(page.locator("main section tbody tr").first).to_be_visible()
