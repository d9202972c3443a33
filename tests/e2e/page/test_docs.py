"""The API's documentation, in a browser that says whom it asks."""

from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Page, expect


def test_it_is_this_servers_alone_and_tries_requests_out(page: Page, api: httpx.Client) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/docs")
    operations = page.locator(".opblock")
    count = sum(len(verbs) for verbs in api.get("/openapi.json").json()["paths"].values())
    expect(operations).to_have_count(count)
    search = page.locator("#operations-search-search")
    search.locator(".opblock-summary-control").click()
    search.get_by_role("button", name="Try it out").click()
    search.locator("tr[data-param-name=c] input").fill("chembl")
    search.locator("textarea").fill('{"smiles": "CCO", "limit": 1}')
    search.get_by_role("button", name="Execute").click()
    expect(search.locator(".live-responses-table .response .response-col_status")).to_contain_text("200")
    expect(search.locator(".live-responses-table")).to_contain_text("hits")
    hosts = {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts == {urlsplit(str(api.base_url)).netloc}
