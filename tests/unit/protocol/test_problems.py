"""Server and client share one table of problems: the client recognizes each error of the server."""

import pickle
from collections.abc import Iterator

import pytest

from graphkin.protocol import errors
from graphkin.protocol.errors import (
    Damage,
    Damaged,
    GraphkinError,
    InvalidInput,
    NotFound,
    ServerFault,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFormat,
    Unavailable,
)
from graphkin.protocol.problems import TABLE, error_type_of, problem_type_of

DAMAGE = Damage("indptr.npy", "cut short", "nci", "0" * 64)


@pytest.mark.parametrize("kind", TABLE)
def test_client_recognizes_an_error_by_its_urn(kind: type[GraphkinError]) -> None:
    problem = problem_type_of(kind("what happened"))
    assert error_type_of(problem.status, problem.urn) is kind


def test_urns_and_statuses_are_frozen() -> None:
    """Client programs depend on them."""
    assert {kind.urn.removeprefix("urn:graphkin:problem:"): int(kind.status) for kind in TABLE.values()} == {
        "malformed-request": 400,
        "no-valid-key": 401,
        "key-not-for-this": 403,
        "not-found": 404,
        "not-offered-in-this-media-type": 406,
        "does-not-fit-this-collection": 409,
        "request-too-slow": 408,
        "generation-deleted": 410,
        "body-too-large": 413,
        "address-too-long": 414,
        "unsupported-media-type": 415,
        "invalid-value": 422,
        "over-the-quota": 429,
        "headers-too-large": 431,
        "internal-error": 500,
        "not-available-now": 503,
        "damaged": 503,
    }


@pytest.mark.parametrize(
    ("error", "understood"),
    [
        (StoreError("full"), Unavailable),
        (StoreBusy("busy"), Unavailable),
        (StoreFormat("foreign"), Unavailable),
        (StoreDamaged(DAMAGE), Damaged),
        (GraphkinError("a bug"), ServerFault),
    ],
)
def test_store_errors_reach_the_client_as_their_base_class(
    error: GraphkinError, understood: type[GraphkinError]
) -> None:
    problem = problem_type_of(error)
    assert error_type_of(problem.status, problem.urn) is understood


@pytest.mark.parametrize(
    ("status", "understood"),
    [(400, InvalidInput), (404, NotFound), (413, InvalidInput), (422, InvalidInput), (500, ServerFault)]
    + [(status, Unavailable) for status in (429, 502, 503, 504)]
    + [(status, ServerFault) for status in (302, 405, 418)],
)
def test_replies_of_proxies_are_classified_by_status(status: int, understood: type[GraphkinError]) -> None:
    assert issubclass(error_type_of(status, None), understood)
    assert issubclass(error_type_of(status, "about:blank"), understood)


def test_damage_is_not_retried() -> None:
    assert not issubclass(Damaged, Unavailable)
    assert issubclass(StoreDamaged, StoreFormat)


def _tree(parent: type[GraphkinError]) -> Iterator[type[GraphkinError]]:
    for child in parent.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from _tree(child)


@pytest.mark.parametrize("kind", list(_tree(GraphkinError)))
def test_errors_survive_pickling(kind: type[GraphkinError]) -> None:
    error = StoreDamaged(DAMAGE) if kind is StoreDamaged else kind("what happened", given=7, hint="what to do")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (kind, str(error), vars(error))


def test_docstring_lists_each_error_with_its_codes() -> None:
    assert errors.__doc__ is not None
    for kind in _tree(GraphkinError):
        (line,) = [each for each in errors.__doc__.splitlines() if f"─ {kind.__name__} " in each]
        assert f"exit {kind.exit_code}" in line
        if kind in TABLE:
            assert f"HTTP {TABLE[kind].status}" in line
