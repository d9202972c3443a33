"""The site of the documentation is complete, and needs no other host."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

LOADING = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
"""Attributes that make a browser load a file, by tag. `link` is another one, unless it is a canonical address."""


class Links(HTMLParser):
    """The links, the files that are loaded, and the anchors of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.anchors |= {value for name, value in attrs if name in ("id", "name") and value}
        if tag == "a" and attributes.get("href"):
            self.links.append(str(attributes["href"]))
        if attributes.get(LOADING.get(tag, "")):
            self.loaded.append(str(attributes[LOADING[tag]]))
        if tag == "link" and attributes.get("rel") not in ("canonical", "next", "prev", "edit"):
            self.loaded.append(str(attributes["href"]))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Links]:
    """Return the pages of the site by their paths."""
    return {"/" + str(path.relative_to(site)): Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def broken(pages: dict[str, Links], site: Path) -> Iterator[str]:
    """Yield the links and files of the pages that do not exist, or whose anchor does not."""
    for path, page in pages.items():
        if path == "/404.html":  # its links begin at the address of the site
            continue
        for link in page.links + page.loaded:
            target = urlsplit(urljoin(f"http://site{path}", link))
            if target.netloc != "site" or target.scheme != "http":
                continue
            name = unquote(target.path)
            name += "index.html" if name.endswith("/") else ""
            anchors = pages[name].anchors if name in pages else {target.fragment}
            exists = name in pages or (site / name[1:]).is_file()
            if not exists or (target.fragment and unquote(target.fragment) not in anchors):
                yield f"{path}: {link}"


def test_links_and_anchors_exist(pages: dict[str, Links], site: Path) -> None:
    assert len(pages) > 50
    assert list(broken(pages, site)) == []


def test_broken_links_are_seen(site: Path) -> None:
    page = Links('<a href="../b.html">b</a> <a href="#c">c</a> <a id="e" href="#e">e</a> <img src="d.png">')
    missing = list(broken({"/a/index.html": page}, site))
    assert missing == [f"/a/index.html: {each}" for each in ("../b.html", "#c", "d.png")]


def test_pages_load_no_file_of_another_host(pages: dict[str, Links], site: Path) -> None:
    loaded = [f"{path}: {each}" for path, page in pages.items() for each in page.loaded if urlsplit(each).netloc]
    assert loaded == []
    styles = [path for path in site.rglob("*.css") if re.search(r"url\(['\"]?(https?:)?//", path.read_text())]
    assert styles == []


@pytest.fixture
def page(browser: Browser, site_url: str) -> Iterator[Page]:
    """Yield an empty tab. A request to another host, an error in the console or a missing file fails the test."""
    problems: list[str] = []
    context = browser.new_context(base_url=site_url, viewport={"width": 1280, "height": 860})
    context.set_default_timeout(20_000)
    tab = context.new_page()
    host = urlsplit(site_url).netloc
    tab.on("request", lambda request: problems.append(request.url) if _is_foreign(request.url, host) else None)
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("requestfailed", lambda request: problems.append(f"failed: {request.url}"))
    tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield tab
    context.close()
    assert problems == []


def _is_foreign(url: str, host: str) -> bool:
    return not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != host


@pytest.mark.parametrize(
    "path",
    ["quickstart/", "reference/python/", "reference/rest/", "reference/commands/search/", "about/changelog/"],
)
def test_page_needs_no_other_host(page: Page, path: str) -> None:
    page.goto(path, wait_until="networkidle")
    expect(page.locator("article h1")).to_be_visible()


def test_notebook_needs_no_other_host(page: Page) -> None:
    page.goto("notebooks/chemist/", wait_until="networkidle")
    expect(page.locator(".jp-CodeCell").first).to_be_visible()


def test_diagram_is_drawn(page: Page) -> None:
    page.goto("develop/architecture/", wait_until="networkidle")
    expect(page.locator("div.mermaid").first).to_be_visible()
    page.wait_for_function("document.querySelector('div.mermaid').offsetHeight > 100")


def test_search_finds_a_command(page: Page) -> None:
    page.goto("reference/commands/", wait_until="networkidle")
    page.get_by_role("textbox", name="Search").press_sequentially("activity cliffs")
    result = page.locator(".md-search-result__link").first
    expect(result).to_be_visible(timeout=30_000)  # the browser builds the index first
    result.click()
    expect(page.locator("article h1")).to_be_visible()
