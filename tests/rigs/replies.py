"""Send the same requests to the servers of two checkouts and compare the replies byte by byte.

    python -m tests.rigs.replies ../base [--neo4j] [--store DIR]

Both servers read one store, which this checkout builds: the collections of the fuzz corpus. The requests are those of
the fuzz corpus and, for every operation, valid ones: each media type, HEAD, Range, conditional and compressed requests.
Compared are the status, all headers but those that name the moment, and the body. A difference is printed, and the
exit code is 1. With `--neo4j` the valid requests are sent a second time, to servers over a real Neo4j.
"""

import argparse
import difflib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

from rdkit import RDConfig

from benchmarks.command import OWN, Address, served
from graphkin.store import open_store
from graphkin.store.transfer import copy_generation
from tests.conftest import Neo4jServer
from tests.fuzz.exchange import Reply, exchange
from tests.fuzz.requests import Request, requests
from tests.fuzz.store import build_store, placeholders

_VARYING_HEADERS = {"date", "x-request-id", "server-timing", "retry-after", "ratelimit", "content-length"}
_VARYING_BODIES = {"/metrics"}
_BUILDING_SECONDS = 60  # until a server that says "not yet" counts as hung

_ARROW = "application/vnd.apache.arrow.stream"
_STREAMS = ("Accept: application/jsonl", "Accept: application/x-ndjson", f"Accept: {_ARROW}")
_CONDITIONS = ((), ("Accept-Encoding: gzip",), ("Accept-Encoding: zstd",), ('If-None-Match: "x"',), ("Accept: text/x",))
_RANGES = ("bytes=0-99", "bytes=50-", "bytes=-50", "bytes=9999999-", "bytes=0-1,5-6", "items=0-1")
_Fields = Mapping[str, object]

_POLICIES: tuple[_Fields, ...] = (
    {"policy": "first_order"},
    {"policy": "first_order", "k": 5, "seed": 7},
    {"policy": "second_order", "k": 4, "seed": 7},
    {"policy": "random_walk"},
    {"policy": "random_walk", "k": 8, "walks": 16, "length": 4, "p": 0.5, "q": 2.0, "seed": 9},
    {"policy": "random_walk", "rank": "top", "p_end": 0.2, "pad": "self"},
    {"policy": "random_walk", "rank": "count", "restart": 0.1},
)
_ASPIRIN, _PHENOL, _BENZENE = "CC(=O)Oc1ccccc1C(=O)O", "Oc1ccccc1", "c1ccccc1"
_TRIANGLE = {"edges": [[0, 1], [1, 2], [2, 0]]}
_EXPORTS: tuple[_Fields, ...] = (
    *({"what": "items", "format": format} for format in ("csv", "parquet", "sdf", "arrow")),
    *({"what": "edges", "format": format} for format in ("csv", "parquet", "graphml", "arrow")),
    {"what": "edges", "format": "csv", "min_similarity": 0.5},
    {"what": "items", "format": "csv", "columns": "id,smiles,molwt"},
    {"what": "items", "format": "arrow", "start": 5, "stop": 20},
    {"what": "fingerprints", "format": "npy"},
    {"what": "fingerprints", "format": "fps"},
)
_QUERIES: tuple[_Fields, ...] = (
    {},
    {"limit": 5},
    {"name": "1"},
    {"filters": [{"property": "molwt", "min": 200, "max": 300}]},
    {"filters": [{"property": "molwt", "min": 200}], "sort": {"by": "molwt", "descending": True}, "limit": 20},
    {"substructure": _BENZENE, "limit": 50},
    {"similar": {"smiles": _ASPIRIN, "min_similarity": 0.3}, "sort": {"by": "similarity", "descending": True}},
    {"columns": ["id", "smiles"], "limit": 30},
)


