"""One published generation as CSV files for `neo4j-admin database import full`, laid out as in cypher.py.

The importer fills a database that has never been started, so the schema version and the catalogue are among the files;
constraints are not: the first connection creates them. It has no way to tell an empty list from none, which readers
therefore treat alike, nor a list of one empty text, which is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from graphkin.protocol.errors import Conflict
from graphkin.store.base import Generation
from graphkin.store.columns import ITEM_SCHEMA, item_schema, numbers, texts
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.cypher import Label, digest
from graphkin.store.neo4j.items import Keys, caption
from graphkin.store.records import Edges, UInt64, shortest
from graphkin.store.transfer import Stage, silent

_STORE = "name,version:long,position:long"
_COLLECTION = ":ID(Collection),name,kind,current"
_GENERATION = ":ID(Generation),collection,generation,manifest,graph,position:long,schema:long"
_HAS = ":START_ID(Collection),:END_ID(Generation)"
_ITEM = ":ID(Item),graph,id:long,smiles,structure,digest,inchikey,names:string[],name,dropped:long,fingerprint:long[]"
_NAME = "graph,digest,id:long"
_REJECTION = "graph,n:long,source,line:long,input,reason"
_EDGE = ":START_ID(Item),:END_ID(Item),similarity:double"
_LINK = ":START_ID(Item),:END_ID(Item)"

_TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string[]": pa.string(),
    "long[]": pa.string(),
}
_BUFFER = 4 * 2**20  # bytes, the importer's default
_DELIMITERS = {"\x1f", *map(chr, range(0xE000, 0xF900))}  # the unit separator, else private use: unlikely in a name

Write = Callable[[Sequence[Any]], None]


def write_import(generation: Generation, folder: Path, stage: Stage = silent) -> list[str]:
    """Write the files into an existing folder and return the command that imports them when run there.

    Raises `Conflict` for an item whose only name is empty and for a property that the importer has no name for, and
    `OSError` if the folder cannot be written.
    """
    delimiter = _unused(generation)
    files = _Files(folder)
    token = token_hex(16)
    _write_catalogue(generation, files, token)
    _write_items(generation, files, token, delimiter, stage)
    _write_rejections(generation, files, token)
    with stage("edges", generation.manifest.edges, "edges") as advance, files.relationships("SIMILAR", _EDGE) as write:
        for edges in generation.edges():
            write(_ends(edges))
            advance(len(edges))
    with files.relationships("SPANS", _EDGE) as write:
        write(_ends(generation.forest()))
    links = generation.links()
    if links is not None:
        with files.relationships("LINKED", _LINK) as write:
            owner = np.repeat(np.arange(generation.size, dtype=np.int32), np.diff(links.indptr))
            once = owner < links.indices
            write([owner[once], links.indices[once]])
    return [
        *("neo4j-admin", "database", "import", "full", "neo4j", "--id-type=integer", "--multiline-fields=true"),
        f"--array-delimiter=U+{ord(delimiter):04X}",
        *files.options(),
    ]


class _Files:
    """A header file and a data file for every label and type, and the options that name them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._options: list[str] = []
        self._longest = 0  # bytes of a text

    def nodes(self, label: str, header: str, more: Sequence[str] = ()) -> AbstractContextManager[Write]:
        return self._file("nodes", label, [*header.split(","), *more])

    def relationships(self, type: str, header: str) -> AbstractContextManager[Write]:
        return self._file("relationships", type, header.split(","))

    @contextmanager
    def _file(self, option: str, name: str, header: Sequence[str]) -> Iterator[Write]:
        """A function that writes rows, given as one array for every column of the header."""
        quoted = ('"' + column.replace('"', '""') + '"' for column in header)
        (self._folder / f"{name}-header.csv").write_text(f"{','.join(quoted)}\n", encoding="utf-8")
        self._options.append(f"--{option}={name}={name}-header.csv,{name}.csv")
        schema = pa.schema([(column, _type(column)) for column in header])
        bare = csv.WriteOptions(include_header=False)
        with csv.CSVWriter(self._folder / f"{name}.csv", schema, write_options=bare) as file:
            yield lambda columns: self._write(file, pa.record_batch(list(columns), schema=schema))

    def _write(self, file: csv.CSVWriter, rows: pa.RecordBatch) -> None:
        file.write_batch(rows)
        for column in rows.columns:
            if column.type == pa.string():
                self._longest = max(self._longest, pc.max(pc.binary_length(column)).as_py() or 0)

    def options(self) -> list[str]:
        """The importer reads no value longer than its buffer; every character of one may be a quote, written twice."""
        return [f"--read-buffer-size={max(2 * self._longest, _BUFFER)}", *self._options]


def _type(column: str) -> pa.DataType:
    """The Arrow type of a header's column: ids are integers, lists are joined texts."""
    _, colon, type = column.rpartition(":")
    type = type if colon else "string"
    return pa.int64() if "ID(" in type else _TYPES[type]


