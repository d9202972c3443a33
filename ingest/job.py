"""A change of a store that a server runs for a client, in a process of its own.

`python -m graphkin.ingest.job FOLDER` runs it. The folder is that of a job (`graphkin.api.jobs`): request.json has the
command and its arguments, and status.json gets the progress and the result. SIGTERM cancels the job. It also stops when
its standard input ends, which happens when the server ends. A job that stops changes nothing. While the store publishes
the new generation, a job cannot be canceled, so that its status says whether the generation exists.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from graphkin.ingest import forking
from graphkin.ingest.progress import Progress
from graphkin.protocol.errors import GraphkinError
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.parameters import name_fields
from graphkin.protocol.uploads import PUBLISH, too_much_memory
from graphkin.runtime.files import atomic_path
from graphkin.runtime.workers.worker import limit_memory

if TYPE_CHECKING:
    from graphkin.ingest.options import IngestOptions

_REPORT_PERIOD = 0.2  # seconds between two reports of the progress of a stage
_PATIENCE = 5.0  # seconds in which a job that was told to stop may end by itself
_NICENESS = 10  # requests to the server come first
_MAX_GIVEN = 300  # characters of the offending value in an error

_LAST_STAGE = "write"  # the stage after which a command publishes

_RECIPE = ("fingerprint", "radius", "bits", "chirality", "candidates", "threshold", "top_k", "inchikey")


class _Stopped(BaseException):
    """Raised in the main thread when the job is told to stop."""


class Status(Progress):
    """The status of a job, in a file that is replaced with every report.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fields: dict[str, Any] = {"state": "running"}
        self._lock = threading.Lock()  # Notes come from another thread.

    def report(self, **fields: Any) -> None:
        """Change fields of the status."""
        with self._lock:
            self._fields |= fields
            with atomic_path(self._path) as temporary:
                temporary.write_text(json.dumps(self._fields))

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        done, next_report = 0, time.monotonic() + _REPORT_PERIOD

        def advance(count: int) -> None:
            nonlocal done, next_report
            done += count
            if time.monotonic() >= next_report:
                self.report(done=done)
                next_report = time.monotonic() + _REPORT_PERIOD

        self.report(stage=name, done=0, of=total, unit=unit or None)
        yield advance
        if name == _LAST_STAGE:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self.report(stage=PUBLISH, done=0, of=None, unit=None)

    def note(self, text: str) -> None:
        self.report(note=text)


def main(folder: Path) -> None:
    """Run the job of a folder. Its status names the result or the error."""
    status = Status(folder / "status.json")
    request = json.loads((folder / "request.json").read_text())
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_stop_with_server, daemon=True).start()
    os.nice(_NICENESS)
    limit_memory(request["memory"])  # The processes that this one starts inherit the limit.
    fields: dict[str, Any] = {}
    try:
        fields = {"state": "done", **_COMMANDS[request["command"]](request, folder, status)}
    except _Stopped:
        pass  # The server knows why it has stopped the job.
    except GraphkinError as error:
        fields = {"state": "failed", "error": _error_fields(error), **_failed_rejections(request, folder)}
    except MemoryError:
        fields = {"state": "failed", "error": too_much_memory(request["memory"]).model_dump()}
    except Exception:
        traceback.print_exc()
        hint = f"report it with the file `output` that the cache folder of the server has in jobs/…/{folder.name}"
        fault = GraphkinError("an internal error ended the job; nothing was published", hint=hint)
        fields = {"state": "failed", "error": _error_fields(fault)}
    for file in (folder / "files").iterdir():
        file.unlink()
    status.report(**fields)


