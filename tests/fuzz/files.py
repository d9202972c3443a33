"""Every file of the corpus: the committed ones and some of them gzipped, molblocks as SD files, tables and archives."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from tests.fuzz.archives import Content, archives, compressed
from tests.fuzz.corpus import chosen, content, lines
from tests.fuzz.molblocks import molblocks
from tests.fuzz.tables import tables

_GRAPHS = {".zip", ".jsonl", ".graphml"}
_NODES = {".edgelist", ".edges", ".mtx", ".npz"}
_GZIPPED = 8  # one of so many is also read gzipped
_BLOCKS = 24  # molblocks in one SD file


@dataclass(frozen=True)
class File:
    """One file, or a folder of files. `read`: how the command line says to read it."""

    id: str
    name: str
    content: Content = field(repr=False)
    read: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What `graphkin ingest` is told that it holds."""
        suffix = Path(self.name.removesuffix(".gz")).suffix
        if suffix in _NODES:
            return "nodes"
        return "graphs" if isinstance(self.content, dict) or suffix in _GRAPHS else "molecules"

    def write(self, folder: Path) -> Path:
        """Into that folder; gives its path."""
        path = folder / self.name
        made = self.content() if callable(self.content) else self.content
        if isinstance(made, bytes):
            path.write_bytes(made)
        else:
            path.mkdir()
            for name, data in made.items():
                (path / name).write_bytes(data)
        return path


@cache
def files() -> tuple[File, ...]:
    """Two of five, always the same; with GRAPHKIN_FUZZ=all all."""
    return tuple(file for file in every_file() if chosen(file.id, 5) < 2)


def every_file() -> tuple[File, ...]:
    """All of them."""
    made = (File(*each) for each in (*tables(), *archives(), *compressed()))
    return (*_committed(), *_molblocks(), *made)


def _committed() -> Iterator[File]:
    for number, case in enumerate(lines("files.jsonl")):
        id, name, parts, read = case["id"], case["name"], case["content"], case.get("read", {})
        yield File(id, name, partial(content, parts), read)
        if not number % _GZIPPED:
            yield File(f"{id}/gz", f"{name}.gz", partial(_gzipped, parts), read)


def _gzipped(parts: object) -> bytes:
    return gzip.compress(content(parts), mtime=0)


def _molblocks() -> Iterator[File]:
    """Many to a file, as one that is wrong costs no other."""
    blocks = [block.encode("utf-8", "surrogatepass") for _, block in molblocks()]
    for first in range(0, len(blocks), _BLOCKS):
        data = b"$$$$\n".join(blocks[first : first + _BLOCKS])
        yield File(f"sdf/molblocks-{first // _BLOCKS}", "molblocks.sdf", data)
