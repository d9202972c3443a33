"""Fragmentation of stored molecules, and the assembly of new ones, in worker processes that can be stopped."""

from collections.abc import Sequence
from typing import Any

from graphkin.api.work.pool import PATIENCE, Pool, TaskError, WorkerLost, processors_busy
from graphkin.collection.sar.matched_pairs.applying import CutMolecule
from graphkin.collection.sar.matched_pairs.fragmentation import Fragmentation
from graphkin.protocol.errors import InvalidInput

_SECONDS = 4.0  # seconds of processor time per task
_BATCH = 500  # molecules that one task assembles, some tenths of a second


class MoleculeCutter:
    """Cuts molecules and joins parts in a worker pool, each task in at most `seconds` of processor time."""

    def __init__(self, workers: Pool, seconds: float = _SECONDS) -> None:
        self._workers = workers
        self._seconds = seconds

    async def cut(self, smiles: str) -> CutMolecule:
        """Return the fragmentations of a molecule.

        Raises:
            InvalidInput: The molecule takes too long, or crashes RDKit.
            StoreBusy: Other requests keep the processors too busy.
        """
        reason, fragmentations = await self._run("cut_molecule", smiles, smiles=smiles)
        return CutMolecule(
            reason,
            [
                Fragmentation(variable, symmetry, order, tuple(constants), with_hydrogen)
                for variable, symmetry, order, constants, with_hydrogen in fragmentations
            ],
        )

    async def join(self, assemblies: Sequence[Sequence[str]]) -> list[str | None]:
        """Return the SMILES of molecules from their labeled parts, None for parts that RDKit cannot join.

        Raises:
            InvalidInput: The molecules take too long, or crash RDKit.
            StoreBusy: Other requests keep the processors too busy.
        """
        molecules: list[str | None] = []
        for begin in range(0, len(assemblies), _BATCH):
            batch = [[*parts] for parts in assemblies[begin : begin + _BATCH]]
            molecules += await self._run("join_parts", batch[0][-1], assemblies=batch)
        return molecules

    async def _run(self, task: str, example: str, **arguments: Any) -> Any:
        try:
            async with self._workers.worker() as worker:
                return await worker.run(task, PATIENCE, cpu_seconds=self._seconds, **arguments)
        except TimeoutError as error:
            raise processors_busy("this molecule could not be cut in time") from error
        except (WorkerLost, TaskError) as error:
            raise InvalidInput(
                "this molecule cannot be cut",
                given=example,
                expected=f"a molecule that RDKit cuts in {self._seconds:g} s",
                hint="choose another item",
            ) from error
