"""Files and folders appear completely or not at all."""

import io
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from graphkin.runtime.files import PARTIAL_SUFFIX, atomic_path, read_header, rename_durably, sweep, temporary_path


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _half_a_file(path: Path) -> None:
    path.write_text("half")
    raise KeyboardInterrupt


def _half_a_folder(path: Path) -> None:
    (path / "below").mkdir(parents=True)
    raise KeyboardInterrupt


def test_whole_replaces_a_file_after_the_block(tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == tmp_path
    assert _names(tmp_path) == ["made"]
    assert path.read_text() == "new"


def test_whole_names_a_folder_after_the_block(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "made") as temporary:
        temporary.mkdir()
        (temporary / "file").touch()
        assert not (tmp_path / "made").exists()
    assert _names(tmp_path) == ["made"]
    assert _names(tmp_path / "made") == ["file"]


@pytest.mark.parametrize("content", [b"old", None])
def test_failed_block_changes_nothing(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "made").write_bytes(content)
    before = _names(tmp_path)
    for fill in (_half_a_file, _half_a_folder):
        with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "made") as temporary:
            fill(temporary)
        assert _names(tmp_path) == before
    assert content is None or (tmp_path / "made").read_bytes() == content


def test_error_before_the_first_write_is_raised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError), atomic_path(tmp_path / "file" / "made") as temporary:
        temporary.touch()


def test_sweep_removes_only_partial_files(tmp_path: Path) -> None:
    for name in ("file", "folder"):
        with temporary_path(tmp_path / name) as temporary:
            leftover = temporary.with_name(f".{name}.1{PARTIAL_SUFFIX}")
            leftover.touch() if name == "file" else (leftover / "below").mkdir(parents=True)
    (tmp_path / "kept").touch()
    assert len(_names(tmp_path)) == 3
    sweep(tmp_path)
    assert _names(tmp_path) == ["kept"]


def test_writers_of_one_path_use_different_files(tmp_path: Path) -> None:
    with temporary_path(tmp_path / "made") as first, temporary_path(tmp_path / "made") as second:
        assert first != second


def test_settle_renames_the_folder(tmp_path: Path) -> None:
    draft = tmp_path / "in" / "draft"
    draft.mkdir(parents=True)
    (draft / "file").write_text("text")
    rename_durably(draft, draft.with_name("named"))
    assert _names(tmp_path / "in") == ["named"]
    assert (tmp_path / "in" / "named" / "file").read_text() == "text"


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("dtype", ["<u8", "<i4", "<f4", "|u1", "|b1", "|S5", ">f8"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (5, 32), (2**40, 3, 7)])
def test_header_equals_that_of_numpy(shape: tuple[int, ...], dtype: str, fortran: bool) -> None:
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
def test_invalid_header_is_refused(text: str) -> None:
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    with pytest.raises(ValueError):
        read_header(io.BytesIO(header))
