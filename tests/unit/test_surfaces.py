"""The library, the commands, the API and both clients offer the same operations of an open collection."""

import inspect
from dataclasses import dataclass, field

import click
import pytest
from fastapi.routing import APIRoute

from graphkin.api.app import _ROUTE_MODULES
from graphkin.cli import graphkin
from graphkin.client import AsyncCollection
from graphkin.client import Collection as SyncCollection
from graphkin.collection.open_collection import OpenCollection
from graphkin.library.collection import Collection

PREFIX = "/v1/collections/{c}"


@dataclass(frozen=True)
class Question:
    """One operation: the methods of `OpenCollection` that implement it, and its names on each surface."""

    methods: set[str]
    library: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)
    routes: set[str] = field(default_factory=set)
    client: set[str] = field(default_factory=set)


QUESTIONS = [
    Question(
        {"items", "items_of", "item_id", "item_ids", "prepare_columns", "property_values", "values"},
        {"item", "items", "column"},
        {"export"},
        {"/items", "/items/{id:item}", "/values"},
        {"item", "items", "table", "table_of", "column", "values"},
    ),
    Question(
        {"edges", "complete_edges"},
        {"edges", "to_scipy", "to_networkx", "to_igraph"},
        {"export"},
        {"/export"},
        {"edges"},
    ),
    Question({"rejections"}, {"rejections"}, {"info"}, {"/rejections"}, {"rejections"}),
    Question({"read", "structure"}, set(), set(), {"/structure"}, {"structure"}),
    Question(
        {"descriptors", "structure_descriptors"},
        {"descriptors", "descriptors_of"},
        {"descriptors"},
        {"/descriptors", "/structure/descriptors"},
        {"descriptors", "structure_descriptors"},
    ),
    Question({"neighbors"}, {"neighbors"}, {"neighbors"}, {"/items/{id}/neighbors"}, {"neighbors"}),
    Question({"search", "index_for"}, {"search"}, {"search"}, {"/search"}, {"search"}),
    Question({"search_batch", "search_each"}, {"search_batch"}, {"search"}, {"/search/batch"}, {"search_batch"}),
    Question({"query", "comparison"}, {"query"}, {"query"}, {"/items/query"}, {"query"}),
    Question({"pick"}, {"pick"}, {"pick"}, {"/pick"}, {"pick"}),
    Question({"cliffs"}, {"cliffs"}, {"cliffs"}, {"/cliffs"}, {"cliffs"}),
    Question(
        {"clusters", "ranked_clusters"},
        {"clusters", "cluster", "labels"},
        {"cluster"},
        {"/clusters", "/clusters/{id}", "/items/{id}/cluster"},
        {"clusters", "ranked_clusters", "cluster", "item_cluster"},
    ),
    Question({"lineage"}, {"lineage"}, {"lineage"}, {"/lineage"}, {"lineage"}),
    Question(
        {"mcs"},
        {"mcs"},
        {"mcs"},
        {"/clusters/{id}/mcs", "/clusters/{id}/mcs.svg"},
        {"mcs", "mcs_depiction"},
    ),
    Question({"rgroups"}, {"rgroups"}, {"rgroups"}, {"/rgroups"}, {"rgroups"}),
    Question({"scaffold_tree"}, {"scaffold_tree"}, {"scaffolds"}, {"/scaffolds"}, {"scaffold_tree"}),
    Question({"matched_pairs"}, {"matched_pairs"}, {"matched-pairs"}, {"/matched-pairs"}, {"matched_pairs"}),
    Question(
        {"matched_pairs_of", "products"},
        {"matched_pairs_of"},
        {"matched-pairs"},
        {"/items/{id}/matched-pairs"},
        {"item_matched_pairs"},
    ),
    Question({"compare"}, set(), {"compare"}, {"/compare", "/compare/rows"}, {"compare", "compare_rows"}),
    Question({"map"}, {"map"}, {"map"}, {"/map"}, {"map"}),
    Question({"components"}, set(), set(), {"/components", "/components/{id}"}, {"components", "component"}),
    Question({"subgraph"}, set(), set(), {"/items/{id}/subgraph"}, {"subgraph"}),
    Question({"path"}, set(), set(), {"/paths"}, {"path"}),
    Question({"hops"}, set(), set(), {"/hops"}, {"hops"}),
    Question(
        {"positives", "explain_positives"},
        {"positives", "feed"},
        {"positives", "epochs"},
        {"/items/{id}/positives", "/positives/batch", "/positives/epochs/{e}"},
        {"positives", "positives_batch", "epoch"},
    ),
    Question({"negatives"}, set(), {"fetch"}, {"/negatives"}, {"negatives"}),
]

MISSING = {
    "library": {
        "structure": "`search` reads a structure and finds the item that it is",
        "compare": "`graphkin.compare` compares any two sets",
        "components": "follow from `edges`",
        "subgraph": "follows from `edges`",
        "path": "follows from `edges`",
        "hops": "an analysis of the paper, for its report",
        "negatives": "are for a trainer, which is a client",
    },
    "commands": {
        "structure": "`search` prints the structure that it read",
        "components": "follow from `export edges`",
        "subgraph": "follows from `export edges`",
        "path": "follows from `export edges`",
        "hops": "an analysis of the paper, which `python -m studies.report hops` writes",
    },
}
"""The operations that a surface lacks, with the reason."""

OTHERS = {
    "library": {"close", "to_pyg", "info", "export", "append", "remove", "compact"},
    "commands": {
        *("ingest", "append", "remove", "compact", "delete", "prune"),
        *("load", "backup", "restore", "recall", "verify", "doctor", "serve", "keys", "mcp", "demo"),
        *("canonical", "projections", "carry"),
        *("split", "leaks"),
        *("pretrain", "finetune", "predict", "embed", "weights"),
    },
    "routes": {
        *("", "/append", "/remove"),
        *("/reports", "/reports/{report}.svg"),
        *("/items/{id}/depiction.svg", "/structure.svg"),
    },
    "client": {
        *("export", "links", "reports", "report_charts"),
        *("depiction", "structure_depiction"),
    },
}
"""Names that are no operation of an open collection: files, depictions, other generations, ingest and training."""


def public_methods(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def routes() -> set[str]:
    """Return the paths below a collection."""
    paths = [route.path for subject in _ROUTE_MODULES for route in subject.router.routes if isinstance(route, APIRoute)]
    return {path.removeprefix(PREFIX) for path in paths if path.startswith(PREFIX)}


SURFACES = {
    "library": public_methods(Collection),
    "commands": {*graphkin.list_commands(click.Context(graphkin))},
    "routes": routes(),
    "client": public_methods(AsyncCollection),
}


def test_each_method_of_an_open_collection_has_one_entry() -> None:
    methods = [name for question in QUESTIONS for name in sorted(question.methods)]
    assert sorted(methods) == sorted(public_methods(OpenCollection))


@pytest.mark.parametrize("surface", SURFACES)
def test_surface_offers_the_operations_of_the_table(surface: str) -> None:
    names = set().union(*(getattr(question, surface) for question in QUESTIONS))
    assert not names & OTHERS[surface]
    assert names | OTHERS[surface] == SURFACES[surface]


@pytest.mark.parametrize("surface", SURFACES)
def test_missing_operation_has_a_reason(surface: str) -> None:
    lacking = {name for question in QUESTIONS if not getattr(question, surface) for name in question.methods}
    assert {*MISSING.get(surface, {})} == lacking - {"read"}


def test_both_clients_have_the_same_methods() -> None:
    assert public_methods(SyncCollection) == public_methods(AsyncCollection)
