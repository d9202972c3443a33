"""The folder of a lake or of exported epochs, on any file system that fsspec supports."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graphkin.protocol.errors import StoreBusy, StoreError, unknown_file_system
from graphkin.runtime.location import Location, Locked, PartialFileRemoved, UnknownFileSystem, Unreachable

WORK = "_work"
"""The name of the folder for intermediate files, which a writer keeps until it publishes."""

LOCK = ".writing"
"""The name of the lock file in a local folder. The file exists while a writer works, and stays if it is killed."""


class ExportFolder(Location):
    """A folder at a URL that writers publish a lake or exported epochs in.

    Every method raises `StoreError` if the file system cannot be read or written. `write` also raises it if another
    writer has published the lake since this writer started.

    Raises:
        InvalidInput: The file system of the URL is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            super().__init__(url)
        except UnknownFileSystem as error:
            raise unknown_file_system(error, self.display_url, "file:///FOLDER, s3://BUCKET/FOLDER") from error

    def claim(self) -> Callable[[], None]:
        """Lock a local folder against other writers. On other file systems this does nothing.

        Returns:
            A function that releases the lock.

        Raises:
            StoreBusy: Another process or thread is writing into the folder.
        """
        return self.lock(LOCK)

    def overtaken_error(self) -> StoreError:
        """Return the error for a writer that cannot publish because another writer published the same lake first."""
        return StoreError(
            "another process published this lake first",
            given=self.display_url,
            expected="one writer per lake",
            hint="use the published lake, or run the same command again with another folder",
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            with super()._translate_errors():
                yield
        except PartialFileRemoved as error:  # a writer that publishes removes the partial files of the others
            raise self.overtaken_error() from error
        except Locked as error:
            raise StoreBusy(
                "another process is writing this lake",
                given=self.display_url,
                expected="one writer per lake",
                hint="wait until the other process ends, or write into another folder",
            ) from error
        except Unreachable as error:
            raise StoreError(
                f"this folder cannot be read or written: {error}",
                given=self.display_url,
                expected="a folder or URL that can be read and written",
                hint="check the address, the credentials and the free space, then run the same command again",
            ) from error
