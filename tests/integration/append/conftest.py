"""Collections that grow file by file, and comparisons with one ingest of all files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest

from graphkin.ingest import reading
from graphkin.ingest.append import append
from graphkin.ingest.parsing import Chunk, ChunkParser, Parsed
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.policy import Policy
from graphkin.similarity.recipe import Recipe
from graphkin.store import growth, identity
from graphkin.store.base import Generation, Store

OPTIONS = IngestOptions(workers=1, max_rejected=1)
_POLICY = Policy.from_name("random_walk", p_end=0.1)
# Manifest fields about the history of a generation and its files.
_HISTORY_FIELDS = {"times", "published_at", "fragments"}


class InlineParser:
    """Parses in this process instead of the worker processes of `ParserPool`, which take a second to start."""

    def __init__(self, describer: Any, recipe: Recipe, max_size: int, *_: object) -> None:
        self._parser = ChunkParser(describer(recipe, max_size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def start(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = chunks

    def results(self, review: Callable[[Chunk, Parsed], Parsed] = lambda _, parsed: parsed) -> Iterator[Parsed]:
        return (review(chunk, self._parser.parse(chunk)) for chunk in self._chunks)


@pytest.fixture(scope="module")
def parse_inline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "ParserPool", InlineParser)
        yield


@pytest.fixture(scope="module")
def small_blocks() -> Iterator[int]:
    """Hash item tables in blocks of this many items, so that the tables of tests have several blocks."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (identity, growth):
            patch.setattr(module, "BLOCK_SIZE", 3)
        yield 3


def write_parts(folder: Path, parts: Sequence[Sequence[str]], ending: str, header: str = "") -> list[str]:
    """Write a file for each part into a folder, which is created if necessary."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"part-{number}.{ending}" for number in range(len(parts))]
    for file, lines in zip(files, parts, strict=True):
        file.write_text("".join(f"{line}\n" for line in ([header] if header else []) + [*lines]))
    return [*map(str, files)]


def grow(store: Store, collection: str, files: Sequence[str], recipe: Recipe) -> list[str]:
    """Ingest the first file, append the others one by one, and return the files that added something."""
    ingest(store, collection, files[:1], recipe, OPTIONS)
    results = [append(store, collection, [file], OPTIONS) for file in files[1:]]
    return [files[0], *(file for file, each in zip(files[1:], results, strict=True) if each.items or each.named)]


def content(generation: Generation) -> dict[str, Any]:
    """Return everything that a generation contains, as bytes and plain values."""
    graph, forest, fingerprints = generation.graph(), generation.forest(), generation.fingerprints()
    dropped = generation.dropped()
    assert dropped is not None
    positives = generation.sampler(threads=1).positives(np.arange(generation.size, dtype=np.int32), _POLICY, 7, 1)
    arrays = [array for each in (graph, forest, fingerprints, positives) for array in vars(each).values()]
    items = pa.Table.from_batches(generation.columns(generation._all_columns))
    return {
        "manifest": generation.manifest.model_dump(exclude=_HISTORY_FIELDS),
        "arrays": [(array.dtype.str, array.shape, array.tobytes()) for array in (*arrays, dropped)],
        "items": (items.schema, items.to_pylist()),
        "rejections": [row for batch in generation.rejections() for row in batch.to_pylist()],
    }
