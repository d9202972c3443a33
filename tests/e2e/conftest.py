"""What the tests of the API and of the page share: the real application over real HTTP."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.api.work.nursery import Nursery

Serve = Callable[..., AbstractContextManager[httpx.Client]]


@pytest.fixture(scope="session")
def serve(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """`serve(store, sampler="gds")`: serve a store of one's own on some free port, with these settings."""

    @contextmanager
    def serving(store: str | Path, **given: Any) -> Iterator[httpx.Client]:
        settings = Settings(store=store, port=0, cache_dir=tmp_path_factory.mktemp("cache"), **given)
        shared = nursery if isinstance(store, Path) else None  # which has not the password to a database
        with ThreadPoolExecutor(1) as elsewhere:  # in the tests of the page, Playwright's loop runs in this thread
            server = elsewhere.submit(Server, settings, shared).result()
        with server.running() as url, httpx.Client(base_url=url, timeout=60) as client:
            yield client

    return serving
