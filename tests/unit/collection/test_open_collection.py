"""The sources of a query, and the cancellation of a pick."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rdkit import RDConfig

from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.ports import local_ports
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import ClusteringFields, PickFields, QueryFields
from graphkin.similarity.kind import Query
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenCollection]:
    folder = tmp_path_factory.mktemp("molecules")
    lines = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()
    (folder / "nci.smi").write_text("\n".join(lines[:200]))
    with open_store(folder / "store", create=True) as store:
        ingest(store, "nci", [str(folder / "nci.smi")], resolve(threshold=0.3), IngestOptions(workers=1))
        with store.open("nci") as generation:
            yield OpenCollection(generation)


def query(molecules: OpenCollection, **source: object) -> list[int]:
    return molecules.query(QueryFields.model_validate(source)).ids.tolist()


def test_query_by_neighbors_of_returns_stored_neighbors(molecules: OpenCollection) -> None:
    anchor = int(molecules.generation.graph().degrees().argmax())
    ids = query(molecules, neighbors_of={"id": anchor, "min_similarity": 0.5})
    assert ids == molecules.neighbors(anchor, 0.5).ids.tolist()
    assert ids


def test_query_of_neighbors_below_the_stored_threshold_is_refused(molecules: OpenCollection) -> None:
    with pytest.raises(InvalidInput):
        query(molecules, neighbors_of={"id": 0, "min_similarity": 0.2})


@pytest.mark.parametrize("method", ["butina", "single", "scaffold"])
def test_query_by_cluster_returns_its_members(molecules: OpenCollection, method: str) -> None:
    members = molecules.clusters(ClusteringFields.model_validate({"method": method})).clusters.members(0)
    assert query(molecules, cluster={"method": method, "id": 1}) == members.tolist()


def test_query_by_ids_keeps_their_order(molecules: OpenCollection) -> None:
    assert query(molecules, ids=[7, 3, 7, 5]) == [7, 3, 5]


class Cancelled(Exception):
    pass


@contextmanager
def cancelled_after_one(*_: object) -> Iterator[Callable[[int], object]]:
    """A stage whose second advance cancels the work."""
    advances = 0

    def advance(_: int) -> None:
        nonlocal advances
        advances += 1
        if advances > 1:
            raise Cancelled

    yield advance


def test_cancelled_pick_computes_no_more_similarities(
    molecules: OpenCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    stoppable = OpenCollection(molecules.generation, partial(local_ports, stage=cancelled_after_one))
    similarities, compared = stoppable.index.similarities, list[object]()

    def counted(of: int | Query, *others: Any) -> Any:
        compared.append(of)
        return similarities(of, *others)

    monkeypatch.setattr(stoppable.index, "similarities", counted)
    with pytest.raises(Cancelled):
        stoppable.pick(PickFields(), 10)
    assert len(compared) == 2
