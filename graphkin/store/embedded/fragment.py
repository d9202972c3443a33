"""The files of one fragment: mapped at opening, and each checked when it is first used."""

from collections.abc import Iterable, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import StoreDamaged
from graphkin.protocol.manifest import Fragment
from graphkin.runtime.files import map_array
from graphkin.store.embedded.integrity import CheckedFiles
from graphkin.store.embedded.tables import map_table


class FragmentFiles:
    """By their names in this fragment. `arrays` are not checked yet.

    Raises `StoreDamaged` for what is not what was written, or does not fit the manifest.
    """

    def __init__(self, files: CheckedFiles, fragment: Fragment, folder: Path) -> None:
        self.fragment = fragment
        self.folder = folder / fragment.folder
        self._files = files
        self.arrays = {name: self._mapped(name) for name in fragment.files if name.endswith(".npy")}

    def _mapped(self, name: str) -> NDArray[Any]:
        try:
            return map_array(self.file(name))
        except ValueError as error:
            raise self.damaged(name, str(error)) from error

    def file(self, name: str) -> BufferedReader:
        """Open, to map."""
        return self._files[self._files.called(self.fragment, name)]

    def require(self, *names: str) -> None:
        """Check those that were not checked yet."""
        self._files.require(*(self._files.called(self.fragment, name) for name in names))

    def damaged(self, name: str, problem: str) -> StoreDamaged:
        """The error that says so. It is remembered."""
        return self._files.damaged(self._files.called(self.fragment, name), problem)

    def require_names(self, names: Iterable[str]) -> None:
        """Raises `StoreDamaged` unless there are files of these names."""
        for name in names:
            if name not in self.fragment.files:
                raise self.damaged(name, "the manifest does not name it")

    def require_layout(self, layout: Mapping[str, tuple[Any, ...]]) -> None:
        """Raises `StoreDamaged` for an array that is not of the type and shape given for its name."""
        for name, (dtype, *shape) in layout.items():
            array = self.arrays.get(name)
            if array is not None and (array.dtype != dtype or array.shape != tuple(shape)):
                raise self.damaged(name, f"{array.dtype} {array.shape} does not fit the manifest")

    def checked(self, *names: str) -> list[NDArray[Any]]:
        """Arrays, checked."""
        self.require(*names)
        return [self.arrays[name] for name in names]

    def table(self, name: str, columns: Sequence[str], rows: int) -> pa.RecordBatch:
        """A table of these columns and so many rows, checked."""
        self.require(name)
        try:
            table = map_table(self.file(name))
        except ValueError as error:
            raise self.damaged(name, str(error)) from error
        if table.schema.names != list(columns) or table.num_rows != rows:
            raise self.damaged(name, "its columns and rows are not those that the manifest says")
        return table
