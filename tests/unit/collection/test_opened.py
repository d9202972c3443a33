"""The sources that a query chooses from."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rdkit import RDConfig

from graphkin.collection.opened import OpenCollection
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import ClusteringFields, QueryFields
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


def test_neighbors_of_an_item_are_its_stored_neighbors(molecules: OpenCollection) -> None:
    anchor = int(molecules.generation.graph().degrees().argmax())
    chosen = query(molecules, neighbors_of={"id": anchor, "min_similarity": 0.5})
    assert chosen == molecules.neighbors(anchor, 0.5).ids.tolist()
    assert chosen


def test_neighbors_below_the_stored_threshold_are_refused(molecules: OpenCollection) -> None:
    with pytest.raises(InvalidInput):
        query(molecules, neighbors_of={"id": 0, "min_similarity": 0.2})


@pytest.mark.parametrize("method", ["butina", "single", "scaffold"])
def test_members_of_a_cluster_are_those_of_the_clusters(molecules: OpenCollection, method: str) -> None:
    members = molecules.clusters(ClusteringFields.model_validate({"method": method})).members(0)
    assert query(molecules, cluster={"method": method, "id": 1}) == members.tolist()


def test_listed_items_keep_their_order(molecules: OpenCollection) -> None:
    assert query(molecules, ids=[7, 3, 7, 5]) == [7, 3, 5]
