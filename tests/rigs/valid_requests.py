"""Valid requests of every operation, for the comparison of two checkouts.

Each collection gets the same requests; only their structures depend on the collection's kind.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from urllib.parse import urlencode

from tests.fuzz.requests import Request

_ARROW = "application/vnd.apache.arrow.stream"
_STREAMS = ("Accept: application/jsonl", "Accept: application/x-ndjson", f"Accept: {_ARROW}")
_CONDITIONS = tuple(
    (header,)
    for header in (
        "Accept-Encoding: gzip",
        "Accept-Encoding: zstd",
        'If-None-Match: "x"',
        "If-None-Match: *",
        "Accept: text/x",
    )
)
_RANGES = ("bytes=0-99", "bytes=50-", "bytes=-50", "bytes=9999999-", "bytes=0-1,5-6", "items=0-1")
_OPENMETRICS = ("Accept: application/openmetrics-text; version=1.0.0",)
Fields = Mapping[str, object]

_POLICIES: tuple[Fields, ...] = (
    {"policy": "first_order"},
    {"policy": "first_order", "k": 5, "seed": 7},
    {"policy": "second_order", "k": 4, "seed": 7},
    {"policy": "random_walk"},
    {"policy": "random_walk", "k": 8, "walks": 16, "length": 4, "p": 0.5, "q": 2.0, "seed": 9},
    {"policy": "random_walk", "rank": "top", "p_end": 0.2, "pad": "self"},
    {"policy": "random_walk", "rank": "count", "restart": 0.1},
)
_CLUSTERINGS = ("method=butina&threshold=0.5", "method=single&threshold=0.5", "method=scaffold")
_ASPIRIN, _PHENOL, _BENZENE = "CC(=O)Oc1ccccc1C(=O)O", "Oc1ccccc1", "c1ccccc1"
_TRIANGLE = {"edges": [[0, 1], [1, 2], [2, 0]]}
_MOLECULES: tuple[Fields, ...] = ({"smiles": _PHENOL}, {"smiles": _ASPIRIN}, {"structure": "CCO"})
_STRUCTURES: Mapping[str, tuple[Fields, ...]] = {
    "social": ({"graph": _TRIANGLE}, {"graph": {**_TRIANGLE, "num_nodes": 5}}),
    "karate": ({"graph": {**_TRIANGLE, "labels": [2] * 3, "weights": [1, 4, 1], "centre": 1}},),
    "bits": ({"fingerprint": "0f" * 25}, {"structure": "1e" * 25}),
    "vectors": ({"vector": [1.0, 0.5, 0.25, 0.125]}, {"structure": "[1, 0, 0, 0]"}),
}
"""Query structures for collections without molecules."""

_PROPERTIES = {"social": "nodes", "karate": "degree", "bits": "popcount", "vectors": "norm"}
"""A numeric property of each collection without molecules."""

_EXPORTS: tuple[Fields, ...] = (
    *({"what": "items", "format": format} for format in ("csv", "parquet", "sdf", "arrow")),
    *({"what": "edges", "format": format} for format in ("csv", "parquet", "graphml", "arrow")),
    {"what": "edges", "format": "csv", "min_similarity": 0.5},
    {"what": "items", "format": "csv", "columns": "names,id"},
    {"what": "items", "format": "arrow", "start": 5, "stop": 20},
    {"what": "fingerprints", "format": "npy"},
    {"what": "fingerprints", "format": "fps"},
    *({"what": "links", "format": format} for format in ("csv", "parquet", "arrow")),
)


def valid_requests(collections: Sequence[str]) -> Iterator[Request]:
    """Yield the requests about the server itself, then those about each collection."""
    for number, target in enumerate(
        ("/v1/collections", "/livez", "/readyz", "/metrics", "/", "/docs", "/licenses", "/openapi.json")
    ):
        yield Request(f"valid/server/{number}", "GET", target)
        yield Request(f"valid/server/{number}/head", "HEAD", target)
    yield Request("valid/server/openmetrics", "GET", "/metrics", _OPENMETRICS)
    for collection in collections:
        for number, (method, path, headers, body) in enumerate(_requests_about(collection)):
            target = f"/v1/collections/{collection}{path}"
            content = None if body is None else json.dumps(body).encode()
            kind = () if body is None else ("Content-Type: application/json",)
            yield Request(f"valid/{collection}/{number}", method, target, (*kind, *headers), content)


_Parts = tuple[str, str, tuple[str, ...], object]
"""Method, path below the collection, headers, body."""


def _requests_about(collection: str) -> Iterator[_Parts]:
    number = _PROPERTIES.get(collection, "molwt")
    paths = [*_item_paths(), *_collection_paths(number)]
    for path in paths:
        yield "GET", path, (), None
        yield "HEAD", path, (), None
    for path, condition in product(paths[:: len(paths) // 12], _CONDITIONS):
        yield "GET", path, condition, None
    for path, accept in product(_stream_paths(number), _STREAMS):
        yield "GET", path, (accept,), None
    for export, part in product(_EXPORTS, ((), *((f"Range: {range}",) for range in _RANGES))):
        yield "GET", f"/export?{urlencode(export)}", part, None
    yield from _posts(_STRUCTURES.get(collection, _MOLECULES), number)
    if collection == "nci":  # only this collection has an older generation in the corpus's store
        for path in paths[::3]:
            yield "GET", f"{path}{'&' if '?' in path else '?'}generation={{old}}", (), None


def _item_paths() -> Iterator[str]:
    for id in (0, 3, 17):
        yield from (f"/items/{id}{rest}" for rest in ("", "/neighbors", "/neighbors?limit=3&min_similarity=0.5"))
        yield from (f"/items/{id}/positives?{urlencode(policy)}" for policy in _POLICIES)
        yield from (f"/items/{id}/subgraph?{query}" for query in ("", "hops=2&max_items=40", "min_similarity=0.4"))
        yield from (f"/items/{id}/depiction.svg{rest}" for rest in ("", "?width=300&height=200", "?highlight=5"))
        yield from (f"/items/{id}/cluster?{clustering}" for clustering in _CLUSTERINGS)


def _collection_paths(number: str) -> Iterator[str]:
    yield from ("", "/items?smiles=CCO", "/items?name=1", "/items?limit=3", "/rejections", "/rejections?limit=1")
    yield from ("/paths?from=0&to=5", "/paths?from=0&to=17&max_hops=8", "/hops", "/hops?targets=3&seed=5")
    yield from ("/components?min_similarity=0.5", "/components?min_similarity=0.7&min_size=3", "/components/0")
    for clustering in _CLUSTERINGS:
        yield from (f"/clusters?{clustering}{rest}" for rest in ("", "&limit=3", f"&property={number}"))
        yield from (f"/lineage?{clustering}{rest}" for rest in ("", "&limit=3"))
        yield from (f"/clusters/{rest}?{clustering}" for rest in ("1", "1/mcs", "1/mcs.svg"))
    yield from (f"/cliffs?property={number}&by={by}&limit=5" for by in ("sali", "difference"))
    yield from (f"/structure{kind}?smiles={_PHENOL}" for kind in ("", ".svg"))
    yield from ("/reports", "/reports/hops.svg", "/reports/none.svg")


def _stream_paths(number: str) -> Iterator[str]:
    yield from (f"/positives/epochs/1?{urlencode(policy)}" for policy in _POLICIES)
    yield from ("/negatives?seed=7&batches=3&count=5", "/map", f"/map?property={number}")


def _posts(structures: Sequence[Fields], number: str) -> Iterator[_Parts]:
    for structure, choice in product(structures, _choices(number)):
        yield "POST", "/search", (), {**structure, **choice}
    for policy, accept in product(_POLICIES, _STREAMS):
        yield "POST", "/positives/batch", (accept,), {"ids": [0, 3, 3, 17, 1], **policy}
    for accept in _STREAMS:
        yield "POST", "/search/batch", (accept,), {"structures": [*structures, _PHENOL, "C1CC", {"name": "1"}]}
        yield "POST", "/search/batch", (accept,), {"structures": [{"name": "1"}], "limit": 3, "min_similarity": 0.4}
    for accept in _STREAMS:
        yield "POST", "/values", (accept,), {"columns": [number]}
    for query in _queries(structures[0], number):
        yield "POST", "/items/query", (), query
        yield "POST", "/pick", (), {"count": 3, "from": {name: query[name] for name in query.keys() - _PAGE_FIELDS}}
    for export in _EXPORTS[:8]:
        yield "POST", "/export", (), {"ids": [0, 3, 17, 1], **export}
    yield "POST", "/export", (), {"ids": [0, 3], "what": "items", "format": "csv", "query_smiles": _PHENOL}


_PAGE_FIELDS = {"limit", "columns", "cursor"}
"""Fields of a query that affect only the presentation of its items."""


def _choices(number: str) -> tuple[Fields, ...]:
    filters = [{"property": number, "min": 1}]
    return ({}, {"limit": 3}, {"min_similarity": 0.4}, {"substructure": _BENZENE}, {"filters": filters})


def _queries(structure: Fields, number: str) -> tuple[Fields, ...]:
    return (
        {},
        {"limit": 5},
        {"name": "1"},
        {"filters": [{"property": number, "min": 2, "max": 300}]},
        {"filters": [{"property": number, "min": 1}], "sort": {"by": number, "descending": True}, "limit": 20},
        {"substructure": _BENZENE, "limit": 50},
        {"similar": {**structure, "min_similarity": 0.3}, "sort": {"by": "similarity", "descending": True}},
        {"neighbors_of": {"id": 3}, "sort": {"by": "degree"}},
        {"cluster": {"method": "single", "threshold": 0.5, "id": 1}},
        {"columns": [number], "limit": 30},
    )
