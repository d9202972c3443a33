"""Quotas of keys: requests and rows per minute, and concurrent heavy requests.

A proxy's key has these quotas per user. Server processes that use the same folder share the counts. If a reply exceeds
the quota of a minute, the excess counts against the following minutes.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from filelock import FileLock, Timeout
from starlette.types import Scope

from graphkin.api.http.access import Caller
from graphkin.protocol.errors import StoreError, TooManyRequests
from graphkin.runtime.folders import FILE_MODE, make_private_folder

QUOTA_HEADERS = "graphkin.quotas"
"""Key in the ASGI scope. Its value is a list of response headers about the quotas of the request's key."""

_WINDOW = 60  # seconds

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (who TEXT, what TEXT, minute INTEGER NOT NULL, amount INTEGER NOT NULL,
                                  until INTEGER NOT NULL, PRIMARY KEY (who, what)) WITHOUT ROWID
"""


class Quotas:
    """Counts usage in a small SQLite database in `folder`.

    The recorded usage falls by the quota every minute, and an entry is deleted when its usage has fallen to 0. Each
    heavy request holds a lock file in the folder, which the operating system unlocks when the process ends. The folder
    may be deleted while no server runs.

    Args:
        folder: Folder of the database and the lock files.
        now: Clock, in seconds since 1970.

    Raises:
        StoreError: The folder cannot be used. The methods raise this error, because the folder is opened on first use.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now = now
        self._mutex = threading.Lock()
        self._swept_minute = 0  # minute of the last sweep
        self._database: sqlite3.Connection | None = None

    @contextmanager
    def admit(self, scope: Scope, caller: Caller, *, heavy: bool) -> Iterator[None]:
        """Count a request. If it is heavy, hold a slot for it while the block runs.

        Raises:
            TooManyRequests: A quota is used up, or all slots are taken.
        """
        quota = caller.key.quota
        if quota.requests is not None or quota.rows is not None:
            self._count_request(scope, caller)
        if heavy and quota.heavy is not None:
            with self._slot(caller, quota.heavy):
                yield
        else:
            yield

    def spend(self, caller: Caller | None, rows: int) -> None:
        """Count rows of a reply."""
        if caller is not None and caller.key.quota.rows is not None:
            minute = int(self._now() // _WINDOW)
            with self._transaction() as database:
                used = _read_usage(database, caller.quota_id, "rows", caller.key.quota.rows, minute)
                _write_usage(database, caller.quota_id, "rows", caller.key.quota.rows, minute, used + rows)

    def close(self) -> None:
        with self._mutex:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _count_request(self, scope: Scope, caller: Caller) -> None:
        """Count a request, and store the response headers about the quotas in the scope (`QUOTA_HEADERS`).

        Raises:
            TooManyRequests: The quota of requests or of rows is used up. The request is not counted.
        """
        key, quota_id, now = caller.key, caller.quota_id, self._now()
        minute, seconds_left = int(now // _WINDOW), _WINDOW - now % _WINDOW
        quotas = {unit: quota for unit in ("requests", "rows") if (quota := getattr(key.quota, unit)) is not None}
        with self._transaction() as database:
            used = {unit: _read_usage(database, quota_id, unit, quota, minute) for unit, quota in quotas.items()}
            minutes_used_up = {unit: used[unit] // quota for unit, quota in quotas.items() if used[unit] >= quota}
            if not minutes_used_up and "requests" in quotas:
                used["requests"] += 1
                _write_usage(database, quota_id, "requests", quotas["requests"], minute, used["requests"])
        scope[QUOTA_HEADERS] = _headers(quotas, used, seconds_left)
        if minutes_used_up:
            unit = max(minutes_used_up, key=lambda each: minutes_used_up[each])
            raise TooManyRequests(
                f"this key has used up its {unit} of this minute",
                given=key.id,
                expected=f"at most {quotas[unit]} {unit} a minute",
                hint="wait for the next minute, as Retry-After says, or ask the administrator for a larger quota",
                retry_after=seconds_left + (minutes_used_up[unit] - 1) * _WINDOW,
            )

    @contextmanager
    def _slot(self, caller: Caller, limit: int) -> Iterator[None]:
        """Hold one of `limit` slots, which are shared with other processes, while the block runs."""
        for number in range(limit):
            file = self._folder / f"{caller.quota_id}-{number}"
            try:
                make_private_folder(self._folder)
                lock = FileLock(file, thread_local=False).acquire(blocking=False)
            except Timeout:
                continue
            except OSError as error:
                raise self._unusable(error) from error
            with lock:
                try:
                    yield
                finally:
                    # The lock is still held, so another process that has just opened the file cannot lock it.
                    file.unlink(missing_ok=True)
            return
        raise TooManyRequests(
            "this key runs too many demanding requests at once",
            given=caller.key.id,
            expected=f"at most {limit} at once",
            hint="send the next such request after the response to an earlier one",
            retry_after=1,
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction. The first call opens the database."""
        with self._mutex:
            try:
                if self._database is None:
                    self._database = self._open()
                with self._database as database:
                    database.execute("BEGIN IMMEDIATE")
                    self._sweep(database)
                    yield database
            except (OSError, sqlite3.Error) as error:
                raise self._unusable(error) from error

    def _sweep(self, database: sqlite3.Connection) -> None:
        """Delete the entries whose usage has fallen to 0, once a minute."""
        minute = int(self._now() // _WINDOW)
        if minute != self._swept_minute:
            database.execute("DELETE FROM spent WHERE until <= ?", (minute,))
            self._swept_minute = minute

    def _open(self) -> sqlite3.Connection:
        make_private_folder(self._folder)
        file = self._folder / "used.sqlite"
        file.touch(FILE_MODE)  # SQLite gives its other files (-wal, -shm) the mode of this one.
        try:
            return _connect(file)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # The database is damaged. A new one starts without usage.
            for file_part in self._folder.glob(f"{file.name}*"):
                file_part.unlink(missing_ok=True)
            return _connect(file)

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"quotas cannot be counted: {error}",
            expected="a writable folder with free space",
            hint="set GRAPHKIN_CACHE_DIR to a writable folder with free space",
        )


def _connect(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = OFF")  # A power cut may lose the counts.
        database.execute(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database


def _read_usage(database: sqlite3.Connection, quota_id: str, unit: str, quota: int, minute: int) -> int:
    """Return the recorded usage minus the quota of the minutes that have passed since it was recorded."""
    row = database.execute("SELECT minute, amount FROM spent WHERE who = ? AND what = ?", (quota_id, unit)).fetchone()
    if row is None:
        return 0
    if row[0] > minute:  # The clock was set back, so the minutes are counted from the new time.
        _write_usage(database, quota_id, unit, quota, minute, row[1])
    return max(0, row[1] - quota * max(0, minute - row[0]))


def _write_usage(database: sqlite3.Connection, quota_id: str, unit: str, quota: int, minute: int, amount: int) -> None:
    until = minute + ceil(amount / quota)
    database.execute("INSERT OR REPLACE INTO spent VALUES (?, ?, ?, ?, ?)", (quota_id, unit, minute, amount, until))


def _headers(quotas: dict[str, int], used: dict[str, int], seconds_left: float) -> list[tuple[bytes, bytes]]:
    """Return the headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10)."""
    seconds = ceil(seconds_left)
    policy = ", ".join(f'"{unit}";q={quota};w={_WINDOW}' for unit, quota in quotas.items())
    remaining = ", ".join(f'"{unit}";r={max(0, quota - used[unit])};t={seconds}' for unit, quota in quotas.items())
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", remaining.encode())]
