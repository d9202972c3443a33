"""Engines that the referee judges: how each is built, and which candidates it names.

An engine is imported only when it is used, so that no other engine needs it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.nearest import FingerprintIndex
from graphkin.store.records import Int64, UInt64

Settings = dict[str, Any]
Lists = Iterable[NDArray[np.integer]]
"""Rows of the candidates of each query."""


class Engine(ABC):
    """An engine with the settings to sweep.

    Attributes:
        package: Name of the module to import.
        requirement: Name of the package to install.
        metric: Metric by which the engine chooses its candidates.
    """

    package: ClassVar[str]
    requirement: ClassVar[str]
    metric: ClassVar[str]

    @abstractmethod
    def sweep(self, count: int) -> list[tuple[Settings, list[Settings]]]:
        """Return settings of indexes of `count` items, and for each of them settings of searches."""

    @abstractmethod
    def build(self, words: UInt64, settings: Settings, threads: int) -> Any:
        """Build an index of packed fingerprints, (N, W) uint64."""

    @abstractmethod
    def save(self, index: Any, path: Path) -> None:
        """Write an index to a file."""

    @abstractmethod
    def load(self, path: Path, words: UInt64) -> Any:
        """Read an index from a file."""

    @abstractmethod
    def candidates(self, index: Any, words: UInt64, rows: Int64, settings: Settings, threads: int) -> Lists:
        """Return the candidates of the items `rows`. They may contain the item itself, and numbers of no item."""

    def warm_up(self, words: UInt64, settings: Settings, threads: int) -> None:
        """Import the engine and compile what it needs, by an index of a few items."""
        self.build(words, settings, threads)


def as_bytes(words: UInt64) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words).view(np.uint8)


class Graphkin(Engine):
    """The exact search of graphkin, as a yardstick."""

    package = requirement = "graphkin"
    metric = "Tanimoto, exact"

    def sweep(self, count: int) -> list[tuple[Settings, list[Settings]]]:
        return [({}, [{"candidates": min(100, count - 1)}])]

    def build(self, words: UInt64, settings: Settings, threads: int) -> FingerprintIndex:
        return FingerprintIndex(words)

    def save(self, index: FingerprintIndex, path: Path) -> None:
        """Write an empty file, because the index is built again sooner than it is read."""
        path.touch()

    def load(self, path: Path, words: UInt64) -> FingerprintIndex:
        return FingerprintIndex(words)

    def candidates(
        self, index: FingerprintIndex, words: UInt64, rows: Int64, settings: Settings, threads: int
    ) -> Lists:
        limit = settings["candidates"] + 1
        return index.search(words[rows], limit, threads).ids.reshape(len(rows), limit)


class USearch(Engine):
    """HNSW by USearch."""

    package = requirement = "usearch"
    metric = "Tanimoto"

    def sweep(self, count: int) -> list[tuple[Settings, list[Settings]]]:
        searches = [{"expansion_search": each, "candidates": 100} for each in (100, 400, 1600)]
        return [
            ({"connectivity": 16, "expansion_add": 128}, searches),
            ({"connectivity": 32, "expansion_add": 512}, searches[1:]),
        ]

    def build(self, words: UInt64, settings: Settings, threads: int) -> Any:
        index = self._index(words, **settings)
        index.add(np.arange(len(words), dtype=np.uint64), as_bytes(words), threads=threads)
        return index

    def _index(self, words: UInt64, **settings: Any) -> Any:
        # RDKit crashes if it is imported after usearch, and graphkin may import it later.
        from rdkit import Chem  # noqa: F401
        from usearch.index import Index, MetricKind

        return Index(ndim=64 * words.shape[1], metric=MetricKind.Tanimoto, dtype="b1", **settings)

    def save(self, index: Any, path: Path) -> None:
        index.save(str(path))

    def load(self, path: Path, words: UInt64) -> Any:
        index = self._index(words)
        index.load(str(path))
        return index

    def candidates(self, index: Any, words: UInt64, rows: Int64, settings: Settings, threads: int) -> Lists:
        index.expansion_search = settings["expansion_search"]
        keys: Lists = index.search(as_bytes(words[rows]), settings["candidates"] + 1, threads=threads).keys
        return keys


class FaissBinary(Engine):
    """The binary indexes of FAISS: all items, inverted lists of clusters, and HNSW."""

    package, requirement = "faiss", "faiss-cpu"
    metric = "Hamming"

    def sweep(self, count: int) -> list[tuple[Settings, list[Settings]]]:
        lists = max(1, round(math.sqrt(count)))
        return [
            ({"index": "BFlat"}, [{"candidates": each} for each in (100, 1000)]),
            ({"index": f"BIVF{lists}"}, [{"nprobe": each, "candidates": 1000} for each in (4, 16, 64)]),
            ({"index": "BHNSW32"}, [{"efSearch": each, "candidates": each} for each in (100, 400, 1600)]),
        ]

    def build(self, words: UInt64, settings: Settings, threads: int) -> Any:
        faiss = self._faiss(threads)
        index = faiss.index_binary_factory(64 * words.shape[1], settings["index"])
        data = as_bytes(words)
        if not index.is_trained:
            # The training holds its items as float32, so that it takes 32 times the memory of their fingerprints.
            size = min(len(data), 39 * index.nlist)  # 39 items of a cluster are the fewest without a warning
            index.train(data[np.sort(np.random.default_rng(0).choice(len(data), size, replace=False))])
        index.add(data)
        return index

    def warm_up(self, words: UInt64, settings: Settings, threads: int) -> None:
        """Import the engine. A few items have no inverted lists, and nothing is compiled."""
        self.build(words, {"index": "BFlat"}, threads)

    def _faiss(self, threads: int) -> Any:
        import faiss

        faiss.omp_set_num_threads(threads)
        return faiss

    def save(self, index: Any, path: Path) -> None:
        import faiss

        faiss.write_index_binary(index, str(path))

    def load(self, path: Path, words: UInt64) -> Any:
        import faiss

        return faiss.read_index_binary(str(path))

    def candidates(self, index: Any, words: UInt64, rows: Int64, settings: Settings, threads: int) -> Lists:
        self._faiss(threads)
        if "nprobe" in settings:
            index.nprobe = settings["nprobe"]
        if "efSearch" in settings:
            index.hnsw.efSearch = settings["efSearch"]
        limit = min(settings["candidates"] + 1, len(words))
        labels: Lists = index.search(as_bytes(words[rows]), limit)[1]
        return labels


class BitBirch(Engine):
    """BitBIRCH, which clusters the items in one pass.

    The library names no neighbors, so the referee derives them: an item's candidates are the members of the clusters
    whose centroids are the most similar to it, and of its own cluster. The search of the centroids is graphkin's.
    """

    package = requirement = "bblean"
    metric = "Tanimoto of sets (iSIM) and of centroids"

    def sweep(self, count: int) -> list[tuple[Settings, list[Settings]]]:
        searches = [{"clusters": each} for each in (1, 10, 100)]
        return [({"threshold": threshold, "branching_factor": 50}, searches) for threshold in (0.3, 0.5)]

    def build(self, words: UInt64, settings: Settings, threads: int) -> Any:
        import bblean

        tree = bblean.BitBirch(**settings)
        tree.fit(as_bytes(words), input_is_packed=True, n_features=64 * words.shape[1])
        return tree

    def save(self, index: Any, path: Path) -> None:
        clusters = index.get_centroids_mol_ids()
        sizes = np.array([len(members) for members in clusters["mol_ids"]], np.int64)
        with path.open("wb") as file:
            np.savez(
                file,
                centroids=np.array(clusters["centroids"], np.uint8),
                members=np.concatenate([np.array(members, np.int64) for members in clusters["mol_ids"]]),
                offsets=np.append(0, np.cumsum(sizes)),
            )

    def load(self, path: Path, words: UInt64) -> "_Clusters":
        with np.load(path) as arrays:
            return _Clusters(arrays["centroids"].view(np.uint64), arrays["members"], arrays["offsets"])

    def candidates(self, index: "_Clusters", words: UInt64, rows: Int64, settings: Settings, threads: int) -> Lists:
        return index.candidates(words[rows], rows, settings["clusters"], threads)


class _Clusters:
    """Clusters, searched by their centroids.

    Args:
        centroids: (C, W) uint64 packed centroids.
        members: (N,) int64 rows of the items, one cluster after the other.
        offsets: (C + 1,) int64 where each cluster begins in `members`, then N.
    """

    def __init__(self, centroids: UInt64, members: Int64, offsets: Int64) -> None:
        self._index = FingerprintIndex(centroids)
        self._members, self._offsets = members, offsets
        self._own = np.empty(len(members), np.int64)
        self._own[members] = np.repeat(np.arange(len(centroids)), np.diff(offsets))

    def candidates(self, queries: UInt64, rows: Int64, count: int, threads: int) -> Lists:
        """Return the members of each query's own cluster, and of those with the most similar centroids.

        `count` is the number of clusters, and 1 means that only the own one counts.
        """
        limit = min(count, len(self._offsets) - 1)
        if limit == 1:
            nearest = np.empty((len(rows), 0), np.int64)
        else:
            nearest = self._index.search(queries, limit, threads).ids.reshape(len(rows), limit).astype(np.int64)
        for own, others in zip(self._own[rows], nearest, strict=True):
            # The own cluster replaces the last one if its centroid is not among the most similar.
            clusters = others if own in others else np.append(others[: limit - 1], own)
            yield np.concatenate([self._members[self._offsets[each] : self._offsets[each + 1]] for each in clusters])


class PyNNDescent(Engine):
    """The neighbor graph by nearest neighbor descent. Its building finds the neighbors of all items."""

    package = requirement = "pynndescent"
    metric = "Jaccard of bits, which is Tanimoto"

    def sweep(self, count: int) -> list[tuple[Settings, list[Settings]]]:
        return [({"n_neighbors": each}, [{}]) for each in (31, 71) if each < count]

    def build(self, words: UInt64, settings: Settings, threads: int) -> NDArray[np.integer]:
        from pynndescent import NNDescent

        index = NNDescent(as_bytes(words), metric="bit_jaccard", random_state=0, n_jobs=threads, **settings)
        neighbors: NDArray[np.integer] = index.neighbor_graph[0]
        return neighbors

    def save(self, index: NDArray[np.integer], path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, index)

    def load(self, path: Path, words: UInt64) -> NDArray[np.integer]:
        neighbors: NDArray[np.integer] = np.load(path, mmap_mode="r")
        return neighbors

    def candidates(
        self, index: NDArray[np.integer], words: UInt64, rows: Int64, settings: Settings, threads: int
    ) -> Lists:
        neighbors: Lists = index[rows]
        return neighbors


ENGINES: dict[str, Engine] = {
    "exact": Graphkin(),
    "usearch": USearch(),
    "faiss-binary": FaissBinary(),
    "bblean": BitBirch(),
    "pynndescent": PyNNDescent(),
}


def key(settings: Settings) -> str:
    """Return the settings as part of a file name."""
    return ",".join(f"{name}={value}" for name, value in settings.items()) or "default"


def describe(*parts: Settings) -> str:
    """Return settings as text."""
    return ", ".join(f"{name} {value}" for part in parts for name, value in part.items())
