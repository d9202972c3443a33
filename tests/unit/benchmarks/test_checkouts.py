"""Requests of the benchmark that compares two checkouts."""

import json
from pathlib import Path

import pytest
from rdkit import Chem

from benchmarks.checkouts import queries

UNSTORED = "search for unstored structures, top 10"
FRESH = (UNSTORED, "items/query, a filter and a sort, 20 of all", "depictions, each drawn for the first time")


@pytest.fixture(scope="module")
def lines(nci_file: Path) -> list[str]:
    return nci_file.read_text().splitlines()[:2000]


def test_unstored_structures_are_not_stored(lines: list[str]) -> None:
    stored = {Chem.CanonSmiles(line.split()[0]) for line in lines}
    searches = [json.loads(body)["smiles"] for _, _, body, _ in queries(lines)[UNSTORED](1) if body is not None]
    assert searches
    assert stored.isdisjoint(map(Chem.CanonSmiles, searches))


@pytest.mark.parametrize("label", FRESH)
def test_blocks_repeat_no_request(lines: list[str], label: str) -> None:
    blocks = queries(lines)[label]
    requests = [(method, target, body) for number in range(4) for method, target, body, _ in blocks(number)]
    assert len({*requests}) == len(requests)
