"""The chemist compares two collections: overlap, near duplicates, novel compounds, one map, and a file."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect
from scipy.spatial import KDTree

from graphkin.store import open_store
from tests.e2e.page.conftest import ingest, write_lines
from tests.until import until_available

Look = Callable[[Page, str], None]
URL = "/v1/collections/catalog/compare"
BORDER = 16
WIDTHS = {"wide": (1400, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def server(
    nci_smiles: list[str],
    graphs: Any,
    serve: Callable[..., AbstractContextManager[httpx.Client]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[httpx.Client]:
    """Yield a client of a server with two collections that share 40 records, and one of graphs."""
    folder = tmp_path_factory.mktemp("compare")
    with open_store(folder / "store", create=True) as store:
        for collection, lines in {"catalog": nci_smiles[:200], "candidates": nci_smiles[160:300]}.items():
            ingest(store, collection, write_lines(folder, collection, lines))
        graphs.publish(store, "graphs")
    with serve(folder / "store") as client:
        until_available(lambda: client.get("/v1/collections/catalog/map"))  # The first map compiles kernels.
        yield client


def compare(server: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = until_available(lambda: server.post(URL, json={"other": "candidates", "limit": 1000, **body}))
    result: dict[str, Any] = reply.json()
    return result


@pytest.mark.parametrize("width", WIDTHS)
def test_two_collections_are_compared(page: Page, server: httpx.Client, look: Look, width: str, tmp_path: Path) -> None:
    page.set_viewport_size({"width": WIDTHS[width][0], "height": WIDTHS[width][1]})
    page.goto(f"{server.base_url}/?collection=catalog")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Compare").click()
    look(page, f"comparison without a choice {width}")
    page.get_by_role("combobox", name="Other collection").select_option("candidates")
    reply = compare(server)
    counts = reply["counts"]
    group = page.get_by_role("group", name=f"{reply['total']} compounds of candidates by relation")
    for title, count in zip(("Identical", "Near duplicates", "Novel"), counts.values(), strict=True):
        expect(
            group.get_by_role("button", name=f"{title} {count} ({100 * count / reply['total']:.1f}%)")
        ).to_be_visible()
    cards = page.get_by_role("list", name="Compared compounds").get_by_role("listitem")
    expect(cards).to_have_count(24)
    expect(cards.first).to_contain_text(reply["rows"][0]["relation"])
    page.get_by_role("application", name="Map of").wait_for()
    page.get_by_role("combobox", name="Order").select_option("Least similar first")
    group.get_by_role("button", name="Novel").click()
    rows = compare(server, relation="novel", order="farthest")["rows"]
    expect(page.get_by_text(f"{len(rows)} compounds of candidates: novel")).to_be_visible()
    expect(cards.first).to_contain_text(rows[0]["item"]["smiles"])
    expect(cards.first).to_contain_text(rows[0]["nearest"]["smiles"])
    look(page, f"comparison {width}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Show more").click()
    expect(cards).to_have_count(48)

    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    download.value.save_as(tmp_path / "rows.csv")
    assert download.value.suggested_filename == "candidates-against-catalog.csv"
    lines = [*csv.DictReader((tmp_path / "rows.csv").read_text().splitlines())]
    assert [(line["id"], line["smiles"], line["relation"], line["nearest_id"]) for line in lines] == [
        (str(row["item"]["id"]), row["item"]["smiles"], "novel", str(row["nearest"]["id"])) for row in rows
    ]

    link = page.url
    page.goto("about:blank")
    page.goto(link)  # The link restores the view.
    expect(cards).to_have_count(48)
    expect(cards.first).to_contain_text(rows[0]["item"]["smiles"])
    expect(group.get_by_role("button", name="Novel")).to_have_attribute("aria-pressed", "true")


def test_threshold_changes_what_is_a_near_duplicate(page: Page, server: httpx.Client) -> None:
    page.goto(f"{server.base_url}/?collection=catalog&part=compare&other=candidates")
    slider = page.get_by_role("slider", name="Similarity ≥")
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    count = compare(server, threshold=0.5)["counts"]["near_duplicates"]
    assert count > compare(server)["counts"]["near_duplicates"]
    expect(page.get_by_role("button", name=f"Near duplicates {count} ")).to_be_visible()
    assert "min_similarity=0.5" in page.url


def test_map_shows_the_pair_of_a_point(page: Page, server: httpx.Client, look: Look) -> None:
    page.goto(f"{server.base_url}/?collection=catalog&part=compare&other=candidates&relation=identical")
    reply = compare(server)
    expect(page.get_by_text(f"{reply['counts']['identical']} of candidates", exact=True)).to_be_visible()
    sheet = page.get_by_role("application", name="Map of 200 compounds of catalog")
    points, rows = shared_points(server, reply["rows"])
    box = sheet.bounding_box()
    assert box is not None
    most, inner = points.max(0), np.array([box["width"] - 2, box["height"] - 2])
    pixels = (points - most / 2) * (inner - 2 * BORDER) / most + inner / 2 + 1
    distances = KDTree(pixels).query(pixels, k=2)[0][:, 1]
    alone = int(distances[-len(rows) :].argmax())
    x, y = pixels[len(pixels) - len(rows) + alone]
    sheet.click(position={"x": float(x), "y": float(y)})
    pair = page.get_by_role("group", name="Selected pair")
    expect(pair).to_contain_text(rows[alone]["item"]["smiles"])
    expect(pair).to_contain_text(rows[alone]["nearest"]["smiles"])
    expect(pair).to_contain_text(rows[alone]["relation"])
    look(page, "pair on the map of two collections")


def test_map_is_used_by_the_keyboard(page: Page, server: httpx.Client) -> None:
    page.goto(f"{server.base_url}/?collection=catalog&part=compare&other=candidates")
    sheet = page.get_by_role("application", name="Map of 200 compounds of catalog")
    sheet.focus()
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Show all")).to_be_enabled()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="Show all")).to_be_disabled()


def shared_points(server: httpx.Client, rows: list[dict[str, Any]]) -> tuple[NDArray[np.float64], list[dict[str, Any]]]:
    """Return the positions of the catalog, then of the candidates with a nearest item, and the rows of these."""
    lines = until_available(lambda: server.get("/v1/collections/catalog/map")).text.splitlines()
    places = np.array([[row["x"], row["y"]] for row in map(json.loads, lines)])
    placed = [row for row in rows if row["nearest"]]
    counts, others = Counter[int](), []
    for row in placed:
        id = row["nearest"]["id"]
        place = counts[id]
        counts[id] += 1
        distance = 0.45 / math.sqrt(len(places)) * math.sqrt(1 + place / 6)
        others.append(places[id] + distance * np.array([math.cos(2.4 * place), math.sin(2.4 * place)]))
    points = np.concatenate([places, others])
    return points - np.minimum(points.min(0), 0), placed


def test_swap_compares_the_other_way(page: Page, server: httpx.Client) -> None:
    page.goto(f"{server.base_url}/?collection=catalog&part=compare&other=candidates")
    page.get_by_role("link", name="Swap the collections").click()
    expect(page.get_by_role("heading", name="catalog compared with candidates")).to_be_visible()
    reply = until_available(lambda: server.post("/v1/collections/candidates/compare", json={"other": "catalog"})).json()
    expect(page.get_by_role("button", name=f"Identical {reply['counts']['identical']} ")).to_be_visible()


def test_collections_without_a_partner_say_so(page: Page, server: httpx.Client, look: Look) -> None:
    page.goto(f"{server.base_url}/?collection=graphs&part=compare")
    expect(page.get_by_text("The items of graphs have no fingerprints.")).to_be_visible()
    page.goto(f"{server.base_url}/?collection=catalog&part=compare&other=graphs")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("'graphs' is a collection of graphs, which have no fingerprints to compare")
    look(page, "comparison with a collection of another kind")


def test_card_of_a_collection_leads_to_the_comparison(page: Page, server: httpx.Client) -> None:
    page.goto(str(server.base_url))
    page.get_by_role("link", name="Compare with candidates").click()
    expect(page.get_by_role("heading", name="Compare with candidates")).to_be_visible()
