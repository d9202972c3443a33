"""Export of a published generation as CSV files for `neo4j-admin database import full`, in the layout of cypher.py.

The importer fills a database that has never been started, so the files include the schema version and the catalog. They
include no constraints: the first connection creates these. The importer cannot distinguish an empty list from a missing
one, so readers treat both alike. It cannot represent a list of one empty text either, so such a list raises an error.

Each task writes one part: some items, their names and their edges.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from graphkin.protocol.errors import Conflict
from graphkin.runtime.files import atomic_path, sweep
from graphkin.store import csr
from graphkin.store.base import Generation
from graphkin.store.columns import ITEM_SCHEMA, item_schema, numbers, texts
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.cypher import Label, digest
from graphkin.store.neo4j.draft import fingerprint_blocks, generation_facts, truncated_rows
from graphkin.store.neo4j.items import NodeProperties, caption, entity_key, split_smiles
from graphkin.store.records import Edges, UInt64, to_decimal_floats
from graphkin.store.transfer import Stage, no_progress

_STORE = "name,version:long,number:long,graph:long"
_COLLECTION = ":ID(Collection),name,kind,current"
_GENERATION = (
    ":ID(Generation),collection,generation,graph:long,revision:long,number:long,schema:long,"
    "kind,publishedAt:datetime,threshold:double,items:long,edges:long,recipe"
)
_MANIFEST = ":ID(Manifest),json"
_HAS = (":START_ID(Collection),:END_ID(Generation)", ":START_ID(Generation),:END_ID(Manifest)")
_ITEM = ":ID(Item),graph:long,id:long,smiles,long_smiles,structure,inchikey,names:string[],name"
_ENTITY = ":ID(Entity),collection,digest,smiles,inchikey,name"
_OF = ":START_ID(Item),:END_ID(Entity)"
_FINGERPRINTS = "graph:long,start:long,words:byte[]"
_TRUNCATED = "graph:long,revision:long,start:long,counts:byte[]"
_NAME = "graph:long,digest,id:long"
_REJECTION = "graph:long,n:long,source,line:long,input,reason"
_EDGE = ":START_ID(Item),:END_ID(Item),similarity:double"
_LINK = ":START_ID(Item),:END_ID(Item)"

_TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "datetime": pa.string(),
    "string[]": pa.string(),
    "byte[]": pa.string(),
}
_BUFFER = 4 * 2**20  # bytes, the default of the importer
_DELIMITERS = {"\x1f", *map(chr, range(0xE000, 0xF900))}  # the unit separator and private-use characters: rare in names

ROWS = 65_536
"""The number of items per part. A part includes their names and the edges of which they are the lower ends."""

Write = Callable[[Sequence[Any]], None]

T = TypeVar("T")

PartTask: TypeAlias = Callable[[Generation, int], T]
"""A pure function of a generation and a part number. It is pickled for the process that runs it."""


class TaskRunner(Protocol):
    """A runner of tasks, in this process or elsewhere."""

    def __call__(self, stage: str, task: PartTask[T], tasks: int, /) -> list[T]:
        """Return the result of a task for each part number, in order. Raises the errors of the tasks."""


def serial_runner(generation: Generation, stage: Stage = no_progress) -> TaskRunner:
    """Return a runner that runs tasks in this process, one after the other."""

    def run(name: str, task: PartTask[T], tasks: int) -> list[T]:
        with stage(name, tasks, "parts") as advance:
            results = []
            for number in range(tasks):
                results.append(task(generation, number))
                advance(1)
            return results

    return run


def write_import(generation: Generation, folder: Path, run_tasks: TaskRunner, rows: int = ROWS) -> list[str]:
    """Write the files into an existing folder and return the command that imports them when run there.

    Args:
        generation: The generation to export.
        folder: A folder that all tasks can reach.
        run_tasks: The runner of the tasks.
        rows: The number of items per part.

    Raises:
        Conflict: The only name of an item is empty, or the importer does not accept the name of a property.
        OSError: The folder cannot be written.
    """
    files = _Files(folder)
    tasks = -(-generation.size // rows)
    used_delimiters = run_tasks("names", partial(_delimiters_in, rows), tasks)
    parts = Parts(folder, rows, time.time_ns() // 1_000_000, min(_DELIMITERS.difference(*used_delimiters)))
    _write_catalog(generation, files, parts.graph)
    parts.declare(generation, files)
    _write_rejections(generation, files, parts.graph)
    dropped = generation.dropped()
    if dropped is not None:
        with files.nodes(Label.TRUNCATED, _TRUNCATED) as write:
            for revision, start, counts in truncated_rows(dropped, parts.graph):
                write([[parts.graph], [revision], [start], [_join_bytes(counts, parts.delimiter)]])
    files.longest = max(files.longest, *run_tasks("parts", parts.write, tasks))
    sweep(folder)  # remove partial files of tasks that died
    with files.relationships("SPANS", _EDGE) as write:
        write(_edge_columns(generation.forest()))
    links = generation.links()
    if links is not None:
        with files.relationships("LINKED", _LINK) as write:
            owner = np.repeat(np.arange(generation.size, dtype=np.int32), np.diff(links.indptr))
            is_lower = owner < links.indices
            write([owner[is_lower], links.indices[is_lower]])
    return [
        *("neo4j-admin", "database", "import", "full", "neo4j", "--id-type=integer", "--multiline-fields=true"),
        f"--array-delimiter=U+{ord(parts.delimiter):04X}",
        *files.options(),
    ]


def _part_ids(rows: int, generation: Generation, number: int) -> range:
    """Return the ids of the items in a part."""
    return range(number * rows, min((number + 1) * rows, generation.size))


def _delimiters_in(rows: int, generation: Generation, number: int) -> set[str]:
    """Return the delimiters that occur in the names of a part."""
    ids, characters = _part_ids(rows, generation, number), set[str]()
    for batch in generation.columns(["names"], ids.start, ids.stop):
        characters.update("".join(batch["names"].flatten().to_pylist()))
    return characters & _DELIMITERS


class _Files:
    """The files of an import, and the options that name them.

    Each node label and relationship type has a header file and data files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._options: list[str] = []
        self.longest = 0  # bytes of the longest text

    def nodes(self, label: str, header: str) -> AbstractContextManager[Write]:
        """Return a function that writes nodes of a label from one array per column of the header.

        Several labels are separated by colons.
        """
        return self._open_file("nodes", label, header.split(","))

    def relationships(self, type: str, header: str, file: str | None = None) -> AbstractContextManager[Write]:
        """Return a function that writes relationships of a type.

        Their file has the name of the type, unless `file` is another name.
        """
        return self._open_file("relationships", type, header.split(","), file)

    @contextmanager
    def _open_file(
        self, option: str, name: str, columns: Sequence[str], file_name: str | None = None
    ) -> Iterator[Write]:
        stem = file_name or name.replace(":", "-")
        self.declare(option, name, columns, stem, f"{stem}.csv")
        with _table(self._folder / f"{stem}.csv", columns) as table:
            yield table.write
        self.longest = max(self.longest, table.longest)

    def declare(self, option: str, name: str, columns: Sequence[str], stem: str, data: str) -> None:
        """Write a header file, and add the option for its data files, whose names match the pattern `data`.

        `stem` begins the name of the header file.
        """
        titles = ('"' + column.replace('"', '""') + '"' for column in columns)
        header = f"{stem}-header.csv"
        (self._folder / header).write_text(f"{','.join(titles)}\n", encoding="utf-8")
        self._options.append(f"--{option}={name}=./{header},./{data}")

    def options(self) -> list[str]:
        """Return the import options.

        The importer cannot read a value that is longer than its buffer. In the file a value may be twice as long as its
        text, because every quote is doubled.
        """
        return [f"--read-buffer-size={max(2 * self.longest, _BUFFER)}", *self._options]


