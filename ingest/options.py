"""Options of an ingest run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphkin.ingest.readers import ReadOptions
from graphkin.similarity.devices import Device


@dataclass(frozen=True)
class IngestOptions:
    """Options that control a run without affecting the edges.

    Attributes:
        read: How to read the files.
        max_size: Atoms or nodes of the largest item that is kept. None means the kind's default.
        max_rejected: Highest accepted share of rejected records, 0 to 1.
        labels: Files with node labels, one for each file with a big graph.
        names: Files with row names, one for each file with an array.
        workers: Number of parsing processes and of join threads.
        device: Where pairs are compared. The edges are the same on every device.
        rejections_file: Where a run that fails because of rejections writes them.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    max_size: int | None = None
    max_rejected: float = 0.1
    labels: Sequence[str] = ()
    names: Sequence[str] = ()
    workers: int = os.cpu_count() or 1
    device: Device = "cpu"
    rejections_file: Path | None = None
