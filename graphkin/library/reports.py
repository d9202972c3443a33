"""Methods of a collection that describe it, or write it to files."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import cast

from graphkin.export import MEDIA_TYPES, media_type
from graphkin.export.files import atomic_file
from graphkin.ingest.info import CollectionInfo
from graphkin.library.base import CollectionBase
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import Exported, Format


class Reports(CollectionBase):
    """The methods of a collection that describe it, or write it to files."""

    def info(self) -> CollectionInfo:
        """Return facts about the collection: its origin, its counts, its generations and damaged files.

        `print` and notebooks show what `graphkin info` shows. All files of the generation are read and checked.

        Returns:
            The facts, with the attributes name, manifest, generations, current, rerun and damage. Its method `to_dict`
            returns what `graphkin info --json` prints.

        Raises:
            Deleted: If the generation was deleted.

        Example:
            ```python
            facts = mine.info()
            print(facts)
            print(facts.manifest.counts.rejected, len(facts.generations))
            ```
        """
        return self._info()

    def rejections(self) -> Table:
        """Return the records that the ingest rejected, in the order of the input.

        Returns:
            One row per rejected record: source, the name of the file or of the data in memory; line int64, from 1 in a
            file and from 0 in memory; input, the text of the record, cut to 4,096 characters; reason.

        Raises:
            Deleted: If the generation was deleted.

        Example:
            ```python
            mine.rejections().to_pandas()["reason"].value_counts()
            ```
        """
        return Table(self._rejections())

    def export(
        self,
        path: str | PathLike[str],
        *,
        content: Exported | None = None,
        format: Format | None = None,
        columns: Sequence[str] | None = None,
        min_similarity: float | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        """Write items, edges, links or fingerprints to a file, which appears when it is complete.

        Args:
            path: The file.
            content: `items`, `edges`, `links` (of collections of nodes) or `fingerprints`. By default, the format
                decides: `graphml` holds edges, `fps` and `npy` hold fingerprints, and all others hold items.
            format: `csv`, `parquet`, `arrow`, `sdf` (items), `graphml` (edges), `fps` or `npy` (fingerprints). By
                default, the file name extension decides.
            columns: Columns of items to write, as in `items`. The default is all.
            min_similarity: Smallest similarity of edges, from the stored threshold (the default) to 1.
            start: First id: of items, of fingerprints, or of the sources of edges and links.
            stop: Id to stop before. The default is the number of items.

        Raises:
            InvalidInput: If this content cannot be written in this format, an argument is invalid, or the file cannot
                be written.
            Conflict: If the items have no such content, such as links of molecules.

        Example:
            ```python
            mine.export("items.csv", columns=["smiles", "molwt"])
            mine.export("mine.sdf")
            mine.export("edges.parquet", content="edges", min_similarity=0.7)
            mine.export("mine.fps")
            ```
        """
        file_format = Path(path).suffix.removeprefix(".").lower() if format is None else format
        file_content = _content_of(file_format) if content is None else content
        media_type(file_content, file_format)
        with atomic_file(Path(path)) as file:
            self._export(
                file,
                file_content,
                file_format,
                columns=columns,
                min_similarity=min_similarity,
                start=start,
                stop=stop,
            )


def _content_of(format: str) -> Exported:
    """Return the default content of a format.

    Raises:
        InvalidInput: There is no such format. The error lists the formats.
    """
    for content, formats in MEDIA_TYPES.items():
        if format in formats:
            return cast(Exported, content)
    known = dict.fromkeys(each for formats in MEDIA_TYPES.values() for each in formats)
    raise InvalidInput(
        "there is no file format of this name",
        given=format,
        expected=f"one of {', '.join(known)}",
        hint='end the name of the file with its format, as in "items.csv", or pass format="csv"',
    )
