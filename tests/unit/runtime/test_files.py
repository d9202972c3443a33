"""What is written whole is there whole, under its name, or not at all."""

import io
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from graphkin.runtime.files import PARTIAL, partial, read_header, settle, sweep, whole


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _half_a_file(path: Path) -> None:
    path.write_text("half")
    raise KeyboardInterrupt


def _half_a_folder(path: Path) -> None:
    (path / "below").mkdir(parents=True)
    raise KeyboardInterrupt


def test_a_file_replaces_what_was_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_text("old")
    with whole(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old"
        assert beside.parent == tmp_path
    assert _names(tmp_path) == ["made"]
    assert path.read_text() == "new"


def test_a_folder_takes_its_name_when_the_block_is_done(tmp_path: Path) -> None:
    with whole(tmp_path / "made") as beside:
        beside.mkdir()
        (beside / "file").touch()
        assert not (tmp_path / "made").exists()
    assert _names(tmp_path) == ["made"]
    assert _names(tmp_path / "made") == ["file"]


@pytest.mark.parametrize("kept", [b"old", None])
def test_a_block_that_fails_changes_nothing(tmp_path: Path, kept: bytes | None) -> None:
    if kept is not None:
        (tmp_path / "made").write_bytes(kept)
    before = _names(tmp_path)
    for fill in (_half_a_file, _half_a_folder):
        with pytest.raises(KeyboardInterrupt), whole(tmp_path / "made") as beside:
            fill(beside)
        assert _names(tmp_path) == before
    assert kept is None or (tmp_path / "made").read_bytes() == kept


def test_what_fails_before_anything_is_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError), whole(tmp_path / "file" / "made") as beside:
        beside.touch()


def test_leftovers_are_swept_and_nothing_else(tmp_path: Path) -> None:
    for name in ("file", "folder"):
        with partial(tmp_path / name) as beside:
            died = beside.with_name(f".{name}.1{PARTIAL}")
            died.touch() if name == "file" else (died / "below").mkdir(parents=True)
    (tmp_path / "kept").touch()
    assert len(_names(tmp_path)) == 3
    sweep(tmp_path)
    assert _names(tmp_path) == ["kept"]


def test_writers_of_one_path_in_one_process_do_not_share_a_file(tmp_path: Path) -> None:
    with partial(tmp_path / "made") as one, partial(tmp_path / "made") as other:
        assert one != other


def test_a_settled_folder_has_its_new_name(tmp_path: Path) -> None:
    draft = tmp_path / "in" / "draft"
    draft.mkdir(parents=True)
    (draft / "file").write_text("text")
    settle(draft, draft.with_name("named"))
    assert _names(tmp_path / "in") == ["named"]
    assert (tmp_path / "in" / "named" / "file").read_text() == "text"


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("dtype", ["<u8", "<i4", "<f4", "|u1", "|b1", "|S5", ">f8"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (5, 32), (2**40, 3, 7)])
def test_a_header_says_what_numpy_reads_from_it(shape: tuple[int, ...], dtype: str, fortran: bool) -> None:
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": dtype, "fortran_order": fortran, "shape": shape})
    file.write(b"content")
    file.seek(0)
    assert read_header(file) == (shape, fortran, np.dtype(dtype))
    assert file.read() == b"content"
    file.seek(0)
    npy.read_magic(file)
    assert npy.read_array_header_1_0(file) == (shape, fortran, np.dtype(dtype))


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': 'O', 'fortran_order': False, 'shape': (5,), }\n",
        "{'descr': [('a', '<u8')], 'fortran_order': False, 'shape': (5,), }\n",
        "{'descr': '<u8', 'fortran_order': False, 'shape': (-5,), }\n",
        "{'descr': '<u8', 'fortran_order': False, 'shape': (5,), }",
        "{'descr': '<q9', 'fortran_order': False, 'shape': (5,), }\n",
        "",
    ],
)
def test_what_is_no_header_of_numbers_is_refused(text: str) -> None:
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    with pytest.raises(ValueError):
        read_header(io.BytesIO(header))
