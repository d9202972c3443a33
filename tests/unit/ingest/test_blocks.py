"""The sizes of the blocks that the tasks engine compares."""

import pytest

from graphkin.ingest.stages.blocks import block_size


@pytest.mark.parametrize(
    ("items", "size"), [(0, 100), (6_400, 100), (6_401, 101), (12_800, 200), (25_600, 400), (10**9, 400)]
)
def test_large_collections_have_larger_blocks(items: int, size: int) -> None:
    assert block_size(items, smallest=100) == size
