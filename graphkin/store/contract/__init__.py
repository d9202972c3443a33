"""The contract of the store port as a class of tests for pytest, independent of how an adapter keeps its data.

The contract is the docstrings of `store.base`. An adapter in another package keeps the contract if this class passes:

    from graphkin.store.contract import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture(scope="class")
        @classmethod
        def store_factory(cls, tmp_path_factory):
            folder = tmp_path_factory.mktemp("stores")
            return lambda place: MyStore(folder / place, create=True)

`GrowingStoreContract` is for stores whose collections grow, `ReadContract` for stores of one generation.
"""

import pytest

_PARTS = ("growth", "items", "keys", "publication", "random_hierarchies", "sampling", "traversal")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from graphkin.store.contract.growth import Grow  # noqa: E402 - after the registration for rewritten asserts
from graphkin.store.contract.items import KeepItems, ReadItems  # noqa: E402
from graphkin.store.contract.keys import KeepKeys  # noqa: E402
from graphkin.store.contract.publication import Publish  # noqa: E402
from graphkin.store.contract.random_hierarchies import AnyHierarchy  # noqa: E402
from graphkin.store.contract.sampling import Sample  # noqa: E402
from graphkin.store.contract.traversal import KeepThresholds, ReadHierarchy  # noqa: E402

__all__ = ["GrowingStoreContract", "ReadContract", "StoreContract"]


class ReadContract(KeepThresholds, KeepItems, Sample, ReadHierarchy, ReadItems):
    """The contract of one generation in a store of its own.

    pytest runs it from the last base to the first: first the tests that only read, then tests that write.
    """


class StoreContract(KeepKeys, Publish, AnyHierarchy, ReadContract):
    """The contract of stores that hold many generations of many collections, and API keys."""


class GrowingStoreContract(Grow, StoreContract):
    """The whole contract, for stores whose collections grow."""
