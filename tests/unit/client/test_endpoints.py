"""Each endpoint has a client method with the same parameters and defaults."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.client import Collection, Graphkin
from graphkin.client.options import PolicyOptions

OPENAPI = create_app(Settings(store="unused")).openapi()
ENDPOINTS = {(verb, path) for path, verbs in OPENAPI["paths"].items() for verb in verbs}

_C = "/v1/collections/{c}"
METHODS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("get", "/livez"): Graphkin.livez,
    ("get", "/readyz"): Graphkin.readyz,
    ("get", "/metrics"): Graphkin.metrics,
    ("get", "/v1/collections"): Graphkin.collections,
    ("post", "/v1/collections"): Graphkin.create_collection,
    ("post", f"{_C}/append"): Graphkin.append,
    ("post", f"{_C}/remove"): Graphkin.remove,
    ("post", "/v1/previews"): Graphkin.preview,
    ("get", "/v1/jobs"): Graphkin.jobs,
    ("get", "/v1/jobs/{job}"): Graphkin.job,
    ("get", "/v1/jobs/{job}/rejections"): Graphkin.job_rejections,
    ("post", "/v1/jobs/{job}/cancel"): Graphkin.cancel_job,
    ("get", _C): Graphkin.collection,
    ("get", f"{_C}/items"): Collection.items,
    ("get", f"{_C}/items/{{id}}"): Collection.item,
    ("post", f"{_C}/items/query"): Collection.query,
    ("post", f"{_C}/values"): Collection.values,
    ("get", f"{_C}/items/{{id}}/neighbors"): Collection.neighbors,
    ("get", f"{_C}/items/{{id}}/positives"): Collection.positives,
    ("get", f"{_C}/items/{{id}}/subgraph"): Collection.subgraph,
    ("get", f"{_C}/items/{{id}}/depiction.svg"): Collection.depiction,
    ("get", f"{_C}/structure"): Collection.structure,
    ("get", f"{_C}/structure.svg"): Collection.structure_depiction,
    ("get", f"{_C}/rejections"): Collection.rejections,
    ("get", f"{_C}/reports"): Collection.reports,
    ("get", f"{_C}/reports/{{report}}.svg"): Collection.report_charts,
    ("get", f"{_C}/paths"): Collection.path,
    ("get", f"{_C}/clusters"): Collection.clusters,
    ("get", f"{_C}/map"): Collection.map,
    ("post", f"{_C}/compare"): Collection.compare,
    ("post", f"{_C}/compare/rows"): Collection.compare_rows,
    ("get", f"{_C}/lineage"): Collection.lineage,
    ("post", f"{_C}/clusters"): Collection.ranked_clusters,
    ("get", f"{_C}/clusters/{{id}}"): Collection.cluster,
    ("get", f"{_C}/clusters/{{id}}/mcs"): Collection.mcs,
    ("get", f"{_C}/clusters/{{id}}/mcs.svg"): Collection.mcs_depiction,
    ("get", f"{_C}/items/{{id}}/cluster"): Collection.item_cluster,
    ("get", f"{_C}/matched-pairs"): Collection.matched_pairs,
    ("post", f"{_C}/matched-pairs"): Collection.matched_pairs,
    ("get", f"{_C}/items/{{id}}/matched-pairs"): Collection.item_matched_pairs,
    ("get", f"{_C}/cliffs"): Collection.cliffs,
    ("post", f"{_C}/cliffs"): Collection.cliffs,
    ("get", f"{_C}/hops"): Collection.hops,
    ("get", f"{_C}/components"): Collection.components,
    ("get", f"{_C}/components/{{id}}"): Collection.component,
    ("get", f"{_C}/positives/epochs/{{e}}"): Collection.epoch,
    ("get", f"{_C}/negatives"): Collection.negatives,
    ("get", f"{_C}/export"): Collection.export,
    ("post", f"{_C}/export"): Collection.export,
    ("get", f"{_C}/descriptors"): Collection.descriptors,
    ("get", f"{_C}/structure/descriptors"): Collection.structure_descriptors,
    ("post", f"{_C}/positives/batch"): Collection.positives_batch,
    ("post", f"{_C}/pick"): Collection.pick,
    ("post", f"{_C}/rgroups"): Collection.rgroups,
    ("post", f"{_C}/scaffolds"): Collection.scaffold_tree,
    ("post", f"{_C}/search"): Collection.search,
    ("post", f"{_C}/search/batch"): Collection.search_batch,
}
RENAMED = {"from": "source", "to": "target", "c": "name", "e": "epoch", "report": "name"}
IMPLICIT = {"c", "generation", "cursor"}
"""Parameters that the collection object or the pagination supplies."""


def test_each_endpoint_has_a_method() -> None:
    assert set(METHODS) == ENDPOINTS


def parameters_of(verb: str, path: str) -> dict[str, Any]:
    """Return the parameters of an endpoint with their defaults."""
    operation = OPENAPI["paths"][path][verb]
    defaults = {parameter["name"]: parameter["schema"].get("default") for parameter in operation.get("parameters", [])}
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        name = content["schema"]["$ref"].rpartition("/")[2]
        fields = OPENAPI["components"]["schemas"][name]["properties"]
        defaults |= {field: schema.get("default") for field, schema in fields.items()}
    return {RENAMED.get(name, name): default for name, default in defaults.items() if name not in IMPLICIT}


@pytest.mark.parametrize(
    ("endpoint", "method"), METHODS.items(), ids=lambda parameter: " ".join(parameter) if parameter in METHODS else ""
)
def test_method_accepts_the_parameters_of_its_endpoint(endpoint: tuple[str, str], method: Callable[..., Any]) -> None:
    parameters = inspect.signature(method).parameters
    accepted = {name for name, parameter in parameters.items() if parameter.kind is not inspect.Parameter.VAR_KEYWORD}
    if len(accepted) < len(parameters):
        accepted |= set(PolicyOptions.__annotations__)
    if inspect.isgeneratorfunction(method):
        accepted |= {"limit"}  # the caller stops the iteration
    documented = parameters_of(*endpoint)
    assert set(documented) <= accepted
    defaults = {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.default not in (inspect.Parameter.empty, None)
    }
    assert {name: documented[name] for name in defaults if name in documented} == defaults
