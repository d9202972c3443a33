"""A cache of arrays for blocks of consecutive molecules.

The key of a block is a hash of its structures. Generations therefore share blocks, and an append changes only the last
block of a collection. An interrupted computation continues with the first block that is missing.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray
from platformdirs import user_cache_path
from rdkit import rdBase

from graphkin.runtime.array_cache import ArrayCache, Key

T = TypeVar("T")

_log = logging.getLogger(__name__)


class BlockCache(Generic[T]):
    """The results of blocks of molecules in the user's cache. If it cannot be used, a warning is logged.

    Args:
        name: Name of the results and of their folder, in the plural.
        settings: Everything besides the structures and the versions of RDKit and graphkin that determines the results.
        max_bytes: Maximum size of all results together.
        from_arrays: Builds a result from cached arrays, which are passed by name.
        is_valid: Returns whether a result is one of this number of molecules.
    """

    def __init__(
        self,
        name: str,
        settings: str,
        max_bytes: int,
        from_arrays: Callable[..., T],
        is_valid: Callable[[T, int], bool],
    ) -> None:
        self._name = name
        self._settings = settings
        self._from_arrays = from_arrays
        self._is_valid = is_valid
        self._cache: ArrayCache | None = None
        try:
            self._cache = ArrayCache(user_cache_path("graphkin") / name, max_bytes)
        except OSError as error:
            self._give_up(error)

    def key(self, smiles: Sequence[str]) -> Key:
        """Return the key of a block of molecules."""
        structures = blake2b("\n".join(smiles).encode(), digest_size=32).hexdigest()
        versions = f"{rdBase.rdkitVersion} {version('graphkin')}"
        return {"structures": structures, "made_by": f"{self._name} {self._settings} {versions}"}

    def get(self, key: Key, molecules: int) -> T | None:
        """Return the result of a block of this number of molecules, or None if it is not cached."""
        return self._try(lambda cache: cache.open(key, self._reader(molecules)))

    def add(self, key: Key, molecules: int, arrays: Mapping[str, NDArray[Any]]) -> T | None:
        """Cache the arrays of a block and return its result, memory-mapped, or None if it cannot be cached."""
        return self._try(lambda cache: cache.get_or_add(key, arrays, self._reader(molecules)))

    def _reader(self, molecules: int) -> Callable[..., T]:
        def read(**arrays: Any) -> T:
            result = self._from_arrays(**arrays)
            if not self._is_valid(result, molecules):
                raise ValueError(f"no {self._name} of {molecules} molecules")
            return result

        return read

    def _try(self, use: Callable[[ArrayCache], T | None]) -> T | None:
        if self._cache is None:
            return None
        try:
            return use(self._cache)
        except OSError as error:
            self._give_up(error)
            return None

    def _give_up(self, error: OSError) -> None:
        _log.warning("%s cannot be cached: %s", self._name, error)
        self._cache = None
