"""What the tests of the API and of the page share: the real application over real HTTP."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

Serve = Callable[..., AbstractContextManager[httpx.Client]]


@pytest.fixture(scope="session")
def serve(serve: Callable[..., AbstractContextManager[str]]) -> Serve:
    """`serve(store, sampler="gds")`: a client of the API over a store of one's own."""

    @contextmanager
    def serving(store: str | Path, **given: Any) -> Iterator[httpx.Client]:
        with serve(store, **given) as url, httpx.Client(base_url=url, timeout=60) as client:
            yield client

    return serving
