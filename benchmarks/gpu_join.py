"""Similarity join as int8 products on a GPU, to estimate what a card would save in the ingest's join.

    python -m benchmarks.gpu_join FILE.npz --write [--molecules 249456]
    python -m benchmarks.gpu_join FILE.npz [--threshold 0.5 0.6 0.7] [--device cuda|cpu]

The first command writes fingerprints of ZINC250k, and prints the number of pairs and the processor time of the ingest's
join. The second needs only a GPU, numpy and torch with its Triton, and must find as many pairs.

Items are sorted by popcount. Tiles of the product that popcounts do not exclude are multiplied on tensor cores. Pairs
that pass the threshold, decided in integers as in the ingest, are written out. On a CPU torch multiplies the same
tiles, or with TRITON_INTERPRET=1 the kernel is interpreted. Both are meant for a few thousand rows. Picoseconds are per
pair of all n (n - 1) / 2 pairs, including those excluded by popcounts, as in `benchmarks.join`.
"""

import argparse
import os
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

_ROWS, _COLUMNS, _DEPTH = 128, 256, 128  # shape of a tile, and fingerprint bits multiplied at once
_NEAR = 16  # side of a square of tiles that are multiplied consecutively, so that their rows stay in the cache
_PART = 8192  # fingerprints that are unpacked together


class Join(NamedTuple):
    """Seconds, similar pairs, and multiplied pairs."""

    seconds: float
    pairs: int
    multiplied: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--molecules", type=int, default=249_456)
    parser.add_argument("--threshold", type=float, nargs="+", default=(0.5, 0.6, 0.7))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    if options.write:
        _write(options.file, options.molecules, options.threshold)
        return
    bits = Bits(np.load(options.file)["words"], options.device)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "no GPU"
    print(f"{bits.size:,} fingerprints, {name}, torch {torch.__version__}")
    for threshold in options.threshold:
        bits.join(threshold)  # compiles
        seconds, pairs, multiplied = bits.join(threshold)
        pair_count = bits.size * (bits.size - 1) / 2
        operations = 2 * bits.width * multiplied / seconds
        print(
            f"τ {threshold}: {pairs:,} pairs in {seconds:.3f} s, {1e12 * seconds / pair_count:.2f} ps a pair; "
            f"{multiplied / pair_count:.2f} of all were multiplied, at {operations / 1e12:,.0f} Top/s",
            flush=True,
        )


def _write(file: Path, molecules: int, thresholds: Sequence[float]) -> None:
    from benchmarks.join import prepare_sample
    from graphkin.similarity.join import similar_pairs

    with TemporaryDirectory() as folder:
        words = prepare_sample(Path(folder), molecules, os.cpu_count() or 1).words()
    np.savez_compressed(file, words=words)
    list(similar_pairs(words[:1000], 0.5, 1))
    for threshold in thresholds:
        begin = time.process_time()
        pairs = sum(len(block) for block in similar_pairs(words, threshold, 1))
        seconds = time.process_time() - begin
        pair_count = len(words) * (len(words) - 1) / 2
        print(f"τ {threshold}: {pairs:,} pairs, {1e12 * seconds / pair_count:.0f} ps of processor time a pair")


