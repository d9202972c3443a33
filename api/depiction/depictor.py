"""Depictions drawn in worker processes, because RDKit holds the interpreter while it draws, possibly for seconds."""

import json
import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from cachetools import LRUCache

from graphkin.api.work.pool import PATIENCE, Pool, TaskError, WorkerLost, processors_busy
from graphkin.collection.clusters.mcs import NONE_IN_TIME, SECONDS, CommonSubstructure
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.values import Kind, Mark
from graphkin.similarity.molecules import mcs

_MOLECULE, _KINDS = "molecule", ("molecule", "graph", "node")  # kinds of items
_SECONDS = 4.0  # seconds of processor time
_GRACE = 0.5  # seconds by which RDKit may exceed its own time limit
_COMPARISON_TIMEOUT = f"comparison took too long (more than {mcs.SECONDS} s): nothing is marked"
_CACHE_BYTES = 16 * 2**20  # bytes, enough for some seven thousand depictions
_ENTRY_BYTES = 512  # bytes of overhead per cache entry, approximately


class Depictor:
    """Draws molecules and graphs in one worker pool, and compares molecules in another.

    Comparing two molecules may take long, so plain depictions never wait for comparisons. A drawing that takes more
    than `seconds` of processor time, or crashes RDKit, costs only its worker process. Recent results are cached,
    compressed.
    """

    def __init__(self, drawers: Pool, comparers: Pool, seconds: float = _SECONDS) -> None:
        self._drawers = drawers
        self._comparers = comparers
        self._seconds = seconds
        self._cache: LRUCache[bytes, bytes] = LRUCache(
            _CACHE_BYTES, getsizeof=lambda result: len(result) + _ENTRY_BYTES
        )

    async def draw(
        self,
        kind: Kind,
        structure: str,
        title: str,
        width: int,
        height: int,
        like: str | None = None,
        mark: Mark = "nothing",
        turned: bool = True,
    ) -> str:
        """Draw a molecule or a graph as SVG.

        Args:
            kind: Kind of the item.
            structure: Molecule as SMILES, or graph as JSON.
            title: Title of the SVG.
            width: Width in pixels.
            height: Height in pixels.
            like: Molecule (SMILES) to compare with. Comparison takes at most 2 s. After that nothing is highlighted,
                and the `desc` of the SVG says so.
            mark: Atoms to highlight: shared, not shared, or none.
            turned: Whether to align the molecule with `like`.

        Raises:
            Conflict: The kind has no depictions, or `like` is set for a graph.
            InvalidInput: The structure cannot be drawn, or takes too long. Trying again does not help.
            StoreBusy: Other requests keep the processors too busy.
        """
        if kind not in _KINDS:
            raise Conflict("there are no pictures of this kind", given=kind, expected=" or ".join(_KINDS))
        if kind != _MOLECULE and like is not None:
            raise Conflict("only molecules have shared substructures to highlight", given=kind, expected=_MOLECULE)
        size = {"width": width, "height": height}
        try:
            if kind != _MOLECULE:
                return await self._draw("draw_graph", structure=structure, title=title, **size)
            if like is None:
                return await self._draw("draw_molecule", smiles=structure, title=title, note="", **size)
            pairs = await self._shared_atoms(structure, like)
            if pairs is None:
                return await self._draw(
                    "draw_molecule", smiles=structure, title=title, note=_COMPARISON_TIMEOUT, **size
                )
            note = f"{len(pairs)} atoms shared with {like}"
            comparison = {"like": like if turned else None, "pairs": pairs, "mark": mark}
            return await self._draw("draw_molecule", smiles=structure, title=title, note=note, **comparison, **size)
        except TaskError as error:
            raise _undrawable(error.detail, structure) from error
        except WorkerLost as error:
            reason = f"that takes more than {self._seconds:g} s of a processor, or crashes RDKit"
            raise _undrawable(reason, structure) from error

    async def find_mcs(self, molecules: Sequence[str]) -> CommonSubstructure:
        """Return the maximum common substructure of molecules, or `NONE_IN_TIME`.

        The search takes at most 2 s. `NONE_IN_TIME` is also returned if RDKit exceeds that limit or crashes.
        """
        arguments = {"smiles": list(molecules), "seconds": SECONDS}
        try:
            result = await self._run(
                self._comparers,
                "find_mcs",
                SECONDS + _GRACE,
                None,
                cacheable=lambda result: CommonSubstructure(*result).complete,
                **arguments,
            )
        except (TimeoutError, WorkerLost, TaskError):
            return NONE_IN_TIME
        return CommonSubstructure(*result)

    async def draw_mcs(self, mcs: CommonSubstructure, title: str, width: int, height: int) -> str:
        """Draw a maximum common substructure, which must not be empty, as SVG. Raises the errors of `draw`."""
        assert mcs.smiles is not None
        arguments = {"smiles": mcs.smiles, "title": title, "note": "", "cut": True, "width": width, "height": height}
        try:
            return await self._draw("draw_molecule", **arguments)
        except (WorkerLost, TaskError) as error:
            raise _undrawable("RDKit breaks, or takes too long", mcs.smiles) from error

    async def _draw(self, task: str, **arguments: Any) -> str:
        try:
            svg: str = await self._run(self._drawers, task, PATIENCE, self._seconds, **arguments)
        except TimeoutError as error:
            raise processors_busy("this picture could not be drawn in time") from error
        return svg

    async def _shared_atoms(self, smiles: str, other: str) -> list[tuple[int, int]] | None:
        """Return the pairs of atoms that two molecules share, None if time ran out.

        The molecules are always compared in the same order, so that the depictions of both highlight the same
        substructure.
        """
        first, second = sorted((smiles, other))
        try:
            pairs: list[tuple[int, int]] | None = await self._run(
                self._comparers,
                "shared_atoms",
                mcs.SECONDS + _GRACE,
                None,
                cacheable=lambda pairs: pairs is not None,
                smiles=first,
                other=second,
            )
        except TimeoutError:
            return None
        return pairs if pairs is None or first == smiles else [(theirs, own) for own, theirs in pairs]

    async def _run(
        self,
        pool: Pool,
        task: str,
        limit: float,
        processor: float | None,
        cacheable: Callable[[Any], bool] = lambda _: True,
        **arguments: Any,
    ) -> Any:
        """Return the result of a task, from the cache if possible.

        Only results that are `cacheable` are cached: running the task again would return the same.
        """
        key = blake2b(json.dumps([task, arguments]).encode(), digest_size=32).digest()
        if (cached := self._cache.get(key)) is not None:
            return json.loads(zlib.decompress(cached))
        async with pool.worker() as worker:
            result = await worker.ask(task, limit, processor=processor, **arguments)
        if cacheable(result):
            self._cache[key] = zlib.compress(json.dumps(result).encode())
        return result


def _undrawable(reason: str, structure: str) -> InvalidInput:
    return InvalidInput(f"this structure cannot be drawn: {reason}", given=structure[:200])
