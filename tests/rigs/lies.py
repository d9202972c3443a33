"""Lies that a trainer must reject: altered responses, offline folders and epoch files."""

import hashlib
import io
import json
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphkin.protocol.seal import seal_document

Headers = MutableMapping[str, str]
GENERATION = "Graphkin-Generation"

FIRST, HIGH, MASKED = (
    ("--strategy", "hgc-fo"),
    ("--strategy", "hgc-ho", "--set", "draws.negatives=8"),
    ("--strategy", "hgc-fo", "--mask-neighbors"),
)
"""Options of trainings: with positives alone, with shared negatives, and with edges."""


class ReplyLie(NamedTuple):
    """A response with other contents than requested.

    Attributes:
        name: Name of the lie.
        request: Part of the path and query of the altered requests.
        alter: Returns another body, given body and headers.
        options: Options of a training that sends the request.
        names: Text that the error message must contain.
    """

    name: str
    request: str
    alter: Callable[[bytes, Headers], bytes]
    options: tuple[str, ...]
    names: str


class FolderLie(NamedTuple):
    """A folder with other contents than fetched. `names` is text that the error message must contain."""

    name: str
    alter: Callable[[Path], object]
    names: str


# tables


def arrow(alter: Callable[[pa.Table], pa.Table]) -> Callable[[bytes, Headers], bytes]:
    """Alter a response that is an Arrow stream."""

    def altered(body: bytes, _: Headers) -> bytes:
        table = alter(pa.ipc.open_stream(body).read_all().combine_chunks())
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue()

    return altered


def column(name: str, make: Callable[[np.ndarray], Any], type: pa.DataType | None = None) -> Any:
    """Replace a column of numbers, or of lists of numbers, by the result of `make`.

    The type stays the same unless `type` is set.
    """

    def alter(table: pa.Table) -> pa.Table:
        own = table.schema.field(name).type
        values = table[name].combine_chunks()
        lists = pa.types.is_fixed_size_list(own)
        numbers = (
            values.flatten().to_numpy().reshape(len(table), -1) if lists else values.to_numpy(zero_copy_only=False)
        )
        made = make(numbers.copy())
        if not isinstance(made, pa.Array):
            made = pa.array(made.tolist(), type or (pa.list_(own.value_type, made.shape[1]) if lists else own))
        place = table.column_names.index(name)
        return table.set_column(place, pa.field(name, made.type), made)

    return alter


