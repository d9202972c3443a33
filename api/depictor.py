"""Depictions, drawn in worker processes.

RDKit holds the global interpreter lock while it draws, possibly for seconds, so the server process must not draw.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from cachetools import LRUCache

from graphkin.api.work.pool import PATIENCE, Pool, TaskError, WorkerLost, processors_busy
from graphkin.collection.clusters.mcs import NONE_IN_TIME, SECONDS, CommonSubstructure
from graphkin.collection.sar.rgroups import Core, Decomposition
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.values import Kind, Mark
from graphkin.similarity.kind import Pattern
from graphkin.similarity.molecules import mcs

_MOLECULE = "molecule"
_DRAWABLE_KINDS = ("molecule", "graph", "node")
_SECONDS = 4.0  # seconds of processor time per drawing
_SERIES_SECONDS = 20.0  # seconds of processor time per series whose R groups are found
_SERIES_PATIENCE = 50.0  # seconds that such a task may take on busy processors
_GRACE = 0.5  # seconds by which RDKit may exceed its own time limit
_COMPARISON_TIMEOUT = f"comparison took too long (more than {mcs.SECONDS} s): nothing is marked"
_CACHE_BYTES = 16 * 2**20  # bytes, enough for some seven thousand depictions
_ENTRY_BYTES = 512  # bytes of overhead per cache entry, approximately


class Depictor:
    """Draws molecules and graphs in one worker pool, and compares molecules in another.

    Comparing two molecules may take long, so it must not delay plain depictions. A drawing that takes too long or
    crashes RDKit ends only its worker process. Recent results are compressed and cached.

    Args:
        drawers: Pool that draws.
        comparers: Pool that compares molecules.
        seconds: Limit of processor time per drawing.
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
        reference: str | None = None,
        mark: Mark = "nothing",
        align: bool = True,
        core: str | None = None,
        pattern: Pattern | None = None,
        is_fragment: bool = False,
        bond_length: int | None = None,
    ) -> str:
        """Draw a molecule or a graph as SVG.

        Args:
            kind: Kind of the item.
            structure: Molecule as SMILES, or graph as JSON.
            title: Title of the SVG.
            width: Width in pixels.
            height: Height in pixels.
            reference: Molecule (SMILES) to compare with; None for no comparison. A comparison takes at most 2 s. If
                that is not enough, nothing is highlighted, and the `desc` of the SVG says so.
            mark: Atoms to highlight: `shared` with the reference, `differences` from it, or `nothing`.
            align: Whether to align the molecule with the reference.
            core: Core of an R-group table to align the molecule with, instead of a reference.
            pattern: Substructure whose matches count as shared, instead of a reference.
            is_fragment: Whether the molecule is a fragment whose `*` atoms are attachment points.
            bond_length: Length of the bonds of a molecule in pixels; None to fill the SVG. Graphs fill it always.

        Raises:
            Conflict: The kind has no depictions, or a graph has a reference.
            InvalidInput: The structure cannot be drawn, or takes too long, or the core cannot be read. A retry would
                fail too.
            StoreBusy: Other requests keep the processors too busy.
        """
        if kind not in _DRAWABLE_KINDS:
            raise Conflict(
                "items of this kind have no depiction",
                given=kind,
                expected=" or ".join(_DRAWABLE_KINDS),
                hint=f"request the depiction of an item of a collection of kind {' or '.join(_DRAWABLE_KINDS)}",
            )
        if kind != _MOLECULE and any(each is not None for each in (reference, core, pattern)):
            raise Conflict(
                "only molecules have shared substructures to highlight",
                given=kind,
                expected=_MOLECULE,
                hint="leave highlight, highlight_smiles, core and substructure out",
            )
        size = {"width": width, "height": height}
        try:
            if kind != _MOLECULE:
                return await self._draw("draw_graph", structure=structure, title=title, **size)
            options = {"is_fragment": is_fragment, "bond_length": bond_length}
            molecule = {"smiles": structure, "title": title, **options, **size}
            if core is not None:
                return await self._draw("draw_molecule", note="", core=core, mark=mark, **molecule)
            if pattern is not None:
                matched = {"notation": pattern.notation, "pattern": pattern.text}
                return await self._draw("draw_molecule", note="", mark=mark, **matched, **molecule)
            if reference is None:
                return await self._draw("draw_molecule", note="", **molecule)
            pairs = await self._shared_atoms(structure, reference)
            if pairs is None:
                return await self._draw("draw_molecule", note=_COMPARISON_TIMEOUT, **molecule)
            note = f"{len(pairs)} atoms shared with {reference}"
            comparison = {"reference": reference if align else None, "pairs": pairs, "mark": mark}
            return await self._draw("draw_molecule", note=note, **comparison, **molecule)
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

    async def decompose(self, molecules: Sequence[str], core: str | None) -> Decomposition:
        """Return the R groups of molecules at a core, by default their maximum common substructure.

        Raises:
            InvalidInput: The core cannot be read, there is none, or the molecules take too long.
            StoreBusy: Other requests keep the processors too busy.
        """
        try:
            used_core, *parts = await self._run(
                self._comparers,
                "decompose",
                _SERIES_PATIENCE,
                _SERIES_SECONDS,
                cacheable=lambda result: Core(*result[0]).complete,
                smiles=list(molecules),
                core=core,
            )
        except TimeoutError as error:
            raise processors_busy("the R groups could not be found in time") from error
        except (WorkerLost, TaskError) as error:
            raise InvalidInput(
                f"finding these R groups takes more than {_SERIES_SECONDS:g} s of a processor, or too much memory",
                given=f"{len(molecules):,} molecules",
                expected="a core that matches each molecule in few ways, or fewer molecules",
                hint="set a larger core, or select fewer molecules; `graphkin rgroups` has no such limit",
            ) from error
        return Decomposition(Core(*used_core), *parts)

    async def draw_mcs(self, mcs: CommonSubstructure, title: str, width: int, height: int) -> str:
        """Draw a maximum common substructure as SVG. It must not be empty.

        Raises:
            InvalidInput: The substructure cannot be drawn, or takes too long.
            StoreBusy: Other requests keep the processors too busy.
        """
        assert mcs.smiles is not None
        size = {"width": width, "height": height}
        try:
            return await self._draw("draw_molecule", smiles=mcs.smiles, title=title, note="", is_fragment=True, **size)
        except (WorkerLost, TaskError) as error:
            raise _undrawable("RDKit crashes on it, or needs too much time", mcs.smiles) from error

    async def _draw(self, task: str, **arguments: Any) -> str:
        try:
            svg: str = await self._run(self._drawers, task, PATIENCE, self._seconds, **arguments)
        except TimeoutError as error:
            raise processors_busy("this depiction could not be drawn in time") from error
        return svg

    async def _shared_atoms(self, smiles: str, other: str) -> list[tuple[int, int]] | None:
        """Return the atoms that two molecules share; None if time ran out.

        The molecules are always compared in the same order. Otherwise the depictions of the two molecules could
        highlight different substructures.

        Returns:
            One pair of indices per shared atom: the atom in `smiles`, and the atom in `other`.
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
        return pairs if pairs is None or first == smiles else [(b, a) for a, b in pairs]

    async def _run(
        self,
        pool: Pool,
        task: str,
        time_limit: float,
        processor_limit: float | None,
        cacheable: Callable[[Any], bool] = lambda _: True,
        **arguments: Any,
    ) -> Any:
        """Return the result of a task, from the cache if possible.

        Args:
            pool: Pool that runs the task.
            task: Name of the task.
            time_limit: Seconds that the task may take.
            processor_limit: Seconds of processor time that the task may take; None for no limit.
            cacheable: Returns whether a result may be cached, because the task would always return the same.
            arguments: Arguments of the task.
        """
        key = blake2b(json.dumps([task, arguments]).encode(), digest_size=32).digest()
        if (cached := self._cache.get(key)) is not None:
            return json.loads(zlib.decompress(cached))
        async with pool.worker() as worker:
            result = await worker.run(task, time_limit, cpu_seconds=processor_limit, **arguments)
        if cacheable(result):
            self._cache[key] = zlib.compress(json.dumps(result).encode())
        return result


def _undrawable(reason: str, structure: str) -> InvalidInput:
    return InvalidInput(
        f"this structure cannot be drawn: {reason}",
        given=structure[:200],
        expected="a structure that RDKit can lay out in two dimensions",
        hint="draw a smaller structure",
    )
