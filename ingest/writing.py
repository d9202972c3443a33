"""The item table and its fingerprints, handed to a draft in pieces."""

from collections.abc import Iterable

import pyarrow as pa

from graphkin.store.base import Draft
from graphkin.store.records import UInt64

_FINGERPRINTS = 65_536  # to a piece


def write_items(items: Iterable[pa.RecordBatch], words: UInt64, draft: Draft) -> None:
    """Items in batches, then the packed fingerprints (N, W) of all of them."""
    for batch in items:
        draft.append_items(batch)
    for start in range(0, len(words), _FINGERPRINTS):
        draft.append_fingerprints(words[start : start + _FINGERPRINTS])
