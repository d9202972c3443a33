"""The index of a lake's texts finds what looking through all of them finds."""

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


def _agrees(index: TextIndex, rows: list[list[str]]) -> None:
    for sought in {text for row in rows for text in row} | {"nobody", "", "\ud800"}:
        owners = [id for id, row in enumerate(rows) if sought in row]
        for after, limit in ((-1, 1000), (len(rows) // 2, 1000), (0, 1), (-1, 2)):
            assert index.find(sought, after, limit) == [id for id in owners if id > after][:limit]


@settings(max_examples=40)
@given(st.lists(st.lists(st.lists(TEXTS, max_size=3), max_size=6), max_size=4))
def test_of_lists(tmp_path_factory: pytest.TempPathFactory, parts: list[list[list[str]]]) -> None:
    """Several names an item, one twice, none; several parts, some without any."""
    folder = tmp_path_factory.mktemp("lists") / "index"
    index = _index(folder, [pa.array(part, pa.list_(pa.string())) for part in parts])
    _agrees(index, [row for part in parts for row in part])


@settings(max_examples=40)
@given(st.lists(st.lists(st.none() | TEXTS, max_size=8), max_size=4))
def test_of_texts_of_which_some_are_missing(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[str | None]]
) -> None:
    folder = tmp_path_factory.mktemp("texts") / "index"
    index = _index(folder, [pa.array(part, pa.string()) for part in parts])
    _agrees(index, [[] if text is None else [text] for part in parts for text in part])
