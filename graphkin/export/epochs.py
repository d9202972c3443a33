"""The positives of whole epochs as files that trainers read: parts as they are drawn, the manifest last."""

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
from graphkin.store.sampling.rows import positives_provenance, positives_rows, positives_schema, told

_ROWS = 1 << 20  # anchors to a part
_BLOCK = 65_536  # anchors that are drawn at once, and stand in a row group
_ORDER = "order.json"


@dataclass(frozen=True)
class Order:
    """What is to be drawn, and where to. It is sent to whoever draws; parts go by a number from 0 to `tasks` - 1.

    size: of the generation; rows: anchors to a part.
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
        return len(self.epochs) * self._parts

    @property
    def _parts(self) -> int:
        """Of an epoch."""
        return -(-self.size // self.rows)

    def draw(self, sampler: Sampler, task: int) -> EpochPart:
        """Draw a part and write it. What it is called and what it holds follow from the order and its number alone.

        It is held in memory as it is written, and a block of its rows as they are drawn.
        """
        epoch, number = self._place_of(task)
        provenance = told(positives_provenance(self.generation, self.policy, self.seed, epoch))
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

    def done(self, sizes: dict[str, int]) -> dict[int, EpochPart]:
        """The parts among files of these sizes that an earlier run has written whole, by number."""
        noted = [task for task in range(self.tasks) if self.note(task) in sizes]
        parts = {task: EpochPart.model_validate_json(self.place.read(self.note(task))) for task in noted}
        return {task: part for task, part in parts.items() if sizes.get(part.name) == part.bytes}

    @cached_property
    def key(self) -> str:
        """Stands for all that decides what a part holds."""
        drawn = [self.generation, self.size, self.policy.model_dump(), self.seed, self.rows]
        return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:32]

    def note(self, task: int) -> str:
        """The name of what a part says of itself once it is written, while there is no manifest."""
        epoch, number = self._place_of(task)
        return f"{WORK}/{self.key}/{epoch}-{number}.json"

    def _place_of(self, task: int) -> tuple[int, int]:
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
    """Write the parts and then the manifest. `draw` is given the numbers of the parts that are missing, and draws them.

    A run that was killed, started again, goes on with what it had not finished; of one that was finished nothing is
    done. There is no lock: nobody else may write there. Raises `Conflict` where other epochs or other files are.
    """
    sizes = order.place.sizes()
    published = _published(order) if MANIFEST in sizes else None
    if published is None:
        parts = _begin(order, sizes)
        missing = [task for task in range(order.tasks) if task not in parts]
        parts |= dict(zip(missing, draw(missing) if missing else [], strict=True))
        published = order.manifest([parts[task] for task in range(order.tasks)])
        order.place.write(MANIFEST, published.sealed())
    if order.place.sizes(WORK):
        order.place.remove_folder(WORK)
    return published


def _published(order: Order) -> Epochs:
    found = Epochs.opened(order.place.read(MANIFEST))
    if found != order.manifest(found.parts):
        raise Conflict(
            "other epochs are published here, and a folder of epochs is written once",
            given=order.place.shown,
            expected="a new or empty folder",
        )
    return found


def _begin(order: Order, sizes: dict[str, int]) -> dict[int, EpochPart]:
    """The parts that are there; nothing else is left of what earlier runs began."""
    begun = [name for name in sizes if name.startswith(f"{WORK}/") and name.endswith(f"/{_ORDER}")]
    others = [name for name in sizes if not (begun and name.startswith((f"{WORK}/", "epoch=")))]
    if others:
        raise Conflict(
            "this folder holds other files",
            given=f"{order.place.shown}: {others[0]}",
            expected="a new or empty folder, or one that this command was writing",
        )
    mark = f"{WORK}/{order.key}/{_ORDER}"
    parts = order.done(sizes)
    kept = {mark, *(part.name for part in parts.values()), *map(order.note, parts)}
    if mark not in sizes:
        told: dict[str, Any] = order.manifest([]).model_dump(mode="json", exclude={"parts"})
        order.place.write(mark, json.dumps(told).encode())
    for name in sizes.keys() - kept:
        order.place.remove(name)
    return parts
