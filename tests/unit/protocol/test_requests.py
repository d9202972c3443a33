"""Bounds of requests, on both sides, and rejection of unknown fields."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from graphkin.protocol import requests
from graphkin.protocol.policy import Policy
from graphkin.protocol.requests import (
    BatchBody,
    CliffRanking,
    CliffsBody,
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    ClusterQuery,
    ClusterSource,
    ClustersQuery,
    CollectionPath,
    ComparisonFields,
    ComponentQuery,
    ComponentsQuery,
    DepictionQuery,
    DrawingQuery,
    EpochQuery,
    ExportBody,
    ExportFields,
    ExportQuery,
    GenerationQuery,
    GraphBody,
    HopsQuery,
    ItemClusterQuery,
    ItemPath,
    ItemsQuery,
    MapQuery,
    McsDepictionQuery,
    McsQuery,
    NegativesQuery,
    NeighborsQuery,
    NeighborsSource,
    NoQuery,
    PageQuery,
    PathQuery,
    PickBody,
    PickFields,
    PolicyFields,
    PositivesQuery,
    QueryBody,
    QueryFields,
    RejectionsQuery,
    SearchBatchBody,
    SearchBody,
    SearchFields,
    SimilarSource,
    StructureDepictionQuery,
    StructureFields,
    StructureOrName,
    StructureQuery,
    SubgraphQuery,
    Substructure,
    ValuesBody,
)

ID = 2**31 - 1
SEED = 2**53 - 1
DRAW = {"policy": "random_walk"}
CSV = {"what": "edges", "format": "csv"}

LEAST: dict[type[BaseModel], dict[str, Any]] = {
    NoQuery: {},
    Substructure: {"smarts": "C"},
    GenerationQuery: {},
    PageQuery: {},
    CollectionPath: {"c": "nci"},
    ItemPath: {"c": "nci", "id": 0},
    ItemsQuery: {},
    RejectionsQuery: {},
    NeighborsQuery: {},
    SubgraphQuery: {},
    HopsQuery: {},
    ComponentsQuery: {},
    ComponentQuery: {},
    PathQuery: {"from": 0, "to": 1},
    DrawingQuery: {},
    ComparisonFields: {},
    DepictionQuery: {},
    StructureQuery: {"smiles": "C"},
    StructureDepictionQuery: {"smiles": "C"},
    PolicyFields: DRAW,
    PositivesQuery: DRAW,
    EpochQuery: DRAW,
    BatchBody: {**DRAW, "ids": [0]},
    NegativesQuery: {"batches": 1, "count": 1},
    GraphBody: {"edges": [[0, 1]]},
    StructureFields: {"smiles": "C"},
    SearchBody: {"smiles": "C"},
    SearchFields: {"smiles": "C"},
    SimilarSource: {"smiles": "C", "min_similarity": 1.0},
    QueryBody: {},
    QueryFields: {},
    ValuesBody: {"columns": ["logP"]},
    NeighborsSource: {"id": 0},
    PickBody: {"count": 1},
    PickFields: {},
    CliffRanking: {"property": "logP"},
    CliffsQuery: {"property": "logP"},
    CliffsBody: {"property": "logP"},
    ClusteredFields: {},
    ClusteringFields: {},
    ClusterSource: {"id": 1},
    McsDepictionQuery: {},
    McsQuery: {},
    MapQuery: {},
    ItemClusterQuery: {},
    ClusterQuery: {},
    ClustersQuery: {},
    StructureOrName: {"name": "aspirin"},
    SearchBatchBody: {"structures": ["C"]},
    ExportFields: {"what": "edges"},
    ExportQuery: CSV,
    ExportBody: {**CSV, "ids": [0]},
}
"""The required fields of each model."""

BOUNDS: list[tuple[type[BaseModel], str, float, float]] = [
    (ItemPath, "id", 0, ID),
    (ItemsQuery, "limit", 1, 1000),
    (RejectionsQuery, "limit", 1, 1000),
    (NeighborsQuery, "limit", 1, 1000),
    (ComponentsQuery, "limit", 1, 1000),
    (ComponentsQuery, "min_size", 1, ID),
    (ComponentQuery, "limit", 1, 1000),
    (SearchBody, "limit", 1, 1000),
    (QueryBody, "limit", 1, 1000),
    *((model, "limit", 1, 1000) for model in (CliffsQuery, ClustersQuery, ClusterQuery)),
    (ClusterSource, "id", 1, ID),
    (PickBody, "count", 1, 10_000),
    (SearchBatchBody, "limit", 1, 100),
    (SubgraphQuery, "hops", 1, 4),
    (SubgraphQuery, "max_items", 1, 1000),
    (SubgraphQuery, "max_edges", 0, 5000),
    (HopsQuery, "targets", 1, 1000),
    (HopsQuery, "max_hops", 1, 8),
    (HopsQuery, "seed", 0, SEED),
    (PathQuery, "from", 0, ID),
    (PathQuery, "to", 0, ID),
    (PathQuery, "max_hops", 1, 8),
    *((model, side, 50, 1000) for model in (DrawingQuery, DepictionQuery) for side in ("width", "height")),
    (DepictionQuery, "highlight", 0, ID),
    (PositivesQuery, "k", 1, 64),
    (PositivesQuery, "length", 1, 32),
    (PositivesQuery, "walks", 1, 256),
    (PositivesQuery, "seed", 0, SEED),
    (PositivesQuery, "epoch", 0, SEED),
    (BatchBody, "epoch", 0, SEED),
    (EpochQuery, "start", 0, ID),
    (EpochQuery, "stop", 0, ID),
    (NegativesQuery, "seed", 0, SEED),
    (NegativesQuery, "epoch", 0, SEED),
    (NegativesQuery, "first", 0, ID),
    (NegativesQuery, "batches", 1, 65_536),
    (NegativesQuery, "count", 1, 4096),
]

SIMILARITIES = [NeighborsQuery, SubgraphQuery, HopsQuery, ComponentsQuery, ComponentQuery, PathQuery, ExportBody]


def validated(model: type[BaseModel], **fields: Any) -> BaseModel:
    return model.model_validate({**LEAST[model], **fields})


def test_each_request_model_is_tested() -> None:
    models = {model for model in vars(requests).values() if isinstance(model, type) and issubclass(model, BaseModel)}
    tested_models = {model for model in models if model.__module__ == requests.__name__}
    assert tested_models - {requests.Body} == set(LEAST)


@pytest.mark.parametrize("model", LEAST, ids=lambda model: model.__name__)
def test_required_fields_suffice_and_unknown_fields_are_refused(model: type[BaseModel]) -> None:
    validated(model)
    with pytest.raises(ValidationError) as refused:
        validated(model, unknown=1)
    assert [error["type"] for error in refused.value.errors()] == ["extra_forbidden"]
    for name in LEAST[model]:
        if model.model_fields.get(name) is not None and model.model_fields[name].is_required():
            with pytest.raises(ValidationError):
                model.model_validate({key: value for key, value in LEAST[model].items() if key != name})


@pytest.mark.parametrize(("model", "name", "least", "most"), BOUNDS)
def test_bounds_hold_on_both_sides(model: type[BaseModel], name: str, least: int, most: int) -> None:
    for value in (least, most):
        assert validated(model, **{name: value}).model_dump(by_alias=True)[name] == value
    for wrong in (least - 1, most + 1, least + 0.5, "x", None if name not in ("k", "stop", "highlight") else "x"):
        with pytest.raises(ValidationError) as error:
            validated(model, **{name: wrong})
        assert error.value.errors()[0]["loc"][0] == name


@pytest.mark.parametrize("model", [*SIMILARITIES, SearchBody, SearchBatchBody], ids=lambda model: model.__name__)
def test_min_similarity_is_at_most_1(model: type[BaseModel]) -> None:
    """It may be 0 for stored edges, but not for a search."""
    validated(model, min_similarity=None)
    for value in (1e-9, 0.4, 1.0):
        assert validated(model, min_similarity=value).model_dump()["min_similarity"] == value
    for wrong in (-0.1, 1.0000001, float("nan"), float("inf"), "x"):
        with pytest.raises(ValidationError):
            validated(model, min_similarity=wrong)
    if model in (SearchBody, SearchBatchBody):
        with pytest.raises(ValidationError):
            validated(model, min_similarity=0.0)
    else:
        validated(model, min_similarity=0.0)


@pytest.mark.parametrize(
    ("model", "more"),
    [
        (ItemsQuery, {"smiles": "C", "name": "x"}),
        (ItemsQuery, {"name": "x", "inchikey": "y"}),
        (DepictionQuery, {"highlight": 1, "highlight_smiles": "C"}),
        (StructureDepictionQuery, {"smiles": "C", "highlight": 1, "highlight_smiles": "C"}),
        (StructureQuery, {"inchi": "InChI=1S/CH4/h1H4"}),
        (StructureQuery, {"smiles": None}),
        (Substructure, {"smiles": "C"}),
        (Substructure, {"smarts": None}),
        (SearchBody, {"inchi": "InChI=1S/CH4/h1H4"}),
        (SearchBody, {"smiles": None}),
        (SearchBody, {"structure": "C"}),
        (ExportBody, {"what": "items", "min_similarity": 0.5}),
        (NegativesQuery, {"batches": 4097, "count": 4096}),
        (NegativesQuery, {"first": ID, "batches": 2}),
    ],
)
def test_conflicting_fields_are_refused(model: type[BaseModel], more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as error:
        validated(model, **more)
    assert error.value.errors()[0]["msg"].startswith("Value error, ")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("C[N ](C)C", "C[N+](C)C"),
        ("C[N+](C)C", "C[N+](C)C"),
        ("C[C@H](O)C[N ](C)C |&1:1|", "C[C@H](O)C[N+](C)C |&1:1|"),
        ("CC |$;a b$|", "CC |$;a b$|"),
    ],
)
def test_unescaped_plus_in_a_query_is_restored(written: str, read: str) -> None:
    for model, name in ((ItemsQuery, "smiles"), (StructureQuery, "smiles"), (DepictionQuery, "highlight_smiles")):
        assert validated(model, **{name: written}).model_dump()[name] == read
    assert validated(SearchBody, smiles=written).model_dump()["smiles"] == written


@pytest.mark.parametrize(
    ("model", "more"),
    [
        (SearchBody, {"limit": "10"}),
        (SearchBody, {"limit": 10.0}),
        (SearchBody, {"limit": True}),
        (SearchBody, {"smiles": 5}),
        (SearchBody, {"min_similarity": "0.5"}),
        (BatchBody, {"ids": ["0"]}),
        (BatchBody, {"ids": [True]}),
        (BatchBody, {"ids": "0"}),
        (BatchBody, {"k": "3"}),
        (ExportBody, {"ids": [0.0]}),
        (GraphBody, {"edges": [[0, "1"]]}),
        (GraphBody, {"edges": [[0, 1, 2]]}),
        (GraphBody, {"edges": [[0]]}),
        (GraphBody, {"edges": [[0, ID + 1]]}),
        (GraphBody, {"labels": [0, "a"]}),
    ],
)
def test_body_values_are_not_converted(model: type[BaseModel], more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        validated(model, **more)


def test_query_values_are_converted_from_text() -> None:
    assert validated(NeighborsQuery, limit="7", min_similarity="0.5").model_dump()["limit"] == 7


@pytest.mark.parametrize(("model", "most"), [(BatchBody, 65_536), (ExportBody, 10_000)])
def test_lists_of_ids_are_bounded(model: type[BaseModel], most: int) -> None:
    validated(model, ids=[ID] * most)
    for ids in ([], [0] * (most + 1), [ID + 1], [-1]):
        with pytest.raises(ValidationError):
            validated(model, ids=ids)


def test_policy_follows_from_the_parameters() -> None:
    parameters = {
        "policy": "random_walk",
        "k": 9,
        "length": 4,
        "walks": 7,
        "p": 0.5,
        "q": 2.0,
        "rank": "top",
        "pad": "self",
    }
    for model, more in ((PositivesQuery, {}), (EpochQuery, {}), (BatchBody, {"ids": [0]})):
        policy = model.model_validate({**parameters, **more, "seed": 3}).to_policy()
        assert policy == Policy.from_name(
            "random_walk", **{name: parameters[name] for name in parameters if name != "policy"}
        )
    assert PositivesQuery.model_validate({"policy": "first_order"}).to_policy() == Policy.from_name("first_order")