class _Table:
    """A writer of the rows of one file, one array per column. `longest` is the number of bytes of the longest text."""

    def __init__(self, file: csv.CSVWriter, schema: pa.Schema) -> None:
        self._file = file
        self._schema = schema
        self.longest = 0

    def write(self, columns: Sequence[Any]) -> None:
        rows = pa.record_batch(list(columns), schema=self._schema)
        self._file.write_batch(rows)
        for column in rows.columns:
            if column.type == pa.string():
                self.longest = max(self.longest, pc.max(pc.binary_length(column)).as_py() or 0)


@contextmanager
def _table(path: Path, columns: Sequence[str]) -> Iterator[_Table]:
    schema = pa.schema([(column, _type(column)) for column in columns])
    options = csv.WriteOptions(include_header=False)
    with atomic_path(path) as temporary, csv.CSVWriter(temporary, schema, write_options=options) as file:
        yield _Table(file, schema)


def _type(column: str) -> pa.DataType:
    """Return the Arrow type of a column of a header. Ids are integers, and lists are texts with delimiters."""
    _, colon, type = column.rpartition(":")
    type = type if colon else "string"
    return pa.int64() if "ID(" in type else _TYPES[type]


def _write_catalog(generation: Generation, files: _Files, graph: int) -> None:
    manifest = generation.manifest.model_copy(update={"fragments": []})
    with files.nodes(Label.STORE, _STORE) as write:
        write([["schema"], [cypher.SCHEMA_VERSION], [1], [graph]])
    with files.nodes(Label.COLLECTION, _COLLECTION) as write:
        write([[0], [generation.collection], [manifest.kind], [generation.id]])
    with files.nodes(f"{Label.GENERATION}:{Label.CURRENT}", _GENERATION) as write:
        row = [0, generation.collection, generation.id, graph, graph, 1, cypher.SCHEMA_VERSION]
        write([[value] for value in (*row, *generation_facts(manifest).values())])
    with files.nodes(Label.MANIFEST, _MANIFEST) as write:
        write([[0], [manifest.model_dump_json()]])
    for part, header in zip(("collection", "manifest"), _HAS, strict=True):
        with files.relationships("HAS", header, f"HAS-{part}") as write:
            write([[0], [0]])


