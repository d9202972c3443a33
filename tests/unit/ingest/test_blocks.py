"""The sizes of the blocks that the tasks engine compares."""

import pytest

from graphkin.ingest.stages.blocks import block_size


@pytest.mark.parametrize(
    ("items", "size"), [(0, 100), (1_600, 100), (1_601, 101), (3_200, 200), (12_800, 800), (10**9, 800)]
)
def test_large_collections_have_larger_blocks(items: int, size: int) -> None:
    assert block_size(items, smallest=100) == size
