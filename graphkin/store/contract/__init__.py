"""The contract of the store port as test classes for pytest.

The docstrings of `store.base` state the contract, and these classes test it for any adapter. An adapter in another
package runs them as follows:

    from graphkin.store.contract import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture(scope="class")
        @classmethod
        def store_factory(cls, tmp_path_factory):
            folder = tmp_path_factory.mktemp("stores")
            return lambda place: MyStore(folder / place, create=True)

`GrowingStoreContract` is for stores that implement `Store.growth`, `ReadContract` for stores of a single generation.
"""

import pytest

_PARTS = ("growth", "items", "keys", "publication", "random_hierarchies", "sampling", "traversal")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from graphkin.store.contract.growth import GrowthTests  # noqa: E402 - after the registration for rewritten asserts
from graphkin.store.contract.items import ItemReadingTests, ItemWritingTests  # noqa: E402
from graphkin.store.contract.keys import KeyTests  # noqa: E402
from graphkin.store.contract.publication import PublicationTests  # noqa: E402
from graphkin.store.contract.random_hierarchies import RandomHierarchyTests  # noqa: E402
from graphkin.store.contract.sampling import SamplingTests  # noqa: E402
from graphkin.store.contract.traversal import ThresholdTests, TraversalTests  # noqa: E402

__all__ = ["GrowingStoreContract", "ReadContract", "StoreContract"]


class ReadContract(ThresholdTests, ItemWritingTests, SamplingTests, TraversalTests, ItemReadingTests):
    """The contract of a store that may hold a single generation.

    pytest runs the tests of the last base class first: tests that only read come before tests that write.
    """


class StoreContract(KeyTests, PublicationTests, RandomHierarchyTests, ReadContract):
    """The contract of stores that hold many generations of many collections, and API keys."""


class GrowingStoreContract(GrowthTests, StoreContract):
    """The contract of stores that also implement `Store.growth`."""
