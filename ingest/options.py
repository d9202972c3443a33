"""Options of an ingest run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from graphkin.ingest.readers import ReadOptions
from graphkin.protocol.errors import require
from graphkin.protocol.values import Duplicates
from graphkin.similarity.devices import Device


@dataclass(frozen=True)
class IngestOptions:
    """Options of a run that do not affect the edges.

    Attributes:
        read: Options for reading the files.
        max_size: Maximum number of atoms or nodes of an item; None for the default of the kind.
        max_rejected: Largest accepted share of rejected records, from 0 to 1.
        duplicates: Rule for the values of an item whose records differ. An append uses the setting of the manifest.
        labels: Files with node labels, one for each network.
        names: Files with row names, one for each array.
        workers: Number of processes that parse, and number of threads that join.
        device: Device on which pairs are compared. The edges are the same on every device.
        rejections_file: File to which a run with too many rejections writes them.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    max_size: int | None = None
    max_rejected: float = 0.1
    duplicates: Duplicates = "first"
    labels: Sequence[str] = ()
    names: Sequence[str] = ()
    workers: int = os.cpu_count() or 1
    device: Device = "cpu"
    rejections_file: Path | None = None

    def __post_init__(self) -> None:
        accepted = get_args(Duplicates)
        hint = 'choose one of them: "first" keeps the value of the first record'
        require(self.duplicates in accepted, "duplicates", self.duplicates, f"one of {', '.join(accepted)}", hint=hint)
