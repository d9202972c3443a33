"""The API documentation in a browser whose requests are recorded."""

from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Page, expect


def test_documentation_only_contacts_this_server_and_sends_example_requests(page: Page, api: httpx.Client) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
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
    hosts = {urlsplit(url).netloc for url in requests if not url.startswith(("data:", "blob:"))}
    assert hosts == {urlsplit(str(api.base_url)).netloc}