def valid_requests(collections: Sequence[str]) -> Iterator[Request]:
    """Yield requests that a server with the corpus's store answers with content, for each collection."""
    for collection in collections:
        for number, (method, path, headers, body) in enumerate(_requests_of(collection)):
            target = f"/v1/collections/{collection}{path}"
            sent = None if body is None else json.dumps(body).encode()
            kind = () if body is None else ("Content-Type: application/json",)
            yield Request(f"valid/{collection}/{number}", method, target, (*kind, *headers), sent)


_Parts = tuple[str, str, tuple[str, ...], object]
"""method, path below the collection, headers, body"""


def _requests_of(collection: str) -> Iterator[_Parts]:
    read = [*_item_paths(), *_collection_paths()]
    for path in read:
        yield "GET", path, (), None
        yield "HEAD", path, (), None
    for path, headers in product(read[:: len(read) // 12], _CONDITIONS[1:]):
        yield "GET", path, headers, None
    for path, accept in product(_stream_paths(), _STREAMS):
        yield "GET", path, (accept,), None
    for asked, extra in product(_EXPORTS, ((), *((f"Range: {range}",) for range in _RANGES))):
        yield "GET", f"/export?{urlencode(asked)}", extra, None
    yield from _posts(collection)


def _item_paths() -> Iterator[str]:
    for id in (0, 3, 17):
        yield from (f"/items/{id}{rest}" for rest in ("", "/neighbors", "/neighbors?limit=3&min_similarity=0.5"))
        yield from (f"/items/{id}/positives?{urlencode(policy)}" for policy in _POLICIES)
        yield from (f"/items/{id}/subgraph?{query}" for query in ("", "hops=2&max_items=40", "min_similarity=0.4"))
        yield from (f"/items/{id}/depiction.svg{rest}" for rest in ("", "?width=300&height=200", "?highlight=5"))
        yield from (f"/items/{id}/cluster?method={method}&threshold=0.5" for method in ("butina", "single", "scaffold"))


def _collection_paths() -> Iterator[str]:
    yield from ("", "/items?smiles=CCO", "/items?name=1", "/items?limit=3", "/rejections", "/rejections?limit=1")
    yield from ("/paths?from=0&to=5", "/paths?from=0&to=17&max_hops=8", "/hops", "/hops?targets=3&seed=5")
    yield from ("/components?min_similarity=0.5", "/components?min_similarity=0.7&min_size=3", "/components/0")
    for method in ("butina", "single", "scaffold"):
        clustering = f"method={method}&threshold=0.5"
        yield from (f"/clusters?{clustering}{rest}" for rest in ("", "&limit=3", "&property=molwt"))
        yield from (f"/clusters/{rest}?{clustering}" for rest in ("0", "0/core", "0/core.svg"))
    yield from (f"/cliffs?property=molwt&by={by}&limit=5" for by in ("sali", "difference"))
    yield from (f"/structure{kind}?smiles={_PHENOL}" for kind in ("", ".svg"))
    yield from ("/reports", "/reports/hops.svg")


def _stream_paths() -> Iterator[str]:
    yield from (f"/positives/epochs/1?{urlencode(policy)}" for policy in _POLICIES)
    yield from ("/negatives?seed=7&batches=3&count=5", "/map", "/map?property=molwt")


def _posts(collection: str) -> Iterator[_Parts]:
    structures: tuple[_Fields, ...] = ({"smiles": _PHENOL}, {"smiles": _ASPIRIN}, {"graph": _TRIANGLE})
    limits: tuple[_Fields, ...] = ({}, {"limit": 3}, {"min_similarity": 0.4}, {"substructure": _BENZENE})
    for structure, limit in product(structures, limits):
        yield "POST", "/search", (), {**structure, **limit}
    for policy, accept in product(_POLICIES, _STREAMS):
        yield "POST", "/positives/batch", (accept,), {"ids": [0, 3, 3, 17, 1], **policy}
    for accept in _STREAMS:
        yield "POST", "/search/batch", (accept,), {"structures": [_PHENOL, "C1CC", {"name": "1"}, _TRIANGLE]}
    for query in _QUERIES:
        yield "POST", "/items/query", (), query
        yield "POST", "/pick", (), {"count": 3, "from": query}
    for asked in _EXPORTS[:8]:
        yield "POST", "/export", (), {"ids": [0, 3, 17, 1], **asked}


class _Side:
    """The server of one checkout, and the cursors that it gives."""

    def __init__(self, address: Address, store: Path) -> None:
        self.address = address
        self.known = placeholders(store, lambda target: self.reply(Request("", "GET", target)).body)

    def reply(self, request: Request, known: Mapping[str, str] | None = None) -> Reply:
        """Return the reply, once what the server has to build for it is built."""
        deadline = time.monotonic() + _BUILDING_SECONDS
        while True:
            reply = exchange(self.address, request.bytes(known or {}), request.method)
            if reply.status != 503 or time.monotonic() > deadline:
                return reply
            time.sleep(0.05)

    def outcome(self, request: Request) -> list[str]:
        """Return status, headers and body as lines, or the way in which the connection broke."""
        try:
            reply = self.reply(request, self.known)
        except (OSError, HTTPException) as error:
            return [type(error).__name__]
        headers = sorted(
            f"{name.lower()}: {value}" for name, value in reply.headers.items() if name.lower() not in _VARYING_HEADERS
        )
        varying = request.target.partition("?")[0] in _VARYING_BODIES
        return [str(reply.status), *headers, "" if varying else repr(reply.body)]


def compare(other: _Side, ours: _Side, corpus: Sequence[Request]) -> tuple[int, dict[str, int]]:
    """Print each difference. Return how many replies differ, and how many there were by status."""
    different, statuses = 0, dict[str, int]()
    for request in corpus:
        theirs, mine = other.outcome(request), ours.outcome(request)
        statuses[theirs[0]] = statuses.get(theirs[0], 0) + 1
        if theirs != mine:
            different += 1
            print(f"{request.id}: {request.method} {request.target[:200]}")
            for line in difflib.unified_diff(theirs, mine, "other", "this", lineterm="", n=0):
                print(f"    {line[:500]}")
    return different, dict(sorted(statuses.items()))


@contextmanager
def _neo4j(store: Path, folder: Path, collections: Sequence[str]) -> Iterator[str]:
    """Yield the URL of a Neo4j server that holds the store's collections."""
    Neo4jServer.build()
    server = Neo4jServer(folder / "neo4j")
    os.environ["GRAPHKIN_NEO4J_USER"], os.environ["GRAPHKIN_NEO4J_PASSWORD"] = server.user, server.password
    try:
        with ExitStack() as stack, open_store(store) as source, open_store(server.url, create=True) as target:
            for collection in collections:
                copy_generation(stack.enter_context(source.open(collection, source.full_id(collection, None))), target)
        yield server.url
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the other checkout's folder")
    parser.add_argument("--neo4j", action="store_true", help="ask servers over Neo4j too")
    options = parser.parse_args()
    os.environ["GRAPHKIN_ALLOWED_HOSTS"] = "localhost,127.0.0.1"
    trees = (options.other.resolve(), OWN)
    corpus = [*requests(), *valid_requests(["nci", "keyed", "standardised", "social"])]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = build_store(folder, Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi")
        runs: list[tuple[str | Path, list[Request]]] = [(store, corpus)]
        if options.neo4j:
            held = ["nci", "social"]
            runs.append((stack.enter_context(_neo4j(store, folder, held)), list(valid_requests(held))))
        failed = 0
        for place, asked in runs:
            with ExitStack() as servers:
                other, ours = (_Side(servers.enter_context(served(tree, place))[0], store) for tree in trees)
                different, statuses = compare(other, ours, asked)
            print(f"{place}: {len(asked)} requests, {different} replies differ; by status {statuses}")
            failed += different
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
