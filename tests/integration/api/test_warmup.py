"""Compilation of kernels before the first request."""

import subprocess
import sys

READ_A_GRAPH = """
import asyncio
from graphkin.api.work.warmup import Warmup
from graphkin.protocol.errors import StoreBusy
from graphkin.similarity.graphs import wl
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.collection.structures import read_structure

def signatures():
    return [kernel.signatures for kernel in (wl.refine, wl._histograms)]

async def warm_up():
    warmup = Warmup()
    async with warmup.running():
        while True:
            try:
                return warmup.require()
            except StoreBusy:
                await asyncio.sleep(0.05)

asyncio.run(warm_up())
compiled = signatures()
read_structure(resolve_graphs(), graph='{"edges": [[0, 1], [1, 2]]}')
assert all(compiled) and signatures() == compiled, (compiled, signatures())
"""


def test_reading_a_graph_compiles_nothing() -> None:
    """A worker may take 2 s of processor time to read a structure, which is less than the compilation takes."""
    process = subprocess.run([sys.executable, "-c", READ_A_GRAPH], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
