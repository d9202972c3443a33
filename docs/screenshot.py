"""Take docs/page.png, the picture of the README, and those of docs/tutorials/page.md. Run by `make screenshot`.

`python docs/screenshot.py NAME...` takes only the pictures of these functions.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

DOCS = Path(__file__).parent
README_PICTURE = DOCS / "page.png"
MOLECULES = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
SIZE = {"width": 1280, "height": 800}
WAIT = 180_000  # milliseconds: clusters are computed on their first use
NAME = "215"
QUERY = "CCCC(=O)Oc1ccccc1C(=O)O"
LIST = ["215", "CCCCCC(=O)Oc1ccccc1C(=O)O", "CC(=O)Oc1ccccc1C(=O)O", "aspirin", "c1ccc("]
PICTURES_LOADED = """() => [...document.images].every((image) => {
    const { top } = image.getBoundingClientRect();
    return (image.complete && image.ariaBusy !== "true") || top > innerHeight;
}) && document.querySelector(".canvas[aria-busy=true], section[aria-busy=true]") === null"""


def readme(page: Page) -> None:
    """Show a sulfonamide and its similar molecules as a graph."""
    threshold = "0.5"  # separates sulfonamides, sulfonates and sulfones
    query, other = "CCNS(=O)(=O)c1ccccc1", "CCCCNS(=O)(=O)c1ccccc1"
    _open(page, q=query, view="graph", min_similarity=threshold, chosen=other)
    page.get_by_role("list", name="Items in the graph").get_by_role("listitem").first.wait_for()


def search(page: Page) -> None:
    """Show what a typed name may mean."""
    _open(page)
    page.get_by_role("region", name="Examples").get_by_role("link").first.wait_for()
    page.get_by_role("combobox", name="SMILES").fill(NAME)
    page.locator("#readings li").first.wait_for()


def plot(page: Page) -> None:
    """Show a scatter plot with brushed compounds."""
    _open(page, part="plot", x="heavy_atoms", y="molwt", colour="rings")
    canvas = page.get_by_role("application")
    page.get_by_role("button", name="Rectangle").click()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.75)
    page.mouse.up()
    page.get_by_role("link", name="Show in table").wait_for()


def upload(page: Page) -> None:
    """Show how a table of affinities would be read."""
    _open(page, part="upload")
    page.get_by_label("Choose a file").set_input_files(DOCS / "assets" / "pi3k-alpha.csv")
    page.get_by_role("list", name="First records").get_by_role("img").last.wait_for()


def similar(page: Page) -> None:
    """Show the similar compounds as a table, with the differences highlighted."""
    _open(page, q=QUERY, mark="differences")
    page.locator("section tbody tr").first.wait_for()


def graph(page: Page) -> None:
    """Show the similar compounds as a graph at a higher threshold, colored by molecular weight."""
    _open(page, q=QUERY, view="graph", min_similarity="0.5", colour="molwt")
    page.get_by_role("list", name="Items in the graph").get_by_role("listitem").first.wait_for()


def clusters(page: Page) -> None:
    """Show the largest clusters."""
    _open(page, part="clusters", property="molwt")
    page.get_by_role("region", name="Clusters").get_by_role("listitem").first.wait_for()


def tree(page: Page) -> None:
    """Show the dendrogram of a component."""
    _open(page, part="tree", min_similarity="0.7")
    page.get_by_role("region", name="Similarity tree").get_by_role("listitem").nth(2).get_by_role("link").click()
    page.get_by_role("list", name="Leaves").get_by_role("listitem").first.wait_for()


def cliffs(page: Page) -> None:
    """Show pairs of similar compounds with different molecular weights."""
    _open(page, part="cliffs", property="molwt", min_similarity="0.8")
    page.get_by_role("region", name="Activity cliffs").get_by_role("listitem").first.wait_for()


def lookup(page: Page) -> None:
    """Show the results of a list: two items found, one new structure, one unknown name, one unreadable text."""
    _open(page, part="list")
    page.get_by_label("Paste SMILES").fill("\n".join(LIST))
    page.get_by_role("button", name="Look up").click()
    page.get_by_role("region", name="Results").locator("tbody tr").first.wait_for()
    page.get_by_role("button", name="Look up").scroll_into_view_if_needed()


def selection(page: Page) -> None:
    """Compare the items of a list."""
    _open(page, q=QUERY, min_similarity="0.5")
    page.get_by_role("button", name="to the selection").click()
    page.get_by_role("link", name="Selection (").click()
    page.get_by_text("Compare", exact=True).click()
    page.get_by_role("region", name="Comparison").get_by_role("img").first.wait_for()


TUTORIAL = (upload, search, similar, graph, clusters, tree, plot, cliffs, lookup, selection)


def _open(page: Page, **state: str) -> None:
    page.goto(f"/?{urlencode({'collection': 'nci', **state})}")


def _take(page: Page, show: Callable[[Page], None], path: Path) -> None:
    show(page)
    page.wait_for_load_state("networkidle")
    page.wait_for_function(PICTURES_LOADED)
    page.screenshot(path=path)


@contextmanager
def _browser_page(url: str, scale: float) -> Iterator[Page]:
    """Yield an empty tab at a server. Each has its own lists."""
    with sync_playwright() as playwright:
        arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        page = browser.new_page(viewport=SIZE, device_scale_factor=scale, base_url=url)
        page.set_default_timeout(WAIT)
        yield page
        browser.close()


def main(names: list[str]) -> None:
    """Take the pictures with these names, by default all."""
    with tempfile.TemporaryDirectory() as folder:
        store, screenshot = Path(folder) / "store", Path(folder) / "page.png"
        with open_store(store, create=True) as opened:
            ingest(opened, "nci", [str(MOLECULES)], resolve())
        with Server(Settings(store=store, port=0)).running() as url:
            for show in (readme, *TUTORIAL):
                if names and show.__name__ not in names:
                    continue
                with _browser_page(url, 1.5 if show is readme else 1) as page:
                    _take(page, show, screenshot)
                image = Image.open(screenshot).convert("RGB")
                if show is readme:
                    path = README_PICTURE
                    image.quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)
                else:
                    path = DOCS / "assets" / f"page-{show.__name__}.webp"
                    image.save(path, quality=70, method=6)
                print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
