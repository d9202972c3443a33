"""Matched pairs: from a transformation to its pairs, and from a compound to what is known to improve it."""

import base64
import re
import statistics
from collections.abc import Callable
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, expect

from tests.until import until_available

Look = Callable[[Page, str], None]

URL = "/v1/collections/series/matched-pairs"
MINUS = "−"


def _fetch(api: httpx.Client, **query: Any) -> dict[str, Any]:
    """Return a reply about matched pairs, which the server finds in the background when they are first requested."""
    reply = until_available(lambda: api.get(URL, params={"property": "pKi", "limit": 50, **query}))
    assert reply.status_code == 200, reply.text
    page: dict[str, Any] = reply.json()
    return page


def _rows(region: Locator) -> list[tuple[str, ...]]:
    """Return the fragments, the number of pairs and the mean change in each row."""
    pictures = region.locator("tbody img").evaluate_all("images => images.map(image => image.alt)")
    texts = region.locator("tbody td.numeric").evaluate_all("cells => cells.map(cell => cell.innerText.trim())")
    return [*zip(pictures[::2], pictures[1::2], texts[::3], texts[1::3], strict=True)]


def _expected(reply: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            f"Fragment {each['from']}",
            f"Fragment {each['to']}",
            f"{each['count']} pair{'s' * (each['count'] > 1)}",
            f"{each['mean']:+.2f}".replace("+0.00", "0.00"),
        )
        for each in reply["transformations"]
    ]


def _expect_transformations(page: Page, reply: dict[str, Any]) -> None:
    rows = _expected(reply)
    expect(page.get_by_text(f"{reply['total']} transformations")).to_be_visible()
    region = page.get_by_role("region", name="Transformations")
    expect(region.locator("tbody td.numeric").nth(1)).to_have_text(rows[0][3])  # Other properties have as many rows.
    assert _rows(region) == rows


def _number(text: str) -> float:
    return float(text.replace(MINUS, "-"))


def test_matched_pairs_obey_filters(page: Page, api: httpx.Client, look: Look) -> None:
    """A list of every other compound leaves the pairs of which both compounds are in it."""
    every = _fetch(api, min_count=1, pairs=1000, limit=1000)
    size = api.get("/v1/collections/series").json()["manifest"]["counts"]["kept"]
    ids = set(range(size // 2))
    counts = [sum(ids.issuperset(pair) for pair in each["pairs"]) for each in every["transformations"]]
    expected = sorted((count for count in counts if count >= 2), reverse=True)
    assert 1 < len(expected) < every["total"]
    page.goto(f"/?collection=series&part=pairs&property=pKi&min_count=2#basket={_first_ids(len(ids))}")
    page.get_by_text(f"{len(expected)} transformations between compounds that match the filters").wait_for()
    bar = page.get_by_role("region", name="Filters")
    expect(bar.get_by_role("listitem")).to_contain_text([f"Items of a link ({len(ids)})"])
    region = page.get_by_role("region", name="Transformations")
    assert [int(count.split()[0]) for _, _, count, _ in _rows(region)] == expected[:50]
    look(page, "transformations between the items of a list")
    region.get_by_role("link", name=re.compile("pair")).first.click()
    page.get_by_text(f"{expected[0]} pairs, the largest change first.").wait_for()
    bar.get_by_role("button", name="Remove the filter: Items of a link").click()
    page.get_by_text(re.compile(r"^\d+ pairs, the largest change first")).filter(
        has_not_text=f"{expected[0]} pairs"
    ).wait_for()


def _first_ids(count: int) -> str:
    """Return the first ids as the page writes them: a zero byte for each."""
    return base64.urlsafe_b64encode(bytes(count)).decode().rstrip("=")


def test_transformation_leads_to_its_pairs_and_to_a_better_compound(page: Page, api: httpx.Client, look: Look) -> None:
    reply = _fetch(api)
    page.goto("/?collection=series")
    page.get_by_role("link", name="SAR").click()
    page.get_by_role("link", name="Matched pairs").click()
    page.get_by_label("Property").select_option("pKi")
    region = page.get_by_role("region", name="Transformations")
    _expect_transformations(page, reply)
    page.get_by_role("button", name="Mean change of pKi").click()
    page.get_by_label("Pairs ≥").fill("4")
    page.get_by_label("Pairs ≥").press("Enter")
    reply = _fetch(api, by="mean", min_count=4)
    _expect_transformations(page, reply)
    first = reply["transformations"][0]

    region.get_by_role("link").first.click()
    cards = page.get_by_role("region", name="Matched pairs").locator("ul.cards > li")
    expect(cards).to_have_count(first["count"])
    page.reload()
    expect(cards).to_have_count(first["count"])
    changes = []
    for card in cards.all():
        before, after = (_number(text) for text in card.locator("figcaption strong").all_inner_texts())
        changes.append(_number(card.locator("p strong").inner_text()))
        assert changes[-1] == round(after - before, 2)
    assert changes == sorted(changes, reverse=True)
    assert abs(statistics.mean(changes) - first["mean"]) < 1e-9
    assert abs(statistics.stdev(changes) - first["sd"]) < 1e-9
    look(page, "pairs of a transformation")

    names = cards.first.locator("figcaption a").all_inner_texts()
    better = cards.first.locator("figcaption strong").last.inner_text()
    cards.first.locator("figcaption a").first.click()
    page.get_by_role("radio", name="Matched pairs").locator("xpath=..").click()
    applied = page.get_by_role("region", name="Transformations")
    expect(page.get_by_text(re.compile("are known to raise pKi on average"))).to_be_visible()
    row = applied.get_by_role("row").filter(has_text=f"{first['count']} pairs").filter(has_text=names[1])
    expect(row).to_contain_text(f"{names[1]}: {better}")
    row.get_by_role("listitem").filter(has_text=names[1]).get_by_role("link").click()
    expect(page.get_by_label("Query and comparison").get_by_text(names[1])).to_be_visible()
