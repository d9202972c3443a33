"""Talking to the server: credentials from the environment, and its errors in words of the store."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from store.errors import InvalidInput, StoreBusy, StoreError

USER, PASSWORD = "GRAPHKIN_NEO4J_USER", "GRAPHKIN_NEO4J_PASSWORD"
_AWAY = (ServiceUnavailable, SessionExpired, TransientError)
_PATIENCE = {"read": 3.0, "write": 60.0}  # seconds for which a transaction is tried again

Result = TypeVar("Result")


class Connection:
    """A pool of connections to one server. Safe to share between threads."""

    def __init__(self, url: str) -> None:
        user, password = os.environ.get(USER), os.environ.get(PASSWORD)
        if not user or not password:
            raise InvalidInput(
                "a Neo4j store needs a user and a password",
                given=url,
                expected=f"the environment variables {USER} and {PASSWORD}",
            )
        self.where = urlsplit(url).netloc.rpartition("@")[2]
        with self._server():
            self._drivers = {
                kind: neo4j.GraphDatabase.driver(
                    url,
                    auth=(user, password),
                    connection_timeout=5,
                    max_transaction_retry_time=patience,
                    notifications_min_severity="OFF",
                    user_agent="graphkin",
                )
                for kind, patience in _PATIENCE.items()
            }

    @contextmanager
    def _server(self) -> Iterator[None]:
        """Turn what the driver and the server raise into `StoreError`, `StoreBusy` and `InvalidInput`."""
        try:
            yield
        except AuthError as error:
            raise StoreError(
                "Neo4j refuses this user and password", given=self.where, hint=f"check {USER} and {PASSWORD}"
            ) from error
        except _AWAY as error:
            raise StoreBusy(f"Neo4j does not answer: {_said(error)}", given=self.where, retry_after=5) from error
        except (ConfigurationError, ValueError) as error:
            raise InvalidInput(f"no address of a Neo4j server: {error}", given=self.where) from error
        except (Neo4jError, DriverError) as error:
            raise StoreError(f"Neo4j says: {_said(error)}", given=self.where) from error

    def read(self, statement: str, **parameters: Any) -> list[neo4j.Record]:
        """The rows of one statement, read in a transaction that is tried again for a few seconds."""

        def work(transaction: neo4j.ManagedTransaction) -> list[neo4j.Record]:
            return list(transaction.run(statement, parameters))

        with self._server(), self._drivers["read"].session(default_access_mode=neo4j.READ_ACCESS) as session:
            return session.execute_read(work)

    def write(self, work: Callable[[neo4j.ManagedTransaction], Result]) -> Result:
        """Do `work` in one transaction, again and again while the server is away: what it writes must bear that."""
        with self._server(), self._drivers["write"].session() as session:
            return session.execute_write(work)

    def run(self, statement: str, **parameters: Any) -> list[neo4j.Record]:
        """One statement that writes, and may run twice."""
        return self.write(lambda transaction: list(transaction.run(statement, parameters)))

    def close(self) -> None:
        for driver in self._drivers.values():
            driver.close()


def _said(error: Exception) -> str:
    return str(getattr(error, "message", None) or error).splitlines()[0]
