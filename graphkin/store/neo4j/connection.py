"""The connection to the server: credentials, retried transactions, and the translation of errors."""

import errno
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import unquote, urlsplit

import neo4j
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from graphkin.protocol.errors import InvalidInput, NotFound, StoreBusy, StoreError

USER, PASSWORD, AUTH_FILE = "GRAPHKIN_NEO4J_USER", "GRAPHKIN_NEO4J_PASSWORD", "GRAPHKIN_NEO4J_AUTH_FILE"
DATABASE = "GRAPHKIN_NEO4J_DATABASE"
_DELETED_MEANWHILE = "Neo.ClientError.Statement.EntityNotFound"  # a node that this transaction had read
_NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"
_UNAVAILABLE = (ServiceUnavailable, SessionExpired, TransientError)
_PATIENCE = {"short": 3.0, "long": 60.0}  # seconds for which a transaction is tried again

Patience = Literal["short", "long"]
Mode = Literal["READ", "WRITE"]
Result = TypeVar("Result")

# Without a handler Python would print the warnings of the driver, which this module raises as errors.
logging.getLogger("neo4j").addHandler(logging.NullHandler())


class Connection:
    """A pool of connections to one database of a server or cluster. Threads may share it.

    Args:
        url: neo4j://HOST[:PORT][/DATABASE] or bolt://HOST[:PORT][/DATABASE]. Without a database in it,
            `GRAPHKIN_NEO4J_DATABASE` names one, and otherwise it is the home database of the user.
    """

    def __init__(self, url: str) -> None:
        self.address = url.partition("://")[2].rpartition("@")[2]
        user, password = _credentials()
        if not user or not password or "@" in url:
            raise InvalidInput(
                "a store in Neo4j needs a user and a password, and not in its address",
                given=self.address,
                expected=f"the environment variables {USER} and {PASSWORD}, or {AUTH_FILE}, a file of USER/PASSWORD",
                hint=f"set {USER} and {PASSWORD}, and remove a user from the address",
            )
        # On a cluster the members lag behind each other. With one bookmark manager, a read by either driver waits for
        # all writes that this process has confirmed.
        self._bookmarks = neo4j.GraphDatabase.bookmark_manager()
        with self._translate_errors():
            server_url, database = _split_database(url)
            self._database = database or os.environ.get(DATABASE) or None
            self._drivers = {
                kind: neo4j.GraphDatabase.driver(
                    server_url,
                    auth=(user, password),
                    connection_timeout=5,
                    max_transaction_retry_time=patience,
                    notifications_min_severity="OFF",
                    user_agent="graphkin",
                )
                for kind, patience in _PATIENCE.items()
            }

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of the driver and the server into `StoreError`, `StoreBusy` and `InvalidInput`."""
        try:
            yield
        except AuthError as error:
            raise StoreError(
                "Neo4j rejects this user and password",
                given=self.address,
                expected="a user of the server and the password",
                hint=f"check {USER} and {PASSWORD}, or {AUTH_FILE}",
            ) from error
        except _UNAVAILABLE as error:
            raise StoreBusy(
                f"Neo4j does not answer: {_message_of(error)}",
                given=self.address,
                hint="start the server or correct the address, then try again",
                retry_after=5,
            ) from error
        except (ConfigurationError, ValueError) as error:
            raise InvalidInput(
                f"this is not the address of a Neo4j server: {error}",
                given=self.address,
                expected="neo4j://HOST or bolt://HOST, where :PORT and /DATABASE may follow",
                hint="correct --store or GRAPHKIN_STORE",
            ) from error
        except (Neo4jError, DriverError) as error:
            if getattr(error, "code", None) == _NO_DATABASE:
                raise NotFound(
                    "the Neo4j server has no database of this name",
                    given=self._database,
                    expected="one of the databases that `SHOW DATABASES` lists",
                    hint=f"correct the address, neo4j://HOST/DATABASE, or {DATABASE}",
                ) from error
            raise StoreError(
                f"Neo4j reports an error: {_message_of(error)}",
                given=self.address,
                hint="see the log of the Neo4j server; `graphkin doctor` checks its version and plugins",
            ) from error

    def use_database(self, database: str) -> None:
        """Use this database by name from now on, so that the server need not look up the home database of the user."""
        self._database = database

    def read(self, statement: str, **parameters: Any) -> list[neo4j.Record]:
        """Return the rows of one statement, which is run again for a few seconds if the server is unavailable."""
        # The first attempt saves the round trips that begin and end a transaction, which the driver needs to retry.
        with self._translate_errors():
            try:
                with self._session("short", "READ") as session:
                    return list(session.run(statement, parameters))
            except (Neo4jError, DriverError, OSError) as error:
                if not _is_temporary(error):
                    raise
        return self._transact(lambda transaction: list(transaction.run(statement, parameters)), "short", "READ")

    def write(self, work: Callable[[neo4j.ManagedTransaction], Result], patience: Patience = "long") -> Result:
        """Run `work` in one write transaction, which is retried while the server is unavailable.

        The transaction may run more than once, so a repetition must be harmless.
        """
        return self._transact(work, patience, "WRITE")

    def call(self, statement: str, **parameters: Any) -> list[neo4j.Record]:
        """Run a statement on the member of a cluster that accepts writes, and retry it for a few seconds.

        Projections of Graph Data Science are in the memory of one member, so every statement about them goes there.
        """
        return self.run(statement, "short", **parameters)

    def run(self, statement: str, patience: Patience = "long", /, **parameters: Any) -> list[neo4j.Record]:
        """Run one statement that writes. A repetition must be harmless."""
        return self.write(lambda transaction: list(transaction.run(statement, parameters)), patience)

    def _transact(self, work: Callable[[neo4j.ManagedTransaction], Result], patience: Patience, mode: Mode) -> Result:
        end = time.monotonic() + _PATIENCE[patience]
        with (
            self._translate_errors(),  # opening a session fails too, if the driver has been closed
            self._session(patience, mode) as session,
        ):
            execute = session.execute_read if mode == "READ" else session.execute_write
            while True:
                try:
                    with _translate_cut_connection():
                        return execute(work)
                except (IncompleteCommit, ServiceUnavailable, ClientError) as error:
                    # The driver retries only some of these errors.
                    if time.monotonic() > end or not _is_temporary(error):
                        raise

    def _session(self, patience: Patience, mode: Mode) -> neo4j.Session:
        return self._drivers[patience].session(
            database=self._database, bookmark_manager=self._bookmarks, default_access_mode=mode
        )

    def close(self) -> None:
        for driver in self._drivers.values():
            driver.close()


def _is_temporary(error: Exception) -> bool:
    """Return whether a second attempt may succeed. After a wrong password it would count as another wrong one."""
    return isinstance(error, (*_UNAVAILABLE, OSError)) or getattr(error, "code", None) == _DELETED_MEANWHILE


@contextmanager
def _translate_cut_connection() -> Iterator[None]:
    """Translate the error of a connection that is cut while it is being opened into `ServiceUnavailable`.

    The driver does not translate this error of the operating system.
    """
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise
        raise ServiceUnavailable(str(error)) from error


def _split_database(url: str) -> tuple[str, str]:
    """Return the address of the server, and the name of the database, which is empty if the address has none."""
    parts = urlsplit(url)
    return parts._replace(path="").geturl(), unquote(parts.path).strip("/")


def _message_of(error: Exception) -> str:
    return str(getattr(error, "message", None) or error).splitlines()[0]


def _credentials() -> tuple[str | None, str | None]:
    """Return user and password, each None if it is not set.

    Raises:
        InvalidInput: The credentials file cannot be read or holds no credentials.
    """
    file = os.environ.get(AUTH_FILE)
    if not file:
        return os.environ.get(USER), os.environ.get(PASSWORD)
    try:
        user, slash, password = Path(file).read_text(encoding="utf-8").rstrip("\r\n").partition("/")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(
            f"the file of {AUTH_FILE} cannot be read: {reason}",
            given=file,
            expected="a readable text file with USER/PASSWORD",
            hint=f"set {AUTH_FILE} to such a file, or set {USER} and {PASSWORD}",
        ) from error
    if not (user and slash and password):  # the error omits the content, which may be the password
        raise InvalidInput(
            f"the file of {AUTH_FILE} holds no credentials",
            given=file,
            expected="USER/PASSWORD",
            hint="write the user, a slash and the password into the file",
        )
    return user, password
