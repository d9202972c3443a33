from collections.abc import Iterator
from typing import Any

import pytest

from graphkin.store.base import Store
from graphkin.store.contract import GrowingStoreContract
from graphkin.store.contract.places import StoreFactory
from graphkin.store.neo4j.store import Neo4jStore


class TestNeo4jStore(GrowingStoreContract):
    """Run the contract on Neo4j. Community has one database per server, which is emptied for each new place."""

    @pytest.fixture(scope="class")
    @classmethod
    def store_factory(cls, spare_neo4j: Any) -> Iterator[StoreFactory]:
        places: list[str] = []
        stores: list[Store] = []

        def open_at(place: str) -> Store:
            if [place] != places[-1:]:
                spare_neo4j.clear()
                places.append(place)
            stores.append(Neo4jStore(spare_neo4j.url, create=True))
            return stores[-1]

        yield open_at
        for store in stores:
            store.close()
