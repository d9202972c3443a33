"""Rejection of records that contradict an earlier record of the same item."""

from collections.abc import Iterable

import pyarrow as pa

from graphkin.ingest.parsing import Chunk, Parsed, kept_rows, rejection_rows


class Agreement:
    """Checks that all records of an item have the same value in one column. Chunks must come in record order.

    Args:
        column: The column in which all records of an item must agree.
        older: Digest and value of each item that is already in the collection.
    """

    def __init__(self, column: str, older: Iterable[tuple[bytes, bytes]]) -> None:
        self._column = column
        self._values = {digest: hash(value) for digest, value in older}  # hashes, because values may be long

    def review(self, chunk: Chunk, parsed: Parsed) -> Parsed:
        """Return the parsed chunk with the records that contradict an earlier one rejected."""
        values = zip(parsed.items["digest"].to_pylist(), parsed.items[self._column].to_pylist(), strict=True)
        agrees = [self._values.setdefault(digest, hash(value)) == hash(value) for digest, value in values]
        if all(agrees):
            return parsed
        rows = kept_rows(chunk, parsed)
        reason = f"is the same item as an earlier record, but with another {self._column}"
        contradicting = [(row, reason) for row, is_consistent in zip(rows, agrees, strict=True) if not is_consistent]
        all_rejections = pa.concat_batches([parsed.rejections, rejection_rows(chunk, contradicting)])
        return Parsed(parsed.items.filter(pa.array(agrees)), all_rejections.sort_by("line"))
