"""Tasks of a chemist on the page, each from the start page: clicks, texts and seconds until the result is shown.

    python -m benchmarks.page_tasks [--url http://127.0.0.1:8000] [--tasks similar map ...]

A browser does each task in an empty tab as a chemist would, by mouse and keyboard. A click, a choice in a list, a file
and a drag each count as one click. A typed or pasted text with the key after it counts as one text. The clock
starts with the first action and stops when the result is visible. The caches of the server are empty at first, so the
first task that needs the clusters, the map or the matched pairs waits until they are computed.

The molecules are the 4,892 of NCI that ship with RDKit, and a series of 240 with measured affinities. With `--url`, the
server must have them as the collections `nci` and `pi3k-alpha`, and accept uploads. Needs Chromium.
"""

import argparse
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from rdkit import RDConfig

from benchmarks.molecules import generate
from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
MOLECULES = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
SERIES = ASSETS / "pi3k-alpha.csv"
WAIT = 60_000  # milliseconds
PASTED = 200
UNREADABLE = 10
UNKNOWN = 10


class Chemist:
    """A user of an empty tab on the start page, whose actions are counted and timed."""

    def __init__(self, browser: Browser, url: str, files: Path) -> None:
        self.browser, self.url, self.files = browser, url, files
        self.clicks = self.texts = 0
        self._begin = 0.0
        self.seconds = 0.0
        self.context = browser.new_context(base_url=url, viewport={"width": 1400, "height": 900})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.page.goto("/")
        self.page.wait_for_load_state("networkidle")

    def click(self, target: Locator) -> None:
        self._count_click()
        target.click()

    def choose(self, target: Locator, option: str) -> None:
        """Choose an option of a list, or the file with this path."""
        self._count_click()
        if target.evaluate("element => element.tagName") == "SELECT":
            target.select_option(option)
        else:
            target.set_input_files(option)

    def type(self, text: str, target: Locator | None = None, key: str = "Enter") -> None:
        """Type a text, where the focus is or after a click, and press a key."""
        if target is not None:
            self.click(target)
        self._start()
        self.texts += 1
        self.page.keyboard.insert_text(text)
        if key:
            self.page.keyboard.press(key)

    def drag(self, target: Locator, points: list[tuple[float, float]]) -> None:
        """Drag through points, which are fractions of the width and the height of an element."""
        self._count_click()
        box = target.bounding_box()
        assert box is not None
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=5)
        self.page.mouse.up()

    def see(self, result: Locator) -> None:
        """Wait until a result is visible, and stop the clock."""
        expect(result).to_be_visible(timeout=WAIT)
        self.seconds = time.perf_counter() - self._begin

    def open_card(self, name: str, collection: str = "pi3k-alpha") -> None:
        self.click(self.page.get_by_role("link", name=f"{name} of {collection}", exact=True))

    def _count_click(self) -> None:
        self._start()
        self.clicks += 1

    def _start(self) -> None:
        if self.clicks + self.texts == 0:
            self._begin = time.perf_counter()


def similar(user: Chemist) -> None:
    """Find what is similar to compound 215, and why."""
    user.type("215")  # the search box has the focus
    compared = user.page.locator("figure.other")
    user.see(compared.get_by_role("img"))
    user.see(compared.locator("img[aria-busy=false]"))


def filter_and_export(user: Chemist) -> None:
    """Filter by a substructure and export the matches."""
    user.click(user.page.get_by_role("link", name="Browse all"))
    user.type("C(=O)[OH]", user.page.get_by_label("Substructure", exact=True))
    user.see(user.page.get_by_role("status").filter(has_text=re.compile("of 4,892")).first)
    user.click(user.page.get_by_text("Download", exact=True).first)
    with user.page.expect_download() as download:
        user.click(user.page.get_by_role("button", name="CSV"))
    assert len(download.value.path().read_text().splitlines()) > 100
    user.see(user.page.locator("tbody tr").first)


def graph_to_cluster(user: Chemist) -> None:
    """Open the component of a compound in the graph as a list."""
    user.type("215")  # the search box has the focus
    user.click(user.page.get_by_text("Graph", exact=True))
    user.click(user.page.locator(".legend a").first)
    user.see(user.page.locator("tbody tr").first)


def look_up(user: Chemist) -> None:
    """Look up a list of 200 lines with errors."""
    lines = [line.split()[0] for line in MOLECULES.read_text().splitlines()[: PASTED - UNREADABLE - UNKNOWN]]
    lines += ["c1ccc("] * UNREADABLE + [f"unknown-{number}" for number in range(UNKNOWN)]
    user.click(user.page.get_by_role("link", name="Paste a list"))
    user.type("\n".join(lines), user.page.get_by_label("Paste SMILES"), key="")
    user.click(user.page.get_by_role("button", name="Look up"))
    user.see(user.page.get_by_role("status").filter(has_text=f"{UNREADABLE} unreadable"))


def cliffs(user: Chemist) -> None:
    """Find similar compounds with very different affinities."""
    user.open_card("Cliffs")
    user.see(user.page.get_by_text("differ in pKi"))
    user.see(user.page.get_by_role("region", name="Activity cliffs").locator("img[aria-busy=false]").first)


def map_and_lasso(user: Chemist) -> None:
    """List the compounds of an area of the map."""
    user.open_card("Map")
    sheet = user.page.get_by_role("application", name="Map of")
    user.click(user.page.get_by_role("button", name="Lasso"))
    user.drag(sheet, [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8), (0.2, 0.25)])
    user.see(user.page.get_by_role("complementary", name="Items in the lasso").get_by_role("heading"))


