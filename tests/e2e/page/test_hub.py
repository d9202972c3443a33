"""An item with 10,000 stored neighbors: the page shows the most similar ones, and more on request."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice, pairwise, product
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from rdkit import Chem

from graphkin.store import open_store

Look = Callable[[Page, str], None]
Serve = Callable[[Path], AbstractContextManager[httpx.Client]]

NEIGHBORS = 10_000
FROZEN = 2000  # Milliseconds without a response to any input.
SMOOTH = 50  # Frames per second.
TRIES = 5  # The test is about the page, but other processes on this machine may slow a try down.

# Scrolls by two rows in each of 90 frames, and returns frames per second.
MEASURE_SCROLLING = """async () => {
    const box = document.querySelector(".scroll");
    const begin = performance.now();
    for (let frame = 0; frame < 90; frame++) {
        box.scrollTop += 256;
        await new Promise(requestAnimationFrame);
    }
    return 90_000 / (performance.now() - begin);
}"""
MEASURE_BLOCKING = """
    window.longest = 0;
    const longer = (list) => list.getEntries().forEach(({ duration }) => { longest = Math.max(longest, duration); });
    new PerformanceObserver(longer).observe({ type: "longtask", buffered: true });
"""


def molecules() -> Iterator[str]:
    """Yield distinct chains as canonical SMILES."""
    previous = set()
    for atoms in product("CNOS", repeat=8):
        smiles = Chem.MolToSmiles(Chem.MolFromSmiles("".join(atoms)))
        if smiles not in previous:
            previous.add(smiles)
            yield smiles


@pytest.fixture(scope="module")
def hub(hierarchy: Any, serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a server of one collection: methane, its 10,000 neighbors, and edges among some of them."""
    rest = list(islice(molecules(), NEIGHBORS))
    none: dict[str, Any] = {"structure": None, "inchikey": None, "names": []}
    spokes = {(0, place): 0.99 - 0.5 * (place - 0.5) / NEIGHBORS for place in range(1, NEIGHBORS + 1)}
    ring = dict.fromkeys(pairwise(range(1, NEIGHBORS + 1)), 0.45)
    folder = tmp_path_factory.mktemp("hub") / "store"
    with open_store(folder, create=True) as store:
        rows = [{"smiles": smiles, **none} for smiles in ["C", *rest]]
        dropped, recipe = [2, *[0] * NEIGHBORS], {"threshold": 0.4, "top_k": NEIGHBORS}
        hierarchy(rows=rows, pairs={**spokes, **ring}, dropped=dropped, recipe=recipe).publish(store, "hub")
    with serve(folder) as api:
        yield f"{api.base_url}?collection=hub&q=C"


def members(page: Page, number: int) -> Locator:
    """Return the items of the graph once there are this many."""
    listed_items = page.get_by_role("list", name="Items in the graph").get_by_role("listitem")
    expect(listed_items).to_have_count(number, timeout=60_000)
    return listed_items


def hover_targets(page: Page) -> set[str]:
    """Return the kinds of elements with a tooltip on a line through the graph. The graph is too large for pictures."""
    box = page.locator(".canvas").bounding_box()
    assert box is not None
    kinds: set[str] = set()
    card = page.get_by_role("tooltip")
    for x in range(20, int(box["width"]), 4):
        page.mouse.move(box["x"] + x, box["y"] + box["height"] * 0.45)
        words = page.evaluate("() => document.querySelector('[role=tooltip]')?.innerText ?? ''").split()
        if len(words) == 3 and "edge" not in kinds:
            kinds.add("edge")
            assert 0.4 <= float(words[2]) <= 1
        elif len(words) == 2 and "node" not in kinds:
            kinds.add("node")
            expect(card.get_by_role("img", name=f"Structure of {words[0]}")).to_be_visible()
        if len(kinds) == 2:
            break
    return kinds


@pytest.fixture
def longest_block(page: Page) -> Callable[[], float]:
    """Return a function that returns the longest time in ms for which the current page was blocked."""
    page.add_init_script(MEASURE_BLOCKING)
    return lambda: float(page.evaluate("longest"))


