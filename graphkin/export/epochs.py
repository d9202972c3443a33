"""Export of epochs: the sampled positives of whole epochs, as Parquet files that trainers read instead of a server.

The anchors of an epoch are divided into parts, one file each. The manifest is written after all parts, so a folder
without a manifest is incomplete.
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
from graphkin.store.lake.export_folder import WORK, ExportFolder
from graphkin.store.sampling.base import Sampler
from graphkin.store.sampling.rows import positives_provenance, positives_rows, positives_schema, schema_metadata

_ROWS = 1 << 20  # anchors per part
_BLOCK = 65_536  # anchors that are sampled at once and make one row group
_PLAN_FILE = "order.json"  # the name is that of earlier versions, whose interrupted exports can continue


@dataclass(frozen=True)
class EpochsPlan:
    """The epochs to sample, their division into parts, and the folder to write them to.

    Processes that sample parts get a copy. Parts are numbered from 0 to `part_count` - 1, across all epochs.

    Attributes:
        export_folder: The folder to write to.
        collection: Name of the collection.
        generation: Id of the generation.
        size: Number of items of the generation.
        policy: The sampling policy.
        seed: Seed of the samples.
        epochs: The epochs to sample.
        rows: Number of anchors per part.
    """

    export_folder: ExportFolder
    collection: str
    generation: str
    size: int
    policy: Policy
    seed: int
    epochs: range
    rows: int = _ROWS

    @property
    def part_count(self) -> int:
        """Number of parts of all epochs."""
        return len(self.epochs) * self._parts_per_epoch

    @property
    def _parts_per_epoch(self) -> int:
        """Number of parts per epoch."""
        return -(-self.size // self.rows)

    def write_part(self, sampler: Sampler, number: int) -> EpochPart:
        """Sample one part and write it.

        The name and content of the file depend only on the plan and the number. The compressed part and one block of
        sampled rows are held in memory.
        """
        epoch, index = self._locate(number)
        provenance = schema_metadata(positives_provenance(self.generation, self.policy, self.seed, epoch))
        anchors = np.arange(index * self.rows, min((index + 1) * self.rows, self.size), dtype=np.int32)
        sink = io.BytesIO()
        schema = positives_schema(self.policy.k).with_metadata(provenance)
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for start in range(0, len(anchors), _BLOCK):
                sets = sampler.positives(anchors[start : start + _BLOCK], self.policy, self.seed, epoch)
                writer.write_batch(positives_rows(sets))
        content = sink.getvalue()
        name, digest = part_name(epoch, index), hashlib.sha256(content).hexdigest()
        part = EpochPart(epoch=epoch, name=name, rows=len(anchors), bytes=len(content), sha256=digest)
        self.export_folder.write(name, content)
        self.export_folder.write(self.record_name(number), part.model_dump_json().encode())
        return part

    def finished_parts(self, sizes: dict[str, int]) -> dict[int, EpochPart]:
        """Return the parts that an earlier run has completely written, by number.

        Args:
            sizes: Size in bytes of each file in the folder, by name.
        """
        recorded = [number for number in range(self.part_count) if self.record_name(number) in sizes]
        parts = {
            number: EpochPart.model_validate_json(self.export_folder.read(self.record_name(number)))
            for number in recorded
        }
        return {number: part for number, part in parts.items() if sizes.get(part.name) == part.bytes}

    @cached_property
    def key(self) -> str:
        """Hash of all settings that determine the content of the parts."""
        settings = [self.generation, self.size, self.policy.model_dump(), self.seed, self.rows]
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]

    def record_name(self, number: int) -> str:
        """Return the name of the temporary file that records that a part is finished."""
        epoch, index = self._locate(number)
        return f"{WORK}/{self.key}/{epoch}-{index}.json"

    def _locate(self, number: int) -> tuple[int, int]:
        """Return the epoch of a part, and its index among the parts of this epoch."""
        position, index = divmod(number, self._parts_per_epoch)
        return self.epochs[position], index

    def manifest(self, parts: list[EpochPart]) -> Epochs:
        """Return the manifest of the folder with these parts."""
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


def write_epochs(plan: EpochsPlan, write_parts: Callable[[list[int]], Iterable[EpochPart]]) -> Epochs:
    """Write the missing parts and then the manifest.

    After an interruption, another call writes only the unfinished parts. If the folder already has the manifest of
    these epochs, nothing is written. There is no lock, so no other process may write to the folder at the same time.

    Args:
        plan: The epochs to sample.
        write_parts: Writes the parts with these numbers, and returns them in the same order.

    Returns:
        The manifest.

    Raises:
        Conflict: The folder holds other epochs or other files.
    """
    sizes = plan.export_folder.sizes()
    manifest = _read_manifest(plan) if MANIFEST in sizes else None
    if manifest is None:
        parts = _prepare(plan, sizes)
        missing = [number for number in range(plan.part_count) if number not in parts]
        parts |= dict(zip(missing, write_parts(missing) if missing else [], strict=True))
        manifest = plan.manifest([parts[number] for number in range(plan.part_count)])
        plan.export_folder.write(MANIFEST, manifest.to_bytes())
    if plan.export_folder.sizes(WORK):
        plan.export_folder.remove_folder(WORK)
    return manifest


def _read_manifest(plan: EpochsPlan) -> Epochs:
    """Return the manifest in the folder.

    Raises:
        Conflict: It is the manifest of other epochs.
    """
    manifest = Epochs.from_bytes(plan.export_folder.read(MANIFEST))
    if manifest != plan.manifest(manifest.parts):
        raise Conflict(
            "this folder already holds other epochs",
            given=plan.export_folder.display_url,
            expected="a new or empty folder",
            hint="write into another folder",
        )
    return manifest


def _prepare(plan: EpochsPlan, sizes: dict[str, int]) -> dict[int, EpochPart]:
    """Return the finished parts of earlier runs, and remove all other files of these runs.

    Raises:
        Conflict: The folder holds files that no such run has written.
    """
    plan_files = [name for name in sizes if name.startswith(f"{WORK}/") and name.endswith(f"/{_PLAN_FILE}")]
    foreign_files = [name for name in sizes if not (plan_files and name.startswith((f"{WORK}/", "epoch=")))]
    if foreign_files:
        raise Conflict(
            "this folder holds other files",
            given=f"{plan.export_folder.display_url}: {foreign_files[0]}",
            expected="a new or empty folder, or one in which `graphkin epochs` was interrupted",
            hint="write into another folder",
        )
    plan_file = f"{WORK}/{plan.key}/{_PLAN_FILE}"
    parts = plan.finished_parts(sizes)
    current_files = {plan_file, *(part.name for part in parts.values()), *map(plan.record_name, parts)}
    if plan_file not in sizes:
        values: dict[str, Any] = plan.manifest([]).model_dump(mode="json", exclude={"parts"})
        plan.export_folder.write(plan_file, json.dumps(values).encode())
    for name in sizes.keys() - current_files:
        plan.export_folder.remove(name)
    return parts
