"""The checks of `graphkin doctor`: this machine, a store and a server."""

import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from json import loads
from pathlib import Path
from platform import python_version
from typing import Literal, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from platformdirs import user_cache_path

from graphkin.cli.output import count_text
from graphkin.protocol.errors import GraphkinError
from graphkin.protocol.manifest import MANY_FRAGMENTS
from graphkin.similarity.kinds import kind_of
from graphkin.store import is_lake, open_store
from graphkin.store.base import Store

_PACKAGES = ("graphkin", "rdkit", "numpy", "numba", "pyarrow", "pydantic", "fastapi", "neo4j", "torch", "pyspark")
_MIN_OPEN_FILES = 1024  # lowest sufficient limit of open files: each open generation needs about 24
_MIN_FREE = 2**30  # lowest sufficient number of free bytes on a disk
_MAX_GENERATIONS = 10  # highest number of generations of a collection for which `prune` is not suggested
_TIMEOUT = 10  # seconds to wait for a server


class Finding(NamedTuple):
    """The result of one check. The fields are those of the JSON output.

    Attributes:
        about: The subject of the check.
        state: "ok", "note" for a possible improvement, or "wrong" for a problem.
        said: The result in a few words.
        hint: An action that the user can take, or None.
    """

    about: str
    state: Literal["ok", "note", "wrong"]
    said: str
    hint: str | None = None


def check_machine() -> Iterator[Finding]:
    """Check versions, limits and the cache folder of this machine."""
    versions = {"Python": python_version(), **{name: installed for name in _PACKAGES if (installed := _version(name))}}
    yield Finding("versions", "ok", ", ".join(f"{name} {installed}" for name, installed in versions.items()))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding("machine", "ok", f"{os.cpu_count()} cores, {memory / 2**30:.0f} GiB of memory")
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)  # `graphkin serve` raises its limit to the hard limit
    is_low = files < _MIN_OPEN_FILES
    hint = (
        f"let `graphkin serve` open {_MIN_OPEN_FILES} or more: LimitNOFILE of systemd, nofile in limits.conf"
        if is_low
        else None
    )
    yield Finding("open files", "note" if is_low else "ok", f"at most {files}", hint)
    yield _check_cache(user_cache_path("graphkin"))


def _version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_cache(folder: Path) -> Finding:
    """Check that the cache folder can be written, and that its disk has free space."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        hint = "make it writable, or set XDG_CACHE_HOME to a folder that is"
        return Finding("cache", "wrong", f"{folder} cannot be written: {error.strerror}", hint)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return _check_disk("cache", folder, f"{folder} holds {_megabytes(size)}")


def _check_disk(about: str, folder: Path, message: str) -> Finding:
    """Check that the disk of a folder has at least `_MIN_FREE` free bytes."""
    free = shutil.disk_usage(folder).free
    is_full = free < _MIN_FREE
    hint = "free space on this disk: nothing can be published on a full disk" if is_full else None
    return Finding(about, "note" if is_full else "ok", f"{message}, {_megabytes(free)} are free", hint)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def check_store(location: str) -> Iterator[Finding]:
    """Check that a store and each of its collections can be opened.

    Files are not read completely; `graphkin verify` does that.
    """
    try:
        with open_store(location) as store:
            yield from _check_collections(store, location)
    except GraphkinError as error:
        yield _error_finding("store", error)


def _check_collections(store: Store, location: str) -> Iterator[Finding]:
    collections = store.collections()
    message = f"{location} holds {count_text(len(collections), 'collection')}"
    yield Finding("store", "ok", message) if "://" in location else _check_disk("store", Path(location), message)
    for collection in collections:
        yield from _check_collection(store, collection.name, len(collection.generations))
    if "://" in location and not is_lake(location):
        try:
            store.require_engine("gds")
            note = store.engine_note("gds")
        except GraphkinError as error:
            hint = "the sampler `gds` needs the plugin Graph Data Science; `snapshot` and `cypher` work without it"
            yield Finding("Graph Data Science", "note", error.detail, hint)
        else:
            hint = "if the sampler `gds` fails, install a tested version, or use `snapshot` or `cypher`"
            yield Finding("Graph Data Science", "note" if note else "ok", note or "available", hint if note else None)


def _check_collection(store: Store, name: str, generations: int) -> Iterator[Finding]:
    about = f"collection {name}"
    try:
        with store.open(name) as current:
            manifest, kind = current.manifest, kind_of(current)
            installed = kind.versions(kind.recipe(manifest.recipe))
    except GraphkinError as error:
        yield _error_finding(about, error)
        return
    counts = {"item": manifest.counts.kept, "edge": manifest.edges, "generation": generations}
    size = ", ".join(count_text(count, noun) for noun, count in counts.items())
    yield Finding(about, "ok", f"{size}, current {manifest.generation[:12]}")
    differences = [
        f"{library} {manifest.versions[library]}, here {installed.get(library, 'none')}"
        for library in manifest.libraries
        if manifest.versions.get(library) != installed.get(library)
    ]
    if differences:
        hint = "it can be read; to append or to search exactly, ingest it again with the installed versions"
        yield Finding(about, "note", f"made with {'; '.join(differences)}", hint)
    if len(manifest.fragments) > MANY_FRAGMENTS:
        hint = f"graphkin compact --store … --collection {name}"
        yield Finding(about, "note", f"read from {len(manifest.fragments)} fragments", hint)
    if generations > _MAX_GENERATIONS:
        yield Finding(about, "note", f"{generations} generations", f"graphkin prune --keep 3 --collection {name}")


def check_server(url: str) -> Finding:
    """Check whether the server at a URL is ready."""
    if not url.startswith(("http://", "https://")):
        return Finding("server", "wrong", f"{url} is not the URL of a server", "such as http://127.0.0.1:8000")
    try:
        with urlopen(f"{url.rstrip('/')}/readyz", timeout=_TIMEOUT) as reply:  # noqa: S310 - the scheme is checked above
            return Finding("server", "ok", f"{url} is {loads(reply.read())['status']}")
    except HTTPError as error:
        message = f"{url} is not ready: {error.read().decode(errors='replace')}"
        is_temporary = "Retry-After" in error.headers
        return Finding(
            "server", "note" if is_temporary else "wrong", message, "ask again in a moment" if is_temporary else None
        )
    except (OSError, ValueError, KeyError) as error:
        return Finding("server", "wrong", f"{url} does not answer: {error}", "graphkin serve --store …")


def _error_finding(about: str, error: GraphkinError) -> Finding:
    message = error.detail if error.given is None else f"{error.detail}: {error.given}"
    return Finding(about, "wrong", message, error.hint)
