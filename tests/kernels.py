"""Compile the kernels that the first tests of every process need, so that the processes do not compile them at once."""

from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np

import graphkin


def main() -> None:
    graphkin.ingest([nx.path_graph(4), nx.cycle_graph(4)], kind="graphs", workers=1)
    graphkin.ingest(np.eye(3, dtype=np.float32), kind="vectors", workers=1)
    with TemporaryDirectory() as folder:
        file = Path(folder, "nodes.edges")
        file.write_text("0 1\n1 2\n2 0\n2 3\n")
        graphkin.ingest(file, kind="nodes", workers=1)


if __name__ == "__main__":
    main()
