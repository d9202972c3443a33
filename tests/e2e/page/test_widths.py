"""Every view of the page at three widths, in light and dark: accessible, nothing cut, covered or outside the window."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, expect

from graphkin.protocol.keys import create_key
from graphkin.store import open_store
from tests.e2e.page.conftest import ARTEFACTS, AXE, AXE_OPTIONS, PICTURES_LOADED, SERIES, TIMEOUT
from tests.until import until_available

WIDTHS = {1400: 860, 1024: 768, 390: 844}
"""Height of the window by its width, in pixels."""
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
RUN_AXE = """(options) => axe.run({ exclude: ["tbody tr:nth-child(n+5)", "li:nth-child(n+9)"] }, options)"""
"""Checks the first rows and cards of a list, because the others are made by the same code."""
LAYOUT = Path(__file__).with_name("layout.js").read_text()
PATIENCE = 60_000  # milliseconds: a preview starts a process

QUERY = "q=" + quote("COc1ccc(Nc2ncc(Br)cc2-c2nc(C)nc(N)n2)cn1")
SCAFFOLD = "scaffold=" + quote("c1cncc(Nc2ncccc2-c2ncncn2)c1")
MEMBER = "cluster=" + quote("O=S(=O)(Nc1cc(-c2ccc3nccc(N4CCC(O)CC4)c3c2)cnc1Cl)c1ccc(F)cc1")
LIST = "PI3K-003\nPI3K-0041\nCC(=O)Nc1nc2ccc(-c3ccnc(Sc4ccccc4F)n3)cc2s1\nc1ccc(\n"


@dataclass(frozen=True)
class View:
    """A view of the page.

    It has an address, the title of the document, the current tabs, an element that only this view has, steps that lead
    to it, and the statuses of requests that may fail.
    """

    address: str
    title: str
    tabs: tuple[str, ...]
    sign: str
    steps: Callable[[Page], None] = lambda page: None
    statuses: tuple[int, ...] = ()


def look_up(page: Page) -> None:
    page.get_by_label("Paste SMILES").fill(LIST)
    page.get_by_role("button", name="Look up").click()


def compare_selection(page: Page) -> None:
    page.get_by_role("button", name="to the selection").click()
    page.get_by_role("link", name="Selection (").click()
    page.get_by_role("region", name="Selection").get_by_text("Compare", exact=True).click()


def preview_file(page: Page) -> None:
    page.get_by_label("Choose a file").set_input_files(SERIES)
    page.locator("[aria-label='First records'] img").nth(5).wait_for(timeout=PATIENCE)


VIEWS = {
    "start page": View("", "series", (), "section[aria-label=Examples] img"),
    "table of similar": View(QUERY, "PI3K-048 · series", (), "section tbody tr"),
    "tiles of similar": View(f"{QUERY}&view=tiles", "PI3K-048 · series", (), "section li .item"),
    "graph": View(f"{QUERY}&view=graph&colour=pKi&min_similarity=0.6", "PI3K-048 · series", (), ".canvas"),
    "positives": View(f"{QUERY}&view=positives", "PI3K-048 · series", (), "section li img"),
    "matched pairs of a query": View(f"{QUERY}&view=pairs&property=pKi", "PI3K-048 · series", (), "tbody tr"),
    "table": View("part=items&colour=pKi", "Table · series", ("Table",), "section tbody tr"),
    "filtered tiles": View(
        "part=items&view=tiles&name=P&smarts=c1ccccc1&filter=%5B%22pKi%22,7,9%5D",
        "Table · series",
        ("Table",),
        "section li .item",
    ),
    "scatter plot": View("part=plot&x=pKi&y=Ki nM&colour=molwt", "Plot · series", ("Plot", "Scatter"), "canvas"),
    "histogram": View("part=plot&plot=histogram&x=pKi", "Plot · series", ("Plot", "Histogram"), "svg rect"),
    "boxes": View("part=plot&plot=box&y=pKi", "Plot · series", ("Plot", "Box by cluster"), "[aria-label^='Cluster 1']"),
    "plot of pairs": View(
        "part=plot&plot=pairs&y=pKi", "Plot · series", ("Plot", "Similarity and difference"), "canvas"
    ),
    "map": View("part=map", "Map · series", ("Map",), "[role=application]"),
    "clusters": View("part=clusters&property=pKi", "List · Clusters · series", ("Clusters", "List"), "ul.cards img"),
    "open cluster": View(
        f"part=clusters&{MEMBER}", "List · Clusters · series", ("Clusters", "List"), "section tbody tr"
    ),
    "components": View("part=tree", "Tree · Clusters · series", ("Clusters", "Tree"), "section li img"),
    "dendrogram": View(
        f"part=tree&{MEMBER}&min_similarity=0.5",
        "Tree · Clusters · series",
        ("Clusters", "Tree"),
        "[aria-label=Leaves] li",
    ),
    "cliffs": View("part=cliffs&property=pKi", "Cliffs · series", ("Cliffs",), "figcaption a"),
    "R groups": View(
        f"part=rgroups&property=pKi&filter=%5B%22pKi%22,7.8,null%5D&{SCAFFOLD}",
        "R groups · SAR · series",
        ("SAR", "R groups"),
        "section tbody tr",
    ),
    "R-group matrix": View(
        f"part=rgroups&view=matrix&property=pKi&{SCAFFOLD}",
        "R groups · SAR · series",
        ("SAR", "R groups"),
        "section tbody a",
    ),
    "R-group contributions": View(
        f"part=rgroups&view=contributions&property=pKi&{SCAFFOLD}",
        "R groups · SAR · series",
        ("SAR", "R groups"),
        "section tbody a",
    ),
    "matched pairs": View(
        "part=pairs&property=pKi", "Matched pairs · SAR · series", ("SAR", "Matched pairs"), "section tbody tr"
    ),
    "scaffolds": View("part=scaffolds&property=pKi", "Scaffolds · SAR · series", ("SAR", "Scaffolds"), ".scaffold img"),
    "list looked up": View("part=list", "Look up · series", ("Look up",), "section tbody tr:nth-child(4)", look_up),
    "compared selection": View(
        "part=items&smarts=Cl",
        "Selection · series",
        ("Selection (50)",),
        "[aria-label=Comparison] thead img",
        compare_selection,
    ),
    "upload": View("part=upload", "Upload · series", (), "[type=file]"),
    "upload preview": View("part=upload", "Upload · series", (), "[aria-label='First records'] img", preview_file),
    "compared collections": View(
        "part=compare&other=nci", "Compare · series", ("Compare",), "[aria-label='Compared compounds'] img"
    ),
    "about": View("part=collection", "About · series", ("About",), "figure svg"),
    "rejected records": View("collection=nci&part=collection", "About · nci", ("About",), "section tbody tr"),
    "graph collection": View("collection=karate", "karate", (), "h3"),
    "missing collection": View("collection=missing&part=map", "Map · missing", (), "[role=alert] a", statuses=(404,)),
    "unreadable query": View("q=c1ccc(", "c1ccc( · series", (), "main [role=alert]", statuses=(422,)),
}
FLAWED = """
<style>body { margin: 0; font: 16px monospace; } button { position: relative; width: 80px; }</style>
<button>one</button><button style="left: -40px">two</button>
<p style="width: 50px; overflow: hidden; white-space: nowrap">a text that is cut</p>
<p style="width: 50px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">a text with an ellipsis</p>
<p style="margin-bottom: -30px">first text</p><p>other text</p>
<input value="far away" style="margin-left: 1450px">
<select style="width: 40px"><option>a long choice</option></select>
"""
FLAWS = [
    "<button> “one” and <button> “two” overlap.",
    "<input> “far away” lies outside the window.",
    "<p> “a text that is cut” is cut.",
    "The choice “a long choice” is cut.",
    "The page is",
    "The texts “first text” and “other text” overlap.",
]


@pytest.fixture(scope="module")
def context(browser: Browser, api: httpx.Client) -> Iterator[BrowserContext]:
    """Yield a context with axe in each tab, once the server has what the views need."""
    for path in ("map", "clusters", "matched-pairs?property=pKi"):
        until_available(partial(api.get, f"/v1/collections/series/{path}"))
    context = browser.new_context(base_url=str(api.base_url))
    context.set_default_timeout(TIMEOUT)
    context.add_init_script(path=AXE)
    yield context
    context.close()


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Page]:
    """Yield a tab of its own. It shares its cache and its lists with the tabs of the other tests."""
    tab = context.new_page()
    yield tab
    tab.close()


def complaints_of(page: Page, statuses: tuple[int, ...]) -> list[str]:
    """Return a list that receives errors and warnings of the console, and failed requests of other statuses."""
    complaints: list[str] = []

    def check_response(response: Response) -> None:
        # A server that is still computing says when to ask again.
        is_computing = response.status == 503 and "retry-after" in response.headers
        if response.status >= 400 and response.status not in statuses and not is_computing:
            complaints.append(f"{response.status} {response.url}")

    def check_message(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            complaints.append(message.text)

    page.on("response", check_response)
    page.on("console", check_message)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


def settle(page: Page) -> None:
    """Wait until the page has followed a change of the window or of the color scheme, and its pictures are loaded."""
    page.evaluate(TWO_FRAMES)
    page.wait_for_function(PICTURES_LOADED, polling=20)


def flaws_of(page: Page, name: str) -> list[str]:
    """Return what is wrong with the page at each width and in each color scheme."""
    flaws = []
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        flaws += [f"{width} pixels: {flaw}" for flaw in page.evaluate(LAYOUT)]
        for scheme, options in AXE_OPTIONS.items():
            page.emulate_media(color_scheme=scheme)
            settle(page)
            violations = page.evaluate(RUN_AXE, options)["violations"]
            flaws += [
                f"{width} pixels, {scheme}: {each['id']}: {node['html']}"
                for each in violations
                for node in each["nodes"]
            ]
            if "GRAPHKIN_ARTEFACTS" in os.environ:
                ARTEFACTS.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=ARTEFACTS / f"{name.replace(' ', '-')}-{width}-{scheme}.png")
        page.emulate_media(color_scheme="light")
    return flaws


@pytest.mark.parametrize("name", VIEWS)
def test_view_fits_every_window(tab: Page, name: str) -> None:
    view = VIEWS[name]
    complaints = complaints_of(tab, view.statuses)
    tab.set_viewport_size({"width": 1400, "height": WIDTHS[1400]})
    tab.goto(f"/?{'' if view.address.startswith('collection') else 'collection=series&'}{view.address}")
    view.steps(tab)
    expect(tab.locator(view.sign).first).to_be_visible()
    expect(tab).to_have_title(f"{view.title} · graphkin")
    assert tuple(tab.locator("nav [aria-current]").all_inner_texts()) == view.tabs
    assert flaws_of(tab, name) == []
    assert complaints == []


def test_key_form_fits_every_window(tab: Page, serve: Callable, tmp_path: Path) -> None:
    complaints = complaints_of(tab, (401,))
    with open_store(tmp_path / "store", create=True) as store:
        store.keys().add(create_key("a", ["read"], [])[1])
    with serve(tmp_path / "store") as client:
        tab.goto(str(client.base_url))
        expect(tab.get_by_label("API key", exact=True)).to_be_visible()
        assert flaws_of(tab, "key form") == []
    assert complaints == []


def test_flaws_are_found(tab: Page) -> None:
    tab.set_viewport_size({"width": 1400, "height": 860})
    tab.set_content(FLAWED)
    flaws = sorted(tab.evaluate(LAYOUT))
    assert [flaw[: len(expected)] for flaw, expected in zip(flaws, FLAWS, strict=True)] == FLAWS
