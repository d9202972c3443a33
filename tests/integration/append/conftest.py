"""Collections that grow file by file, beside those of one ingest of all files."""

from collections.abc import Iterable, Iterator, Sequence
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
from graphkin.store.embedded import growth as embedded_growth

OPTIONS = IngestOptions(workers=1, max_rejected=1)
_POLICY = Policy.from_name("random_walk", p_end=0.1)
_OTHERWISE = {"times", "published_at", "fragments"}  # how a generation came about, and where its files are


class Here:
    """Parses in this process what `ParserPool` has worker processes parse: a start of these takes a second."""

    def __init__(self, describer: Any, recipe: Recipe, max_size: int, *_: object) -> None:
        self._parser = ChunkParser(describer(recipe, max_size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = chunks

    def parsed(self) -> Iterator[Parsed]:
        return map(self._parser.parse, self._chunks)


@pytest.fixture(scope="module")
def parsed_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "ParserPool", Here)
        yield


@pytest.fixture(scope="module")
def small_blocks() -> Iterator[int]:
    """Item tables are hashed in blocks of so many items, so that those of tests have several."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (identity, growth, embedded_growth):
            patch.setattr(module, "BLOCK", 3)
        yield 3


def written(folder: Path, parts: Sequence[Sequence[str]], ending: str, header: str = "") -> list[str]:
    """A file for each part, in a folder that may not exist yet."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"part-{number}.{ending}" for number in range(len(parts))]
    for file, lines in zip(files, parts, strict=True):
        file.write_text("".join(f"{line}\n" for line in ([header] if header else []) + [*lines]))
    return [*map(str, files)]


def grow(store: Store, collection: str, files: Sequence[str], recipe: Recipe) -> list[str]:
    """Ingest the first file, and append the others one by one. Gives those that brought something: another leaves the
    generation as it is."""
    ingest(store, collection, files[:1], recipe, OPTIONS)
    told = [append(store, collection, [file], OPTIONS) for file in files[1:]]
    return [files[0], *(file for file, each in zip(files[1:], told, strict=True) if each.items or each.named)]


def content(generation: Generation) -> dict[str, Any]:
    """All that a generation says, as bytes and plain values."""
    graph, forest, fingerprints = generation.graph(), generation.forest(), generation.fingerprints()
    dropped = generation.dropped()
    assert dropped is not None
    positives = generation.sampler(threads=1).positives(np.arange(generation.size, dtype=np.int32), _POLICY, 7, 1)
    arrays = [array for each in (graph, forest, fingerprints, positives) for array in vars(each).values()]
    items = pa.Table.from_batches(generation.columns(generation._all_columns))
    return {
        "manifest": generation.manifest.model_dump(exclude=_OTHERWISE),
        "arrays": [(array.dtype.str, array.shape, array.tobytes()) for array in (*arrays, dropped)],
        "items": (items.schema, items.to_pylist()),
        "rejections": [row for batch in generation.rejections() for row in batch.to_pylist()],
    }
