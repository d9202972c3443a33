"""Drawing in processes of its own: RDKit holds the interpreter while it draws, which can take seconds."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from types import TracebackType
from typing import Any, Self

from store.errors import Conflict, StoreBusy, StoreError
from store.records import Kind

_WORKERS = 2
_LONGEST_REPLY = 64 * 2**20  # bytes
_PATIENCE = 10.0  # seconds
_SHARED_SUBSTRUCTURE = 2.0  # seconds
_GRACE = 0.5  # seconds for RDKit to keep that limit itself, and to say what it had found by then


class Artist:
    """Has `api.depict` draw in child processes, started when first needed.

    A drawing that takes longer than `patience` seconds, or that crashes RDKit, costs its process and nothing else.
    """

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience

    async def __aenter__(self) -> Self:
        self._workers = [_Worker() for _ in range(_WORKERS)]
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        for worker in self._workers:
            self._idle.put_nowait(worker)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for worker in self._workers:
            await worker.stop()

    async def draw(
        self, kind: Kind, structure: str, title: str, width: int, height: int, shared_with: str | None = None
    ) -> str:
        """An SVG of `width` x `height` pixels: a molecule given as SMILES, or a graph given as JSON; with what the
        molecule shares with another highlighted.

        What is shared is looked for during 2 s; the `desc` of the drawing says if that did not suffice.
        Raises `Conflict` for what a graph would share, `StoreError` if the structure cannot be drawn and `StoreBusy` if
        that takes too long.
        """
        if kind != "molecule" and shared_with is not None:
            raise Conflict("only molecules have shared substructures to highlight", given=kind, expected="molecule")
        worker = await self._idle.get()
        try:
            what = {"title": title, "width": width, "height": height}
            if kind != "molecule":
                return await worker.ask("draw_graph", self._patience, structure=structure, **what)
            atoms, note = ([], "") if shared_with is None else await _shared(worker, structure, shared_with)
            return await worker.ask("draw", self._patience, smiles=structure, atoms=atoms, note=note, **what)
        except TimeoutError as error:
            raise StoreBusy("drawing this structure takes too long", given=structure[:200]) from error
        finally:
            self._idle.put_nowait(worker)


async def _shared(worker: "_Worker", smiles: str, other: str) -> tuple[list[int], str]:
    """The atoms to highlight, and what to say about them."""
    seconds = _SHARED_SUBSTRUCTURE
    try:
        atoms, complete = await worker.ask(
            "shared_atoms", seconds + _GRACE, smiles=smiles, other=other, seconds=int(seconds)
        )
    except TimeoutError:
        atoms, complete = [], False
    limit = "" if complete else f", as far as could be told in {seconds:g} s"
    return atoms, f"{len(atoms)} atoms shared with {other}{limit}"


class _Worker:
    """One child process, which answers one question at a time."""

    def __init__(self) -> None:
        self._process: Process | None = None

    async def ask(self, function: str, limit: float, **arguments: Any) -> Any:
        """What a function of `api.depict` returns. Raises `TimeoutError`, and `StoreError` if it fails."""
        try:
            process = self._process or await self._start()
            answer = await asyncio.wait_for(_exchange(process, json.dumps([function, arguments])), limit)
        except BaseException:
            await self.stop()
            raise
        if "error" in answer:
            raise StoreError(f"this structure cannot be drawn: {answer['error']}")
        return answer["result"]

    async def _start(self) -> Process:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "api.depict",
            stdin=PIPE,
            stdout=PIPE,
            limit=_LONGEST_REPLY,
            start_new_session=True,
        )
        await _exchange(self._process, "[]")  # imports take longer than some limits
        return self._process

    async def stop(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
        if process is not None:
            await process.communicate()


async def _exchange(process: Process, question: str) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{question}\n".encode())
    line = await process.stdout.readline()
    if not line:
        raise StoreError("drawing this structure crashed")
    answer: dict[str, Any] = json.loads(line)
    return answer
