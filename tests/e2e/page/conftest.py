"""The page in a real Chromium, with the real API over collections from real ingests."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import httpx
import networkx as nx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from tests.karate import publish_karate
from tests.until import until_available

TIMEOUT = 20_000
"""Milliseconds that a step or an expectation may take. Under load, the server computes some seconds."""

expect.set_options(timeout=TIMEOUT)

ROOT = Path(__file__).parents[3]
AXE = ROOT / "api" / "ui" / "node_modules" / "axe-core" / "axe.min.js"
ARTEFACTS = Path(os.environ.get("GRAPHKIN_ARTEFACTS", ROOT / ".artifacts")) / "page"

PICTURES_LOADED = """() => [...document.images].every((image) => {
    const { top, bottom, left, right } = image.getBoundingClientRect();
    const isOutside = top > innerHeight || bottom <= 0 || left > innerWidth || right <= 0;
    return (image.complete && image.ariaBusy !== "true") || isOutside;
}) && document.querySelector(".canvas[aria-busy=true]") === null"""

COLOR_RULES = ["color-contrast", "link-in-text-block"]  # The axe rules whose result depends on the color scheme.
AXE_OPTIONS: dict[Literal["light", "dark"], dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": COLOR_RULES},
}

CHEMBL = Path(__file__).with_name("chembl_samples.csv")
THRESHOLD = 0.3  # The molecules are diverse: at the default threshold, four of five would be isolated.
RECORDS = 2000
BROKEN = [f"c1ccc({'C' * length} broken" for length in range(25)]
SERIES = ROOT / "docs" / "assets" / "pi3k-alpha.csv"
LARGE = "CCN(CC)CCOC(=O)C" * 19  # At least 300 heavy atoms.


POTENCY = [
    "smiles,id,activity",
    *(f"{'C' * length}O,m{length},{length}.5" for length in range(1, 7)),
    *("CCCCCCCO,m7,>10000", "CC(C)O,m8,n/a", "OCC,again,90.0", "CCO,twice,2.50"),
]

PAIRS = [  # Each pair is slow to compare, differs by one atom, or is too hard to compare.
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


def write_lines(folder: Path, collection: str, lines: list[str], ending: str = "smi") -> Path:
    file = folder / f"{collection}.{ending}"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="session")
def chembl_smiles() -> list[str]:
    return CHEMBL.read_text().splitlines()[1:]


@pytest.fixture(scope="session")
def store_folder(nci_file: Path, graphs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the collections of these tests.

    The collections are chembl (2,000 molecules without names), nci (2,000 records with names, and 25 broken ones),
    large (one molecule), pairs (six molecules to compare), truncated (20 molecules with 3 neighbors each), graphs
    (three, two with the same name), shapes (20 rings and 20 stars with all similarities above 0), potency (alcohols
    with censored, missing and repeated values), series (240 molecules with measured affinities) and karate (34 nodes
    of a large graph).
    """
    folder = tmp_path_factory.mktemp("page")
    with open_store(folder / "store", create=True) as store:
        ingest(store, "chembl", CHEMBL, threshold=THRESHOLD)
        ingest(store, "nci", write_lines(folder, "nci", [*nci_file.read_text().splitlines()[:RECORDS], *BROKEN]))
        ingest(store, "large", write_lines(folder, "large", [f"{LARGE} large"]))
        ingest(store, "pairs", write_lines(folder, "pairs", PAIRS), threshold=THRESHOLD)
        alcohols = [f"{'C' * length}O alcohol{length}" for length in range(4, 24)]
        ingest(store, "truncated", write_lines(folder, "truncated", alcohols), top_k=3)
        graphs.publish(store, "graphs")
        (folder / "shapes.jsonl").write_text("\n".join(map(json.dumps, SHAPES)))
        shapes = [str(folder / "shapes.jsonl")]
        pipeline.ingest(store, "shapes", shapes, resolve_graphs(), IngestOptions(workers=1))
        ingest(store, "potency", write_lines(folder, "potency", POTENCY, "csv"))
        ingest(store, "series", SERIES)
        publish_karate(store, folder)
    return folder / "store"


@pytest.fixture
def own_folder(store_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the store that a test may change."""
    return Path(shutil.copytree(store_folder, tmp_path / "store"))


@pytest.fixture
def publish(tmp_path: Path) -> Callable[[Path, str, list[str]], None]:
    """Return a function that ingests SMILES lines into a collection of a store."""

    def ingest_lines(folder: Path, collection: str, lines: list[str]) -> None:
        with open_store(folder) as store:
            ingest(store, collection, write_lines(tmp_path, collection, lines), threshold=THRESHOLD)

    return ingest_lines


@pytest.fixture(scope="session")
def api(store_folder: Path, serve: Callable[..., AbstractContextManager[httpx.Client]]) -> Iterator[httpx.Client]:
    """Yield a client of the page's server, once the server has compiled its kernels."""
    with serve(store_folder) as client:
        until_available(lambda: client.get("/readyz"))
        yield client


@pytest.fixture(scope="package")
def browser(open_browser: Callable[[], AbstractContextManager[Browser]]) -> Iterator[Browser]:
    """Yield a browser for this package. In a whole session, Playwright would prevent other tests from running an event
    loop.
    """
    assert AXE.is_file(), "run `make test-page`"
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, api: httpx.Client) -> Iterator[Page]:
    """Yield an empty tab at the shared server. Errors and warnings in the console fail the test."""
    console_messages: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        is_api_error = message.text.startswith("Failed to load resource")  # The page itself explains errors of the API.
        if message.type in ("error", "warning") and not is_api_error:
            console_messages.append(message.text)

    context = browser.new_context(base_url=str(api.base_url), viewport={"width": 1280, "height": 860})
    context.set_default_timeout(TIMEOUT)
    tab = context.new_page()
    tab.on("console", listen)
    tab.on("pageerror", lambda error: console_messages.append(str(error)))
    yield tab
    context.close()
    assert console_messages == []


@pytest.fixture
def look(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return `look(page, "state")`, which saves light and dark screenshots of a state and checks it with axe.

    Colors are checked in both schemes, everything else in the light one only. `waiting` is for states in which the
    page's own pictures have not loaded.
    """
    ARTEFACTS.mkdir(parents=True, exist_ok=True)

    def check(page: Page, state: str, waiting: bool = False) -> None:
        if page.evaluate("typeof axe === 'undefined'"):
            page.evaluate(f"{AXE.read_text()}; 0")
        for scheme, options in AXE_OPTIONS.items():
            page.emulate_media(color_scheme=scheme)
            if not waiting:
                # Without polling, the page would be checked, and so redrawn, in every frame.
                page.wait_for_function(PICTURES_LOADED, polling=50)
            page.screenshot(path=ARTEFACTS / f"{state.replace(' ', '-')}-{scheme}.png")
            violations = page.evaluate("options => axe.run(options)", options)["violations"]
            problems = [
                (each["id"], each["impact"], [node["html"] for node in each["nodes"]][:3]) for each in violations
            ]
            assert problems == [], f"{state}, {scheme}"
        page.emulate_media(color_scheme="light")

    return check


@pytest.fixture(scope="session")
def picture_svg() -> Callable[[Locator], str]:
    """Return `picture_svg(picture)`, which waits for a picture and returns its SVG."""

    def svg(picture: Locator) -> str:
        expect(picture).to_have_attribute("aria-busy", "false")
        return unquote((picture.get_attribute("src") or "").partition(",")[2])

    return svg