class Bits:
    """Fingerprints as (n, width) int8 on the device, sorted by popcount and padded with empty ones to whole tiles.

    Attributes:
        size: number of fingerprints.
        rows: number of tiles in a column of tiles.
        width: bits of a fingerprint.

    Args:
        words: packed fingerprints.
        device: "cuda" or "cpu".
        room: maximum number of pairs of one join.
    """

    def __init__(self, words: NDArray[Any], device: str, room: int = 2**24) -> None:
        self.size = len(words)
        counted = np.bitwise_count(words).sum(axis=1, dtype=np.int32)
        order = np.argsort(counted, kind="stable")
        more = -len(words) % _COLUMNS
        packed = torch.from_numpy(np.pad(words[order].view(np.uint8), ((0, more), (0, 0))))
        places = torch.arange(8, dtype=torch.uint8, device=device)
        self.width = 8 * packed.shape[1]
        self._rows = torch.empty((len(packed), self.width), dtype=torch.int8, device=device)
        for place, part in enumerate(torch.split(packed, _PART)):
            bits = (part.to(device)[:, :, None] >> places & 1).flatten(1)
            self._rows[place * _PART : place * _PART + len(part)] = bits
        self._popcounts = torch.from_numpy(np.pad(counted[order], (0, more), mode="edge")).to(device)
        self._room = room
        self._pairs = torch.empty((2, room), dtype=torch.int32, device=device)
        self.rows = len(packed) // _ROWS

    def join(self, threshold: float, begin: int = 0, end: int | None = None) -> Join:
        """Join the rows of tiles `begin` to `end` - 1 with all columns of tiles.

        The time excludes the selection of tiles.

        Raises:
            OverflowError: there are more pairs than room.
        """
        least = Fraction(str(threshold))
        tiles = self._tiles(least, begin, self.rows if end is None else end)
        if self._rows.is_cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        count = torch.zeros(1, dtype=torch.int32, device=self._rows.device)
        if self._rows.is_cuda or os.environ.get("TRITON_INTERPRET"):
            self._launch(tiles, least, count)
        else:
            self._multiply(tiles, least, count)
        pairs = int(count)
        seconds = time.perf_counter() - start
        if not 0 <= pairs <= self._room:
            raise OverflowError(f"more than {self._room:,} pairs: join fewer rows of tiles at once")
        return Join(seconds, pairs, len(tiles) * _ROWS * _COLUMNS)

    def _launch(self, tiles: torch.Tensor, least: Fraction, count: torch.Tensor) -> None:
        from benchmarks.gpu_kernel import tile_pairs

        if len(tiles):
            tile_pairs[(len(tiles),)](
                self._rows, self._popcounts, tiles, self._pairs, count, self.size, self._room,
                least.numerator, least.denominator, self.width, _ROWS, _COLUMNS, _DEPTH, num_warps=8, num_stages=3,
            )  # fmt: skip

    def _multiply(self, tiles: torch.Tensor, least: Fraction, count: torch.Tensor) -> None:
        """Compute what the kernel computes. float32 represents these integers exactly."""
        for row, column in (tiles * torch.tensor([_ROWS, _COLUMNS], dtype=torch.int32)).tolist():
            rows, columns = torch.arange(row, row + _ROWS), torch.arange(column, column + _COLUMNS)
            common = (self._rows[rows].float() @ self._rows[columns].float().T).to(torch.int32)
            both = self._popcounts[rows, None] + self._popcounts[None, columns]
            similar = common * (least.numerator + least.denominator) >= least.numerator * both
            similar &= (columns[None] > rows[:, None]) & (columns[None] < self.size)
            pairs = similar.nonzero().T
            place = int(count)
            count += pairs.shape[1]
            pairs = pairs[:, : max(0, self._room - place)]
            self._pairs[:, place : place + pairs.shape[1]] = pairs + torch.tensor([[row], [column]])

    def _tiles(self, least: Fraction, begin: int, end: int) -> torch.Tensor:
        """Return (t, 2) row and column of each tile that may hold similar pairs above the diagonal.

        Adjacent tiles are grouped together, so that their rows stay in the cache.
        """
        device = self._popcounts.device
        highest = self._popcounts[_ROWS - 1 :: _ROWS][begin:end]
        most = (highest.long() * least.denominator // least.numerator).to(torch.int32)
        reach = torch.searchsorted(self._popcounts, most, right=True).clamp(max=self.size)
        rows = torch.arange(begin, end, device=device)
        first, last = rows * _ROWS // _COLUMNS, (reach + _COLUMNS - 1) // _COLUMNS
        counts = (last - first).clamp(min=0)
        row = rows.repeat_interleave(counts)
        column = torch.arange(len(row), device=device) + (first - counts.cumsum(0) + counts).repeat_interleave(counts)
        near = torch.argsort((row // _NEAR << 32) + column // _NEAR, stable=True)
        return torch.stack([row, column], dim=1)[near].to(torch.int32).contiguous()


if __name__ == "__main__":
    main()
