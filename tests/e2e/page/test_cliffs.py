"""The view of activity cliffs."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
from playwright.sync_api import Locator, Page, expect

URL = "/v1/collections/nci"

Look = Callable[[Page, str], None]


def _fetch(api: httpx.Client, **query: Any) -> dict[str, Any]:
    reply = api.get(f"{URL}/cliffs", params={"property": "molwt", "limit": 20, **query})
    assert reply.status_code == 200, reply.text
    cliffs: dict[str, Any] = reply.json()
    return cliffs


def _names(region: Locator) -> list[str]:
    return region.locator("ul").first.locator("figcaption a").all_inner_texts()


def _expected(cliffs: dict[str, Any]) -> list[str]:
    names = {item["id"]: item["names"][0] for item in cliffs["items"]}
    return [names[pair[end]] for pair in cliffs["pairs"] for end in "ab"]


def test_identical_fingerprints_are_shown_separately(page: Page, api: httpx.Client, look: Look) -> None:
    reply, identical_reply = _fetch(api), _fetch(api, min_similarity=1, exclude_identical=False)
    page.goto("/?collection=nci&part=cliffs&property=molwt")
    page.get_by_text(
        f"{reply['total']:,} pairs of neighbors differ in Molecular weight (g/mol). "
        "The pair with the largest difference"
    ).wait_for()
    cliffs = page.get_by_role("region", name="Activity cliffs")
    identical = page.get_by_role("region", name="Identical fingerprints")
    expect(identical.locator("figcaption a").nth(1)).to_be_visible()
    assert _names(cliffs) == _expected(reply)
    assert _names(identical) == _expected(identical_reply)
    assert identical_reply["identical"] == identical_reply["total"] > 3
    expect(identical).to_contain_text(
        f"{identical_reply['identical']:,} pairs differ in Molecular weight (g/mol) and have identical fingerprints"
    )
    expect(cliffs.locator("ul").first).not_to_contain_text("1.000")
    look(page, "cliffs with the same fingerprint")


def test_maximum_similarity_is_part_of_the_url(page: Page, api: httpx.Client) -> None:
    reply = _fetch(api, max_similarity=0.8)
    page.goto("/?collection=nci&part=cliffs&property=molwt")
    page.get_by_label("Similarity ≤").fill("0.8")
    page.get_by_label("Similarity ≤").press("Enter")
    page.get_by_text(f"{reply['total']:,} pairs of neighbors differ in Molecular weight (g/mol)").wait_for()
    assert "max_similarity=0.8" in page.url
    assert _names(page.get_by_role("region", name="Activity cliffs")) == _expected(reply)


def test_cliffs_obey_all_filters(page: Page, api: httpx.Client, look: Look) -> None:
    reply = _fetch(api, limit=1000)
    assert reply["next_cursor"] is None
    names = {item["id"]: item["names"] for item in reply["items"]}

    def expected(limit: int, prefix: str) -> list[str]:
        """Return the names of the pairs of items below an id that have a name with a prefix."""
        matches = {id for id in names if id < limit and any(name.startswith(prefix) for name in names[id])}
        pairs = [(pair["a"], pair["b"]) for pair in reply["pairs"] if {pair["a"], pair["b"]} <= matches]
        return [names[id][0] for pair in pairs for id in pair]

    def wait_for_count(count: int) -> None:
        start = rf"^\s*{count:,} pairs of neighbors that both match the filters differ in Molecular weight"
        page.get_by_text(re.compile(start)).wait_for()

    ids = "A" * 534  # the ids 0 to 399, as the page writes them
    page.goto(f"/?collection=nci&part=cliffs&property=molwt#basket={ids}")
    cliffs = page.get_by_role("region", name="Activity cliffs")
    count = len(expected(400, "")) // 2
    assert 5 < count < reply["total"]
    wait_for_count(count)
    assert _names(cliffs) == expected(400, "")[:40]
    page.get_by_label("Name begins with").fill("1")
    page.get_by_label("Name begins with").press("Enter")
    named = expected(400, "1")
    assert 0 < len(named) < 2 * count
    wait_for_count(len(named) // 2)
    assert _names(cliffs) == named[:40]
    look(page, "cliffs among the items of a list with a name")
    page.get_by_role("button", name="Remove the filter by a list").click()
    wait_for_count(len(expected(10**9, "1")) // 2)


def test_column_with_censored_values_is_numeric(page: Page, look: Look) -> None:
    page.goto("/?collection=potency&part=cliffs&property=activity&min_similarity=0.4")
    first = page.get_by_role("region", name="Activity cliffs").locator("ul li").first
    expect(first).to_contain_text(">10000.0")
    expect(first).to_contain_text("a bound, because a value is censored")
    look(page, "cliffs of censored values")
    condition = quote('["activity_qualifier", ">"]')
    page.goto(f"/?collection=potency&part=items&filter={condition}")
    expect(page.get_by_role("row")).to_have_count(2)
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text("m7")
    expect(row).to_contain_text("10,000")


def test_discarded_values_are_listed(page: Page, look: Look) -> None:
    page.goto("/?collection=potency&part=collection")
    special_values = page.locator("section", has=page.get_by_role("heading", name="Missing, censored and text values"))
    expect(special_values).to_contain_text("1 missing, 1 censored (sign in activity_qualifier), of 8 values")
    table = page.get_by_role("region", name="Conflicting values of duplicates")
    expect(table.get_by_role("row")).to_have_count(2)
    assert table.get_by_role("cell").all_inner_texts() == ["CCO", "activity", "2.5", "90.0"]
    look(page, "values of repeated items")
