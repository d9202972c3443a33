"""The first fragment of a generation. It is a complete generation by itself."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store import csr
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.identity import DIGEST_SIZE, block_count
from graphkin.store.records import Edges, Fingerprints, Graph, Int32, Links

INDEX = "index."
DROPPED = "dropped.npy"
BLOCKS = "blocks.npy"
LINKS = ("links.indptr.npy", "links.indices.npy")
_GRAPH = ("indptr.npy", "indices.npy", "similarity.npy")
_FINGERPRINTS = ("fingerprints.npy", "popcounts.npy")
_FOREST = ("forest.source.npy", "forest.target.npy", "forest.similarity.npy")


class WholeFragment:
    """The arrays of the first fragment. Each is checked before its first use.

    The check includes the range of values that kernels use as indices. Every method raises `StoreDamaged` for a file
    that is missing, differs from what was written, or does not have the size and type in the manifest.
    """

    def __init__(self, files: FragmentFiles, manifest: Manifest) -> None:
        self._files = files
        links = () if manifest.links is None else LINKS
        files.require_names((*_GRAPH, *_FINGERPRINTS, *_FOREST, BLOCKS, *links))
        files.require_layout(self._layout())

    def _layout(self) -> dict[str, tuple[Any, ...]]:
        """Return the type and shape of each file.

        The manifest does not contain the lengths of forest and links and the width of fingerprints, so these come from
        the arrays.
        """
        items, ends = self._files.fragment.items, 2 * self._files.fragment.edges
        arrays = self._files.arrays
        words, forest_edges = arrays["fingerprints.npy"], arrays["forest.source.npy"].size
        indptr, indices = LINKS
        link_ends = arrays[indices].size if indices in arrays else 0
        return {
            "indptr.npy": (np.int64, items + 1),
            "indices.npy": (np.int32, ends),
            "similarity.npy": (np.float32, ends),
            "fingerprints.npy": (np.uint64, items, words.shape[1] if words.ndim == 2 else 0),
            "popcounts.npy": (np.int32, items),
            "forest.source.npy": (np.int32, forest_edges),
            "forest.target.npy": (np.int32, forest_edges),
            "forest.similarity.npy": (np.float32, forest_edges),
            DROPPED: (np.int32, items),
            BLOCKS: (np.uint8, block_count(items), DIGEST_SIZE),
            indptr: (np.int64, items + 1),
            indices: (np.int32, link_ends),
        }

    def damage_error(self, name: str, problem: str) -> StoreDamaged:
        """Return the error for a damaged file, and remember the damage."""
        return self._files.damage_error(name, problem)

    @property
    def width(self) -> int:
        """The number of words of a fingerprint."""
        return int(self._files.arrays["fingerprints.npy"].shape[1])

    @cached_property
    def graph(self) -> Graph:
        graph = Graph(*self._files.read_arrays(*_GRAPH))
        flaw = csr.flaw(graph)
        if flaw is not None:
            raise self.damage_error(f"{flaw[0]}.npy", flaw[1])
        return graph

    @cached_property
    def fingerprints(self) -> Fingerprints:
        return Fingerprints(*self._files.read_arrays(*_FINGERPRINTS))

    @cached_property
    def forest(self) -> Edges:
        forest = Edges(*self._files.read_arrays(*_FOREST))
        flaw = csr.forest_flaw(forest, self._files.fragment.items)
        if flaw is not None:
            raise self.damage_error(f"forest.{flaw[0]}.npy", flaw[1])
        return forest

    @cached_property
    def dropped(self) -> Int32 | None:
        if DROPPED not in self._files.arrays:
            return None
        (dropped,) = self._files.read_arrays(DROPPED)
        if (dropped < 0).any():
            raise self.damage_error(DROPPED, "it holds negative counts")
        return dropped

    @cached_property
    def blocks(self) -> list[bytes]:
        """The hashes of the blocks of the item table."""
        (blocks,) = self._files.read_arrays(BLOCKS)
        return [block.tobytes() for block in blocks]

    @cached_property
    def links(self) -> Links:
        links = Links(*self._files.read_arrays(*LINKS))
        flaw = csr.links_flaw(links)
        if flaw is not None:
            raise self.damage_error(f"links.{flaw[0]}.npy", flaw[1])
        return links

    @cached_property
    def index(self) -> dict[str, NDArray[Any]]:
        names = [name for name in self._files.arrays if name.startswith(INDEX)]
        keys = (name.removeprefix(INDEX).removesuffix(".npy") for name in names)
        return dict(zip(keys, self._files.read_arrays(*names), strict=True))
