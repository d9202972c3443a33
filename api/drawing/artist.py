"""Pictures, drawn where that can be stopped: RDKit holds the interpreter while it draws, which can take seconds."""

import json
import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from cachetools import LRUCache

from graphkin.api.work.pool import PATIENCE, Ended, Failed, Pool, busy
from graphkin.collection.clusters.core import NONE_IN_TIME, SECONDS, Core
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.values import Kind, Mark
from graphkin.similarity.molecules import mcs

_MOLECULE, _DRAWN = "molecule", ("molecule", "graph", "node")  # kinds
_DRAWING = 4.0  # seconds of a processor
_GRACE = 0.5  # seconds for RDKit to keep a limit of its own
_NOT_COMPARED = f"comparison took too long (more than {mcs.SECONDS} s): nothing is marked"
_REMEMBERED = 16 * 2**20  # bytes: some seven thousand pictures
_ENTRY = 512  # bytes that remembering something takes beside it, about


class Artist:
    """Has `api.drawing.molecule` and `api.drawing.graph` draw in the processes of one pool, and compare in those of
    another: what two molecules share may be looked for long, and no plain picture waits for it.

    A drawing that takes more than so many `seconds` of a processor, or that crashes RDKit, costs its process and
    nothing else. What was drawn or compared lately is remembered, compressed.
    """

    def __init__(self, drawers: Pool, comparers: Pool, seconds: float = _DRAWING) -> None:
        self._drawers = drawers
        self._comparers = comparers
        self._seconds = seconds
        self._known: LRUCache[bytes, bytes] = LRUCache(_REMEMBERED, getsizeof=lambda said: len(said) + _ENTRY)

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
        """An SVG of `width` x `height` pixels: a molecule given as SMILES, or a graph given as JSON. A molecule may be
        compared with another: it lies as that does, if it is `turned`, and what it shares with it, or does not, may be
        highlighted.

        A comparison takes 2 s at most. Where that does not suffice nothing is marked, and the `desc` of the drawing
        says so.
        Raises `Conflict` for a kind without pictures and for what a graph would share, `InvalidInput` if the structure
        cannot be drawn or takes too long: it would again, and `StoreBusy` where others keep the processors too busy.
        """
        if kind not in _DRAWN:
            raise Conflict("there are no pictures of this kind", given=kind, expected=" or ".join(_DRAWN))
        if kind != _MOLECULE and like is not None:
            raise Conflict("only molecules have shared substructures to highlight", given=kind, expected=_MOLECULE)
        size = {"width": width, "height": height}
        try:
            if kind != _MOLECULE:
                return await self._drawn("draw_graph", structure=structure, title=title, **size)
            if like is None:
                return await self._drawn("draw", smiles=structure, title=title, note="", **size)
            pairs = await self._shared(structure, like)
            if pairs is None:
                return await self._drawn("draw", smiles=structure, title=title, note=_NOT_COMPARED, **size)
            note = f"{len(pairs)} atoms shared with {like}"
            compared = {"like": like if turned else None, "pairs": pairs, "mark": mark}
            return await self._drawn("draw", smiles=structure, title=title, note=note, **compared, **size)
        except Failed as error:
            raise _refused(error.detail, structure) from error
        except Ended as error:
            reason = f"that takes more than {self._seconds:g} s of a processor, or crashes RDKit"
            raise _refused(reason, structure) from error

    async def core(self, molecules: Sequence[str]) -> Core:
        """What they share, looked for during 2 s; where RDKit does not keep that limit, or breaks, nothing."""
        asked = {"smiles": list(molecules), "seconds": SECONDS}
        try:
            said = await self._said(
                self._comparers, "core", SECONDS + _GRACE, None, settled=lambda said: Core(*said).complete, **asked
            )
        except (TimeoutError, Ended, Failed):
            return NONE_IN_TIME
        return Core(*said)

    async def draw_core(self, core: Core, title: str, width: int, height: int) -> str:
        """An SVG of one that is there. Raises as `draw` does."""
        assert core.smiles is not None
        asked = {"smiles": core.smiles, "title": title, "note": "", "cut": True, "width": width, "height": height}
        try:
            return await self._drawn("draw", **asked)
        except (Ended, Failed) as error:
            raise _refused("RDKit breaks, or takes too long", core.smiles) from error

    async def _drawn(self, task: str, **arguments: Any) -> str:
        try:
            svg: str = await self._said(self._drawers, task, PATIENCE, self._seconds, **arguments)
        except TimeoutError as error:
            raise busy("this picture could not be drawn in time") from error
        return svg

    async def _shared(self, smiles: str, other: str) -> list[tuple[int, int]] | None:
        """Return the pairs of atoms that two molecules share, None if time ran out.

        They are compared in one order whichever is drawn, so that the pictures of both mark the same substructure.
        """
        first, second = sorted((smiles, other))
        try:
            pairs: list[tuple[int, int]] | None = await self._said(
                self._comparers,
                "shared_atoms",
                mcs.SECONDS + _GRACE,
                None,
                settled=lambda pairs: pairs is not None,
                smiles=first,
                other=second,
            )
        except TimeoutError:
            return None
        return pairs if pairs is None or first == smiles else [(theirs, own) for own, theirs in pairs]

    async def _said(
        self,
        pool: Pool,
        task: str,
        limit: float,
        processor: float | None,
        settled: Callable[[Any], bool] = lambda _: True,
        **arguments: Any,
    ) -> Any:
        """What a task says, or has said lately where that was `settled`: it would say the same again."""
        key = blake2b(json.dumps([task, arguments]).encode(), digest_size=32).digest()
        if (known := self._known.get(key)) is not None:
            return json.loads(zlib.decompress(known))
        async with pool.worker() as worker:
            said = await worker.ask(task, limit, processor=processor, **arguments)
        if settled(said):
            self._known[key] = zlib.compress(json.dumps(said).encode())
        return said


def _refused(reason: str, structure: str) -> InvalidInput:
    return InvalidInput(f"this structure cannot be drawn: {reason}", given=structure[:200])
