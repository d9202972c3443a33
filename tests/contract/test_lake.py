import pytest

from graphkin.store.contract import ReadContract
from graphkin.store.contract.places import StoreFactory
from graphkin.store.lake.store import LakeStore


class TestLakeOnDisk(ReadContract):
    @pytest.fixture(scope="class")
    @classmethod
    def store_factory(cls, tmp_path_factory: pytest.TempPathFactory) -> StoreFactory:
        root = tmp_path_factory.mktemp("lakes")
        return lambda place: LakeStore(f"file://{root / place}", create=True, cache=root / "cache")


class TestLakeInMemory(ReadContract):
    """Run the contract on fsspec's in-memory file system: an object store without folders and without rename."""

    @pytest.fixture(scope="class")
    @classmethod
    def store_factory(cls, tmp_path_factory: pytest.TempPathFactory) -> StoreFactory:
        cache = tmp_path_factory.mktemp("cache")
        return lambda place: LakeStore(f"memory://{cache.name}/{place}", create=True, cache=cache)
