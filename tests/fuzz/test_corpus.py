"""The corpus is as large and as wide as it is meant to be, and the same every time."""

from collections import Counter

import pytest

from tests.fuzz.corpus import lines
from tests.fuzz.files import files
from tests.fuzz.operations import operation_of, operations
from tests.fuzz.requests import requests


def test_there_are_a_thousand_requests_and_three_hundred_files() -> None:
    assert len(requests()) >= 1000
    assert len(files()) >= 300


@pytest.mark.parametrize(
    "ids",
    [
        [case.id for case in requests()],
        [case.id for case in files()],
        [case["id"] for case in lines("exchanges.jsonl")],
    ],
    ids=["requests", "files", "exchanges"],
)
def test_every_case_has_an_id_of_its_own(ids: list[str]) -> None:
    assert [id for id, times in Counter(ids).items() if times > 1] == []


def test_every_operation_is_requested() -> None:
    reached = {operation_of(case.method, case.target.partition("?")[0]) for case in requests()}
    assert [operation for operation in operations() if operation not in reached] == []


def test_every_structure_and_file_is_the_same_every_time() -> None:
    """Contents that are made are made from a seed."""
    requests.cache_clear()
    first = {case.id: case for case in requests()}
    requests.cache_clear()
    assert {case.id: case for case in requests()} == first
