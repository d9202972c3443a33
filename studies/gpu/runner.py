"""Runner of a job's pieces, in parallel processes until the deadline."""

import os
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from multiprocessing import forkserver, get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from studies.cells import Cell, load_or_make
from studies.gpu.jobs import JOBS, Job
from studies.gpu.payload import commit
from studies.gpu.results import RESULTS, known_cells
from studies.gpu.returned import export, restore
from studies.gpu.setting import Piece, Setting, card

_GRACE = 5.0  # seconds after the deadline until remaining pieces are terminated
_EXPORT_EVERY, _TINY_EXPORT_EVERY = 20.0, 0.5  # seconds


class Runner:
    """One run of one job. Its results go to the folder `output`, at most eight files of 16 MiB."""

    def __init__(self, job: Job, setting: Setting, output: Path, results: Path = RESULTS) -> None:
        self._job = job
        self._setting = setting
        self._output = output
        self._results = results
        self._forks = get_context("forkserver")
        self._forks.set_forkserver_preload(["studies.gpu.preload"])
        self._card = card(setting.device)
        self._running: dict[Piece, BaseProcess] = {}
        self._tried: set[Piece] = set()
        self._ready: set[str] = set()
        self._failed: list[str] = []

    def run(self, pieces: Sequence[Piece]) -> bool:
        """Run as many of the pieces as the time allows. Return False if one failed."""
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        _start_fork_server()
        restore(self._job.name, self._setting, self._output, self._results)
        while not self._setting.is_over and (self._start_next(pieces) or self._running):
            self._wait_for_one()
        while self._running:
            self._wait_for_one()
        export(self._job.name, self._setting, self._output, self._results)
        for name in self._failed:
            print(f"failed: {name}", flush=True)
        return not self._failed

    def _start_next(self, pieces: Sequence[Piece]) -> bool:
        """Start all pieces that can be started now, and the next preparation. Return whether there was one."""
        done = self._done()
        is_started = False
        for piece in pieces:
            missing = tuple(part for part in piece.parts if (piece.unit, part) not in done)
            if not missing or piece in self._tried:
                continue
            for name in piece.inputs:
                is_started |= self._start_preparation(name)
            if (piece.after and piece.after not in done) or not self._ready.issuperset(piece.inputs):
                continue
            if self._room(piece):
                self._tried.add(piece)
                self._start(piece._replace(parts=missing))
                is_started = True
        return is_started

    def _start_preparation(self, name: str) -> bool:
        """Start to make an input, one at a time because each uses all cores. Return whether it was started."""
        preparation = _preparation(name)
        if preparation in self._tried or any(_is_preparation(each) for each in self._running):
            return False
        self._tried.add(preparation)
        self._start(preparation)
        return True

    def _done(self) -> set[tuple[str, str]]:
        return {*known_cells(self._setting, self._job.name, self._results)}

    def _room(self, piece: Piece) -> bool:
        lanes = min(self._job.lanes, self._setting.workers)
        running = [each for each in self._running if not _is_preparation(each)]
        busy = [each for each in running if each.core == piece.core]
        if self._setting.device == "cpu":
            return len(running) < (self._setting.workers if piece.core else lanes)
        return len(busy) < (max(1, self._setting.workers - lanes) if piece.core else lanes)

    def _start(self, piece: Piece) -> None:
        uses_gpu = self._setting.device == "cuda" and not piece.core and not _is_preparation(piece)
        context = get_context("spawn") if uses_gpu else self._forks
        process = context.Process(
            target=_measure, args=(self._job.name, self._setting, piece, self._threads(piece), self._card)
        )
        process.start()
        self._running[piece] = process

    def _threads(self, piece: Piece) -> int:
        return 1 if piece.core else max(1, self._setting.workers // self._job.lanes)

    def _wait_for_one(self) -> None:
        """Wait until a piece ends, the next export is due, or the deadline has passed."""
        interval = _TINY_EXPORT_EVERY if self._setting.tiny else _EXPORT_EVERY
        until = self._setting.deadline + _GRACE - time.time()
        wait([process.sentinel for process in self._running.values()], max(0.0, min(interval, until)))
        for piece, process in list(self._running.items()):
            if process.is_alive() and until <= 0:
                process.terminate()
                process.join()
            elif not process.is_alive():
                process.join()
                if process.exitcode:
                    self._failed.append(f"{piece.unit} {' '.join(piece.parts)}".strip())
                elif _is_preparation(piece):
                    self._ready.add(piece.unit)
            else:
                continue
            del self._running[piece]
        export(self._job.name, self._setting, self._output, self._results)


def _start_fork_server() -> None:
    """Start the server of processes without a GPU.

    A process that was forked after an import counted the GPUs fails when torch asks for one, even for a training on a
    core. The server and its processes therefore see none.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        forkserver.ensure_running()
    finally:
        if visible is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = visible


def _preparation(name: str) -> Piece:
    """Return the piece that makes an input and produces no cells."""
    return Piece(name, ())


def _is_preparation(piece: Piece) -> bool:
    return not piece.parts


def _measure(job: str, setting: Setting, piece: Piece, threads: int, card: str) -> None:
    """Measure one piece, or make one input, in this process."""
    from threadpoolctl import threadpool_limits

    from studies.gpu.training import set_threads

    try:
        set_threads(threads)
        program = JOBS[job].program()
        with threadpool_limits(threads):
            begin = time.perf_counter()
            if _is_preparation(piece):
                program.prepare(setting, piece.unit)
                print(f"prepared {piece.unit} in {time.perf_counter() - begin:.0f} s", flush=True)
                return
            for part, cell in program.measure(setting, piece):
                seconds = time.perf_counter() - begin
                stamped = {**_stamp(job, setting, seconds, card), **cell}
                load_or_make(setting.cell(job, piece.unit, part), lambda stamped=stamped: stamped)  # type: ignore[misc]
                begin = time.perf_counter()
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None


def _stamp(job: str, setting: Setting, seconds: float, card: str) -> Cell:
    """Return card, date, command and versions of a measurement."""
    import torch

    return {
        "card": card,
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"python -m studies.gpu run {job}{' --tiny' if setting.tiny else ''}",
        "commit": commit(),
        "torch": torch.__version__,
        "seconds": seconds,
    }