def _unused(generation: Generation) -> str:
    """A character that no name contains, so that it can stand between names."""
    used: set[str] = set()
    for batch in generation.scan():
        used.update("".join(batch["names"].flatten().to_pylist()))
    return min(_DELIMITERS - used)


def _write_catalogue(generation: Generation, files: _Files, token: str) -> None:
    manifest = generation.manifest.model_copy(update={"fragments": []})
    with files.nodes(Label.STORE, _STORE) as write:
        write([["schema"], [cypher.SCHEMA_VERSION], [1]])
    with files.nodes(Label.COLLECTION, _COLLECTION) as write:
        write([[0], [generation.collection], [manifest.kind], [generation.id]])
    with files.nodes(Label.GENERATION, _GENERATION) as write:
        row = [0, generation.collection, generation.id, manifest.model_dump_json(), token, 1, cypher.SCHEMA_VERSION]
        write([[value] for value in row])
    with files.relationships("HAS", _HAS) as write:
        write([[0], [0]])


def _write_items(generation: Generation, files: _Files, token: str, delimiter: str, stage: Stage) -> None:
    words, dropped = generation.fingerprints().words, generation.dropped()
    schema = item_schema(generation.manifest)
    own = [name for name in schema.names if name not in ITEM_SCHEMA.names]
    header = _property_header(schema, own)
    with (
        stage("items", generation.size, "items") as advance,
        files.nodes(cypher.item_label(generation.manifest.kind), _ITEM, header) as write_item,
        files.nodes(Label.NAME, _NAME) as write_name,
    ):
        for batch in generation.scan():
            ids = np.asarray(batch["id"])
            rows = slice(ids[0], ids[-1] + 1)
            write_item(
                [
                    *(ids, pa.repeat(token, len(ids)), ids, batch["smiles"], batch["structure"]),
                    *(_digests(batch["smiles"]), batch["inchikey"]),
                    *(_joined_names(batch, delimiter), _shown(batch, generation.manifest.structure)),
                    pa.nulls(len(ids), pa.int64()) if dropped is None else dropped[rows],
                    _joined_words(words[rows], delimiter),
                    *(held for name in own for held in _held(batch[name])),
                ]
            )
            names = batch["names"].flatten()
            owners = np.repeat(ids, batch["names"].value_lengths())
            write_name([pa.repeat(token, len(names)), _digests(names), owners])
            advance(len(ids))


def _property_header(schema: pa.Schema, own: Sequence[str]) -> list[str]:
    """A name with its type for all that the columns of properties hold."""
    keys = Keys(schema)
    typed = (pair for name in own for pair in zip(keys.of(name), _types(schema.field(name)), strict=True))
    header = [f"{key}:{type}" for key, type in typed]
    for column in header:
        if set("\r\n{") & set(column):
            raise Conflict(
                "neo4j-admin cannot import a property whose name has a line end or a brace",
                given=column.rpartition(":")[0],
                hint="`graphkin load` can",
            )
    return header


def _types(of: pa.Field) -> list[str]:
    """The importer's types of what `_held` gives."""
    if pa.types.is_struct(of.type):
        return ["double", "string"]
    return ["string" if pa.types.is_string(of.type) else "double"]


def _held(column: pa.Array) -> list[pa.Array]:
    """What the properties of nodes hold of a column, as `Keys.of` names them."""
    return [numbers(column), texts(column)] if pa.types.is_struct(column.type) else [column]


def _digests(texts: pa.StringArray) -> list[str | None]:
    return [None if text is None else digest(text) for text in texts.to_pylist()]


def _joined_names(batch: pa.RecordBatch, delimiter: str) -> pa.StringArray:
    joined = pc.binary_join(batch["names"], delimiter)
    nameless = pc.and_(pc.equal(joined, ""), pc.greater(pc.list_value_length(batch["names"]), 0))
    if pc.any(nameless).as_py():
        raise Conflict(
            "neo4j-admin cannot import an item whose only name is empty",
            given=f"item {batch['id'][pc.index(nameless, True).as_py()]}",
            hint="`graphkin load` can",
        )
    return joined


def _shown(batch: pa.RecordBatch, structure: str) -> list[str]:
    return list(map(caption, batch["names"].to_pylist(), batch[structure].to_pylist()))


def _joined_words(words: UInt64, delimiter: str) -> pa.StringArray:
    """Each row of (n, W) words as signed numbers, joined."""
    rows, width = words.shape
    numbers = pa.array(words.view(np.int64).ravel()).cast(pa.string())
    return pc.binary_join(pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32) * width, numbers), delimiter)


def _write_rejections(generation: Generation, files: _Files, token: str) -> None:
    with files.nodes(Label.REJECTION, _REJECTION) as write:
        written = 0
        for batch in generation.rejections():
            numbers = np.arange(written, written + batch.num_rows)
            write([pa.repeat(token, batch.num_rows), numbers, *batch.columns])
            written += batch.num_rows


def _ends(edges: Edges) -> list[Any]:
    return [edges.source, edges.target, shortest(edges.similarity)]
