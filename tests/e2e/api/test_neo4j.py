"""The API over Neo4j replies byte for byte as over the folder with the same collections.

Concurrent publication is tested in test_publication.py, unreachable servers in tests/faults/neo4j.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

NCI = "/v1/collections/nci"
KEYED = "/v1/collections/keyed"
SOCIAL = "/v1/collections/social"
KARATE = "/v1/collections/karate"
GRAPHS = "/v1/collections/graphs"

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ROWS = ("application/x-ndjson", "application/vnd.apache.arrow.stream")
SAMPLES: tuple[dict[str, Any], ...] = (
    {"policy": "first_order", "seed": 7},
    {"policy": "random_walk", "k": 9, "length": 4, "rank": "top", "p": 0.5, "q": 2, "p_end": 0.2},
    {"policy": "second_order", "epoch": 1},
)
ODD = (
    "nobody",
    "",
    "é" * 3000,
    "\x00",
    "🧪",
    "' OR 1=1 //",
    "`",
    "$name",
    "{}",
    "\\u0000",
    "<script>alert('&\"]]>')</script>",
)


STORE_SPECIFIC = re.compile(rb',?"(published_at":"[^"]*"|fragments":\[(\{.*?\}\})?\])')
"""Manifest fields that differ between stores: the time of publication, and the files."""


@dataclass(frozen=True)
class Request:
    """A request: POST if it has a body, else GET."""

    path: str
    query: dict[str, Any] | None = None
    body: dict[str, Any] | None = None
    accept: str = "*/*"

    def send(self, client: httpx.Client) -> httpx.Response:
        """Send the request until the work behind it is done, and return the reply."""
        method = "GET" if self.body is None else "POST"
        while True:
            reply = client.request(
                method, self.path, params=self.query, json=self.body, headers={"Accept": self.accept}
            )
            if reply.status_code != 503:
                return reply
            assert int(reply.headers["Retry-After"]) > 0
            time.sleep(0.02)

    def for_next_page(self, cursor: str) -> "Request":
        """Return the request for the next page."""
        if self.body is None:
            return replace(self, query={**(self.query or {}), "cursor": cursor})
        return replace(self, body={**self.body, "cursor": cursor})


def with_queries(path: str, *queries: dict[str, Any]) -> list[Request]:
    """Return one request per query."""
    return [Request(path, query) for query in queries]


OPERATIONS: dict[str, list[Request]] = {
    "GET /v1/collections": [Request("/v1/collections")],
    "GET /v1/collections/{c}": [Request(url) for url in (NCI, KEYED, SOCIAL, GRAPHS, KARATE)],
    "GET /v1/collections/{c}/items": [
        *with_queries(
            f"{NCI}/items", {"limit": 1000}, {"limit": 150}, {"smiles": "OC(=O)c1ccccc1"}, {"smiles": "CCCCCCCCCCC"}
        ),
        *with_queries(f"{NCI}/items", *({"name": name} for name in ("1", *ODD))),
        *with_queries(
            f"{KEYED}/items", {}, {"inchikey": "VTWDKFNVVLAELH-UHFFFAOYSA-N"}, *({"inchikey": odd} for odd in ODD)
        ),
        *with_queries(f"{SOCIAL}/items", {"limit": 7}, *({"name": name} for name in ODD)),
        *with_queries(f"{GRAPHS}/items", {}, {"name": "b"}),
        *with_queries(f"{KARATE}/items", {}, {"name": "m7"}),
    ],
    "GET /v1/collections/{c}/items/{id}": [Request(f"{url}/items/{id}") for url in (NCI, SOCIAL) for id in range(60)],
    "POST /v1/collections/{c}/items/query": [
        Request(f"{NCI}/items/query", body=body)
        for body in (
            {"filters": [{"property": "molwt", "min": 150, "max": 250}], "sort": {"by": "molwt"}, "limit": 30},
            {"name": "1", "sort": {"by": "names", "descending": True}, "columns": ["rings"]},
            {"similar": {"smiles": ASPIRIN, "min_similarity": 0.2}, "limit": 1000},
            {"neighbors_of": {"id": 9}, "sort": {"by": "degree", "descending": True}},
            {"ids": [9, 3, 5], "limit": 2},
            {"substructure": "c1ccccc1[N+](=O)[O-]", "filters": [{"property": "rings", "max": 2}], "limit": 1000},
            {"filters": [{"property": "descriptor.clogp", "min": 3}], "columns": ["descriptor.tpsa"], "limit": 1000},
        )
    ],
    "POST /v1/collections/{c}/clusters": [
        Request(f"{NCI}/clusters", body=body)
        for body in (
            {"threshold": 0.35, "property": "molwt", "by": "mean", "min_size": 2},
            {"method": "single", "filters": [{"property": "molwt", "max": 200}], "descending": False},
        )
    ],
    "POST /v1/collections/{c}/cliffs": [
        Request(f"{NCI}/cliffs", body={"property": "molwt", "name": "1"}),
        Request(f"{NCI}/cliffs", body={"property": "rings", "by": "sali", "ids": [*range(60)], "min_similarity": 0.4}),
    ],
    "POST /v1/collections/{c}/matched-pairs": [
        Request(f"{NCI}/matched-pairs", body={"property": "molwt", "min_count": 1, "substructure": "c1ccccc1"}),
    ],
    "POST /v1/collections/{c}/compare": [
        Request(f"{NCI}/compare", body=body)
        for body in ({"other": "nci", "limit": 30}, {"other": "nci", "order": "closest", "limit": 5, "threshold": 0.9})
    ],
    "POST /v1/collections/{c}/compare/rows": [
        Request(f"{NCI}/compare/rows", body={"other": "nci", "structures": structures}) for structures in (False, True)
    ],
    "POST /v1/collections/{c}/values": [
        Request(f"{NCI}/values", body=body)
        for body in (
            {"columns": ["molwt", "rings"]},
            {"columns": ["descriptor.clogp"], "filters": [{"property": "molwt", "min": 150}], "sort": {"by": "molwt"}},
        )
    ],
    "POST /v1/collections/{c}/scaffolds": [
        Request(f"{NCI}/scaffolds", body=body)
        for body in ({"property": "molwt", "levels": 2}, {"ids": [*range(3, 90)], "parent": "c1ccccc1"})
    ],
    "GET /v1/collections/{c}/items/{id}/neighbors": [
        *[Request(f"{url}/items/{id}/neighbors", {"limit": 7}) for url in (NCI, SOCIAL) for id in range(0, 80, 3)],
        *with_queries(f"{NCI}/items/9/neighbors", {"filters": '[{"property": "names", "contains": "1"}]', "limit": 3}),
        *with_queries(f"{NCI}/items/9/neighbors", {"substructure": '{"smiles": "CO"}'}),
        *with_queries(
            f"{NCI}/items/9/neighbors", {"min_similarity": 0.5}, {"min_similarity": 0.45}, {"min_similarity": 1}
        ),
    ],
    "GET /v1/collections/{c}/items/{id}/subgraph": [
        *[Request(f"{NCI}/items/{id}/subgraph", {"hops": 2}) for id in range(0, 80, 7)],
        *with_queries(f"{NCI}/items/5/subgraph", {"hops": 4, "max_items": 1000}, {"max_items": 5}, {"max_edges": 3}),
        Request(f"{SOCIAL}/items/3/subgraph", {"min_similarity": 0.9}),
    ],
    "GET /v1/collections/{c}/clusters": [
        *with_queries(
            f"{NCI}/clusters", {"threshold": 0.3, "property": "molwt"}, {"method": "single"}, {"method": "scaffold"}
        ),
        *with_queries(f"{SOCIAL}/clusters", {"property": "nodes"}),
    ],
    "GET /v1/collections/{c}/clusters/{id}": with_queries(
        f"{NCI}/clusters/2", {"threshold": 0.3}, {"method": "scaffold"}
    ),
    "GET /v1/collections/{c}/lineage": [
        *with_queries(f"{NCI}/lineage", {"threshold": 0.3}, {"method": "scaffold"}),
        Request(f"{SOCIAL}/lineage"),
    ],
    "POST /v1/collections/{c}/rgroups": [
        Request(
            f"{NCI}/rgroups", body={"substructure": "OC(=O)c1ccccc1", "core": "OC(=O)c1ccccc1", "property": "molwt"}
        ),
        Request(f"{NCI}/rgroups", body={"ids": [*range(40)], "core": "OC(=O)c1ccccc1"}, accept="text/csv"),
    ],
    "GET /v1/collections/{c}/descriptors": [Request(f"{url}/descriptors") for url in (NCI, SOCIAL)],
    "GET /v1/collections/{c}/structure/descriptors": with_queries(f"{NCI}/structure/descriptors", {"smiles": ASPIRIN}),
    "GET /v1/collections/{c}/matched-pairs": with_queries(
        f"{NCI}/matched-pairs", {"property": "molwt", "min_count": 1}, {"property": "rings", "by": "mean"}
    ),
    "GET /v1/collections/{c}/items/{id}/matched-pairs": with_queries(
        f"{NCI}/items/7/matched-pairs", {"property": "molwt", "min_count": 1}
    ),
    "GET /v1/collections/{c}/map": [
        *with_queries(f"{NCI}/map", {}, {"property": "molwt"}, {"method": "butina", "threshold": 0.3}),
        Request(f"{SOCIAL}/map"),
    ],
    "GET /v1/collections/{c}/clusters/{id}/mcs": with_queries(f"{NCI}/clusters/2/mcs", {"threshold": 0.3}),
    "GET /v1/collections/{c}/clusters/{id}/mcs.svg": with_queries(f"{NCI}/clusters/2/mcs.svg", {"threshold": 0.3}),
    "GET /v1/collections/{c}/items/{id}/cluster": with_queries(f"{NCI}/items/9/cluster", {"threshold": 0.3}),
    "GET /v1/collections/{c}/cliffs": [
        *with_queries(f"{NCI}/cliffs", {"property": "molwt", "limit": 40}, {"property": "rings", "by": "difference"}),
        *with_queries(f"{NCI}/cliffs", {"property": "molwt", "filters": '[{"property": "rings", "min": 2}]'}),
        Request(f"{SOCIAL}/cliffs", {"property": "nodes"}),
    ],
    "POST /v1/collections/{c}/pick": [
        Request(f"{NCI}/pick", body={"count": 20}),
        Request(f"{NCI}/pick", body={"count": 9, "method": "sphere", "from": {"name": "1"}}),
        Request(f"{SOCIAL}/pick", body={"count": 5, "from": {"ids": [*range(30)]}}),
    ],
    "GET /v1/collections/{c}/paths": [
        Request(f"{NCI}/paths", {"from": source, "to": source * 7 % 400, "max_hops": 8}) for source in range(30)
    ],
    "GET /v1/collections/{c}/components": [
        *with_queries(f"{NCI}/components", {}, {"min_similarity": 0.6, "limit": 7}, {"min_size": 1, "limit": 150}),
        Request(f"{SOCIAL}/components"),
    ],
    "GET /v1/collections/{c}/components/{id}": [
        *with_queries(f"{NCI}/components/0", {}, {"min_similarity": 0.4, "limit": 7}),
        Request(f"{SOCIAL}/components/0"),
    ],
    "GET /v1/collections/{c}/hops": [
        *with_queries(f"{NCI}/hops", {}, {"targets": 20, "min_similarity": 0.5, "seed": 3})
    ],
    "GET /v1/collections/{c}/items/{id}/positives": [
        Request(f"{url}/items/{id}/positives", sample)
        for url in (NCI, SOCIAL)
        for id in (0, 5, 33)
        for sample in SAMPLES
    ],
    "POST /v1/collections/{c}/positives/batch": [
        Request(f"{url}/positives/batch", body={"ids": [4, 3, 4, *range(70)], **sample}, accept=rows)
        for url in (NCI, SOCIAL)
        for sample in SAMPLES
        for rows in ROWS
    ],
    "GET /v1/collections/{c}/positives/epochs/{e}": [
        Request(f"{NCI}/positives/epochs/3", {"policy": "random_walk", **bounds}, accept=rows)
        for bounds in ({}, {"start": 7, "stop": 50})
        for rows in ROWS
    ],
    "GET /v1/collections/{c}/negatives": [
        Request(f"{url}/negatives", {"count": 30, "batches": 9, "seed": 5}, accept=rows)
        for url in (NCI, SOCIAL)
        for rows in ROWS
    ],
    "POST /v1/collections/{c}/search": [
        Request(f"{NCI}/search", body={"smiles": ASPIRIN, "limit": 400}),
        Request(f"{NCI}/search", body={"smiles": ASPIRIN, "filters": [{"property": "rings", "max": 1}]}),
        Request(f"{NCI}/search", body={"smiles": ASPIRIN, "min_similarity": 0.2}),
        Request(f"{SOCIAL}/search", body={"graph": {"edges": [[0, 1], [1, 2], [2, 0]]}, "limit": 80}),
        Request(
            f"{KARATE}/search",
            body={
                "graph": {"edges": [[0, 1], [1, 2], [2, 0]], "labels": [2] * 3, "weights": [1, 4, 1], "centre": 1},
                "limit": 80,
            },
        ),
    ],
    "POST /v1/collections/{c}/search/batch": [
        Request(f"{NCI}/search/batch", body={"structures": [ASPIRIN, "C1CC", {"name": "1"}, {"name": "none"}]}),
        Request(f"{KARATE}/search/batch", body={"structures": [{"name": "m7"}], "min_similarity": 0.5}),
    ],
    "GET /v1/collections/{c}/structure": with_queries(
        f"{NCI}/structure", {"smiles": "OC(=O)c1ccccc1"}, {"smiles": ASPIRIN}
    ),
    "GET /v1/collections/{c}/structure.svg": with_queries(f"{NCI}/structure.svg", {"smiles": ASPIRIN}),
    "GET /v1/collections/{c}/items/{id}/depiction.svg": [
        *with_queries(
            f"{NCI}/items/5/depiction.svg", {}, {"highlight": 6}, {"highlight_smiles": ASPIRIN, "width": 400}
        ),
        Request(f"{SOCIAL}/items/3/depiction.svg"),
        Request(f"{KARATE}/items/3/depiction.svg"),
    ],
    "GET /v1/collections/{c}/export": [
        Request(f"{url}/export", {"what": what, "format": format})
        for url in (NCI, SOCIAL)
        for what, formats in (("items", ("csv", "parquet", "arrow")), ("edges", ("csv", "parquet", "graphml", "arrow")))
        for format in formats
    ]
    + [Request(f"{NCI}/export", {"what": "items", "format": "sdf"})]
    + [Request(f"{KARATE}/export", {"what": what, "format": "arrow"}) for what in ("items", "edges", "links")],
    "POST /v1/collections/{c}/export": [
        Request(f"{NCI}/export", body={"ids": [9, 3, 5], "what": "items", "format": "csv", "query_smiles": ASPIRIN}),
        Request(f"{NCI}/export", body={"ids": [9, 3, 5], "what": "items", "format": "sdf"}),
        *(
            Request(f"{url}/export", body={"ids": [*range(60)], "what": "edges", "format": format})
            for url in (NCI, SOCIAL)
            for format in ("csv", "graphml")
        ),
        Request(f"{KARATE}/export", body={"ids": [*range(20)], "what": "links", "format": "csv"}),
    ],
    "GET /v1/collections/{c}/rejections": with_queries(f"{KEYED}/rejections", {}, {"limit": 1}),
    "GET /v1/collections/{c}/reports": [Request(f"{NCI}/reports")],
    "GET /v1/collections/{c}/reports/{report}.svg": [Request(f"{NCI}/reports/hops.svg")],
}
"""Requests for every operation that reads a store."""

REFUSED: dict[int, list[Request]] = {
    400: [Request(f"{NCI}/items", {"cursor": "AAAA"})],
    404: [
        *(Request(f"/v1/collections/{name}") for name in ("nobody", "%00%ff", "%60", "x" * 3000)),
        *(Request(f"{NCI}/items/{id}{rest}") for id in (400, 2**31 - 1) for rest in ("", "/neighbors", "/subgraph")),
        *(Request(f"{NCI}/items/5{rest}", {"generation": "0" * 64}) for rest in ("", "/neighbors", "/depiction.svg")),
        Request(NCI, {"generation": "' OR true //"}),
        Request(f"{NCI}/items/400/positives", {"policy": "first_order"}),
        Request(f"{NCI}/paths", {"from": 5, "to": 400}),
        Request(f"{NCI}/positives/batch", body={"ids": [0, 400], "policy": "first_order"}),
        Request(f"{NCI}/export", body={"ids": [0, 400], "what": "items", "format": "csv"}),
    ],
    409: [
        Request(f"{NCI}/items", {"inchikey": "BSYNRYMUTXBXSQ-UHFFFAOYSA-N"}),
        Request(f"{GRAPHS}/search", body={"smiles": "C"}),
    ],
    422: [
        Request(f"{NCI}/items/5/neighbors", {"min_similarity": 0.3}),
        Request(f"{NCI}/components/3", {"min_similarity": 0.3}),
        Request(f"{NCI}/negatives", {"count": 400}),
        Request(f"{NCI}/positives/epochs/0", {"policy": "first_order", "start": 10**6}),
    ],
}


@pytest.fixture(scope="module")
def server(load_neo4j: Callable[[], str]) -> str:
    """Return the URL of a Neo4j server whose data do not change."""
    return load_neo4j()


@pytest.fixture(scope="module")
def neo4j_client(server: str, reports_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    with serve(server, reports=reports_folder) as client:
        yield client


@pytest.fixture(scope="module")
def gds_client(server: str, serve: Callable) -> Iterator[httpx.Client]:
    """Yield a client of an API whose positives are sampled by GDS."""
    with serve(server, sampler="gds") as client:
        yield client


@pytest.fixture(scope="module")
def cypher_client(server: str, serve: Callable) -> Iterator[httpx.Client]:
    with serve(server, sampler="cypher") as client:
        yield client


def require_same(one: httpx.Client, other: httpx.Client, requests: Sequence[Request], status: int) -> None:
    """Check that both APIs reply the same with the same headers, page by page, except for `STORE_SPECIFIC` fields."""
    queue = list(requests)
    for request in queue:
        replies = [request.send(client) for client in (one, other)]
        assert [reply.status_code for reply in replies] == [status, status], request
        own_content, other_content = (STORE_SPECIFIC.sub(b"", reply.content) for reply in replies)
        assert own_content == other_content, request
        varying_headers = {
            "date",
            "x-request-id",
            *(("etag", "content-length") if own_content != replies[0].content else ()),
        }
        headers = [
            {name: value for name, value in reply.headers.items() if name not in varying_headers} for reply in replies
        ]
        assert headers[0] == headers[1], request
        if cursor := replies[0].headers["content-type"] == "application/json" and replies[0].json().get("next_cursor"):
            queue.append(request.for_next_page(cursor))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_replies_equal_those_over_a_folder(client: httpx.Client, neo4j_client: httpx.Client, operation: str) -> None:
    require_same(client, neo4j_client, OPERATIONS[operation], 200)


def test_every_operation_is_compared(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    served = {
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "uploads" not in operation["tags"]  # They change a store, and test_uploads.py has them.
    }
    assert served - set(OPERATIONS) == {"GET /livez", "GET /readyz", "GET /metrics"}


@pytest.mark.parametrize("status", REFUSED)
def test_refusals_equal_those_over_a_folder(client: httpx.Client, neo4j_client: httpx.Client, status: int) -> None:
    require_same(client, neo4j_client, REFUSED[status], status)


def test_a_hundred_concurrent_requests_succeed(client: httpx.Client, neo4j_client: httpx.Client) -> None:
    """The requests outnumber the connections to the server."""
    paths = [f"{NCI}/items/{id}/neighbors" for id in range(100)]
    replies: dict[str, bytes] = {}
    threads = [
        threading.Thread(target=lambda path=path: replies.update({path: neo4j_client.get(path).content}))
        for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == {path: client.get(path).content for path in paths}


def parse_rows(reply: httpx.Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


@pytest.mark.parametrize("sample", SAMPLES[:2], ids=lambda sample: sample["policy"])
def test_gds_samples_agree_between_item_batch_and_epoch(
    client: httpx.Client, gds_client: httpx.Client, sample: dict[str, Any]
) -> None:
    """The samples lie in each anchor's neighborhood, as the API over the folder reports it."""
    ids = list(range(400))
    batch_rows = parse_rows(Request(f"{NCI}/positives/batch", body={"ids": ids, **sample}).send(gds_client))
    assert parse_rows(Request(f"{NCI}/positives/epochs/0", sample).send(gds_client)) == [
        *batch_rows,
        {"complete": True, "rows": 400},
    ]
    for row in batch_rows[::50]:
        alone = Request(f"{NCI}/items/{row['anchor']}/positives", sample).send(gds_client).json()
        assert [positive["item"]["id"] for positive in alone["positives"]] == row["positives"][: row["count"]]
        around = Request(f"{NCI}/items/{row['anchor']}/subgraph", {"hops": sample.get("length", 1), "max_items": 1000})
        near = {node["item"]["id"] for node in around.send(client).json()["nodes"]}
        assert {*row["positives"][: row["count"]]} <= near - {row["anchor"]}
        assert row["isolated"] == (len(near) == 1)


