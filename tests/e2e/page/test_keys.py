"""A server that requires a key: the page asks for it and keeps it private."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from graphkin.protocol.keys import create_key
from graphkin.store import open_store
from studies.report import main as make_report
from tests.signon import run_proxy

Look = Callable[..., None]


def test_page_asks_for_a_key_and_keeps_it_for_the_tab(
    page: Page, own_folder: Path, serve: Callable, look: Look, tmp_path: Path
) -> None:
    secret, key = create_key("a", ["read"], ["nci"])
    proxy_secret, proxy_key = create_key("proxy", ["read"], ["chembl"], for_proxy=True)
    assert make_report(["hops", "--store", str(own_folder), "--collection", "nci", "--targets", "5",
                "--output", str(tmp_path / "reports")]) == 0  # fmt: skip
    with open_store(own_folder) as store:
        store.keys().add(key)
        store.keys().add(proxy_key)
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    with serve(own_folder, reports=tmp_path / "reports") as client:
        page.goto(f"{client.base_url}/?collection=nci&q=O=C(O)c1ccccc1")
        field = page.get_by_label("API key", exact=True)
        expect(page.get_by_role("heading", name="This server requires an API key")).to_be_visible()
        look(page, "asked for a key")
        field.fill("gk_wrong")
        page.get_by_role("button", name="Use this API key").click()
        expect(page.get_by_role("alert")).to_contain_text("wrong, has expired or was revoked")
        field.fill(f" {secret} ")
        page.get_by_role("button", name="Use this API key").click()
        expect(page.get_by_label("Collection").locator("option")).to_have_count(1)
        picture = page.get_by_label("Query and comparison").get_by_role("img").first
        expect(picture).to_have_attribute("aria-busy", "false")
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
        look(page, "let in by a key")
        with page.context.expect_page() as new_tab:
            page.get_by_title("Open a larger depiction").first.click()
        large = new_tab.value.get_by_role("img")
        expect(large).to_be_visible()
        assert large.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1000
        new_tab.value.close()
        page.get_by_role("link", name="About").click()
        charts = page.get_by_role("figure").filter(has_text="Similarity against exact hops").get_by_role("img")
        expect(charts).to_be_visible()
        assert secret not in page.url + "".join(addresses)
        assert page.evaluate("localStorage.length") == 0
        assert page.context.cookies() == []
        other = page.context.new_page()
        other.goto(f"{client.base_url}/")
        expect(other.get_by_label("API key", exact=True)).to_be_visible()
        other.close()
        page.get_by_role("button", name="Remove the API key").click()
        expect(field).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        with run_proxy(str(client.base_url), proxy_secret) as proxy:  # The proxy has authenticated the user.
            page.goto(f"{proxy}/login?user=ann")
            expect(page.get_by_label("Collection")).to_have_value("chembl")
            expect(field).to_have_count(0)
