"""Input files of tasks: paths that all machines share, or URLs of an object store."""

from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from graphkin.protocol.errors import InvalidInput, StoreError, unknown_file_system
from graphkin.runtime.files import is_url
from graphkin.runtime.location import Location, UnknownFileSystem, Unreachable, without_credentials

FileState = tuple[str, int | str, int]


def match_files(files: Sequence[str]) -> list[str]:
    """Return paths unchanged, and in place of each URL with wildcards (*) the URLs that match it, in their order.

    The shell expands the wildcards of paths.

    Raises:
        InvalidInput: No file matches.
        StoreError: The file system of a URL cannot be read.
    """
    return [match for file in files for match in (_matches(file) if is_url(file) and "*" in file else [file])]


def _matches(url: str) -> list[str]:
    folder, _, rest = url.partition("*")
    folder, _, start = folder.rpartition("/")
    with _translated_errors(url):
        names = sorted(_location(folder, url).matches(f"{start}*{rest}"))
    if not names:
        raise InvalidInput(
            f"no file matches {url}",
            expected="a URL that matches at least one file",
            hint="check the name of the bucket or host, the folder and the wildcards",
        )
    return [f"{folder}/{name}" for name in names]


def file_states(file: str) -> list[FileState]:
    """Return name, size and modification time of a file, or of all files in a folder.

    For a URL, the second field is a fingerprint of what the file system knows of the content, such as its ETag.

    Raises:
        InvalidInput: The file cannot be opened, or the URL contains a password.
        StoreError: The file system of a URL cannot be read.
    """
    if is_url(file):
        with _translated_errors(file):
            folder, name = _locate(file)
            return [(file, folder.version(name), 0)]
    path = Path(file).absolute()
    try:
        paths = sorted(path.rglob("*")) if path.is_dir() else [path]
        status = [(str(path_in), path_in.stat()) for path_in in paths]
    except OSError as error:
        raise _cannot_open(file, error.strerror) from error
    return [(name, state.st_size, state.st_mtime_ns) for name, state in status]


@contextmanager
def local_files(files: Sequence[str], folder: str) -> Iterator[None]:
    """Change the current folder to one in which the names of the files are paths of readable files.

    Files at URLs are copied into a temporary folder. There, a URL is a relative path: s3://BUCKET/FILE is FILE in the
    folder BUCKET in the folder "s3:". The readers thus see the same name everywhere, and record it in the manifest.

    Args:
        files: Paths and URLs of the files.
        folder: Folder to which relative paths refer. It need not exist if there are none.

    Raises:
        InvalidInput: A file does not exist.
        StoreError: The file system of a URL cannot be read, or the copy cannot be written.
    """
    urls = [file for file in files if is_url(file)]
    if not urls:
        with chdir(folder if not all(Path(file).is_absolute() for file in files) else "."):
            yield
        return
    with TemporaryDirectory() as copies:
        for url in urls:
            path = Path(copies) / url
            path.parent.mkdir(parents=True, exist_ok=True)
            with _translated_errors(url):
                remote_folder, name = _locate(url)
                remote_folder.download(name, path)
        with chdir(copies):
            yield


def _locate(url: str) -> tuple[Location, str]:
    """Return the folder of a file at a URL, and the name of the file."""
    folder, _, name = url.rpartition("/")
    return _location(folder, url), name


def _location(folder: str, url: str) -> Location:
    """Return the folder of a URL."""
    if (shown := without_credentials(url)) != url:
        raise InvalidInput(
            f"cannot open {shown} with a password in its URL",
            expected="a URL without user name and password, because the manifest of the collection names it",
            hint="put the credentials into the environment or the configuration of the file system",
        )
    try:
        return Location(folder)
    except UnknownFileSystem as error:
        raise unknown_file_system(error, url, "s3://BUCKET/FILE") from error


@contextmanager
def _translated_errors(url: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _cannot_open(url, "no such file") from error
    except Unreachable as error:
        raise StoreError(
            f"{url} cannot be read: {error}",
            expected="a file that all machines can read",
            hint="check the address, the credentials and the free space, then run the same command again",
        ) from error


def _cannot_open(file: str, reason: str | None) -> InvalidInput:
    return InvalidInput(
        f"cannot open {file}",
        given=reason,
        expected="a readable file",
        hint="check the path and the permissions of the file",
    )
