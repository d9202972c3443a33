"""Take docs/page.png, the picture of the README, and those of docs/tutorials/page.md. Run by `make screenshot`.

`python docs/screenshot.py NAME...` takes only the pictures of these functions.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright
from rdkit import RDConfig

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

DOCS = Path(__file__).parent
README_PICTURE = DOCS / "page.png"
MOLECULES = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
COMPOUNDS = Path(RDConfig.RDContribDir) / "FreeWilson" / "data" / "CHEMBL2321810.smi"
TABLE = DOCS / "assets" / "pi3k-alpha.csv"
SERIES = "pi3k-alpha"
ACID = "C(=O)[OH]"
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


def start(page: Page) -> None:
    """Show the start page."""
    _open(page)
    page.get_by_role("img", name="Histogram of").first.wait_for()


def search(page: Page) -> None:
    """Show what a typed name may mean."""
    _open(page)
    page.get_by_role("region", name="Examples").get_by_role("link").first.wait_for()
    page.get_by_role("combobox", name="SMILES").fill(NAME)
    page.locator("#readings li").first.wait_for()


def plot(page: Page) -> None:
    """Show a scatter plot with brushed compounds."""
    _open(page, part="plot", x="heavy_atoms", y="molwt", colour="rings")
    page.get_by_role("button", name="Rectangle").click()
    _drag(page, page.get_by_role("application"), (0.3, 0.3), (0.5, 0.75))
    page.get_by_role("link", name="Show in table").wait_for()


def upload(page: Page) -> None:
    """Show how a table of affinities would be read."""
    _open(page, part="upload")
    page.get_by_label("Choose a file").set_input_files(TABLE)
    page.get_by_role("list", name="First records").get_by_role("img").last.wait_for()


def similar(page: Page) -> None:
    """Show the similar compounds as a table, with the differences highlighted."""
    _open(page, q=QUERY, mark="differences")
    page.locator("section tbody tr").first.wait_for()


def acids(page: Page) -> None:
    """Show the acids of the collection, and the formats in which they can be saved."""
    _open(page, part="items", smarts=ACID)
    page.get_by_text(" of 4,892 items").wait_for()
    page.get_by_text("Download", exact=True).first.click()


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


def map_view(page: Page) -> None:
    """Show a lasso on the map, and the compounds in it."""
    _open(page, SERIES, part="map", colour="pKi")
    sheet = page.get_by_role("application", name="Map of")
    page.get_by_role("button", name="Lasso").click()
    _drag(page, sheet, (0.4, 0.1), (0.7, 0.15), (0.7, 0.6), (0.45, 0.65))
    page.get_by_role("complementary", name="Items in the lasso").get_by_role("listitem").first.wait_for()


def empty(page: Page) -> None:
    """Show a list without items."""
    _open(page, part="basket")
    page.get_by_role("heading", name="This list is empty").wait_for()


def rgroups(page: Page) -> None:
    """Show the largest cluster of a series as an R-group table, colored by affinity."""
    _open(page, SERIES, part="clusters")
    page.get_by_role("link", name="R groups of cluster 1", exact=True).click()
    page.get_by_role("columnheader", name="R1").first.wait_for()


def pairs(page: Page) -> None:
    """Show the transformations that raise the affinity."""
    _open(page, SERIES, part="pairs", property="pKi")
    page.get_by_role("region", name="Transformations").get_by_role("link").first.wait_for()


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
    page.get_by_role("region", name="Selection").get_by_text("Compare", exact=True).click()
    page.get_by_role("region", name="Comparison").get_by_role("img").first.wait_for()


def compare(page: Page) -> None:
    """Show a series of candidates next to the nearest compounds of a catalog."""
    _open(page, "catalog", part="compare", other="candidates")
    page.get_by_role("list", name="Compared compounds").get_by_role("img").first.wait_for()


TUTORIAL = (
    start,
    upload,
    search,
    similar,
    acids,
    graph,
    clusters,
    tree,
    map_view,
    plot,
    cliffs,
    rgroups,
    pairs,
    lookup,
    selection,
    empty,
)


def _open(page: Page, collection: str = "nci", **state: str) -> None:
    page.goto(f"/?{urlencode({'collection': collection, **state})}")


def _drag(page: Page, target: Locator, *points: tuple[float, float]) -> None:
    """Drag through points, which are fractions of the width and the height of an element."""
    box = target.bounding_box()
    assert box is not None
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()


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


@contextmanager
def _served(collections: Mapping[str, Path]) -> Iterator[str]:
    """Serve collections of these files, and yield the URL."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        with open_store(store, create=True) as opened:
            for name, file in collections.items():
                ingest(opened, name, [str(file)], resolve())
        with Server(Settings(store=store, port=0)).running() as url:
            yield url


@contextmanager
def _two_sets() -> Iterator[dict[str, Path]]:
    """Yield the files of a catalog and of candidates: a series that ships with RDKit, with 83 compounds in both."""
    lines = COMPOUNDS.read_text().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.smi" for name in ("catalog", "candidates")}
        files["catalog"].write_text("".join(lines[:800]))
        files["candidates"].write_text("".join(lines[-300:]))
        yield files


def _take_all(url: str, pictures: Sequence[Callable[[Page], None]]) -> None:
    for show in pictures:
        with tempfile.TemporaryDirectory() as folder, _browser_page(url, 1.5 if show is readme else 1) as page:
            screenshot = Path(folder) / "page.png"
            _take(page, show, screenshot)
            image = Image.open(screenshot).convert("RGB")
        if show is readme:
            path = README_PICTURE
            image.quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)
        else:
            path = DOCS / "assets" / f"page-{show.__name__.removesuffix('_view')}.webp"
            image.save(path, quality=70, method=6)
        print(f"{path}: {path.stat().st_size:,} bytes")


def main(names: list[str]) -> None:
    """Take the pictures with these names, by default all."""
    pictures = [show for show in (readme, *TUTORIAL) if not names or show.__name__ in names]
    if pictures:
        with _served({"nci": MOLECULES, SERIES: TABLE}) as url:
            _take_all(url, pictures)
    if not names or compare.__name__ in names:
        with _two_sets() as files, _served(files) as url:
            _take_all(url, [compare])


if __name__ == "__main__":
    main(sys.argv[1:])
