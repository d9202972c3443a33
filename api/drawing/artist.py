"""Pictures, drawn where that can be stopped: RDKit holds the interpreter while it draws, which can take seconds."""

from graphkin.api.work.pool import Ended, Failed, Pool
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.values import Kind

_MOLECULE, _DRAWN = "molecule", ("molecule", "graph", "node")  # kinds
_PATIENCE = 4.0  # seconds
_SHARED_SUBSTRUCTURE = 2.0  # seconds
_GRACE = 0.5  # seconds for RDKit to keep that limit itself, and to say what it had found by then


class Artist:
    """Has `api.drawing.molecule` and `api.drawing.graph` draw in the processes of a pool.

    A drawing that takes longer than `patience` seconds, what is shared included, or that crashes RDKit, costs its
    process and nothing else.
    """

    def __init__(self, drawers: Pool, patience: float = _PATIENCE) -> None:
        self._drawers = drawers
        self._patience = patience

    async def draw(
        self, kind: Kind, structure: str, title: str, width: int, height: int, shared_with: str | None = None
    ) -> str:
        """An SVG of `width` x `height` pixels: a molecule given as SMILES, or a graph given as JSON; with what the
        molecule shares with another highlighted.

        What is shared is looked for during 2 s; the `desc` of the drawing says if that did not suffice.
        Raises `Conflict` for a kind without pictures and for what a graph would share, and `InvalidInput` if the
        structure cannot be drawn or takes too long: it would again.
        """
        if kind not in _DRAWN:
            raise Conflict("there are no pictures of this kind", given=kind, expected=" or ".join(_DRAWN))
        if kind != _MOLECULE and shared_with is not None:
            raise Conflict("only molecules have shared substructures to highlight", given=kind, expected=_MOLECULE)
        size = {"width": width, "height": height}
        try:
            if kind != _MOLECULE:
                return await self._drawn("draw_graph", self._patience, structure=structure, title=title, **size)
            left = self._patience
            atoms: list[int] = []
            note = ""
            if shared_with is not None:
                atoms, note = await self._shared(structure, shared_with)
                left -= _SHARED_SUBSTRUCTURE + _GRACE
            return await self._drawn("draw", left, smiles=structure, title=title, atoms=atoms, note=note, **size)
        except TimeoutError as error:
            raise _refused(f"that takes more than {self._patience:g} s", structure) from error
        except (Ended, Failed) as error:
            raise _refused(error.detail, structure) from error

    async def _drawn(self, task: str, seconds: float, **arguments: object) -> str:
        async with self._drawers.worker() as drawer:
            svg: str = await drawer.ask(task, seconds, **arguments)
            return svg

    async def _shared(self, smiles: str, other: str) -> tuple[list[int], str]:
        """The atoms to highlight, and what to say about them."""
        seconds = _SHARED_SUBSTRUCTURE
        try:
            async with self._drawers.worker() as drawer:
                atoms, complete = await drawer.ask(
                    "shared_atoms", seconds + _GRACE, smiles=smiles, other=other, seconds=int(seconds)
                )
        except TimeoutError:
            atoms, complete = [], False
        limit = "" if complete else f", as far as could be told in {seconds:g} s"
        return atoms, f"{len(atoms)} atoms shared with {other}{limit}"


def _refused(reason: str, structure: str) -> InvalidInput:
    return InvalidInput(f"this structure cannot be drawn: {reason}", given=structure[:200])
