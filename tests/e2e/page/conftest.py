"""The page in a real Chromium, talking to the real API over collections that were really ingested."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import networkx as nx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.karate import publish_karate
from tests.until import once_ready

ROOT = Path(__file__).parents[3]
AXE = ROOT / "api" / "ui" / "node_modules" / "axe-core" / "axe.min.js"
ARTEFACTS = Path(os.environ.get("GRAPHKIN_ARTEFACTS", ROOT / ".artifacts")) / "page"

PICTURES_SHOWN = """() => [...document.images].every((image) => {
    const { top, bottom } = image.getBoundingClientRect();
    return (image.complete && image.ariaBusy !== "true") || top > innerHeight || bottom <= 0;
}) && document.querySelector(".canvas[aria-busy=true]") === null"""

COLOURS = ["color-contrast", "link-in-text-block"]  # axe's rules of what alone differs between light and dark
AXE_OPTIONS: dict[str, dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": COLOURS},
}

CHEMBL = Path(__file__).with_name("chembl_samples.csv")
THRESHOLD = 0.3  # they are diverse: at the default four of five would be alone
RECORDS = 2000
BROKEN = [f"c1ccc({'C' * length} broken" for length in range(25)]
LARGE = "CCN(CC)CCOC(=O)C" * 19  # 300 heavy atoms and more


POTENCY = [
    "smiles,id,activity",
    *(f"{'C' * length}O,m{length},{length}.5" for length in range(1, 7)),
    *("CCCCCCCO,m7,>10000", "CC(C)O,m8,n/a", "OCC,again,90.0", "CCO,twice,2.50"),
]

PAIRS = [  # each is slow to compare, differs by one atom, or is too hard to compare
    "N#Cc1cccc(C(=O)NC[C@@H](O)CN2CCC(Oc3ccc(Cl)c(Cl)c3)CC2)c1 benzamide",
    "O=C(NC[C@@H](O)CN1CCC(Oc2ccc(Cl)c(Cl)c2)CC1)c1c[nH]c(=O)c2ccccc12 isoquinolone",
    "OC(=O)Cc1ccccc1Nc1c(Cl)cccc1Cl diclofenac",
    "OC(=O)Cc1ccccc1Nc1ccccc1Cl monochlorinated",
    "C1CC2CCC3C4CCC5CC6CCCC7CC8CCCC9CC%10CCCCC%10CC9C8CC7CC6CC5C4CCC3C2C1 rings",
    "C1CC2CC3CC4CC5CC6CCCCC6CC5CC4CC3CC2CC1C1CC2CC3CC4CCCCC4CC3CC2CC1 condensed",
]

SHAPES = [
    {"name": f"{name} of {nodes}", "edges": list(shape(nodes).edges), "num_nodes": len(shape(nodes))}
    for name, shape in (("ring", nx.cycle_graph), ("star", nx.star_graph))
    for nodes in range(10, 30)
]


def ingest(store: Store, collection: str, file: Path, **recipe: Any) -> None:
    pipeline.ingest(store, collection, [str(file)], resolve(**recipe), IngestOptions(workers=1))


def written(folder: Path, collection: str, lines: list[str], ending: str = "smi") -> Path:
    file = folder / f"{collection}.{ending}"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="session")
def chembl_smiles() -> list[str]:
    return CHEMBL.read_text().splitlines()[1:]


@pytest.fixture(scope="session")
def store_folder(nci_file: Path, graphs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Collections chembl (2,000 molecules, which have no names), nci (the first 2,000 records, which have, and 25
    broken ones), large (one molecule), pairs (six molecules to compare), truncated (20, of which each keeps 3
    neighbors), graphs (three, two of one name), shapes (20 rings and 20 stars, all similarities above 0 kept), potency
    (alcohols with censored, missing and repeated values) and karate (34 nodes of a big graph)."""
    folder = tmp_path_factory.mktemp("page")
    with open_store(folder / "store", create=True) as store:
        ingest(store, "chembl", CHEMBL, threshold=THRESHOLD)
        ingest(store, "nci", written(folder, "nci", [*nci_file.read_text().splitlines()[:RECORDS], *BROKEN]))
        ingest(store, "large", written(folder, "large", [f"{LARGE} large"]))
        ingest(store, "pairs", written(folder, "pairs", PAIRS), threshold=THRESHOLD)
        alcohols = [f"{'C' * length}O alcohol{length}" for length in range(4, 24)]
        ingest(store, "truncated", written(folder, "truncated", alcohols), top_k=3)
        graphs.publish(store, "graphs")
        (folder / "shapes.jsonl").write_text("\n".join(map(json.dumps, SHAPES)))
        shapes = [str(folder / "shapes.jsonl")]
        pipeline.ingest(store, "shapes", shapes, resolve_graphs(), IngestOptions(workers=1))
        ingest(store, "potency", written(folder, "potency", POTENCY, "csv"))
        publish_karate(store, folder)
    return folder / "store"


