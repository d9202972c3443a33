"""Server and client read one table: what the one answers with, the other knows again."""

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
from graphkin.protocol.problems import TABLE, error_of, problem_type_of

DAMAGE = Damage("indptr.npy", "cut short", "nci", "0" * 64)


@pytest.mark.parametrize("kind", TABLE)
def test_an_error_is_known_again_by_its_name(kind: type[GraphkinError]) -> None:
    told = problem_type_of(kind("what happened"))
    assert error_of(told.status, told.urn) is kind


def test_names_are_never_changed() -> None:
    """Programs go by them."""
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
def test_what_is_the_stores_own_is_known_by_its_ancestor(error: GraphkinError, understood: type[GraphkinError]) -> None:
    told = problem_type_of(error)
    assert error_of(told.status, told.urn) is understood


@pytest.mark.parametrize(
    ("status", "understood"),
    [(400, InvalidInput), (404, NotFound), (413, InvalidInput), (422, InvalidInput), (500, ServerFault)]
    + [(status, Unavailable) for status in (429, 502, 503, 504)]
    + [(status, ServerFault) for status in (302, 405, 418)],
)
def test_what_stands_between_is_understood_by_its_status(status: int, understood: type[GraphkinError]) -> None:
    assert issubclass(error_of(status, None), understood)
    assert issubclass(error_of(status, "about:blank"), understood)


def test_damage_is_no_reason_to_try_again() -> None:
    assert not issubclass(Damaged, Unavailable)
    assert issubclass(StoreDamaged, StoreFormat)


def _tree(parent: type[GraphkinError]) -> Iterator[type[GraphkinError]]:
    for child in parent.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from _tree(child)


@pytest.mark.parametrize("kind", list(_tree(GraphkinError)))
def test_an_error_goes_from_process_to_process(kind: type[GraphkinError]) -> None:
    error = StoreDamaged(DAMAGE) if kind is StoreDamaged else kind("what happened", given=7, hint="what to do")
    told = pickle.loads(pickle.dumps(error))
    assert (type(told), str(told), vars(told)) == (kind, str(error), vars(error))


def test_the_tree_in_the_docstring_is_whole() -> None:
    assert errors.__doc__ is not None
    for kind in _tree(GraphkinError):
        (line,) = [each for each in errors.__doc__.splitlines() if f"─ {kind.__name__} " in each]
        assert f"exit {kind.exit_code}" in line
        if kind in TABLE:
            assert f"HTTP {TABLE[kind].status}" in line