@pytest.mark.parametrize(
    ("engine", "policy", "anchors", "sampler"),
    [
        ("neo4j", "random_walk", 1, "snapshot"),
        ("gds", "random_walk", 1, "gds"),
        ("gds", "second_order", 1, "snapshot"),
        ("cypher", "random_walk", 1, "cypher"),
        ("cypher", "second_order", 100, "cypher"),
        ("cypher", "first_order", 101, "snapshot"),
    ],
)
def test_reply_names_the_sampler(
    request: pytest.FixtureRequest, engine: str, policy: str, anchors: int, sampler: str
) -> None:
    """Over a large request, `cypher` reads the graph, and keeps it for the requests that follow."""
    client = request.getfixturevalue(f"{engine}_client")
    batch = Request(f"{NCI}/positives/batch", body={"ids": [*range(anchors)], "policy": policy}).send(client)
    single = Request(f"{NCI}/items/3/positives", {"policy": policy}).send(client)
    assert (batch.status_code, single.status_code) == (200, 200)
    assert batch.headers["Graphkin-Sampler"] == single.headers["Graphkin-Sampler"] == sampler


def test_epoch_names_the_sampler(neo4j_client: httpx.Client, gds_client: httpx.Client) -> None:
    for client, sampler in ((neo4j_client, "snapshot"), (gds_client, "gds")):
        reply = Request(f"{NCI}/positives/epochs/0", {"policy": "first_order"}).send(client)
        assert (reply.status_code, reply.headers["Graphkin-Sampler"]) == (200, sampler)