def put(place: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def put_in(numbers: np.ndarray) -> np.ndarray:
        numbers[place] = value
        return numbers

    return put_in


def without(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([name])


def of(name: str, value: str) -> Callable[[pa.Table], pa.Table]:
    """Set a metadata entry to another value."""
    return lambda table: table.replace_schema_metadata({**(table.schema.metadata or {}), name.encode(): value})


def rows(take: Callable[[int], Any]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.take(pa.array(take(len(table))))


def linked(numbers: np.ndarray) -> int:
    """Return the first anchor."""
    return int(np.flatnonzero(numbers[:, 0] >= 0)[0])


def isolated(numbers: np.ndarray) -> int:
    return int(np.flatnonzero(numbers[:, 0] < 0)[0])


def half_isolated(table: pa.Table) -> pa.Table:
    """Alter all columns as if every second anchor had no neighbor."""
    odd = np.arange(len(table)) % 2 == 1
    for name, value in (("count", 0), ("isolated", True), ("positives", -1), ("visits", 0)):
        table = column(name, put(odd, value))(table)
    return table


def with_nan(numbers: np.ndarray) -> pa.Array:
    values = numbers.astype(np.float32)
    values[0] = np.nan
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), numbers.shape[1])


def with_null(numbers: np.ndarray) -> pa.Array:
    values = pa.array([None, *numbers.reshape(-1)[1:].tolist()], pa.int32())
    return pa.FixedSizeListArray.from_arrays(values, numbers.shape[1]) if numbers.ndim == 2 else values


def own_positive(numbers: np.ndarray) -> np.ndarray:
    anchor = linked(numbers)
    return put((anchor, 0), anchor)(numbers)


def isolated_positive(numbers: np.ndarray) -> np.ndarray:
    return put((linked(numbers), 0), isolated(numbers))(numbers)


POSITIVES: list[tuple[str, Callable[[pa.Table], pa.Table]]] = [
    ("negative id", column("positives", lambda n: put((linked(n), 1), -5)(n))),
    ("id beyond the last item", column("positives", lambda n: put((linked(n), 1), len(n))(n))),
    ("half of the anchors isolated", half_isolated),
    ("one anchor isolated", column("positives", lambda n: put(linked(n), -1)(n))),
    ("a list that is filled up with -1", column("positives", lambda n: put((linked(n), -1), -1)(n))),
    ("six positives", column("positives", lambda n: np.hstack([n, n]))),
    ("one positive", column("positives", lambda n: n[:, :1])),
    ("all zeros", column("positives", lambda n: np.where(n < 0, n, 0))),
    ("zeros for isolated items, too", column("positives", np.zeros_like)),
    ("an anchor as its own positive", column("positives", own_positive)),
    ("an isolated item as a positive", column("positives", isolated_positive)),
    ("NaN", column("positives", with_nan)),
    ("null ids", column("positives", with_null)),
    ("text ids", column("positives", lambda n: pa.array([[str(i) for i in row] for row in n]))),
    ("lists of 64-bit ids", column("positives", lambda n: pa.array(n.tolist(), pa.list_(pa.int64(), n.shape[1])))),
    ("lists of any width", column("positives", lambda n: pa.array(n.tolist(), pa.list_(pa.int32())))),
    ("no positives", without("positives")),
    ("no anchors", without("anchor")),
    ("no counts", without("count")),
    ("no isolated", without("isolated")),
    ("counts of six", column("count", lambda n: n * 2)),
    ("counts of zero", column("count", np.zeros_like)),
    ("isolated with positives", column("isolated", np.ones_like)),
    ("text anchors", column("anchor", lambda n: pa.array([str(i) for i in n]))),
    ("anchors as decimals", column("anchor", lambda n: pa.array(n.astype(float)))),
    ("null anchor", column("anchor", with_null)),
    ("anchors the other way round", rows(lambda size: np.arange(size)[::-1])),
    ("an anchor twice", rows(lambda size: np.maximum(np.arange(size) - 1, 0))),
    ("an anchor missing", rows(lambda size: np.delete(np.arange(size), size // 2))),
    ("every row twice", rows(lambda size: np.repeat(np.arange(size), 2))),
    ("no rows", rows(lambda _: np.arange(0))),
    ("another generation", of("generation", "0" * 64)),
    ("another seed", of("seed", "7")),
    ("another epoch", of("epoch", "1")),
    ("another policy", of("policy", '{"name": "second_order", "k": 3}')),
    ("no provenance", lambda table: table.replace_schema_metadata(None)),
]
"""Lies about the positives of an epoch, for both responses and files: name and alteration."""

NEGATIVES: list[tuple[str, Callable[[pa.Table], pa.Table]]] = [
    ("negative id", column("ids", put((0, 0), -1))),
    ("id beyond the last item", column("ids", put((0, 0), 10**6))),
    ("a negative twice", column("ids", lambda n: put((0, 0), n[0, 1])(n))),
    ("four negatives", column("ids", lambda n: n[:, :4])),
    ("null ids", column("ids", with_null)),
    ("NaN", column("ids", with_nan)),
    ("no ids", without("ids")),
    ("text batches", column("batch", lambda n: pa.array([str(i) for i in n]))),
    ("another epoch", of("epoch", "1")),
]
TWINS: list[tuple[str, Callable[[pa.Table], pa.Table]]] = [
    ("twin beyond the last item", column("target", put(0, 10**6))),
    ("negative twin", column("source", put(0, -1))),
    ("twins the other way round", lambda t: t.rename_columns({"source": "target", "target": "source"})),
    ("text twins", column("source", lambda n: pa.array([str(i) for i in n]))),
    ("null twin", column("target", with_null)),
    ("no targets", without("target")),
    ("similarity NaN", column("similarity", put(0, np.nan))),
    ("similarity of no twins", column("similarity", put(0, 0.5))),
]
ITEMS: list[tuple[str, Callable[[pa.Table], pa.Table]]] = [
    ("null SMILES", lambda t: t.set_column(1, "smiles", pa.array([None, *t["smiles"].to_pylist()[1:]]))),
    ("SMILES that cannot be read", lambda t: t.set_column(1, "smiles", pa.array(["c1cc"] * len(t)))),
    ("no SMILES", without("smiles")),
    ("SMILES as numbers", lambda t: t.set_column(1, "smiles", pa.array(range(len(t))))),
    ("items the other way round", rows(lambda size: np.arange(size)[::-1])),
]


def detail(**changes: Any) -> Callable[[bytes, Headers], bytes]:
    """Alter the description of the collection. Double underscores separate nested keys, as in `counts__kept=-1`."""

    def altered(body: bytes, _: Headers) -> bytes:
        values = json.loads(body)
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = values
            for parent in parents:
                place = place[parent]
            place[last] = value
        return json.dumps(values).encode()

    return altered


def another_generation(body: bytes, headers: Headers) -> bytes:
    headers[GENERATION] = "0" * 64
    return body


def no_generation(body: bytes, headers: Headers) -> bytes:
    headers.pop(GENERATION, None)
    return body


def reply_lies() -> list[ReplyLie]:
    """Return every lie of a server."""
    epoch, collection = "/v1/collections/nci/positives/epochs/0", "/v1/collections/nci"
    lies = [ReplyLie(f"positives: {n}", "positives/epochs/0", arrow(a), FIRST, epoch) for n, a in POSITIVES]
    lies += [ReplyLie(f"negatives: {n}", "/negatives", arrow(a), HIGH, f"{collection}/negatives") for n, a in NEGATIVES]
    export = f"{collection}/export"
    lies += [ReplyLie(f"twins: {n}", "min_similarity=1", arrow(a), FIRST, export) for n, a in TWINS]
    lies += [ReplyLie(f"items: {n}", "what=items", arrow(a), FIRST, export) for n, a in ITEMS]
    half = rows(lambda size: np.arange(size // 2))
    lies += [ReplyLie("edges: half of them", "what=edges&format=arrow&start", arrow(half), MASKED, export)]
    lies += [
        ReplyLie("positives: header of another generation", "positives/epochs/0", another_generation, FIRST, epoch),
        ReplyLie("positives: no header of a generation", "positives/epochs/0", no_generation, FIRST, epoch),
    ]
    for name, alter in (
        ("another generation", detail(generation="0" * 64)),
        ("another name", detail(name="other")),
        ("fewer than no items", detail(manifest__counts__kept=-1)),
        ("text for items", detail(manifest__counts__kept="many")),
        ("another number of items", detail(manifest__counts__kept=7)),
        ("no object", lambda *_: b"[]"),
        ("no JSON", lambda *_: b"NaN,"),
    ):
        lies += [ReplyLie(f"collection: {name}", "/collections/nci?", alter, FIRST, collection)]
    return lies


# folders


def npz(name: str, array: str, make: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    """Alter an array of an offline folder, with matching SHA-256 and seal."""

    def alter(folder: Path) -> None:
        with np.load(folder / name) as held:
            arrays = {**held}
        np.savez_compressed(folder / name, **{**arrays, array: make(arrays[array].copy())})
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        resealed("offline", lambda values: values["files"].__setitem__(name, digest))(folder)

    return alter


def resealed(what: str, alter: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Alter a manifest, with a matching seal."""

    def altered(folder: Path) -> None:
        values = json.loads((folder / "manifest.json").read_bytes())[what]
        alter(values)
        (folder / "manifest.json").write_bytes(seal_document(what, values))

    return altered


def flipped(name: str, share: float) -> Callable[[Path], None]:
    """Flip a bit of a file at a relative position."""

    def alter(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[int(share * len(content))] ^= 4
        (folder / name).write_bytes(content)

    return alter


def cut_short(name: str) -> Callable[[Path], None]:
    """Remove the last bytes of a file."""

    def alter(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:-9])

    return alter


def missing(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def offline_lies() -> list[FolderLie]:
    """Return every lie of an offline folder that was fetched for `HIGH`."""
    manifest, corpus, epoch, twins = "manifest.json", "corpus.npz", "epoch-00000.npz", "twins.npz"
    lies = [FolderLie(f"{n}: a bit at {s}", flipped(n, s), n) for n in (corpus, epoch, twins) for s in (0.1, 0.5, 0.9)]
    lies += [FolderLie(f"{manifest}: a bit at {s}", flipped(manifest, s), manifest) for s in (0.1, 0.4, 0.7)]
    lies += [FolderLie(f"{name}: cut short", cut_short(name), name) for name in (manifest, corpus, epoch)]
    lies += [FolderLie(f"{name}: missing", missing(name), name) for name in (corpus, epoch, twins)]
    for array, place, value in (
        ("atom_type", 0, 120),
        ("chirality", 0, 9),
        ("bond", 0, 12),
        ("source", 0, 127),
        ("degree", 0, 99),
        ("atom_offsets", 0, 1),
    ):
        lies += [FolderLie(f"{corpus}: {array} {value}", npz(corpus, array, put(place, value)), corpus)]
    for name, make in (
        ("negative id", lambda n: put((linked(n), 0), -9)(n)),
        ("half of the anchors isolated", put(slice(None, None, 2), -1)),
        ("all zeros", lambda n: np.where(n < 0, n, 0)),
        ("ten positives", lambda n: np.hstack([n, n])),
        ("NaN", lambda n: np.full_like(n, np.nan, np.float32)),
        ("text", lambda n: n.astype(str)),
        ("half of the rows", lambda n: n[::2]),
    ):
        lies += [FolderLie(f"{epoch}: {name}", npz(epoch, "positives", make), epoch)]
    lies += [FolderLie(f"{epoch}: a negative twice", npz(epoch, "negatives", put((0, slice(0, 2)), 3)), epoch)]
    lies += [FolderLie(f"{twins}: beyond the last item", npz(twins, "pairs", put((0, 1), 10**6)), twins)]
    fewer = resealed("offline", lambda values: values["generation"].__setitem__("size", 7))
    return [*lies, FolderLie(f"{manifest}: fewer items", fewer, corpus)]


def epoch_lies() -> list[FolderLie]:
    """Return every lie of a folder of epochs that was sampled for `FIRST` in one part."""
    part, manifest = "epoch=0/part-00000.parquet", "manifest.json"

    def parquet(alter: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
        def altered(folder: Path) -> None:
            table = alter(pq.read_table(folder / part, partitioning=None).combine_chunks())
            pq.write_table(table, folder / part)
            content = (folder / part).read_bytes()
            new = {"rows": len(table), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            resealed("epochs", lambda values: values["parts"][0].update(new))(folder)

        return altered

    lies = [
        FolderLie(f"{part}: a bit", flipped(part, 0.5), part),
        FolderLie(f"{manifest}: a bit", flipped(manifest, 0.5), manifest),
    ]
    shorter = {"an anchor missing", "every row twice", "no rows"}
    lies += [FolderLie(f"{part}: {n}", parquet(a), manifest if n in shorter else part) for n, a in POSITIVES]
    fewer = resealed("epochs", lambda values: values.__setitem__("size", 7))
    return [*lies, FolderLie(f"{manifest}: fewer items", fewer, manifest)]