def permalink(user: Chemist) -> None:
    """Send a filtered list as a link, and open the same list in another browser."""
    user.click(user.page.get_by_role("link", name="Browse all"))
    user.type("C(=O)[OH]", user.page.get_by_label("Substructure", exact=True))
    count = user.page.get_by_text(re.compile(r"^\d+ of 4,892 items"))
    user.see(count)
    expected = count.inner_text()
    user.clicks += 1  # on the address, whose text is then copied
    context = user.browser.new_context(base_url=user.url, viewport={"width": 1400, "height": 900})
    colleague = context.new_page()
    user.texts += 1  # the address, pasted
    colleague.goto(user.page.url)
    user.see(colleague.get_by_text(expected))
    assert colleague.locator("tbody tr").first.inner_text() == user.page.locator("tbody tr").first.inner_text()
    context.close()


def sar_table(user: Chemist) -> None:
    """Open a cluster as an R-group table."""
    user.open_card("Clusters")
    user.click(user.page.get_by_role("link", name="R groups of cluster 1", exact=True))
    user.see(user.page.get_by_role("columnheader", name=re.compile("R1")).first)


def matched_pairs(user: Chemist) -> None:
    """Show the pairs of the transformation that raises the affinity most often."""
    user.open_card("Table")
    user.click(user.page.get_by_role("link", name="SAR", exact=True))
    user.click(user.page.get_by_role("link", name="Matched pairs", exact=True))
    user.click(user.page.get_by_role("region", name="Transformations").get_by_role("link").first)
    user.see(user.page.get_by_role("region", name="Matched pairs").locator("ul.cards > li").first)


def compare(user: Chemist) -> None:
    """See how much of a series another collection has, each compound next to its nearest one."""
    user.open_card("Table", "nci")
    user.click(user.page.get_by_role("link", name="Compare", exact=True))
    user.choose(user.page.get_by_role("combobox", name="Other collection"), "pi3k-alpha")
    user.see(user.page.get_by_role("group", name="240 compounds of pi3k-alpha by relation"))
    user.see(user.page.get_by_role("list", name="Compared compounds").locator("img[aria-busy=false]").nth(1))


def upload(user: Chemist) -> None:
    """Make a collection from an own file of 240 compounds."""
    file = user.files / "own.csv"
    shutil.copy(SERIES, file)
    _create_collection(user, file)


def upload_many(user: Chemist) -> None:
    """Make a collection from an own file of 10,000 generated compounds."""
    file = user.files / "many.csv"
    rows = (f"{number},{smiles}\n" for number, smiles in enumerate(generate(10_000)))
    file.write_text("name,smiles\n" + "".join(rows))
    _create_collection(user, file)


def _create_collection(user: Chemist, file: Path) -> None:
    user.click(user.page.get_by_role("link", name="Upload a file"))
    user.choose(user.page.get_by_label("Choose a file"), str(file))
    user.click(user.page.get_by_role("button", name="Create the collection"))
    user.see(user.page.locator("tbody tr").first)


def plot_and_brush(user: Chemist) -> None:
    """Brush potent and heavy compounds in a plot, and list them."""
    user.open_card("Plot")
    user.choose(user.page.get_by_role("combobox", name="X", exact=True), "molwt")
    user.choose(user.page.get_by_role("combobox", name="Y", exact=True), "pKi")
    user.click(user.page.get_by_role("button", name="Rectangle"))
    user.drag(user.page.get_by_role("application"), [(0.5, 0.1), (0.9, 0.5)])
    user.click(user.page.get_by_role("link", name="Show in table"))
    user.see(user.page.locator("tbody tr").first)


TASKS: dict[str, Callable[[Chemist], None]] = {
    "similar": similar,
    "export": filter_and_export,
    "component": graph_to_cluster,
    "list": look_up,
    "cliffs": cliffs,
    "map": map_and_lasso,
    "permalink": permalink,
    "sar": sar_table,
    "pairs": matched_pairs,
    "plot": plot_and_brush,
    "compare": compare,
    "upload": upload,  # last, because the start page then shows more collections
    "upload-many": upload_many,
}


@contextmanager
def served() -> Iterator[str]:
    """Serve the two collections from an empty cache, and yield the URL."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = f"{folder}/user"
        with open_store(folder / "store", create=True) as store:
            for collection, source in (("nci", MOLECULES), ("pi3k-alpha", SERIES)):
                ingest(store, collection, [str(source)], resolve())
        with Server(Settings(store=folder / "store", cache_dir=folder / "cache", port=0)).running() as url:
            yield url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="server to use (default: one of its own)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    options = parser.parse_args()
    if options.url:
        measure(options.url, options.tasks)
    else:
        with served() as url:
            measure(url, options.tasks)


def measure(url: str, tasks: list[str]) -> None:
    """Print a table of the tasks."""
    deadline = time.monotonic() + WAIT / 1000
    while httpx.get(f"{url}/readyz").status_code != 200:
        if time.monotonic() > deadline:
            raise SystemExit(f"{url} is not ready")
        time.sleep(0.2)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as files:
        arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
        print("| task | clicks | texts | seconds |\n|---|---:|---:|---:|", flush=True)
        for name in tasks:
            user = Chemist(browser, url, Path(files))
            TASKS[name](user)
            title = (TASKS[name].__doc__ or name).rstrip(".")
            print(f"| {title} | {user.clicks} | {user.texts} | {user.seconds:.1f} |", flush=True)
            user.context.close()
        browser.close()


if __name__ == "__main__":
    main()
