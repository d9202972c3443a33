"""Loading of pictures: each belongs to the item next to it, in any order of arrival, after errors and cancellations."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, Route, expect

from tests.until import until

Look = Callable[..., None]
PictureSvg = Callable[[Locator], str]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}"
URL = "/v1/collections/chembl/items"
PICTURES = re.compile(r"\.svg\?")
COMPARED = re.compile(r"depiction\.svg\?width=300.*highlight_smiles=(?!.*turned)")
AT_ONCE = 4
TRIES = 7  # every 20 s, until two minutes have passed

REST = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class HeldRequests:
    """Holds requests until they are released. Later requests pass."""

    def __init__(self, page: Page, pattern: re.Pattern[str]) -> None:
        self.routes: list[Route] = []
        self._is_open = False
        page.route(pattern, self._handle)

    def _handle(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self.routes.append(route)

    @property
    def abandoned(self) -> list[str]:
        return [route.request.url for route in self.routes if route.request.failure]

    def release(self) -> None:
        self._is_open = True
        for route in self.routes:
            if route.request.failure is None:
                route.continue_()


@pytest.fixture(scope="module")
def neighbors(api: httpx.Client) -> list[dict[str, Any]]:
    """Return the neighbors of the query."""
    (item,) = api.get(URL, params={"smiles": QUERY}).json()["items"]
    reply = api.get(f"{URL}/{item['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
    return [each["item"] for each in reply]


def plain_depiction(api: httpx.Client, item: dict[str, Any], width: int, height: int) -> str:
    """Return the API's depiction of an item without a comparison."""
    return api.get(f"{URL}/{item['id']}/depiction.svg", params={"width": width, "height": height}).text


def source(picture: Locator) -> str:
    """Return the SVG of a picture, complete or not."""
    return unquote((picture.get_attribute("src") or "").partition(",")[2])


def compared_depiction(
    api: httpx.Client, item: dict[str, Any], width: int, height: int, bond_length: int | None = None
) -> str:
    """Return the API's depiction of an item in the orientation of the query with differences highlighted."""
    size = {"width": width, "height": height} | ({} if bond_length is None else {"bond_length": bond_length})
    comparison = {"highlight_smiles": QUERY, "mark": "differences"}
    return api.get(f"{URL}/{item['id']}/depiction.svg", params={**size, **comparison}).text


