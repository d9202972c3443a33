"""The sizes of the blocks that the tasks engine compares."""

import pytest

from graphkin.ingest.stages.blocks import block_size


@pytest.mark.parametrize(
    ("items", "size"), [(0, 100), (1_600, 100), (1_601, 101), (3_200, 200), (25_600, 1_600), (10**9, 1_600)]
)
def test_large_collections_have_larger_blocks(items: int, size: int) -> None:
    assert block_size(items, smallest=100) == size
