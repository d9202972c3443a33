"""The similarity join as int8 products on a GPU: what one card would do for the join of the ingest.

    python -m benchmarks.gpu_join FILE.npz --write [--molecules 249456]
    python -m benchmarks.gpu_join FILE.npz [--threshold 0.5 0.6 0.7]

The first writes fingerprints of ZINC250k, and tells how many pairs the join of the ingest finds and in which processor
time; the second needs a GPU, torch with its Triton, and numpy alone, and must find as many. Items are sorted by
popcount; tiles of the product that their popcounts do not rule out are multiplied on tensor cores, and pairs that pass
the threshold, decided in integers as by the join, are written out. Picoseconds are of each of the n (n - 1) / 2
pairs, those that popcounts rule out among them, as the figures of `benchmarks.join` are.
"""

import argparse
import os
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from numpy.typing import NDArray

_ROWS, _COLUMNS, _DEPTH = 128, 256, 128  # of a tile, and of the part of a fingerprint that is multiplied at once
_NEAR = 16  # tiles by as many that are multiplied one after the other: their rows stay in the cache
_ROOM = 2**24  # pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--molecules", type=int, default=249_456)
    parser.add_argument("--threshold", type=float, nargs="+", default=(0.5, 0.6, 0.7))
    parser.add_argument("--device", default="cuda", help="cpu: with TRITON_INTERPRET=1, to try a few hundred rows")
    options = parser.parse_args()
    if options.write:
        _write(options.file, options.molecules, options.threshold)
        return
    bits = Bits(np.load(options.file)["words"], options.device)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "no GPU"
    print(f"{bits.size:,} fingerprints, {name}, torch {torch.__version__}, Triton {triton.__version__}")
    for threshold in options.threshold:
        bits.join(threshold)  # compiles
        seconds, pairs, multiplied = bits.join(threshold)
        every = bits.size * (bits.size - 1) / 2
        operations = 2 * bits.width * multiplied / seconds
        print(
            f"τ {threshold}: {pairs:,} pairs in {seconds:.3f} s, {1e12 * seconds / every:.2f} ps a pair; "
            f"{multiplied / every:.2f} of all were multiplied, at {operations / 1e12:,.0f} Top/s",
            flush=True,
        )


def _write(file: Path, molecules: int, thresholds: Sequence[float]) -> None:
    from benchmarks.join import prepared
    from graphkin.similarity.join import similar_pairs

    with TemporaryDirectory() as folder:
        words = prepared(Path(folder), molecules, os.cpu_count() or 1).words()
    np.savez_compressed(file, words=words)
    list(similar_pairs(words[:1000], 0.5, 1))
    for threshold in thresholds:
        begin = time.process_time()
        pairs = sum(len(found) for found in similar_pairs(words, threshold, 1))
        seconds = time.process_time() - begin
        every = len(words) * (len(words) - 1) / 2
        print(f"τ {threshold}: {pairs:,} pairs, {1e12 * seconds / every:.0f} ps of processor time a pair")


class Bits:
    """Fingerprints as (n, width) int8 on the device, by popcount, with empty ones after them to fill the last tile."""

    def __init__(self, words: NDArray[Any], device: str) -> None:
        self.size = len(words)
        counted = np.bitwise_count(words).sum(axis=1, dtype=np.int32)
        order = np.argsort(counted, kind="stable")
        more = -len(words) % _COLUMNS
        packed = torch.from_numpy(np.pad(words[order].view(np.uint8), ((0, more), (0, 0)))).to(device)
        places = torch.arange(8, dtype=torch.uint8, device=device)
        self._rows = torch.cat(
            [(part[:, :, None] >> places & 1).flatten(1).to(torch.int8) for part in torch.split(packed, 8192)]
        )
        self._on_host = np.pad(counted[order], (0, more), constant_values=counted.max())
        self._popcounts = torch.from_numpy(self._on_host).to(device)
        self._found = torch.empty((2, _ROOM), dtype=torch.int32, device=device)
        self.width = self._rows.shape[1]

    def join(self, threshold: float) -> tuple[float, int, int]:
        """Seconds, pairs found, pairs multiplied. Which tiles are reached is found out beforehand."""
        least = Fraction(str(threshold))
        tiles = self._tiles(least)
        begin = time.perf_counter()
        count = torch.zeros(1, dtype=torch.int32, device=self._rows.device)
        _tile[(len(tiles),)](
            self._rows, self._popcounts, torch.from_numpy(tiles).to(count.device), self._found, count, self.size, _ROOM,
            least.numerator, least.denominator, self.width, _ROWS, _COLUMNS, _DEPTH, num_warps=8, num_stages=3,
        )  # fmt: skip
        pairs = int(count)
        seconds = time.perf_counter() - begin
        if pairs > _ROOM:
            raise SystemExit(f"{pairs:,} pairs, and room for {_ROOM:,}")
        return seconds, pairs, len(tiles) * _ROWS * _COLUMNS

    def _tiles(self, least: Fraction) -> NDArray[np.int32]:
        """(t, 2): row and column of each tile that may hold similar pairs above the diagonal, near ones together."""
        highest = self._on_host[_ROWS - 1 :: _ROWS].astype(np.int64)  # of each tile of rows
        reach = np.searchsorted(self._on_host, highest * least.denominator // least.numerator, side="right")
        rows = np.arange(len(highest))
        first, last = rows * _ROWS // _COLUMNS, -(-np.minimum(reach, self.size) // _COLUMNS)
        counts = np.maximum(last - first, 0)
        row = np.repeat(rows, counts)
        column = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
        near = np.lexsort((column, row, column // _NEAR, row // _NEAR))
        return np.stack([row, column], axis=1)[near].astype(np.int32)


@triton.jit  # type: ignore[untyped-decorator]
def _tile(  # type: ignore[no-untyped-def]
    bits, popcounts, tiles, found, count, size, room, numerator, denominator,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Append the pairs of one tile with common / (own + others - common) >= numerator / denominator."""
    tile = tl.program_id(0)
    rows = tl.load(tiles + 2 * tile) * ROWS + tl.arange(0, ROWS)
    columns = tl.load(tiles + 2 * tile + 1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    own = bits + rows[:, None].to(tl.int64) * WIDTH + depth[None, :]
    others = bits + columns[None, :].to(tl.int64) * WIDTH + depth[:, None]
    common = tl.zeros((ROWS, COLUMNS), dtype=tl.int32)
    for start in range(0, WIDTH, DEPTH):
        common = tl.dot(tl.load(own + start), tl.load(others + start), common, out_dtype=tl.int32)
    both = tl.load(popcounts + rows)[:, None] + tl.load(popcounts + columns)[None, :]
    similar = common * (numerator + denominator) >= numerator * both
    similar = similar & (columns[None, :] > rows[:, None]) & (columns[None, :] < size)
    if tl.sum(similar.to(tl.int32)) > 0:
        place = tl.atomic_add(count + tl.zeros_like(common), 1, mask=similar)
        similar = similar & (place < room)
        tl.store(found + place, rows[:, None] + tl.zeros_like(common), mask=similar)
        tl.store(found + room + place, columns[None, :] + tl.zeros_like(common), mask=similar)


if __name__ == "__main__":
    main()
