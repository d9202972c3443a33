"""The layout of a lake: `manifest.json` and the files that it lists.

The manifest is written last. Its presence is the publication. The files are:

manifest.json                            the manifest of the generation, and the SHA-256 of every other file
items/part-00000-RUN.parquet             the item table with its ids, a column for each property
rejections/part-00000-RUN.parquet        the rejected records
edges/part-00000-RUN.parquet             source < target, similarity; by source, then target
forest/part-00000-RUN.parquet            the maximum spanning forest, most similar first
fingerprints/part-00000-RUN.npy          packed fingerprints, in id order
graph/{indptr,indices,similarity}-00000-RUN.npy    CSR rows of a range of items; each edge in both rows
dropped/part-00000-RUN.npy               the number of truncated pairs of each item
links/{indptr,indices}-00000-RUN.npy     for nodes: the big graph that they belong to

RUN is unique to a writer, so that no writer overwrites a part of another.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, ValidationError

from graphkin.protocol import seal
from graphkin.protocol.errors import Damage, StoreDamaged, StoreFormat
from graphkin.protocol.frozen import Frozen
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.validation import describe_first
from graphkin.store.base import require_schema_version

MANIFEST = "manifest.json"
_FORMAT: Literal[1] = 1

Group: TypeAlias = Literal[
    "items",
    "rejections",
    "edges",
    "forest",
    "fingerprints",
    "indptr",
    "indices",
    "similarity",
    "dropped",
    "links.indptr",
    "links.indices",
]

_NAMES: dict[Group, str] = {
    "items": "items/part-{:05d}-{}.parquet",
    "rejections": "rejections/part-{:05d}-{}.parquet",
    "edges": "edges/part-{:05d}-{}.parquet",
    "forest": "forest/part-{:05d}-{}.parquet",
    "fingerprints": "fingerprints/part-{:05d}-{}.npy",
    "indptr": "graph/indptr-{:05d}-{}.npy",
    "indices": "graph/indices-{:05d}-{}.npy",
    "similarity": "graph/similarity-{:05d}-{}.npy",
    "dropped": "dropped/part-{:05d}-{}.npy",
    "links.indptr": "links/indptr-{:05d}-{}.npy",
    "links.indices": "links/indices-{:05d}-{}.npy",
}
FOLDERS = {name.partition("/")[0] for name in _NAMES.values()}


RUN_DIGITS = 16
"""The number of hexadecimal digits of the name of a run."""


def part_name(group: Group, number: int, run: str) -> str:
    """Return the file name of a part that a run writes."""
    return _NAMES[group].format(number, run)


class Part(Frozen):
    """One file. `rows` is the length of the table, or of the first axis of the array."""

    name: Annotated[str, Field(pattern=r"^[a-z]+/[a-z]+-[0-9]{5,}-[0-9a-f]{16}\.(npy|parquet)$")]
    rows: Annotated[int, Field(ge=0)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: str


class Lake(Frozen):
    """One generation of one collection. The parts of a group are in order."""

    format: Literal[1] = _FORMAT
    collection: str
    manifest: Manifest
    parts: dict[Group, list[Part]]

    def all_parts(self) -> Iterable[Part]:
        """Iterate over the parts of all groups."""
        return (part for group in self.parts.values() for part in group)


def seal_manifest(lake: Lake) -> bytes:
    """Return the bytes of `manifest.json`: the lake and the SHA-256 of its content."""
    return seal.seal_document("lake", lake.model_dump(mode="json", exclude={"manifest": {"fragments"}}))


def parse_manifest(content: bytes) -> Lake:
    """Read a lake from its `manifest.json`.

    Raises:
        StoreDamaged: The manifest differs from what was written.
        StoreFormat: Another program, or a newer graphkin, wrote the manifest.
    """
    try:
        values, is_intact = seal.unseal_document("lake", content)
    except ValueError as error:
        raise StoreFormat(
            f"this {MANIFEST} does not belong to a Parquet export (lake)",
            given=str(error),
            expected=f"a {MANIFEST} that `graphkin export lake` wrote",
            hint="name the folder of a lake, or write it again with `graphkin export lake`",
        ) from error
    if not is_intact:
        raise StoreDamaged(Damage(MANIFEST, "its content does not match its SHA-256"))
    require_schema_version(values["format"], _FORMAT)
    try:
        return Lake.model_validate(values)
    except ValidationError as error:
        raise StoreDamaged(Damage(MANIFEST, f"it is not valid: {describe_first(error)}")) from error
