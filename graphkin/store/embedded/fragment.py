"""The files of one fragment. All are opened at once, and each is checked before its first use."""

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
    """The files of a fragment, by file name. `arrays` holds its arrays as memory maps, whose files may be unchecked.

    Every method raises `StoreDamaged` for a file that differs from what was written or does not fit the manifest.
    """

    def __init__(self, files: CheckedFiles, fragment: Fragment, folder: Path) -> None:
        self.fragment = fragment
        self.folder = folder / fragment.folder
        self._files = files
        self.arrays = {name: self._map(name) for name in fragment.files if name.endswith(".npy")}

    def _map(self, name: str) -> NDArray[Any]:
        try:
            return map_array(self.file(name))
        except ValueError as error:
            raise self.damage_error(name, str(error)) from error

    def file(self, name: str) -> BufferedReader:
        """Return a file, open for mapping."""
        return self._files[self._files.key_of(self.fragment, name)]

    def require(self, *names: str) -> None:
        """Check the named files that have not been checked yet."""
        self._files.require(*(self._files.key_of(self.fragment, name) for name in names))

    def damage_error(self, name: str, problem: str) -> StoreDamaged:
        """Return the error for a damaged file, and remember the damage."""
        return self._files.damage_error(self._files.key_of(self.fragment, name), problem)

    def require_names(self, names: Iterable[str]) -> None:
        """Check that the manifest lists these files.

        Raises:
            StoreDamaged: A file is missing from the manifest.
        """
        for name in names:
            if name not in self.fragment.files:
                raise self.damage_error(name, "the manifest does not name it")

    def require_layout(self, layout: Mapping[str, tuple[Any, ...]]) -> None:
        """Check the type and shape of arrays.

        Raises:
            StoreDamaged: An array does not have the type and shape under its name in `layout`.
        """
        for name, (dtype, *shape) in layout.items():
            array = self.arrays.get(name)
            if array is not None and (array.dtype != dtype or array.shape != tuple(shape)):
                raise self.damage_error(name, f"{array.dtype} {array.shape} does not fit the manifest")

    def read_arrays(self, *names: str) -> list[NDArray[Any]]:
        """Return arrays after a check of their files."""
        self.require(*names)
        return [self.arrays[name] for name in names]

    def table(self, name: str, columns: Sequence[str], rows: int) -> pa.RecordBatch:
        """Return a table with these columns and this number of rows, after a check of its file."""
        self.require(name)
        try:
            table = map_table(self.file(name))
        except ValueError as error:
            raise self.damage_error(name, str(error)) from error
        if table.schema.names != list(columns) or table.num_rows != rows:
            raise self.damage_error(name, "its columns or its number of rows differ from the manifest's")
        return table
