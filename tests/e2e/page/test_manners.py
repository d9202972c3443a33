"""Behavior while loading, on errors, when generations change, and the amount of data before the first paint."""

import re
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from graphkin.store import open_store

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}"
FIRST_PAINT = 250_000  # Bytes of gzip.


def test_first_paint_needs_little_data(page: Page) -> None:
    body_sizes: dict[str, int] = {}
    page.on("requestfinished", lambda request: body_sizes.update({request.url: request.sizes()["responseBodySize"]}))
    page.goto(ADDRESS)
    expect(page.locator("section tbody tr").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    parts = {url: size for url, size in body_sizes.items() if "/v1/" not in url}
    assert any(url.endswith(".js") for url in parts)
    assert not any(on_demand in url for url in parts for on_demand in ("openchemlib", "Graph"))
    assert sum(parts.values()) < FIRST_PAINT


@pytest.mark.parametrize(
    "part",
    [
        "**/v1/**",
        "**/items/query*",
        *(pytest.param(part, marks=pytest.mark.long) for part in ("**/v1/collections/chembl", "**/structure?*")),
    ],
)
def test_unreachable_api_is_reported_and_retried(page: Page, look: Look, part: str) -> None:
    page.route(part, lambda route: route.abort())
    page.goto(ADDRESS)
    alert = page.get_by_role("alert")
    for _ in range(2):
        expect(alert).to_contain_text("The server cannot be reached.")
        with page.expect_event("requestfailed"):
            page.get_by_role("button", name="Try again").click()
    expect(alert).to_contain_text("The server cannot be reached.")
    look(page, "server away")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("section tbody tr").first).to_be_visible()
    expect(alert).to_have_count(0)


def test_incomplete_reply_is_reported_as_unreachable_api(page: Page) -> None:
    broken = {"Content-Type": "application/json", "Content-Length": "99"}
    page.route("**/items/query*", lambda route: route.fulfill(status=200, headers=broken, body='{"items": ['))
    page.goto(ADDRESS)
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")


def test_failed_query_does_not_show_earlier_results(page: Page) -> None:
    page.goto(ADDRESS)
    expect(page.get_by_text("similar, ≥ 0.30")).to_be_visible()
    condition = '"min_similarity":0.6'
    page.route(
        "**/items/query*",
        lambda route: route.abort() if condition in (route.request.post_data or "") else route.fallback(),
    )
    page.get_by_role("slider").fill("0.6")
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    expect(page.get_by_text("similar, ≥")).to_have_count(0)
    expect(page.locator("section tbody tr")).to_have_count(0)


