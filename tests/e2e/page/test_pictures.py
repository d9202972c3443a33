"""Pictures: only ever beside what they show, in whatever order they come; waited for, missed, not wanted any more."""

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
Shown = Callable[[Locator], str]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}"
URL = "/v1/collections/chembl/items"
PICTURES = re.compile(r"\.svg\?")
COMPARED = re.compile(r"depiction\.svg\?width=300.*highlight_smiles=(?!.*turned)")
AT_ONCE = 4
TRIES = 8

REST = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Held:
    """Requests that get no answer until they are released; what is asked for afterwards goes its way."""

    def __init__(self, page: Page, pattern: re.Pattern[str]) -> None:
        self.routes: list[Route] = []
        self._open = False
        page.route(pattern, self._arrived)

    def _arrived(self, route: Route) -> None:
        if self._open:
            route.continue_()
        else:
            self.routes.append(route)

    @property
    def abandoned(self) -> list[str]:
        return [route.request.url for route in self.routes if route.request.failure]

    def release(self) -> None:
        self._open = True
        for route in self.routes:
            if route.request.failure is None:
                route.continue_()


@pytest.fixture(scope="module")
def neighbours(api: httpx.Client) -> list[dict[str, Any]]:
    """The query's, as items."""
    (item,) = api.get(URL, params={"smiles": QUERY}).json()["items"]
    found = api.get(f"{URL}/{item['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
    return [each["item"] for each in found]


def plain(api: httpx.Client, item: dict[str, Any], width: int, height: int) -> str:
    """The API's picture of an item that is compared with nothing."""
    return api.get(f"{URL}/{item['id']}/depiction.svg", params={"width": width, "height": height}).text


def source(picture: Locator) -> str:
    """The SVG that a picture is of, finished or not."""
    return unquote((picture.get_attribute("src") or "").partition(",")[2])


def drawn(api: httpx.Client, item: dict[str, Any], width: int, height: int) -> str:
    """The API's picture of an item as the query lies, with what differs."""
    size: dict[str, str | int] = {"width": width, "height": height, "highlight_smiles": QUERY, "mark": "differences"}
    return api.get(f"{URL}/{item['id']}/depiction.svg", params=size).text


def ink(picture: Locator) -> int:
    """How many pixels are nearly black: atoms and bonds."""
    image = np.array(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    return int((image < 100).sum())


def refuse(route: Route, status: int, headers: dict[str, str] | None = None) -> None:
    problem = {"title": "Not available now", "status": status, "detail": "too many at once", "type": "", "hint": None}
    route.fulfill(status=status, headers=headers, json=problem)


def opened(page: Page) -> Locator:
    """Go there; gives the rows of the table once all is shown."""
    page.goto(ADDRESS)
    rows = page.locator("main section tbody tr")
    expect(rows.first).to_be_visible()
    page.wait_for_load_state("networkidle")
    return rows


def test_no_picture_stands_beside_what_it_does_not_show(
    page: Page, api: httpx.Client, neighbours: list[dict[str, Any]], shown: Shown
) -> None:
    rows = opened(page)
    compared = page.locator("figure.other")
    picture = compared.get_by_role("img")
    assert ink(picture) > 0
    held = Held(page, COMPARED)
    with page.expect_request(COMPARED):
        rows.nth(3).hover()
    expect(compared).to_contain_text(neighbours[3]["smiles"])
    expect(picture).to_have_attribute("aria-busy", "true")
    assert source(picture) == plain(api, neighbours[3], 300, 210)
    assert ink(picture) > 0
    held.release()
    assert shown(picture) == drawn(api, neighbours[3], 300, 210)
    assert ink(picture) > 0


def test_the_last_that_is_pointed_at_is_shown(
    page: Page, api: httpx.Client, neighbours: list[dict[str, Any]], shown: Shown
) -> None:
    rows = opened(page)
    held = Held(page, COMPARED)
    with page.expect_request(COMPARED):
        rows.nth(3).hover()
    with page.expect_event("requestfailed", lambda request: bool(COMPARED.search(request.url))):  # nobody waits for it
        rows.nth(4).hover()
    picture = page.locator("figure.other").get_by_role("img")
    assert source(picture) != drawn(api, neighbours[3], 300, 210)
    held.release()
    assert shown(picture) == drawn(api, neighbours[4], 300, 210)
    rows.nth(3).hover()
    expect(page.locator("figure.other")).to_contain_text(neighbours[3]["smiles"])
    assert shown(picture) == drawn(api, neighbours[3], 300, 210)


@pytest.mark.parametrize(
    ("view", "size"), [("table", (180, 120)), pytest.param("tiles", (180, 130), marks=pytest.mark.long)]
)
def test_what_is_highlighted_no_longer_is_gone_at_once(
    page: Page, api: httpx.Client, neighbours: list[dict[str, Any]], view: str, size: tuple[int, int], shown: Shown
) -> None:
    page.goto(f"{ADDRESS}&view={view}")
    picture = page.locator("section button.item").nth(1).get_by_role("img")
    assert shown(picture) == drawn(api, neighbours[1], *size)
    Held(page, PICTURES)
    marked = page.get_by_label("Pictures mark")
    marked.select_option("nothing")
    expect(picture).to_have_attribute("aria-busy", "true")
    assert "#99D3ED" not in source(picture)
    marked.select_option("differences")
    assert shown(picture) == drawn(api, neighbours[1], *size)  # it is remembered


@pytest.mark.parametrize("view", ["table", pytest.param("tiles", marks=pytest.mark.long)])
def test_nothing_moves_when_pictures_come(page: Page, view: str, look: Look) -> None:
    held = Held(page, PICTURES)
    page.goto(f"{ADDRESS}&view={view}")
    pictures = page.get_by_role("main").get_by_role("img")
    expect(pictures.nth(6)).to_have_attribute("aria-busy", "true")
    look(page, f"{view} without pictures yet", waiting=True)
    before = [pictures.nth(place).bounding_box() for place in range(7)]
    held.release()
    expect(pictures.nth(6)).to_have_attribute("aria-busy", "false")
    assert [pictures.nth(place).bounding_box() for place in range(7)] == before


def test_few_are_asked_for_at_a_time_and_only_what_is_in_view(page: Page) -> None:
    held = Held(page, PICTURES)
    page.goto(f"{ADDRESS}&min_similarity=0.31")
    rows = page.locator("main section tbody tr")
    expect(rows.nth(20)).to_be_attached()
    while len(held.routes) < AT_ONCE:
        page.evaluate(REST)
    page.evaluate(REST)
    assert len(held.routes) == AT_ONCE
    large = [route.request.url for route in held.routes if "width=300" in route.request.url]
    assert len(large) == 2  # what is looked at comes first
    with page.expect_event("requestfailed"):
        rows.last.scroll_into_view_if_needed()
    expect(rows.last.get_by_role("img")).to_have_attribute("aria-busy", "true")
    assert not set(large) & set(held.abandoned)  # they are in view still
    held.release()
    expect(rows.last.get_by_role("img")).to_have_attribute("aria-busy", "false")
    middle = rows.nth(12).get_by_role("img")
    expect(middle).to_have_attribute("aria-busy", "true")
    middle.scroll_into_view_if_needed()
    expect(middle).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize(
    "view", ["table", "graph", *(pytest.param(view, marks=pytest.mark.long) for view in ("tiles", "positives"))]
)
def test_who_leaves_waits_for_no_picture(page: Page, view: str) -> None:
    held = Held(page, re.compile(r"depiction\.svg"))
    page.goto(f"{ADDRESS}&view={view}")
    waiting = page.locator(".canvas[aria-busy=true]" if view == "graph" else "section img[aria-busy=true]")
    waiting.first.wait_for()
    page.evaluate(REST)
    page.get_by_role("link", name="About").click()
    expect(page.get_by_role("heading", name="chembl")).to_be_visible()
    page.evaluate(REST)
    assert held.routes
    assert held.abandoned == [route.request.url for route in held.routes]


def test_a_preview_that_is_no_longer_typed_is_not_waited_for(page: Page, shown: Shown) -> None:
    page.goto("/?collection=chembl")
    box = page.get_by_role("combobox", name="SMILES")
    held = Held(page, re.compile(r"structure\.svg"))
    with page.expect_request(re.compile(r"structure\.svg")):
        box.fill("FCCCCBr")
    preview = page.locator("#readings").get_by_role("img")
    expect(preview).to_have_attribute("aria-busy", "true")
    with page.expect_event("requestfailed", lambda request: request.url == held.routes[0].request.url):
        box.fill("FCCCCI")
    expect(preview).to_have_attribute("alt", "Structure of FCCCCI")
    assert ink(preview) == 0
    held.release()
    assert "<title>FCCCCI</title>" in shown(preview)


def test_a_busy_server_is_asked_again_when_it_says(page: Page, neighbours: list[dict[str, Any]], shown: Shown) -> None:
    refused: list[str] = []

    def answer(route: Route) -> None:
        if route.request.url in refused:
            route.continue_()
        else:
            refused.append(route.request.url)
            refuse(route, 503, {"Retry-After": "1"})

    page.route(PICTURES, answer)
    page.goto(f"{ADDRESS}&view=tiles")
    picture = page.get_by_role("list", name="Similar items").get_by_role("img").first
    expect(picture).to_have_attribute("aria-busy", "false", timeout=20_000)  # plain and compared, each refused once
    assert neighbours[0]["smiles"] in shown(picture)
    assert len(refused) > AT_ONCE
    page.get_by_text("Graph", exact=True).click()
    page.locator(".canvas[aria-busy=false]").wait_for()
    expect(page.get_by_text("missing")).to_have_count(0)


def test_a_server_that_stays_busy_is_not_asked_for_ever(page: Page) -> None:
    rows = opened(page)
    page.clock.install()
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        refuse(route, 503, {"Retry-After": "3"})

    page.route(COMPARED, answer)
    with page.expect_response(COMPARED):
        rows.nth(3).hover()
        page.clock.run_for(200)
    picture = page.locator("figure.other").get_by_role("img")
    for _ in range(TRIES - 1):
        expect(picture).to_have_attribute("aria-busy", "true")
        with page.expect_response(COMPARED):
            page.clock.run_for(3000)
    expect(page.get_by_text("1 picture is missing.")).to_be_visible()
    page.clock.run_for(60_000)
    assert len(asked) == TRIES


@pytest.mark.parametrize("phone", [False, pytest.param(True, marks=pytest.mark.long)])
def test_pictures_that_do_not_come_are_told_and_tried_again(page: Page, phone: bool, look: Look, shown: Shown) -> None:
    if phone:
        page.set_viewport_size({"width": 390, "height": 800})
    page.route(PICTURES, lambda route: route.abort())
    page.goto(ADDRESS)
    first = page.locator("main section tbody tr").first.get_by_role("img")
    told = page.get_by_text(re.compile(r"^\d+ pictures are missing\.$"))
    expect(told).to_be_visible()
    expect(page.locator("img[alt$='no picture']").nth(5)).to_be_visible()
    look(page, f"pictures missing{' phone' if phone else ''}")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(told).to_have_count(0)
    shown(first)
    assert ink(first) > 0


def test_what_can_never_be_drawn_is_not_offered_again(page: Page) -> None:
    page.route(PICTURES, lambda route: refuse(route, 422))
    rows = opened(page)
    expect(rows.first.get_by_role("img", name="no picture")).to_be_visible()
    expect(page.get_by_text("missing")).to_have_count(0)


def test_pictures_of_a_new_generation_are_not_beside_items_of_the_old(
    page: Page, own_folder: Path, serve: Callable, publish: Callable, chembl_smiles: list[str]
) -> None:
    with serve(own_folder) as client:
        page.goto(f"{client.base_url}/?collection=chembl&part=tree")
        clusters = page.get_by_role("region", name="Clusters").get_by_role("listitem")
        expect(clusters.first).to_be_visible()
        page.locator("#box").fill(QUERY)
        page.keyboard.press("Enter")
        expect(page.locator("main section tbody tr").first).to_be_visible()
        old = client.get("/v1/collections/chembl").json()["generation"]
        publish(own_folder, "chembl", chembl_smiles[300:900])
        until(lambda: client.get("/v1/collections/chembl").json()["generation"] != old)
        new = client.get("/v1/collections/chembl").json()["generation"]
        detail = Held(page, re.compile(r"/collections/chembl$"))
        page.go_back()
        expect(clusters.first).to_be_visible()  # as it was before
        clusters_now = Held(page, re.compile(rf"components\?.*generation={new}"))
        with page.expect_request(re.compile(rf"components\?.*generation={new}")):
            detail.release()
        expect(clusters).to_have_count(0)
        clusters_now.release()
        expect(clusters.first).to_be_visible()