@dataclass(frozen=True)
class Parts:
    """A writer of the files of items, entities, names, fingerprints and edges. It is pickled for the tasks.

    Attributes:
        folder: The folder.
        rows: The number of items per part.
        graph: The number of the generation in the database, `graph` in Cypher.
        delimiter: The delimiter between the elements of a list.
    """

    folder: Path
    rows: int
    graph: int
    delimiter: str

    def declare(self, generation: Generation, files: _Files) -> None:
        """Write the headers. Raises the same errors as `write_import`."""
        for option, name, columns in self._headers(generation):
            files.declare(option, name, columns, name, rf"{name}-\d+\.csv")

    def _headers(self, generation: Generation) -> list[tuple[str, str, list[str]]]:
        schema = item_schema(generation.manifest)
        columns = [*_ITEM.split(","), *_property_header(schema, _property_columns(schema))]
        kind = generation.manifest.kind
        return [
            ("nodes", cypher.item_label(kind), columns),
            ("nodes", cypher.entity_label(kind), _ENTITY.split(",")),
            ("relationships", "OF", _OF.split(",")),
            ("nodes", Label.NAME, _NAME.split(",")),
            ("nodes", Label.FINGERPRINTS, _FINGERPRINTS.split(",")),
            ("relationships", "SIMILAR", _EDGE.split(",")),
        ]

    def write(self, generation: Generation, number: int) -> int:
        """Write one part and return the number of bytes of its longest text.

        Raises the same errors as `write_import`.
        """
        with ExitStack() as stack:
            tables = {
                name: stack.enter_context(_table(self.folder / f"{name}-{number:06d}.csv", columns))
                for _, name, columns in self._headers(generation)
            }
            ids = _part_ids(self.rows, generation, number)
            self._write_items(generation, ids, tables)
            words = generation.fingerprints().words[ids.start : ids.stop]
            if words.shape[1]:
                self._write_fingerprints(words, ids.start, tables[Label.FINGERPRINTS])
            edges = csr.shard_edges(csr.shard(generation.graph(), ids), ids.start)
            tables["SIMILAR"].write(_edge_columns(edges))
        return max(table.longest for table in tables.values())

    def _write_items(self, generation: Generation, part: range, tables: Mapping[str, _Table]) -> None:
        kind, structure = generation.manifest.kind, generation.manifest.structure
        schema = item_schema(generation.manifest)
        for batch in generation.columns(["id", *schema.names], part.start, part.stop):
            ids = np.asarray(batch["id"])
            graphs = pa.repeat(self.graph, len(ids))
            names, structures = batch["names"].to_pylist(), batch[structure].to_pylist()
            captions = list(map(caption, names, structures))
            smiles, long_smiles = split_smiles(batch["smiles"].to_pylist())
            tables[cypher.item_label(kind)].write(
                [
                    *(ids, graphs, ids, smiles, long_smiles, batch["structure"], batch["inchikey"]),
                    *(_join_names(batch, self.delimiter), captions),
                    *(values for name in _property_columns(schema) for values in _node_values(batch[name])),
                ]
            )
            digests = _digests([entity_key(kind, *each) for each in zip(names, structures, strict=True)])
            entities = [ids, [generation.collection] * len(ids), digests, smiles, batch["inchikey"], captions]
            has_entity = pa.array([each is not None for each in digests])
            tables[cypher.entity_label(kind)].write([pa.array(column).filter(has_entity) for column in entities])
            tables["OF"].write([pa.array(column).filter(has_entity) for column in (ids, ids)])
            names_of_batch = batch["names"].flatten()
            owners = np.repeat(ids, batch["names"].value_lengths())
            tables[Label.NAME].write(
                [pa.repeat(self.graph, len(names_of_batch)), _digests(names_of_batch.to_pylist()), owners]
            )

    def _write_fingerprints(self, words: UInt64, first: int, table: _Table) -> None:
        for start, block in fingerprint_blocks(words, first):
            table.write([[self.graph], [start], [_join_bytes(block.tobytes(), self.delimiter)]])


