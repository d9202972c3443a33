"""Fixtures shared by the tests of the API, of the page and of the documentation's site."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright

Serve = Callable[..., AbstractContextManager[httpx.Client]]


@pytest.fixture(scope="session")
def serve(serve: Callable[..., AbstractContextManager[str]]) -> Serve:
    """Return `serve(store, sampler="gds")`, which yields a client of the API over a store."""

    @contextmanager
    def serving(store: str | Path, **settings: Any) -> Iterator[httpx.Client]:
        with serve(store, **settings) as url, httpx.Client(base_url=url, timeout=60) as client:
            yield client

    return serving


@pytest.fixture(scope="session")
def open_browser(require_tools: Callable[..., None]) -> Callable[[], AbstractContextManager[Browser]]:
    """Return `open_browser()`, which yields a browser. While it is open, Playwright prevents other event loops."""

    @contextmanager
    def opening() -> Iterator[Browser]:
        executable = shutil.which("chromium-headless-shell")
        if executable is None:
            require_tools("chromium")
            executable = shutil.which("chromium")
        with sync_playwright() as playwright:
            arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
            chromium = playwright.chromium.launch(executable_path=executable, args=arguments)
            yield chromium
            chromium.close()

    return opening
