"""Item lists: names or SMILES of items, in the lines of a file or in memory, or ids."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.ingest.readers.lines import Line, read_lines
from graphkin.ingest.readers.raw import open_decompressed, translate_read_errors
from graphkin.ingest.readers.source import open_raw
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.generations import short_id
from graphkin.protocol.manifest import Input
from graphkin.protocol.values import ListedBy, RemovedBy
from graphkin.similarity.kind import Kind
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Generation
from graphkin.store.records import MAX_REJECTED_INPUT, REJECTION_SCHEMA, Int32, Int64
from graphkin.store.sampling.base import require_ids

_COLUMN: dict[ListedBy, str] = {"name": "names", "smiles": "smiles"}
_ABSENT: dict[ListedBy, str] = {"name": "no item has this name", "smiles": "no item is this molecule"}
_IN_MEMORY: dict[ListedBy, str] = {"name": "list of names", "smiles": "list of SMILES"}


@dataclass(frozen=True)
class ItemIds:
    """Items by their ids.

    Attributes:
        ids: (n,) ids, in any order.
        generation: Id of the generation that has these items.
    """

    ids: Int32 | Int64
    generation: str


ItemList: TypeAlias = str | Sequence[str] | ItemIds
"""The path of a file with one name or SMILES per line, or "-" for standard input; names or SMILES in memory; or ids."""


@dataclass(frozen=True)
class ListedItems:
    """The items that a list names.

    Attributes:
        ids: (n,) ascending ids of the listed items.
        missing: Lines that match no item (`REJECTION_SCHEMA`).
        source: Name, size and checksum of the list.
        by: What the list holds: names, SMILES or ids.
    """

    ids: Int32
    missing: pa.RecordBatch
    source: Input
    by: RemovedBy


@dataclass(frozen=True)
class _Line:
    """A line that is not blank.

    Attributes:
        number: Line number, from 1 in a file and from 0 in memory.
        text: The line without its line end.
        key: The name or canonical SMILES to look up; None if the line cannot be read.
        fault: Reason why the line cannot be read, or None.
    """

    number: int
    text: str
    key: str | None
    fault: str | None


def resolve_list(items: ItemList, by: ListedBy, base: Generation, kind: Kind[Recipe], recipe: Recipe) -> ListedItems:
    """Return the listed items. Blank lines of a file are skipped.

    A name selects every item that has exactly this name. A SMILES is standardized by the recipe, as in an ingest.

    Args:
        items: The list. A file may be compressed, like the files of an ingest. Names and SMILES in memory count as the
            lines of a file, but from 0.
        by: Whether a list of texts holds names or SMILES.
        base: The generation that has the items.
        kind: Kind of the items.
        recipe: Recipe of the items.

    Raises:
        InvalidInput: The file cannot be read.
        Conflict: The list holds SMILES, but the items have none; or ids of another generation than `base`.
        NotFound: There is no item with one of the ids.
    """
    if isinstance(items, ItemIds):
        return _resolve_ids(items, base)
    if by == "smiles" and kind.structure_column != "smiles":
        raise Conflict(
            f"{kind.plural} have no SMILES",
            given=by,
            expected="a list of names",
            hint="list names, and use --by name (in Python names=[...])",
        )
    if isinstance(items, str):
        stored, source = _read_list(items)
    else:
        stored = [(number, text, None) for number, text in enumerate(items)]
        source = _in_memory(_IN_MEMORY[by], items)
    return _resolve_lines(stored, source, by, base, kind, recipe)


def _resolve_lines(
    stored: Sequence[Line], source: Input, by: ListedBy, base: Generation, kind: Kind[Recipe], recipe: Recipe
) -> ListedItems:
    lines = [_parse_line(line, by, kind, recipe) for line in stored if line[1].strip()]
    keys = pa.array(sorted({line.key for line in lines if line.key is not None}), pa.string())
    owners, key_indices = _match_texts(base, _COLUMN[by], keys)
    matched = {*keys.take(pa.array(np.unique(key_indices))).to_pylist()}
    missing = [line for line in lines if line.key not in matched]
    rows = [
        [source.name] * len(missing),
        [line.number for line in missing],
        [line.text[:MAX_REJECTED_INPUT] for line in missing],
    ]
    reasons = [line.fault or _ABSENT[by] for line in missing]
    return ListedItems(np.unique(owners), pa.record_batch([*rows, reasons], schema=REJECTION_SCHEMA), source, by)


def _resolve_ids(items: ItemIds, base: Generation) -> ListedItems:
    if items.generation != base.id:
        raise Conflict(
            "the collection has a newer generation, in which the items have other ids",
            given=f"ids of generation {short_id(items.generation)}",
            expected=f"ids of generation {short_id(base.id)}",
            hint="open the collection again, and select the items in its current generation",
        )
    ids = np.unique(require_ids(items.ids, base.size))
    source = _in_memory("list of ids", map(str, ids.tolist()))
    return ListedItems(ids, pa.RecordBatch.from_pylist([], schema=REJECTION_SCHEMA), source, "id")


def _in_memory(name: str, texts: Iterable[str]) -> Input:
    """Return the size and checksum of texts in memory: those of a file with one text per line."""
    content = "".join(f"{text}\n" for text in texts).encode()
    return Input(name=name, bytes=len(content), sha256=sha256(content).hexdigest())


def _read_list(file: str) -> tuple[list[Line], Input]:
    with ExitStack() as resources:
        raw, _ = open_raw(file, None, resources)
        with translate_read_errors(file, raw):
            stream, _ = open_decompressed(file, raw, "one item a line", whole=True)
            lines = list(read_lines(file, stream))
            raw.read_to(None)
        return lines, raw.digest(file)


def _parse_line(line: Line, by: ListedBy, kind: Kind[Recipe], recipe: Recipe) -> _Line:
    number, text, fault = line
    bare = text.rstrip("\r\n")
    if fault is not None or by == "name":
        return _Line(number, bare, None if fault else bare, fault)
    try:
        return _Line(number, bare, kind.read(recipe, bare.strip(), by).text, None)
    except InvalidInput as error:
        return _Line(number, bare, None, error.detail)


def _match_texts(base: Generation, column: str, keys: pa.Array) -> tuple[Int32, Int32]:
    """Find the items that have one of the texts `keys` in a column.

    Returns:
        Two (M,) arrays, with an entry per match: the id of the item, and the index of the text in `keys`.
    """
    parts = [_match_batch(ids, texts, keys) for ids, texts in _texts(base, column)]
    owners, key_indices = zip(*parts, strict=True)
    return np.concatenate(owners), np.concatenate(key_indices)


def _match_batch(ids: Int32, texts: pa.Array, keys: pa.Array) -> tuple[Int32, Int32]:
    key_indices = pc.index_in(texts, value_set=keys)
    is_match = np.asarray(key_indices.is_valid())
    return ids[is_match], np.asarray(key_indices.drop_null())


def _texts(base: Generation, column: str) -> Iterator[tuple[Int32, pa.Array]]:
    """Yield the texts of all items in a column, in batches of item ids and texts. An item can have several texts."""
    for batch in base.columns(["id", column]):
        ids, texts = np.asarray(batch["id"]), batch[column]
        if pa.types.is_list(texts.type):
            ids, texts = np.repeat(ids, np.asarray(texts.value_lengths())), texts.flatten()
        yield ids, texts
