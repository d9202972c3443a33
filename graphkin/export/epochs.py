"""Exported epochs: the sampled positives of whole epochs as files that trainers read.

Parts are written as they are sampled, and the manifest last.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from graphkin.protocol.epochs import MANIFEST, EpochPart, Epochs, part_name
from graphkin.protocol.errors import Conflict
from graphkin.protocol.policy import Policy
from graphkin.store.lake.place import WORK, Place
from graphkin.store.sampling.base import Sampler
from graphkin.store.sampling.rows import positives_provenance, positives_rows, positives_schema, schema_metadata

_ROWS = 1 << 20  # anchors per part
_BLOCK = 65_536  # anchors sampled at once, and per row group
_ORDER = "order.json"


@dataclass(frozen=True)
class Order:
    """A specification of the epochs to sample and the folder to write them to.

    It is sent to the worker processes that sample the parts. Parts are numbered from 0 to `tasks` - 1.

    Attributes:
        place: The folder to write to.
        collection: Name of the collection.
        generation: Id of the generation.
        size: Number of items of the generation.
        policy: The sampling policy.
        seed: Seed of the samples.
        epochs: The epochs to sample.
        rows: Number of anchors per part.
    """

    place: Place
    collection: str
    generation: str
    size: int
    policy: Policy
    seed: int
    epochs: range
    rows: int = _ROWS

    @property
    def tasks(self) -> int:
        """Number of parts."""
        return len(self.epochs) * self._parts

    @property
    def _parts(self) -> int:
        """Number of parts per epoch."""
        return -(-self.size // self.rows)

    def draw(self, sampler: Sampler, task: int) -> EpochPart:
        """Sample one part and write it. Its name and content depend only on this order and the part's number.

        The compressed part and one block of sampled rows are held in memory.
        """
        epoch, number = self._locate(task)
        provenance = schema_metadata(positives_provenance(self.generation, self.policy, self.seed, epoch))
        anchors = np.arange(number * self.rows, min((number + 1) * self.rows, self.size), dtype=np.int32)
        sink = io.BytesIO()
        schema = positives_schema(self.policy.k).with_metadata(provenance)
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for start in range(0, len(anchors), _BLOCK):
                sets = sampler.positives(anchors[start : start + _BLOCK], self.policy, self.seed, epoch)
                writer.write_batch(positives_rows(sets))
        content = sink.getvalue()
        name, digest = part_name(epoch, number), hashlib.sha256(content).hexdigest()
        part = EpochPart(epoch=epoch, name=name, rows=len(anchors), bytes=len(content), sha256=digest)
        self.place.write(name, content)
        self.place.write(self.note(task), part.model_dump_json().encode())
        return part

    def finished_parts(self, sizes: dict[str, int]) -> dict[int, EpochPart]:
        """Return the complete parts that an earlier run has written, by number.

        Args:
            sizes: Size in bytes of each file in the folder.
        """
        recorded = [task for task in range(self.tasks) if self.note(task) in sizes]
        parts = {task: EpochPart.model_validate_json(self.place.read(self.note(task))) for task in recorded}
        return {task: part for task, part in parts.items() if sizes.get(part.name) == part.bytes}

    @cached_property
    def key(self) -> str:
        """Hash of everything that determines the content of the parts."""
        settings = [self.generation, self.size, self.policy.model_dump(), self.seed, self.rows]
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]

    def note(self, task: int) -> str:
        """Return the name of the file that records a finished part until the manifest is published."""
        epoch, number = self._locate(task)
        return f"{WORK}/{self.key}/{epoch}-{number}.json"

    def _locate(self, task: int) -> tuple[int, int]:
        position, number = divmod(task, self._parts)
        return self.epochs[position], number

    def manifest(self, parts: list[EpochPart]) -> Epochs:
        return Epochs(
            collection=self.collection,
            generation=self.generation,
            size=self.size,
            policy=self.policy,
            seed=self.seed,
            first=self.epochs.start,
            stop=self.epochs.stop,
            parts=parts,
        )


def write_epochs(order: Order, draw: Callable[[list[int]], Iterable[EpochPart]]) -> Epochs:
    """Write the missing parts and then the manifest.

    A run that was interrupted continues with the unfinished parts when it is started again. If the epochs are already
    published, nothing is written. There is no lock: no other process may write to the folder at the same time.

    Args:
        order: The epochs to sample.
        draw: Samples the parts with the given numbers and returns them in the same order.

    Raises:
        Conflict: The folder holds other epochs or other files.
    """
    sizes = order.place.sizes()
    manifest = _read_published(order) if MANIFEST in sizes else None
    if manifest is None:
        parts = _prepare(order, sizes)
        missing = [task for task in range(order.tasks) if task not in parts]
        parts |= dict(zip(missing, draw(missing) if missing else [], strict=True))
        manifest = order.manifest([parts[task] for task in range(order.tasks)])
        order.place.write(MANIFEST, manifest.to_bytes())
    if order.place.sizes(WORK):
        order.place.remove_folder(WORK)
    return manifest


def _read_published(order: Order) -> Epochs:
    """Return the published manifest.

    Raises:
        Conflict: It is the manifest of other epochs.
    """
    manifest = Epochs.from_bytes(order.place.read(MANIFEST))
    if manifest != order.manifest(manifest.parts):
        raise Conflict(
            "other epochs are published here, and a folder of epochs is written once",
            given=order.place.shown,
            expected="a new or empty folder",
        )
    return manifest


def _prepare(order: Order, sizes: dict[str, int]) -> dict[int, EpochPart]:
    """Return the finished parts of earlier runs, and remove all other files that they have left."""
    order_files = [name for name in sizes if name.startswith(f"{WORK}/") and name.endswith(f"/{_ORDER}")]
    foreign_files = [name for name in sizes if not (order_files and name.startswith((f"{WORK}/", "epoch=")))]
    if foreign_files:
        raise Conflict(
            "this folder holds other files",
            given=f"{order.place.shown}: {foreign_files[0]}",
            expected="a new or empty folder, or one that this command was writing",
        )
    mark = f"{WORK}/{order.key}/{_ORDER}"
    parts = order.finished_parts(sizes)
    current_files = {mark, *(part.name for part in parts.values()), *map(order.note, parts)}
    if mark not in sizes:
        values: dict[str, Any] = order.manifest([]).model_dump(mode="json", exclude={"parts"})
        order.place.write(mark, json.dumps(values).encode())
    for name in sizes.keys() - current_files:
        order.place.remove(name)
    return parts
