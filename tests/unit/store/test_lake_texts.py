"""The text index of a lake finds the same items as a full scan."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.store.lake.texts import TextIndex, write_index

TEXTS = st.one_of(st.text(max_size=3), st.sampled_from(["a", "b", "ab", "", "é", "東京", "\U0001f9ea", "\uffff"]))


def _index(folder: Path, parts: list[pa.Array]) -> TextIndex:
    firsts = np.cumsum([0, *map(len, parts)]).tolist()
    folder.mkdir()
    write_index(folder, zip(firsts, parts, strict=False))
    return TextIndex(**{file.stem: np.load(file) for file in folder.iterdir()})


def _check(index: TextIndex, rows: list[list[str]]) -> None:
    for query in {text for row in rows for text in row} | {"nobody", "", "\ud800"}:
        owners = [id for id, row in enumerate(rows) if query in row]
        for after, limit in ((-1, 1000), (len(rows) // 2, 1000), (0, 1), (-1, 2)):
            assert index.find(query, after, limit) == [id for id in owners if id > after][:limit]


@settings(max_examples=40)
@given(st.lists(st.lists(st.lists(TEXTS, max_size=3), max_size=6), max_size=4))
def test_index_of_lists_equals_a_full_scan(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[list[str]]]
) -> None:
    """Items have several names, a repeated name, or none. Some parts have no names at all."""
    folder = tmp_path_factory.mktemp("lists") / "index"
    index = _index(folder, [pa.array(part, pa.list_(pa.string())) for part in parts])
    _check(index, [row for part in parts for row in part])


@settings(max_examples=40)
@given(st.lists(st.lists(st.none() | TEXTS, max_size=8), max_size=4))
def test_index_of_nullable_texts_equals_a_full_scan(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[str | None]]
) -> None:
    folder = tmp_path_factory.mktemp("texts") / "index"
    index = _index(folder, [pa.array(part, pa.string()) for part in parts])
    _check(index, [[] if text is None else [text] for part in parts for text in part])
