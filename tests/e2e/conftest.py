"""Fixtures shared by the tests of the API and of the page."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

Serve = Callable[..., AbstractContextManager[httpx.Client]]


@pytest.fixture(scope="session")
def serve(serve: Callable[..., AbstractContextManager[str]]) -> Serve:
    """Return `serve(store, sampler="gds")`, which yields a client of the API over a store."""

    @contextmanager
    def serving(store: str | Path, **settings: Any) -> Iterator[httpx.Client]:
        with serve(store, **settings) as url, httpx.Client(base_url=url, timeout=60) as client:
            yield client

    return serving
