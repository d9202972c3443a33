"""Compilation of the numerical kernels before the first request.

Compiled kernels are cached on disk, so only the first start on a machine compiles them, which takes seconds.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from graphkin.api.work.pool import Pool
from graphkin.protocol.errors import ServerFault, StoreBusy, StoreError
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.warmup import compile_kernels

_log = logging.getLogger(__name__)


class Warmup:
    """Compiles the kernels in a background thread, and starts the worker processes of `pools` at the same time."""

    def __init__(self, *pools: Pool) -> None:
        self._pools = pools
        self._compilation = threading.Thread(target=self._compile, name="warmup", daemon=True)
        self._failure: Exception | None = None
        self._pool_start: asyncio.Future[Any] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start the warm-up, and stop waiting for worker processes at the end of the block."""
        self._compilation.start()
        self._pool_start = asyncio.gather(*(pool.start() for pool in self._pools))
        try:
            yield
        finally:
            self._pool_start.cancel()
            with suppress(asyncio.CancelledError, StoreError):
                await self._pool_start

    def _compile(self) -> None:
        try:
            compile_kernels()
            # The worker processes that read graphs need this kernel. They could not compile it themselves, because they
            # are killed after 2 s.
            GraphKind().warmup_descriptors(resolve_graphs())
        except Exception as error:
            _log.exception("a kernel cannot be compiled or run")
            self._failure = error

    def require(self) -> None:
        """Check that the warm-up is complete.

        Raises:
            StoreBusy: Kernels are still being compiled, or worker processes are still starting.
            ServerFault: A kernel cannot be compiled or run.
            StoreError: Worker processes cannot be started.
        """
        if self._pool_start is None or not self._pool_start.done() or self._compilation.is_alive():
            raise StoreBusy(
                "the server is still compiling its kernels",
                hint="try again in a few seconds; this happens only at the first start",
            )
        if self._failure is not None:
            raise ServerFault(
                "compiled code does not run on this machine",
                hint="see the server's log; delete the folder of compiled kernels (NUMBA_CACHE_DIR) "
                "and start the server again",
            ) from self._failure
        self._pool_start.result()