def test_structure_is_sent_once_in_any_notation(page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("/?collection=chembl&q=c1c(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)cccc1OC")
    expect(page.locator("#box")).to_have_value(QUERY)
    expect(page.locator("section tbody tr").first).to_be_visible()
    assert [len([url for url in requests if f"/{part}?" in url]) for part in ("structure", "query")] == [1, 1]
    page.get_by_role("link", name="graphkin").click()
    page.go_back()
    expect(page.locator("section tbody tr").first).to_be_visible()


def test_back_restores_the_scroll_position(page: Page) -> None:
    page.goto(ADDRESS)
    rows = page.locator("section tbody tr")
    expect(rows.first).to_be_visible()
    is_at_position = "() => Math.round(document.querySelector('.scroll')?.scrollTop ?? scrollY) === 1000"
    page.mouse.move(800, 500)
    page.mouse.wheel(0, 1000)
    page.wait_for_function("() => history.state?.depth === 1000")
    rows.nth(12).get_by_role("link").click()
    expect(page.locator("#box")).not_to_have_value(QUERY)
    expect(rows.first).to_be_in_viewport()
    page.go_back()
    page.wait_for_function(is_at_position)
    page.reload()
    page.wait_for_function(is_at_position)
    page.get_by_role("link", name="About").click()
    expect(page.get_by_role("heading", name="chembl")).to_be_visible()
    assert page.evaluate("scrollY") == 0


def test_pending_threshold_does_not_change_another_view(page: Page) -> None:
    page.clock.install()
    page.goto(ADDRESS)
    expect(page.locator("section tbody tr").first).to_be_visible()
    page.get_by_role("slider").fill("0.9")
    page.get_by_role("link", name="Clusters", exact=True).click()
    page.get_by_role("link", name="Tree").click()
    page.clock.run_for(1000)
    expect(page.get_by_role("region", name="Similarity tree").get_by_role("listitem").first).to_be_visible()
    assert "min_similarity" not in page.url


def test_error_of_the_api_is_shown(page: Page) -> None:
    problem = {"title": "Not available now", "status": 503, "detail": "still compiling", "hint": "seconds"}
    page.route("**/items/query*", lambda route: route.fulfill(status=503, json=problem))
    page.goto(ADDRESS)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("still compiling")
    page.unroute_all()
    alert.get_by_role("button", name="Try again").click()
    expect(page.locator("section tbody tr").first).to_be_visible()


def test_busy_server_is_retried_after_the_indicated_delay(page: Page, look: Look) -> None:
    problem = {"title": "Not available now", "status": 503, "detail": "too many at once", "type": ""}
    page.clock.install()
    page.route(
        "**/items/query*", lambda route: route.fulfill(status=503, json=problem, headers={"Retry-After": "5"}), times=1
    )
    page.goto(ADDRESS)
    expect(page.get_by_text("The server is busy, so the page will try again. Reason: too many at once")).to_be_visible()
    look(page, "busy")
    page.clock.run_for(5000)
    expect(page.locator("section tbody tr").first).to_be_visible()
    expect(page.get_by_text("busy")).to_have_count(0)


def test_damaged_collection_is_marked_and_not_requested_again(page: Page, look: Look) -> None:
    damaged = {"file": "indices.npy", "problem": "its SHA-256 differs from the manifest's"}
    problem = {
        "type": "urn:graphkin:problem:damaged",
        "title": "Damaged",
        "status": 503,
        "detail": "indices.npy: its SHA-256 differs from the manifest's",
        "hint": None,
    }
    requests: list[str] = []

    def fulfill_damaged_list(route: Route) -> None:
        reply = route.fetch()
        body = reply.json()
        for collection in body.get("collections", [body]):
            collection["damaged"] = damaged if collection["name"] == "chembl" else None
        route.fulfill(response=reply, json=body)

    def fulfill_damaged(route: Route) -> None:
        requests.append(route.request.url)
        route.fulfill(status=503, json=problem, headers={"Retry-After": "1"} if len(requests) % 2 else {})

    page.clock.install()
    page.route(re.compile(r"/v1/collections(/chembl)?(\?.*)?$"), fulfill_damaged_list)
    page.route(re.compile(r"/items/query\?|\.svg\?"), fulfill_damaged)
    page.goto(ADDRESS)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Damaged")
    expect(alert).to_contain_text("indices.npy: its SHA-256 differs from the manifest's")
    expect(page.locator("figure.query").get_by_role("img", name="no depiction")).to_be_visible()
    page.clock.run_for(60_000)
    assert len(requests) == 2
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    options = page.get_by_label("Collection").locator("option")
    expect(options.filter(has_text="Damaged")).to_have_text(["Damaged: chembl (2,000)"])
    look(page, "damaged")
    page.get_by_role("link", name="About").click()
    expect(alert).to_contain_text("Damaged indices.npy: its SHA-256 differs from the manifest's")
    look(page, "about damaged")
    page.get_by_label("Collection").select_option("nci")
    expect(page.get_by_role("heading", name="nci")).to_be_visible()
    expect(alert).to_have_count(0)


def test_slow_query_shows_progress_and_can_be_canceled(page: Page, look: Look) -> None:
    routes: list[Route] = []
    page.clock.install()
    page.route("**/items/query*", lambda route: routes.append(route))
    page.goto(ADDRESS)
    page.get_by_label("Query and comparison").wait_for()
    page.clock.fast_forward(300)
    expect(page.get_by_text("Searching…")).to_be_visible()
    page.clock.fast_forward(4000)
    expect(page.get_by_text("This takes longer than usual.")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Canceled.")).to_be_visible()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("section tbody tr").first).to_be_visible()


def test_replaced_generation_is_announced(
    page: Page, own_folder: Path, serve: Callable, publish: Callable, chembl_smiles: list[str], look: Look
) -> None:
    with serve(own_folder) as client:
        page.goto(f"{client.base_url}{ADDRESS}")
        expect(page.locator("section tbody tr").first).to_be_visible()
        before = page.locator("section tbody tr").count()
        publish(own_folder, "chembl", chembl_smiles[:300])
        wait_until_listed(client, 2)
        page.locator("tbody td.name a").first.click()
        expect(page.get_by_text("This is an earlier generation of chembl.")).to_be_visible()
        page.go_back()
        expect(page.locator("section tbody tr")).to_have_count(before)
        expect(page.get_by_text("This is an earlier generation of chembl.")).to_be_visible()
        look(page, "earlier generation")
        page.get_by_role("link", name="Show the current generation").click()
        expect(page.get_by_text("This is an earlier generation")).to_have_count(0)
        expect(page.locator("section tbody tr")).not_to_have_count(before)


def test_deleted_generation_is_announced(
    page: Page, own_folder: Path, serve: Callable, publish: Callable, chembl_smiles: list[str], look: Look
) -> None:
    with serve(own_folder) as client:
        page.goto(f"{client.base_url}{ADDRESS}")
        expect(page.locator("section tbody tr").first).to_be_visible()
        old = client.get("/v1/collections/chembl").json()["generation"]
        publish(own_folder, "chembl", chembl_smiles[:300])
        with open_store(own_folder) as store:
            store.delete("chembl", old)
        wait_until_listed(client, 1, other_than=old)
        page.locator("tbody td.name a").first.click()
        alert = page.get_by_role("alert").first
        expect(alert).to_contain_text("deleted")
        look(page, "generation deleted")
        alert.get_by_role("link", name="Show the current generation").click()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_label("Query and comparison")).to_be_visible()


def wait_until_listed(client: httpx.Client, generations: int, other_than: str = "") -> None:
    """Wait until the running API lists a publication, which takes up to a second."""
    end = monotonic() + 20
    while monotonic() < end:
        reply = client.get("/v1/collections/chembl").json()
        if len(reply["generations"]) == generations and reply["generation"] != other_than:
            return
    raise AssertionError(f"the API does not see what was published: {reply['generations']}")


def test_store_without_collections_is_explained(page: Page, serve: Callable, tmp_path: Path, look: Look) -> None:
    open_store(tmp_path / "empty", create=True).close()
    with serve(tmp_path / "empty", writes=False) as client:
        page.goto(str(client.base_url))
        expect(page.get_by_role("heading", name="No collections yet")).to_be_visible()
        expect(page.get_by_text("graphkin serve --writes")).to_be_visible()
        look(page, "no collection")
