"""Adapters under contract.

The contract is the docstrings of `store/base.py`. A test here knows nothing about how an adapter keeps its data.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from graphkin.store import open_store
from graphkin.store.base import Generation, Store


@pytest.fixture(scope="session", params=["embedded", "neo4j"])
def store_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., Store]]:
    """Opens the store at a named place, empty at first, as another process would: each call gives another `Store`.

    A place that is `lasting` stays as it is while others come and go.
    """
    locate: Callable[[str, bool], str] = request.getfixturevalue(f"{request.param}_places")
    opened: list[Store] = []

    def open_at(place: str, lasting: bool = False) -> Store:
        opened.append(open_store(locate(place, lasting), create=True))
        return opened[-1]

    yield open_at
    for store in opened:
        store.close()


@pytest.fixture(scope="session")
def embedded_places(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], str]:
    root = tmp_path_factory.mktemp("embedded")
    return lambda place, _: str(root / place)


@pytest.fixture(scope="session")
def neo4j_places(start_neo4j: Callable[[], Any], spare_neo4j: Any) -> Callable[[str, bool], str]:
    """Community has one database a server: lasting places share one, and another is cleared for each new place."""
    lasting_server = start_neo4j()
    seen: set[str] = set()

    def locate(place: str, lasting: bool) -> str:
        if lasting:
            return str(lasting_server.url)
        if place not in seen:
            spare_neo4j.clear()
            seen.add(place)
        return str(spare_neo4j.url)

    return locate


_places = count()


@pytest.fixture
def place() -> str:
    """The name of a place nobody has written to."""
    return f"place-{next(_places)}"


@pytest.fixture
def store(store_factory: Callable[..., Store], place: str) -> Store:
    return store_factory(place)


@pytest.fixture(scope="module")
def published(store_factory: Callable[..., Store], molecules: Any) -> Iterator[Generation]:
    """A reader of the molecules, written in batches that end between items 3 and 4."""
    store = store_factory(f"place-{next(_places)}", lasting=True)
    molecules.publish(store, "molecules", batch=4)
    with store.open("molecules") as generation:
        yield generation


@pytest.fixture
def published_graphs(store: Store, graphs: Any) -> Iterator[Generation]:
    graphs.publish(store, "graphs")
    with store.open("graphs") as generation:
        yield generation
