"""What the port promises, as a class of tests for pytest. It knows nothing about how an adapter keeps its data.

The contract is the docstrings of `store.base`. An adapter of another package keeps it if this passes there:

    from graphkin.store.contract import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture(scope="class")
        @classmethod
        def store_factory(cls, tmp_path_factory):
            folder = tmp_path_factory.mktemp("stores")
            return lambda place: MyStore(folder / place, create=True)

`GrowingStoreContract` is that of a store whose collections grow, `ReadContract` that of one which holds one generation.
"""

import pytest

_PARTS = ("growth", "items", "keys", "publication", "random_hierarchies", "sampling", "traversal")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from graphkin.store.contract.growth import Grow  # noqa: E402 - after what rewrites them
from graphkin.store.contract.items import KeepItems, ReadItems  # noqa: E402
from graphkin.store.contract.keys import KeepKeys  # noqa: E402
from graphkin.store.contract.publication import Publish  # noqa: E402
from graphkin.store.contract.random_hierarchies import AnyHierarchy  # noqa: E402
from graphkin.store.contract.sampling import Sample  # noqa: E402
from graphkin.store.contract.traversal import KeepThresholds, ReadHierarchy  # noqa: E402

__all__ = ["GrowingStoreContract", "ReadContract", "StoreContract"]


class ReadContract(KeepThresholds, KeepItems, Sample, ReadHierarchy, ReadItems):
    """All that is promised of one generation in a store of its own.

    pytest runs it from the last base to the first: what all read, then what each test writes.
    """


class StoreContract(KeepKeys, Publish, AnyHierarchy, ReadContract):
    """What stores promise that hold many generations of many collections, and the keys of who may read them."""


class GrowingStoreContract(Grow, StoreContract):
    """The whole contract, for stores whose collections grow."""