def _join_bytes(content: bytes, delimiter: str) -> str:
    """Return bytes as one text of signed integers."""
    return delimiter.join(map(str, np.frombuffer(content, np.int8).tolist()))


def _property_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of properties."""
    return [name for name in schema.names if name not in ITEM_SCHEMA.names]


def _property_header(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """Return the header of the columns of properties: the name and type of each node property."""
    keys = NodeProperties(schema)
    typed_keys = (
        pair for name in columns for pair in zip(keys.for_column(name), _types(schema.field(name)), strict=True)
    )
    header = [f"{key}:{type}" for key, type in typed_keys]
    for column in header:
        if set("\r\n{") & set(column):
            raise Conflict(
                "neo4j-admin cannot import a property whose name contains a line end or a brace",
                given=column.rpartition(":")[0],
                expected="property names without line ends and braces",
                hint="rename the property, or copy the lake with `graphkin load`, which accepts such names",
            )
    return header


def _types(field: pa.Field) -> list[str]:
    """Return the types, in terms of the importer, of the arrays that `_node_values` returns."""
    if pa.types.is_struct(field.type):
        return ["double", "string"]
    return ["string" if pa.types.is_string(field.type) else "double"]


def _node_values(column: pa.Array) -> list[pa.Array]:
    """Return the values of the node properties of a column, in the order of `NodeProperties.for_column`."""
    return [numbers(column), texts(column)] if pa.types.is_struct(column.type) else [column]


def _digests(texts: Sequence[str | None]) -> list[str | None]:
    return [None if text is None else digest(text) for text in texts]


def _join_names(batch: pa.RecordBatch, delimiter: str) -> pa.StringArray:
    joined = pc.binary_join(batch["names"], delimiter)
    has_one_empty_name = pc.and_(pc.equal(joined, ""), pc.greater(pc.list_value_length(batch["names"]), 0))
    if pc.any(has_one_empty_name).as_py():
        raise Conflict(
            "neo4j-admin cannot import an item whose only name is empty",
            given=f"item {batch['id'][pc.index(has_one_empty_name, True).as_py()]}",
            expected="items with at least one name that is not empty",
            hint="copy the lake with `graphkin load`, which accepts such items",
        )
    return joined


def _write_rejections(generation: Generation, files: _Files, graph: int) -> None:
    with files.nodes(Label.REJECTION, _REJECTION) as write:
        offset = 0
        for batch in generation.rejections():
            numbers = np.arange(offset, offset + batch.num_rows)
            write([pa.repeat(graph, batch.num_rows), numbers, *batch.columns])
            offset += batch.num_rows


def _edge_columns(edges: Edges) -> list[Any]:
    return [edges.source, edges.target, to_decimal_floats(edges.similarity)]