@pytest.fixture
def own_folder(store_folder: Path, tmp_path: Path) -> Path:
    """A copy of the store, to publish to and delete from."""
    return Path(shutil.copytree(store_folder, tmp_path / "store"))


@pytest.fixture
def publish(tmp_path: Path) -> Callable[[Path, str, list[str]], None]:
    """Ingest SMILES lines into a collection of a store."""

    def published(folder: Path, collection: str, lines: list[str]) -> None:
        with open_store(folder) as store:
            ingest(store, collection, written(tmp_path, collection, lines), threshold=THRESHOLD)

    return published


@pytest.fixture(scope="session")
def api(store_folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]]) -> Iterator[httpx.Client]:
    """Talks to the server that the page talks to, once it has compiled what it needs."""
    with serve(store_folder) as client:
        once_ready(lambda: client.get("/readyz"))
        yield client


@pytest.fixture(scope="package")
def browser(require_tools: Callable[..., None]) -> Iterator[Browser]:
    """Not for the whole session: while Playwright runs, no other test of this process can run an event loop."""
    executable = shutil.which("chromium-headless-shell")
    if executable is None:
        require_tools("chromium")
        executable = shutil.which("chromium")
    assert AXE.is_file(), "run `make test-page`"
    with sync_playwright() as playwright:
        arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
        chromium = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, api: httpx.Client) -> Iterator[Page]:
    """An empty tab, whose addresses are the shared server's. What the console complains of fails the test."""
    complaints: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        refused = message.text.startswith("Failed to load resource")  # a refusal of the API, which the page explains
        if message.type in ("error", "warning") and not refused:
            complaints.append(message.text)

    context = browser.new_context(base_url=str(api.base_url), viewport={"width": 1280, "height": 860})
    context.set_default_timeout(20_000)
    tab = context.new_page()
    tab.on("console", listen)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


@pytest.fixture
def look(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`look(page, "state")`: keep pictures of a state, light and dark, in which axe finds nothing wrong.

    Both are looked at for their colours; for all else the light one, because nothing else differs.

    `waiting`: a state in which the page's own pictures have not come.
    """
    ARTEFACTS.mkdir(parents=True, exist_ok=True)

    def looked(page: Page, state: str, waiting: bool = False) -> None:
        if page.evaluate("typeof axe === 'undefined'"):
            page.evaluate(f"{AXE.read_text()}; 0")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            if not waiting:
                page.wait_for_function(PICTURES_SHOWN, polling=50)  # else it draws every frame to look again
            page.screenshot(path=ARTEFACTS / f"{state.replace(' ', '-')}-{scheme}.png")
            found = page.evaluate("options => axe.run(options)", AXE_OPTIONS[scheme])["violations"]
            told = [(each["id"], each["impact"], [node["html"] for node in each["nodes"]][:3]) for each in found]
            assert told == [], f"{state}, {scheme}"
        page.emulate_media(color_scheme="light")

    return looked


@pytest.fixture(scope="session")
def shown() -> Callable[[Locator], str]:
    """`shown(picture)`: the SVG that a picture is of, once it has come."""

    def svg(picture: Locator) -> str:
        expect(picture).to_have_attribute("aria-busy", "false", timeout=20_000)  # comparing takes seconds
        return unquote((picture.get_attribute("src") or "").partition(",")[2])

    return svg
