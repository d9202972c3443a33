"""Warnings about links that are only partly valid, and about truncated lists of stored pairs."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page, expect

Look = Callable[..., None]

UNREADABLE, UNKNOWN = quote('["molwt"]'), quote('["potency",1,null]')
ALERT = "Parts of this link were ignored."


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("part=clifs", "Unknown part “clifs”. Accepted values: find, items, list, basket, plot, clusters, cliffs"),
        (f"part=items&filter={UNREADABLE}", 'The filter “["molwt"]” is not valid and was ignored'),
        ("part=cliffs&property=potency", "no numeric property “potency”. Its numeric properties:"),
        ("part=clusters&property=potency", "no numeric property “potency”. Its numeric properties:"),
    ],
)
def test_invalid_parameter_of_a_link_is_reported(page: Page, link: str, sentence: str, look: Look) -> None:
    page.goto(f"/?collection=pairs&{link}")
    alert = page.get_by_role("alert").filter(has_text=ALERT)
    expect(alert).to_contain_text(sentence)
    look(page, f"bad {link.split('=')[1]}")
    page.get_by_role("link", name="About").click()
    expect(alert).to_have_count(0)


def test_filter_of_an_unknown_property_is_reported(page: Page) -> None:
    page.goto(f"/?collection=pairs&part=items&filter={UNKNOWN}")
    sentence = "This collection has no property “potency” to filter by."
    expect(page.get_by_role("alert").filter(has_text=ALERT)).to_contain_text(sentence)


def test_link_to_the_cluster_of_a_missing_item_is_reported(page: Page, look: Look) -> None:
    page.goto("/?collection=pairs&part=clusters&cluster=%23999")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Item not found")
    expect(alert).to_contain_text("This collection has no item #999")
    expect(page.get_by_text("Error in this page")).to_have_count(0)
    look(page, "cluster of a missing item")
    page.get_by_role("link", name="All clusters").click()
    expect(page.get_by_role("region", name="Clusters").get_by_role("listitem").first).to_be_visible()


def test_truncated_lists_are_marked(page: Page, api: httpx.Client, look: Look) -> None:
    manifest: dict[str, Any] = api.get("/v1/collections/truncated").json()["manifest"]
    stored, truncated = manifest["edges"], manifest["dropped"]
    sentence = (
        f"{stored} of {stored + truncated} pairs at or above {manifest['recipe']['threshold']} are stored (top-k 3); "
        f"{truncated} are truncated."
    )
    page.goto("/?collection=truncated&part=collection")
    expect(page.get_by_text(sentence)).to_be_visible()
    for name, value in (("Pairs found", stored + truncated), ("Pairs stored", stored), ("Pairs truncated", truncated)):
        expect(page.locator("dl div").filter(has_text=name)).to_contain_text(str(value))
    look(page, "truncated about")
    for part in ("part=cliffs", "part=clusters&method=single", "part=tree", "q=alcohol12&view=graph"):
        page.goto(f"/?collection=truncated&{part}")
        expect(page.get_by_text(sentence)).to_be_visible()
    item = next(each for each in api.get("/v1/collections/truncated/items").json()["items"] if each["dropped"] > 1)
    page.goto(f"/?collection=truncated&q={item['names'][0]}")
    item_sentence = (
        rf"The query: {item['degree']} of {item['degree'] + item['dropped']} pairs .* {item['dropped']} are truncated\."
    )
    expect(page.get_by_text(re.compile(item_sentence))).to_be_visible()
    look(page, "truncated neighbors")
    page.get_by_role("link", name="Search the whole collection").click()
    expect(page.get_by_text(re.compile(item_sentence))).to_have_count(0)
    page.goto("/?collection=pairs&part=collection")
    expect(page.get_by_text("Pairs truncated")).to_be_visible()
    expect(page.get_by_text("are stored (top-k")).to_have_count(0)