def count_dark_pixels(picture: Locator) -> int:
    """Return the number of nearly black pixels, which belong to atoms and bonds."""
    image = np.array(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    return int((image < 100).sum())


def refuse(route: Route, status: int, headers: dict[str, str] | None = None) -> None:
    problem = {"title": "Not available now", "status": status, "detail": "too many at once", "type": "", "hint": None}
    route.fulfill(status=status, headers=headers, json=problem)


def open_table(page: Page) -> Locator:
    """Open the page and return the table rows once everything is loaded."""
    page.goto(ADDRESS)
    rows = page.locator("main section tbody tr")
    expect(rows.first).to_be_visible()
    page.wait_for_load_state("networkidle")
    return rows


def test_picture_always_shows_the_item_next_to_it(
    page: Page, api: httpx.Client, neighbors: list[dict[str, Any]], picture_svg: PictureSvg
) -> None:
    rows = open_table(page)
    compared = page.locator("figure.other")
    picture = compared.get_by_role("img")
    assert count_dark_pixels(picture) > 0
    held_requests = HeldRequests(page, COMPARED)
    with page.expect_request(COMPARED):
        rows.nth(3).hover()
    expect(compared).to_contain_text(neighbors[3]["smiles"])
    expect(picture).to_have_attribute("aria-busy", "true")
    assert source(picture) == plain_depiction(api, neighbors[3], 300, 210)
    assert count_dark_pixels(picture) > 0
    held_requests.release()
    assert picture_svg(picture) == compared_depiction(api, neighbors[3], 300, 210)
    assert count_dark_pixels(picture) > 0


def test_last_hovered_item_is_shown(
    page: Page, api: httpx.Client, neighbors: list[dict[str, Any]], picture_svg: PictureSvg
) -> None:
    rows = open_table(page)
    held_requests = HeldRequests(page, COMPARED)
    with page.expect_request(COMPARED):
        rows.nth(3).hover()
    # The earlier request is canceled.
    with page.expect_event("requestfailed", lambda request: bool(COMPARED.search(request.url))):
        rows.nth(4).hover()
    picture = page.locator("figure.other").get_by_role("img")
    assert source(picture) != compared_depiction(api, neighbors[3], 300, 210)
    held_requests.release()
    assert picture_svg(picture) == compared_depiction(api, neighbors[4], 300, 210)
    rows.nth(3).hover()
    expect(page.locator("figure.other")).to_contain_text(neighbors[3]["smiles"])
    assert picture_svg(picture) == compared_depiction(api, neighbors[3], 300, 210)


@pytest.mark.parametrize(
    ("view", "size"), [("table", (160, 96, 22)), pytest.param("tiles", (180, 130, 26), marks=pytest.mark.long)]
)
def test_outdated_highlights_disappear_immediately(
    page: Page,
    api: httpx.Client,
    neighbors: list[dict[str, Any]],
    view: str,
    size: tuple[int, int, int],
    picture_svg: PictureSvg,
) -> None:
    page.goto(f"{ADDRESS}&view={view}")
    picture = page.locator("section button.item").nth(1).get_by_role("img")
    assert picture_svg(picture) == compared_depiction(api, neighbors[1], *size)
    HeldRequests(page, PICTURES)
    mark_choice = page.get_by_label("Highlight")
    mark_choice.select_option("nothing")
    expect(picture).to_have_attribute("aria-busy", "true")
    assert "#99D3ED" not in source(picture)
    mark_choice.select_option("differences")
    assert picture_svg(picture) == compared_depiction(api, neighbors[1], *size)  # The picture is cached.


@pytest.mark.parametrize("view", ["table", pytest.param("tiles", marks=pytest.mark.long)])
def test_layout_is_stable_while_pictures_load(page: Page, view: str, look: Look) -> None:
    held_requests = HeldRequests(page, PICTURES)
    page.goto(f"{ADDRESS}&view={view}")
    pictures = page.get_by_role("main").get_by_role("img")
    expect(pictures.nth(6)).to_have_attribute("aria-busy", "true")
    look(page, f"{view} without pictures yet", waiting=True)
    before = [pictures.nth(place).bounding_box() for place in range(7)]
    held_requests.release()
    expect(pictures.nth(6)).to_have_attribute("aria-busy", "false")
    assert [pictures.nth(place).bounding_box() for place in range(7)] == before


def test_few_pictures_are_requested_and_only_visible_ones(page: Page) -> None:
    held_requests = HeldRequests(page, PICTURES)
    page.goto(f"{ADDRESS}&min_similarity=0.31")
    rows = page.locator("main section tbody tr")
    expect(rows.nth(20)).to_be_attached()
    while len(held_requests.routes) < AT_ONCE:
        page.evaluate(REST)
    page.evaluate(REST)
    assert len(held_requests.routes) == AT_ONCE
    large = [route.request.url for route in held_requests.routes if "width=300" in route.request.url]
    assert len(large) == 2  # The pictures of the comparison come first.
    with page.expect_event("requestfailed"):
        rows.last.scroll_into_view_if_needed()
    expect(rows.last.get_by_role("img")).to_have_attribute("aria-busy", "true")
    assert not set(large) & set(held_requests.abandoned)  # These pictures are still visible.
    held_requests.release()
    expect(rows.last.get_by_role("img")).to_have_attribute("aria-busy", "false")
    middle = rows.nth(12).get_by_role("img")
    expect(middle).to_have_attribute("aria-busy", "true")
    middle.scroll_into_view_if_needed()
    expect(middle).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize(
    "view", ["table", "graph", *(pytest.param(view, marks=pytest.mark.long) for view in ("tiles", "positives"))]
)
def test_leaving_a_view_cancels_its_pictures(page: Page, view: str) -> None:
    held_requests = HeldRequests(page, re.compile(r"depiction\.svg"))
    page.goto(f"{ADDRESS}&view={view}")
    waiting = page.locator(".canvas[aria-busy=true]" if view == "graph" else "section img[aria-busy=true]")
    waiting.first.wait_for()
    page.evaluate(REST)
    page.get_by_role("link", name="About").click()
    expect(page.get_by_role("heading", name="chembl")).to_be_visible()
    page.evaluate(REST)
    assert held_requests.routes
    assert held_requests.abandoned == [route.request.url for route in held_requests.routes]


def test_outdated_preview_is_canceled(page: Page, picture_svg: PictureSvg) -> None:
    page.goto("/?collection=chembl")
    box = page.get_by_role("combobox", name="SMILES")
    held_requests = HeldRequests(page, re.compile(r"structure\.svg"))
    with page.expect_request(re.compile(r"structure\.svg")):
        box.fill("FCCCCBr")
    preview = page.locator("#readings").get_by_role("img")
    expect(preview).to_have_attribute("aria-busy", "true")
    with page.expect_event("requestfailed", lambda request: request.url == held_requests.routes[0].request.url):
        box.fill("FCCCCI")
    expect(preview).to_have_attribute("alt", "Structure of FCCCCI")
    assert count_dark_pixels(preview) == 0
    held_requests.release()
    assert "<title>FCCCCI</title>" in picture_svg(preview)


def test_busy_server_is_retried_after_the_indicated_delay(
    page: Page, neighbors: list[dict[str, Any]], picture_svg: PictureSvg
) -> None:
    refused_urls: list[str] = []

    def refuse_first_time(route: Route) -> None:
        if route.request.url in refused_urls:
            route.continue_()
        else:
            refused_urls.append(route.request.url)
            refuse(route, 503, {"Retry-After": "1"})

    page.route(PICTURES, refuse_first_time)
    page.goto(f"{ADDRESS}&view=tiles")
    picture = page.get_by_role("list", name="Similar compounds").get_by_role("img").first
    # The plain and the compared picture are each refused once.
    expect(picture).to_have_attribute("aria-busy", "false", timeout=20_000)
    assert neighbors[0]["smiles"] in picture_svg(picture)
    assert len(refused_urls) > AT_ONCE
    page.get_by_text("Graph", exact=True).click()
    page.locator(".canvas[aria-busy=false]").wait_for()
    expect(page.get_by_text("missing")).to_have_count(0)


def test_retries_of_a_busy_server_are_limited(page: Page) -> None:
    rows = open_table(page)
    page.clock.install()
    requests: list[str] = []

    def always_refuse(route: Route) -> None:
        requests.append(route.request.url)
        refuse(route, 503, {"Retry-After": "20"})

    page.route(COMPARED, always_refuse)
    with page.expect_response(COMPARED):
        rows.nth(3).hover()
        page.clock.run_for(200)
    picture = page.locator("figure.other").get_by_role("img")
    for _ in range(TRIES - 1):
        expect(picture).to_have_attribute("aria-busy", "true")
        with page.expect_response(COMPARED):
            page.clock.run_for(20_000)
    expect(page.get_by_text("1 depiction is missing.")).to_be_visible()
    page.clock.run_for(60_000)
    assert len(requests) == TRIES


@pytest.mark.parametrize("phone", [False, pytest.param(True, marks=pytest.mark.long)])
def test_missing_pictures_are_reported_and_retried(
    page: Page, phone: bool, look: Look, picture_svg: PictureSvg
) -> None:
    if phone:
        page.set_viewport_size({"width": 390, "height": 800})
    page.route(PICTURES, lambda route: route.abort())
    page.goto(ADDRESS)
    first = page.locator("main section tbody tr").first.get_by_role("img")
    report = page.get_by_text(re.compile(r"^\d+ depictions are missing\.$"))
    expect(report).to_be_visible()
    expect(page.locator("img[alt$='no depiction']").nth(5)).to_be_visible()
    look(page, f"pictures missing{' phone' if phone else ''}")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(report).to_have_count(0)
    picture_svg(first)
    assert count_dark_pixels(first) > 0


def test_picture_that_cannot_exist_is_not_retried(page: Page) -> None:
    page.route(PICTURES, lambda route: refuse(route, 422))
    rows = open_table(page)
    expect(rows.first.get_by_role("img", name="no depiction")).to_be_visible()
    expect(page.get_by_text("missing")).to_have_count(0)


def test_pictures_of_a_new_generation_do_not_mix_with_old_items(
    page: Page, own_folder: Path, serve: Callable, publish: Callable, chembl_smiles: list[str]
) -> None:
    with serve(own_folder) as client:
        page.goto(f"{client.base_url}/?collection=chembl&part=tree")
        clusters = page.get_by_role("region", name="Similarity tree").get_by_role("listitem")
        expect(clusters.first).to_be_visible()
        page.locator("#box").fill(QUERY)
        page.keyboard.press("Enter")
        expect(page.locator("main section tbody tr").first).to_be_visible()
        old = client.get("/v1/collections/chembl").json()["generation"]
        publish(own_folder, "chembl", chembl_smiles[300:900])
        until(lambda: client.get("/v1/collections/chembl").json()["generation"] != old)
        new = client.get("/v1/collections/chembl").json()["generation"]
        detail = HeldRequests(page, re.compile(r"/collections/chembl$"))
        page.go_back()
        expect(clusters.first).to_be_visible()  # The view is as before.
        clusters_now = HeldRequests(page, re.compile(rf"components\?.*generation={new}"))
        with page.expect_request(re.compile(rf"components\?.*generation={new}")):
            detail.release()
        expect(clusters).to_have_count(0)
        clusters_now.release()
        expect(clusters.first).to_be_visible()
