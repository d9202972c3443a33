from collections.abc import Iterator

import pytest

from graphkin.store.base import Store
from graphkin.store.contract import GrowingStoreContract
from graphkin.store.contract.places import StoreFactory
from graphkin.store.embedded.store import EmbeddedStore


class TestEmbeddedStore(GrowingStoreContract):
    @pytest.fixture(scope="class")
    @classmethod
    def store_factory(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreFactory]:
        root = tmp_path_factory.mktemp("embedded")
        stores: list[Store] = []

        def open_at(place: str) -> Store:
            stores.append(EmbeddedStore(root / place, create=True))
            return stores[-1]

        yield open_at
        for store in stores:
            store.close()
