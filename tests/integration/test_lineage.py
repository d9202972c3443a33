"""The lineage of clusters on every surface equals a comparison of the clusters of both generations."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import graphkin as library
from graphkin.client import Graphkin
from graphkin.library import Collection
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from tests.until import until_available

THRESHOLD = 0.3


@dataclass
class Grown:
    """A store with the collection `c` that grew and lost items, and the ids of its two last generations."""

    store: Path
    before: str
    after: str


@pytest.fixture(scope="module")
def grown(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Grown:
    store = tmp_path_factory.mktemp("lineage") / "store"
    molecules = pd.DataFrame({"smiles": nci_smiles[:260], "id": [f"m{row}" for row in range(260)]})
    options: dict[str, Any] = {"store": store, "collection": "c", "threshold": THRESHOLD, "workers": 1}
    with library.ingest(molecules[:180], max_rejected=1, **options) as collection:
        before = collection.generation
        collection.append(molecules[180:], max_rejected=1, workers=1)
        collection.remove(names=[f"m{row}" for row in range(0, 60, 5)])
        return Grown(store, before, collection.generation)


@pytest.fixture(scope="module", params=["folder", "http"])
def collection(
    grown: Grown, request: pytest.FixtureRequest, serve: Callable[..., AbstractContextManager[str]]
) -> Iterator[Collection]:
    if request.param == "folder":
        with library.open(grown.store) as collections:
            yield collections["c"]
    else:
        with serve(grown.store) as url, library.connect(url) as served:
            yield served["c"]


def clusters_by_number(collection: Collection) -> dict[int, frozenset[str]]:
    """Return the structures of each cluster, by the number that `labels` returns."""
    rows = pd.DataFrame({"smiles": collection.items(columns=["smiles"])["smiles"].to_pylist()})
    return {
        int(number): frozenset(group)
        for number, group in rows.groupby(collection.labels(threshold=THRESHOLD))["smiles"]
    }


def test_lineage_follows_structures_across_generations(collection: Collection, grown: Grown) -> None:
    earlier = collection._collections.collection("c", grown.before)  # type: ignore[attr-defined]
    old, new = clusters_by_number(earlier), clusters_by_number(collection)
    all_old, all_new = frozenset().union(*old.values()), frozenset().union(*new.values())
    changes = collection.lineage(grown.before[:12], threshold=THRESHOLD)
    for row in changes:
        before, after = old.get(row["before"], frozenset()), new.get(row["after"], frozenset())
        assert row["shared"] == len(before & after)
        assert row["size_before"] == (len(before) or None)
        assert row["size_after"] == (len(after) or None)
        assert row["added"] == (len(after - all_old) if after else None)
        assert row["removed"] == (len(before - all_new) if before else None)
        assert row["smiles"] in (after or before)
    links = {(row["before"], row["after"]) for row in changes}
    shared = {(a, b) for a in old for b in new if old[a] & new[b]}
    assert links >= {(a, b) for a, b in shared if old[a] != new[b]}
    assert not links & {(a, b) for a, b in shared if old[a] == new[b]}
    first = {row["change"]: row["event"] for row in changes}
    counts = Counter(first.values()) + Counter(unchanged=sum(each in new.values() for each in old.values()))
    assert {"grew", "split", "merged", "appeared", "vanished"} <= {*counts}
    assert changes.note is not None
    words = changes.note.removeprefix("clusters: ").split("; items: ")
    assert {event: int(count) for count, event in (part.split() for part in words[0].split(", "))} == counts
    assert words[1] == f"{len(all_new - all_old)} added, {len(all_old - all_new)} removed"
    assert collection.lineage(grown.before, threshold=THRESHOLD, limit=3).to_pylist() == changes[:3].to_pylist()


def test_default_is_the_generation_before(collection: Collection, grown: Grown) -> None:
    changes = collection.lineage(method="single", threshold=0.5)
    assert changes.note is not None
    assert changes.note.endswith("items: 0 added, 12 removed")
    earlier = collection._collections.collection("c", grown.before)  # type: ignore[attr-defined]
    with pytest.raises(Conflict, match="first generation"):
        earlier.lineage()
    with pytest.raises((NotFound, InvalidInput)):
        collection.lineage("no such generation")


def test_command_writes_the_rows_of_the_library(
    grown: Grown, graphkin: Callable[..., Any], tmp_path: Path, nci_smiles: list[str]
) -> None:
    place = ("--store", grown.store, "--collection", "c", "--method", "butina", "--threshold", THRESHOLD)
    file = tmp_path / "lineage.csv"
    outcome = graphkin("lineage", *place, "--before", grown.before[:10], "--output", file, "--json")
    assert outcome.code == 0, outcome.err
    with library.open(grown.store) as collections:
        expected = collections["c"].lineage(grown.before, threshold=THRESHOLD)
    rows = pd.read_csv(file, keep_default_na=False)
    assert rows.columns.tolist() == expected.columns
    for name in ("change", "event", "shared", "smiles"):
        assert rows[name].tolist() == expected[name].to_pylist()
    report = json.loads(outcome.out)
    assert (report["before"], report["generation"]) == (grown.before, grown.after)
    assert report["merged"] == rows[rows["event"] == "merged"]["change"].nunique() > 0
    outcome = graphkin("lineage", *place, "--generation", grown.before, "--output", file)
    assert outcome.code == 2
    assert "no lineage" in outcome.err
    outcome = graphkin("lineage", *place, "--before", "f" * 64, "--output", file)
    assert outcome.code == 3


def test_rest_pages_join_to_the_whole_list(grown: Grown, serve: Callable[..., AbstractContextManager[str]]) -> None:
    with serve(grown.store) as url, Graphkin(url) as server, httpx.Client(base_url=url) as plain:
        page = server.collection("c").lineage(grown.before, threshold=THRESHOLD)
        path = "/v1/collections/c/lineage"
        query: dict[str, Any] = {"before": grown.before, "threshold": THRESHOLD, "limit": 7}
        replies = [until_available(lambda: plain.get(path, params=query)).json()]
        while cursor := replies[-1]["next_cursor"]:
            replies.append(plain.get(path, params={**query, "cursor": cursor}).json())
        assert len(replies) > 2
        assert [row for reply in replies for row in reply["rows"]] == page.model_dump()["rows"]
        for reply in replies:
            for end, items in (("after", "items"), ("before", "earlier_items")):
                centers = {row[end]["centre"] for row in reply["rows"] if row[end]}
                assert [item["id"] for item in reply[items]] == sorted(centers)
        assert {reply["total"] for reply in replies} == {len(page.rows)}
        for parameters, status in (({"before": ""}, 422), ({"before": "f" * 64}, 404)):
            assert plain.get(path, params=parameters).status_code == status
        latest = until_available(lambda: plain.get(path))
        assert (latest.json()["added"], latest.json()["removed"]) == (0, 12)
        assert latest.headers["Cache-Control"] == "no-cache"
        tag = {"If-None-Match": latest.headers["ETag"]}
        assert plain.get(path, headers=tag).status_code == 304
        assert plain.get(path, params={"before": grown.before}, headers=tag).status_code == 200
        first = until_available(lambda: plain.get(path, params={"generation": grown.before}))
        assert (first.json()["before"], first.json()["rows"]) == (grown.before, [])
        assert plain.get(path, params={**query, "limit": 1001}).status_code == 422
