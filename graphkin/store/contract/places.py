"""Fixtures of the contract: the stores of an adapter, and content for them."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from graphkin.store.base import Generation, Store
from graphkin.store.contract.hierarchies import GRAPHS, MOLECULES, NODES, Hierarchy

StoreFactory = Callable[[str], Store]

_places = count()


class StoreFixtures:
    """Fixtures for stores and their content. A subclass overrides `store_factory`."""

    @pytest.fixture(scope="class")
    @classmethod
    def store_factory(cls) -> StoreFactory:
        """Return a function that opens the store at a named place as another process would.

        The store is empty at first. Each call returns another `Store` object. Tests that use a place never use an
        earlier place again, so an adapter with a single database may empty it for each new place.
        """
        raise NotImplementedError(f"{cls.__name__} has to override `store_factory`")

    @pytest.fixture
    def place(self) -> str:
        """Return the name of an unused place."""
        return f"place-{next(_places)}"

    @pytest.fixture
    def store(self, store_factory: StoreFactory, place: str) -> Store:
        return store_factory(place)

    @pytest.fixture(scope="class")
    @classmethod
    def published(cls, store_factory: StoreFactory) -> Iterator[Generation]:
        """A reader of the molecules, written in batches that end between items 3 and 4."""
        store = store_factory("molecules")
        MOLECULES.publish(store, "molecules", batch=4)
        with store.open("molecules") as generation:
            yield generation

    @pytest.fixture
    def published_graphs(self, store: Store) -> Iterator[Generation]:
        GRAPHS.publish(store, "graphs")
        with store.open("graphs") as generation:
            yield generation

    @pytest.fixture
    def molecules(self) -> Hierarchy:
        return MOLECULES

    @pytest.fixture
    def graphs(self) -> Hierarchy:
        return GRAPHS

    @pytest.fixture
    def nodes(self) -> Hierarchy:
        return NODES

    @pytest.fixture
    def hierarchy(self) -> type[Hierarchy]:
        """The class, for tests that define their own content."""
        return Hierarchy
