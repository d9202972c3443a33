"""Records of one item that contradict each other: the first is believed, the others are rejected."""

from collections.abc import Iterable

import pyarrow as pa

from graphkin.ingest.parsing import Chunk, Parsed, rejections


class Agreement:
    """Looks through what is parsed, in the order of records, for items with another value in `column` than before."""

    def __init__(self, column: str, older: Iterable[tuple[bytes, bytes]]) -> None:
        """`older`: digest and value of each item that is there before."""
        self._column = column
        self._known = {digest: hash(value) for digest, value in older}  # hashes: what is compared may be long

    def reviewed(self, chunk: Chunk, parsed: Parsed) -> Parsed:
        """The same, without what contradicts an earlier record: that is among the rejections."""
        values = zip(parsed.items["digest"].to_pylist(), parsed.items[self._column].to_pylist(), strict=True)
        agrees = [self._known.setdefault(digest, hash(value)) == hash(value) for digest, value in values]
        if all(agrees):
            return parsed
        rejected = set(parsed.rejections["line"].to_pylist())
        lines = enumerate(chunk.records["line"].to_pylist())
        rows = [row for row, line in lines if line not in rejected]  # of the items in the chunk
        reason = f"is the same item as an earlier record, but with another {self._column}"
        contradicting = [(row, reason) for row, own in zip(rows, agrees, strict=True) if not own]
        told = pa.concat_batches([parsed.rejections, rejections(chunk, contradicting)])
        return Parsed(parsed.items.filter(pa.array(agrees)), told.sort_by("line"))