def test_table_of_a_hub_has_every_row(page: Page, hub: str) -> None:
    """The ten thousand rows come in pages, few of them are in the document, and the server sorts them."""
    page.goto(f"{hub}&view=table")
    rows = page.locator("section tbody tr:not(.space)")
    table = page.get_by_role("table").last
    expect(page.get_by_text("10,000 similar, ≥ 0.40")).to_be_visible()
    truncated = re.compile(r"The query: 10,000 of [\d,]+ pairs at or above 0\.4 are stored \(top-k 10,000\); ")
    expect(page.get_by_text(truncated)).to_be_visible()
    expect(table).to_have_attribute("aria-rowcount", "10001")
    items = page.locator("section .item")
    items.first.focus()
    page.keyboard.press("End")
    expect(page.locator('[aria-rowindex="101"] .item')).to_be_focused()
    page.locator('[aria-rowindex="130"]').wait_for()  # The next page is loaded automatically.
    page.goto(f"{hub}&view=table&pages=11")
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    page.wait_for_function("() => document.querySelector('.scroll')?.scrollHeight > 1_040_000")
    assert rows.count() < 150
    items.first.focus()
    page.keyboard.press("End")
    expect(page.locator('[aria-rowindex="10001"] .item')).to_be_focused()
    last = page.locator('[aria-rowindex="10001"] td.similarity')
    expect(last).to_have_text(re.compile("0.490"))
    page.get_by_role("columnheader", name="Similarity").get_by_role("button").click()
    expect(page.locator('[aria-rowindex="2"] td.similarity')).to_have_text(re.compile("0.490"))
    page.get_by_role("slider").fill("0.9")
    expect(page.get_by_text("1,800 similar, ≥ 0.90")).to_be_visible()


@pytest.mark.long
def test_ten_thousand_rows_scroll_smoothly(page: Page, hub: str) -> None:
    page.goto(f"{hub}&view=table&pages=11")
    page.wait_for_function("() => document.querySelector('.scroll')?.scrollHeight > 1_280_000")
    rate = max(page.evaluate(MEASURE_SCROLLING) for _ in range(TRIES))
    print(f"10,000 rows: {rate:.0f} frames a second")
    assert rate > SMOOTH


def test_graph_of_a_hub_starts_with_the_most_similar(
    page: Page, hub: str, longest_block: Callable[[], float], look: Look
) -> None:
    begin = perf_counter()
    page.goto(f"{hub}&view=graph")
    members(page, 101)
    print(f"graph of a hub: {perf_counter() - begin:.1f} s, {longest_block():.0f} ms frozen")
    expect(page.get_by_text("101 items in 1 component at similarity ≥ 0.40, 199 edges")).to_be_visible()
    look(page, "hub")
    assert hover_targets(page) == {"node", "edge"}
    page.get_by_role("button", name="C: 9,900 more neighbors").click()
    members(page, 201)
    page.get_by_role("button", name="C: 9,800 more neighbors").click()
    members(page, 301)
    assert longest_block() < FROZEN
    page.go_back()
    members(page, 201)


def test_graph_of_a_hub_is_limited_to_1000(page: Page, hub: str, longest_block: Callable[[], float]) -> None:
    begin = perf_counter()
    page.goto(f"{hub}&view=graph{'&expand=C' * 20}")
    members(page, 1000)
    print(f"a thousand around a hub: {perf_counter() - begin:.1f} s, {longest_block():.0f} ms frozen")
    expect(page.get_by_text("The graph shows at most 1,000 items.")).to_be_visible()
    expect(page.get_by_role("button", name="C: 9,001 more neighbors")).to_be_disabled()
    page.get_by_role("slider").fill("0.97")
    members(page, 401)
    assert longest_block() < FROZEN


def test_component_of_a_hub_is_followed_step_by_step(page: Page, hub: str) -> None:
    """More than 1,000 items have no dendrogram."""
    page.goto(hub.replace("&q=C", "&part=tree"))
    page.get_by_label("Similarity tree").get_by_role("listitem").get_by_role("link").click()
    expect(page.get_by_text("A dendrogram shows at most 1,000 items.")).to_be_visible()
    steps = page.get_by_label("How the component splits", exact=True)
    expect(steps.get_by_text(re.compile("splits? off$")).first).to_be_visible()
    page.get_by_role("link", name="Open as a list").click()
    expect(page.get_by_text("Component 1: 10,001 items")).to_be_visible()
