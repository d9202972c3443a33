"""Archives and folders in TUDataset's layout, and compressed files: sound, damaged, and made to do harm."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

import pyarrow as pa

Content = bytes | dict[str, bytes] | Callable[[], bytes]
"""Of a file; of a folder that of its files; or how it is made, where that takes a while."""

Made = tuple[str, str, Content]
"""id, file name, content."""

_TU = {
    "A": b"1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": b"1\n1\n1\n2\n2\n",
    "graph_labels": b"1\n-1\n",
    "node_labels": b"0\n1\n0\n1\n1\n",
    "graph_attributes": b"0.5, 1\n1e999, nan\n",
}
_WRONG = {
    "A": (
        b"", b"\n\n", b"1\n", b"1, 2, 3\n", b"1.5, 2\n", b"a, b\n", b"0, 1\n", b"-1, 2\n", b"1, 9\n", b"9, 9\n",
        b"1, 4\n", b"1, 9223372036854775808\n", b"1, 2\n\n\n2, 1\n", b"1,2\r2,1\r", b"\xff\xfe1, 2\n", b"1, \0\n",
        b'"1, 2\n', b"1 2\n", b"1, 2\n" * 50_000, b"1, 1\n", b"1, " + b"9" * 5000 + b"\n",
    ),
    "graph_indicator": (
        b"", b"\n", b"0\n1\n", b"-1\n1\n", b"2000000000\n", b"9223372036854775807\n", b"9223372036854775808\n",
        b"1\n1\n1\n3\n3\n", b"2\n2\n1\n1\n2\n", b"1, 1\n1, 1\n", b"a\n", b"1.5\n", b"1\n" * 5 + b"\xff\n", b"1\n\0\n",
        b"1\n2\n3\n4\n5\n",
    ),
    "graph_labels": (b"", b"1\n", b"a\n\xff\n", b"1\n2\n3\n4\n", b"\0\n1\n", b"x" * 2_000_000 + b"\n1\n", b"\n" * 9000),
    "node_labels": (b"", b"0\n", b"a\nb\nc\nd\ne\n", b"0, 1\n" * 5, b"9223372036854775808\n" * 5, b"1.5\n" * 5,
        b"0\n" * 9),
    "graph_attributes": (b"", b"1\n", b"," * 999 + b"\n1\n", b"\xff\n\0\n", b"1,2\n3\n"),
}  # fmt: skip
_MEGABYTE = 2**20


def archives() -> Iterator[Made]:
    """Collections in TUDataset's layout."""
    sound = _named(_TU)
    yield "tu/plain", "SHAPES.zip", _zip(sound)
    yield "tu/folder", "SHAPES", sound
    yield "tu/folder-empty", "EMPTY", {}
    yield "tu/folder-of-others", "OTHERS", {"a.txt": b"", "b.smi": b"C\n"}
    for ending, wrongs in _WRONG.items():
        for number, wrong in enumerate(wrongs):
            yield f"tu/{ending}-{number}", f"{ending}-{number}.zip", _zip(_named({**_TU, ending: wrong}))
    for ending in _TU:
        missing = {name: data for name, data in _TU.items() if name != ending}
        yield f"tu/without-{ending}", f"without-{ending}.zip", _zip(_named(missing))
        yield f"tu/folder-without-{ending}", f"WITHOUT_{ending}", _named(missing)
    whole = _zip(sound)
    for number in range(6):
        yield f"zip/cut-{number}", f"cut-{number}.zip", whole[: len(whole) * number // 6]
        yield f"zip/flipped-{number}", f"flipped-{number}.zip", flipped(whole, Random(f"zip {number}"))
    yield "zip/empty", "empty.zip", _zip({})
    yield "zip/of-a-zip", "nested.zip", _zip({"SHAPES.zip": whole})
    yield "zip/twice", "twice.zip", whole + whole
    yield "zip/after-garbage", "after.zip", b"garbage" * 99 + whole
    yield "zip/gzipped", "gzipped.zip.gz", gzip.compress(whole, mtime=0)
    yield "zip/slip", "slip.zip", _zip({f"../../../{name}": data for name, data in sound.items()})
    yield "zip/absolute", "absolute.zip", _zip({f"/etc/{name}": data for name, data in sound.items()})
    yield "zip/backslashes", "backslashes.zip", _zip({f"..\\{name}": data for name, data in sound.items()})
    yield "zip/hostile-names", "names.zip", _zip({f"\u202e<b>\x07/{name}": data for name, data in sound.items()})
    yield "zip/macintosh", "macintosh.zip", _zip({**sound, "__MACOSX/._SHAPES_A.txt": b"\0\x05\x16\x07"})
    yield "zip/deep", "deep.zip", _zip({f"{'d/' * 300}{name}": data for name, data in sound.items()})
    yield "zip/folder-called-A", "called.zip", _zip({"SHAPES_A.txt/x": b""})
    yield "zip/entries-5000", "entries.zip", _zip({**sound, **{f"f{number}/": b"" for number in range(5000)}})
    yield (
        "zip/collections-300",
        "collections.zip",
        _zip({f"{number}/{name}": data for number in range(300) for name, data in sound.items()}),
    )
    yield "zip/encrypted", "encrypted.zip", whole.replace(b"PK\x01\x02\x14\x03\x14\0\0", b"PK\x01\x02\x14\x03\x14\0\1")
    yield "zip/packed-unknown", "unknown.zip", _packed_as(whole, 99)
    for ending, megabytes in (("A", 300), ("graph_indicator", 64), ("graph_indicator", 9), ("graph_labels", 64)):
        yield f"bomb/{ending}-{megabytes}-MB", f"{ending}-{megabytes}.zip", partial(_zip_bomb, ending, megabytes)


def compressed() -> Iterator[Made]:
    """Compressed files that are damaged, or much larger than they look."""
    lines = b"CCO a\nCC b\n" * 300
    for name, compress in (("bz2", bz2.compress), ("xz", lzma.compress), ("zst", _zstandard)):
        content = compress(lines)
        for number in range(6):
            yield f"{name}/cut-{number}", f"cut-{number}.smi.{name}", content[: 1 + len(content) * number // 6]
            yield (
                f"{name}/flipped-{number}",
                f"flipped-{number}.smi.{name}",
                flipped(content, Random(f"{name} {number}")),
            )
        yield f"{name}/twice", f"twice.smi.{name}", content + content
        yield f"{name}/then-garbage", f"garbage.smi.{name}", content + b"garbage"
        yield f"{name}/of-nothing", f"of-nothing.smi.{name}", compress(b"")
        yield f"bomb/{name}-64-MB-graphml", f"spaces.graphml.{name}", partial(compress, b" " * (64 * _MEGABYTE))
    yield (
        "xz/much-memory",
        "memory.smi.xz",
        lzma.compress(lines, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**30}]),
    )
    whole = gzip.compress(lines, mtime=0)
    for number in range(6):
        yield f"gzip/cut-{number}", f"cut-{number}.smi.gz", whole[: 1 + len(whole) * number // 6]
        yield f"gzip/flipped-{number}", f"flipped-{number}.smi.gz", flipped(whole, Random(f"gzip {number}"))
    yield "gzip/twice", "twice.smi.gz", whole + whole
    yield "gzip/members-5000", "members.smi.gz", gzip.compress(b"CCO a\n", mtime=0) * 5000
    yield "gzip/empty-members-5000", "nothing.smi.gz", gzip.compress(b"", mtime=0) * 5000
    yield "gzip/then-garbage", "garbage.smi.gz", whole + b"garbage"
    yield "gzip/then-zeros", "zeros.smi.gz", whole + bytes(5000)
    yield "gzip/of-gzip", "gzip.smi.gz", gzip.compress(whole, mtime=0)
    yield "gzip/of-nothing", "of-nothing.smi.gz", gzip.compress(b"", mtime=0)
    yield "gzip/named", "named.smi", whole
    yield "gzip/long-header", "header.smi.gz", whole[:3] + b"\x08" + whole[4:10] + b"n" * _MEGABYTE + b"\0" + whole[10:]
    for ending in ("smi", "csv", "sdf", "jsonl", "graphml", "parquet"):
        yield f"bomb/zeros-10-MB-{ending}", f"zeros.{ending}.gz", partial(_bomb, b"", b"\0", 10)
        yield f"bomb/spaces-300-MB-{ending}", f"spaces.{ending}.gz", partial(_bomb, b"", b" ", 300)
    yield "bomb/letters-512-MB", "letters.smi.gz", partial(_bomb, b"CCO a\n", b"C", 512)
    yield "bomb/cell-300-MB", "cell.csv.gz", partial(_bomb, b"smiles,x\nC,", b"x", 300)
    yield "bomb/quoted-300-MB", "quoted.csv.gz", partial(_bomb, b'smiles,x\nC,"', b"x", 300)
    yield "bomb/number-300-MB", "number.jsonl.gz", partial(_bomb, b'{"edges":[[0,', b"9", 300)
    yield "bomb/text-300-MB", "text.graphml.gz", partial(_bomb, b"<graphml>", b"x", 300)
    yield "bomb/elements-300-MB", "elements.graphml.gz", partial(_bomb, b"<graphml>", b"<a/>", 300)
    yield "bomb/item-300-MB", "item.sdf.gz", partial(_bomb, b"\n\n\n  0  0\nM  END\n> <a>\n", b"x", 300)


def flipped(data: bytes, random: Random) -> bytes:
    """One to eight bytes become others."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        changed[random.randrange(len(data))] = random.randrange(256)
    return bytes(changed)


def _zstandard(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def _named(parts: dict[str, bytes]) -> dict[str, bytes]:
    return {f"SHAPES_{ending}.txt": data for ending, data in parts.items()}


def _zip(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def _packed_as(archive: bytes, method: int) -> bytes:
    """An archive that says its entries are packed in another way."""
    return archive.replace(b"\x14\0\0\0\x08\0", b"\x14\0\0\0" + method.to_bytes(2, "little"))


def _bomb(begin: bytes, repeated: bytes, megabytes: int) -> bytes:
    """Gzip of some bytes and then the same ones over and over: members that follow each other are one file."""
    block = gzip.compress(repeated * (_MEGABYTE // len(repeated)), mtime=0)
    return gzip.compress(begin, mtime=0) + block * megabytes


def _zip_bomb(ending: str, megabytes: int) -> bytes:
    """A collection one of whose files is much larger than it looks."""
    return _zip(_named({**_TU, ending: b"1\n" * (megabytes * _MEGABYTE // 2)}))