def _stop_with_server() -> None:
    """Stop this process when the server that started it ends."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(_: int, __: FrameType | None) -> None:
    """Stop the main thread. If it does not end soon, kill this process and its workers."""
    timer = threading.Timer(_PATIENCE, os.killpg, (os.getpgrp(), signal.SIGKILL))
    timer.daemon = True
    timer.start()
    raise _Stopped


def _ingest(request: Mapping[str, Any], folder: Path, status: Status) -> dict[str, Any]:
    forking.start_fork_server(forking.MOLECULES)  # It imports modules while this process imports others.
    from graphkin.ingest.pipeline import ingest
    from graphkin.ingest.recipes import molecule_recipe
    from graphkin.store import open_store

    arguments, collection, files = request["arguments"], request["collection"], [request["source"]]
    options = _options("molecules", request)
    settings = {name: arguments[name] for name in _RECIPE}
    steps = tuple(arguments["standardize"] or ()) or None
    recipe = molecule_recipe(files, options.read, arguments["preset"], standardise=steps, **settings)
    with open_store(request["store"], create=True) as store:
        manifest = ingest(store, collection, files, recipe, options, status)
        rejected = manifest.counts.rejected
        _save_rejections(store, collection, manifest, rejected, folder)
    return _result(manifest, manifest.counts.kept, rejected)


def _append(request: Mapping[str, Any], folder: Path, status: Status) -> dict[str, Any]:
    forking.start_fork_server(forking.MOLECULES)
    from graphkin.ingest.append import append
    from graphkin.similarity.kinds import kind_named
    from graphkin.store import open_store

    collection = request["collection"]
    with open_store(request["store"]) as store:
        items = kind_named(store.collection(collection).kind).plural
        result = append(store, collection, [request["source"]], _options(items, request), status)
        rejected = result.counts.rejected
        _save_rejections(store, collection, result.manifest, rejected, folder)
    return _result(result.manifest, result.items, rejected)


def _remove(request: Mapping[str, Any], folder: Path, status: Status) -> dict[str, Any]:
    from graphkin.ingest.rejections import save_rejections
    from graphkin.ingest.remove import remove
    from graphkin.store import open_store

    arguments = request["arguments"]
    with open_store(request["store"]) as store:
        removed = remove(store, request["collection"], arguments["items"], arguments["by"], os.cpu_count() or 1, status)
    missing = removed.missing.num_rows
    if missing:
        save_rejections([removed.missing], folder / "rejections.csv")
    return _result(removed.manifest, removed.items, missing)


_COMMANDS: Mapping[str, Callable[[Mapping[str, Any], Path, Status], dict[str, Any]]] = {
    "ingest": _ingest,
    "append": _append,
    "remove": _remove,
}


def _options(items: str, request: Mapping[str, Any]) -> "IngestOptions":
    """Return the options of a run from the fields of an upload of items, such as "molecules"."""
    from graphkin.ingest.options import IngestOptions
    from graphkin.ingest.recipes import read_options
    from graphkin.protocol.units import parse_units, titles_with_units

    arguments = request["arguments"]
    properties = arguments["properties"]
    read = read_options(
        items,
        arguments["smiles_column"],
        format=arguments["format"],
        name_column=arguments["name_column"],
        properties=None if properties is None else tuple(properties),
        delimiter=arguments["delimiter"],
        encoding=arguments["encoding"],
        decimal=arguments["decimal"] or ".",
        titles=tuple(titles_with_units(parse_units(arguments["unit"] or ())).items()),
    )
    return IngestOptions(
        read=read,
        max_rejected=arguments["max_rejected"],
        duplicates=arguments.get("duplicates", "first"),
        rejections_file=_rejections_file(request),
    )


def _result(manifest: Manifest, items: int, rejected: int) -> dict[str, Any]:
    return {"generation": manifest.generation, "items": items, "rejected": rejected, "note": None}


def _rejections_file(request: Mapping[str, Any]) -> Path:
    """Return the file, in the folder of the upload, to which a run with too many rejections writes them.

    It is not the upload, which has the usual name if a user mends rejected records and sends them again.
    """
    name = f"{request['collection']}.rejections.csv"
    return Path(f"new.{name}" if request["source"] == name else name)


def _failed_rejections(request: Mapping[str, Any], folder: Path) -> dict[str, int]:
    """Keep the rejected records of a run that had too many, and return their number as a field of the status."""
    file = _rejections_file(request)
    if not file.is_file():
        return {}
    import pyarrow.csv

    file.replace(folder / "rejections.csv")
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return {"rejected": pyarrow.csv.read_csv(folder / "rejections.csv", parse_options=options).num_rows}


def _save_rejections(store: Any, collection: str, manifest: Manifest, count: int, folder: Path) -> None:
    """Write the rejected records of a run, which are the last ones of the generation, as CSV."""
    if not count:
        return
    import pyarrow as pa

    from graphkin.ingest.rejections import save_rejections

    record = store.rerun(collection, manifest.generation) if manifest.unchanged else None
    if record is not None:
        rejected = record.rejections
    else:
        with store.open(collection, manifest.generation) as generation:
            rejected = pa.Table.from_batches([*generation.rejections()])
    save_rejections(rejected.slice(rejected.num_rows - count).to_batches(), folder / "rejections.csv")


def _error_fields(error: GraphkinError) -> dict[str, Any]:
    given = error.given if isinstance(error.given, bool | int | float | None) else str(error.given)[:_MAX_GIVEN]
    return {"detail": error.detail, "given": given, "expected": error.expected, "hint": error.hint}


if __name__ == "__main__":
    name_fields()
    main(Path(sys.argv[1]))