def test_negatives_do_not_depend_on_the_sampler(client: httpx.Client, gds_client: httpx.Client) -> None:
    require_same(client, gds_client, OPERATIONS["GET /v1/collections/{c}/negatives"], 200)


@pytest.mark.long
def test_signal_ends_the_command_after_its_replies(server: str, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("graphkin")), "serve", "--store", server, "--port", "0"]
    environment = {**os.environ, "GRAPHKIN_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[1]
        with httpx.stream("GET", f"{url}{NCI}/negatives?batches=16384", timeout=60) as reply:
            chunks = reply.iter_bytes()
            received = len(next(chunks))
            process.send_signal(signal.SIGTERM)
            received += sum(map(len, chunks))
        assert received > 15_000_000
    assert process.returncode == 0


@pytest.mark.parametrize(("path", "is_immutable"), [("positives?policy=first_order&", False), ("neighbors?", True)])
def test_only_gds_samples_are_revalidated(
    client: httpx.Client, gds_client: httpx.Client, path: str, is_immutable: bool
) -> None:
    """GDS may sample differently after another projection."""
    generation = client.get("/v1/collections/nci").json()["generation"]
    url = f"/v1/collections/nci/items/5/{path}generation={generation}"
    assert "immutable" in client.get(url).headers["Cache-Control"]
    cache_control = gds_client.get(url).headers["Cache-Control"]
    assert ("immutable" in cache_control) is is_immutable
    assert (cache_control == "no-cache") is not is_immutable
