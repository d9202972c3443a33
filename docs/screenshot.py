"""Take docs/page.png, the README's picture: the page about one molecule of `make demo`. Run by `make screenshot`."""

import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from rdkit import RDConfig

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

PICTURE = Path(__file__).with_name("page.png")
MOLECULES = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
SIZE = {"width": 1280, "height": 800}
STATE = {
    "collection": "nci",
    "q": "CCNS(=O)(=O)c1ccccc1",
    "view": "graph",
    "min_similarity": "0.5",  # separates sulfonamides, sulfonates and sulfones
    "chosen": "CCCCNS(=O)(=O)c1ccccc1",
}


def take(url: str, path: Path) -> None:
    """Save the page in `STATE` as a PNG."""
    with sync_playwright() as playwright:
        arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(f"{url}/?{urlencode(STATE)}")
        _settle(page)
        page.screenshot(path=path)
        browser.close()


def _settle(page: Page) -> None:
    page.get_by_role("list", name="Items in the graph").get_by_role("listitem").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.locator(".canvas[aria-busy=true]").wait_for(state="detached")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, screenshot = Path(folder) / "store", Path(folder) / "page.png"
        with open_store(store, create=True) as opened:
            ingest(opened, "nci", [str(MOLECULES)], resolve())
        with Server(Settings(store=store, port=0)).running() as url:
            take(url, screenshot)
        Image.open(screenshot).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
