"""Send the same requests to the servers of two checkouts, and compare the responses byte by byte.

    python -m tests.rigs.replies ../base [--neo4j]

Both servers read one store, which this checkout builds: the collections of the fuzz corpus, and one of each other kind
of item. The requests are those of the fuzz corpus and, for every operation, valid ones: each media type, HEAD, Range,
conditional and compressed requests. Status, all headers and body are compared, except the few values that differ
between any two servers (`_steady`). A request with different responses is repeated, because some outcomes depend on
processor time; it passes if one checkout gives a response that the other gives too. The exit code is 1 if a response
differs, or if an operation of the OpenAPI document never had a 2xx response. With `--neo4j` the requests are sent a
second time, to servers over a real Neo4j.

The other checkout needs only a `graphkin` package that `python -m graphkin serve` starts, and the same build of the web
page. Each store takes about four minutes.
"""

import argparse
import difflib
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import numpy as np
from rdkit import RDConfig

from benchmarks.command import OWN, Address, served
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.fingerprints.recipe import resolve_bits
from graphkin.similarity.vectors.recipe import resolve_vectors
from graphkin.store import open_store
from graphkin.store.transfer import copy_generation
from tests.conftest import Neo4jServer
from tests.fuzz.exchange import Reply, exchange
from tests.fuzz.operations import operation_of, operations
from tests.fuzz.requests import Request, requests
from tests.fuzz.store import build_store, placeholders
from tests.karate import publish_karate
from tests.rigs.valid_requests import valid_requests

_COLLECTIONS = ("nci", "keyed", "standardised", "social", "karate", "bits", "vectors")
_BUILDING_SECONDS = 30  # limit for 503 responses of a server that is building
_ATTEMPTS = 4  # attempts to get equal responses
_SECONDS = 60  # limit of one response; a longer one is cut and compared as a broken connection

_MOMENTS = {"date", "last-modified"}  # last-modified is the time when the server wrote an export's file
_GENERATED_ID = re.compile("[0-9a-f]{32}")
_BOUNDARY = re.compile("(multipart/byteranges; boundary=)([0-9a-f]+)")
_SAMPLE = re.compile(rb"^([^#\s]+(?: \w+=.*\})?) \S+.*$", re.MULTILINE)

Outcome = tuple[str, ...]
"""A response as lines: status, headers by name, body; or one line for a broken connection."""


class Side:
    """The server of one checkout, with its cursors.

    Args:
        address: Host and port.
        store: The store of the corpus, also for a server over Neo4j, because requests name its generations.
    """

    def __init__(self, address: Address, store: Path) -> None:
        self.address = address
        self._values = placeholders(store, lambda target: self._reply(Request("", "GET", target)).body)

    def outcome(self, request: Request) -> Outcome:
        """Return status, headers and body as lines, or the error that broke the connection."""
        try:
            return _steady(request, self._reply(request, self._values))
        except (OSError, HTTPException) as error:
            return (type(error).__name__,)

    def _reply(self, request: Request, values: Mapping[str, str] | None = None) -> Reply:
        """Return the response, repeating the request while the server is building."""
        deadline = time.monotonic() + _BUILDING_SECONDS
        while True:
            reply = exchange(self.address, request.bytes(values or {}), request.method, _SECONDS)
            if reply.status != 503 or "retry-after" not in reply.headers or time.monotonic() > deadline:
                return reply
            time.sleep(0.1)


def _steady(request: Request, reply: Reply) -> Outcome:
    """Return a response as lines, without the values that differ between any two servers.

    These are timestamps, generated request ids, the boundary between parts of a file, and the counts of metrics.
    """
    body = reply.body
    headers = []
    for name, value in reply.headers.items():
        if name.lower() in _MOMENTS or (name.lower() == "x-request-id" and _GENERATED_ID.fullmatch(value)):
            value = "..."
        if boundary := _BOUNDARY.fullmatch(value):
            value = boundary[1]
            body = body.replace(boundary[2].encode(), b"...")
        headers.append(f"{name.lower()}: {value}")
    if request.target.startswith("/metrics") and reply.status == 200:
        headers = [header for header in headers if not header.startswith("content-length")]
        body = _SAMPLE.sub(rb"\1", body)
    return (str(reply.status), *sorted(headers), repr(body))


@dataclass
class Comparison:
    """The result of comparing a corpus.

    Attributes:
        different: Ids of requests with different responses.
        unsteady: Ids of requests with responses that differed at first, and agreed when the request was repeated.
        statuses: Number of the other checkout's responses by status.
        answered: Operations, as method and path of the OpenAPI document, with equal 2xx responses.
        seconds: Duration of the whole corpus.
    """

    different: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    answered: set[tuple[str, str] | None] = field(default_factory=set)
    seconds: float = 0


def compare(other: Side, ours: Side, corpus: Sequence[Request]) -> Comparison:
    """Send each request to both servers, and print each difference."""
    result, begin = Comparison(), time.monotonic()
    for request in corpus:
        theirs, mine = [other.outcome(request)], [ours.outcome(request)]
        while not {*theirs} & {*mine} and len(mine) < _ATTEMPTS:
            theirs.append(other.outcome(request))
            mine.append(ours.outcome(request))
        result.statuses[theirs[0][0]] += 1
        if not {*theirs} & {*mine}:
            result.different.append(request.id)
            print(f"{request.id}: {request.method} {request.target[:200]}")
            for line in difflib.unified_diff(theirs[0], mine[0], "other", "this", lineterm="", n=0):
                print(f"    {line[:500]}")
        elif len(mine) > 1:
            result.unsteady.append(request.id)
            print(f"{request.id}: {theirs[0][0]} and {mine[0][0]}, which agreed when the request was sent again")
        elif mine[0][0].startswith("2"):
            result.answered.add(operation_of(request.method, request.target.partition("?")[0]))
    result.seconds = time.monotonic() - begin
    return result


def build(folder: Path) -> Path:
    """Ingest the corpus's collections and one of each other kind, and write a report into `folder`/reports."""
    store = build_store(folder, Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi")
    random = np.random.default_rng(0)
    around = random.random((6, 200)) < 0.3
    bits = around[random.integers(0, 6, 60)] ^ (random.random((60, 200)) < 0.05)
    rows = [f"{np.packbits(row).tobytes().hex()}\tf{number}\n" for number, row in enumerate(bits)]
    (folder / "bits.fps").write_text("".join(["#FPS1\n", *rows]))
    np.save(folder / "vectors.npy", random.normal(size=(60, 4)).astype(np.float32))
    with open_store(store) as target:
        publish_karate(target, folder)
        one = IngestOptions(workers=1)
        ingest(target, "bits", [str(folder / "bits.fps")], resolve_bits(bits=200, threshold=0.3), one)
        ingest(target, "vectors", [str(folder / "vectors.npy")], resolve_vectors(dimension=4, threshold=0.3), one)
        _write_report(folder / "reports", target.collection("nci").current)
    return store


def _write_report(folder: Path, generation: str) -> None:
    """Write the files of a report that a server displays."""
    folder.mkdir()
    report = {"report": "hops", "title": "Hops", "command": "hops", "seeds": [0], "notes": [], "generation": generation}
    (folder / "hops.json").write_text(json.dumps(report))
    (folder / "hops.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')


@contextmanager
def _neo4j(store: Path, folder: Path) -> Iterator[str]:
    """Yield the URL of a Neo4j server that holds every generation of the store."""
    Neo4jServer.build()
    server = Neo4jServer(folder / "neo4j")
    os.environ["GRAPHKIN_NEO4J_USER"], os.environ["GRAPHKIN_NEO4J_PASSWORD"] = server.user, server.password
    try:
        with open_store(store) as source, open_store(server.url, create=True) as target:
            for collection in source.collections():
                for id in sorted(collection.generations, key=collection.current.__eq__):
                    with source.open(collection.name, id) as generation:
                        copy_generation(generation, target)
        yield server.url
    finally:
        server.stop()


def _report(place: str | Path, result: Comparison) -> bool:
    """Print the result of a corpus, and return whether it has violations."""
    unanswered = [" ".join(operation) for operation in operations() if operation not in result.answered]
    print(f"{place}: {result.statuses.total()} requests in {result.seconds:.0f} s")
    print(f"  by status: {dict(sorted(result.statuses.items()))}")
    print(f"  replies that differ: {len(result.different)}")
    print(f"  replies that agreed when the request was sent again: {len(result.unsteady)}")
    print(f"  operations without a reply of 2xx: {', '.join(unanswered) or 'none'}")
    return bool(result.different or unanswered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the other checkout's folder")
    parser.add_argument("--neo4j", action="store_true", help="send the requests to servers over Neo4j too")
    options = parser.parse_args()
    os.environ["GRAPHKIN_ALLOWED_HOSTS"] = "localhost,127.0.0.1"
    trees = (options.other.resolve(), OWN)
    corpus = [*requests(), *valid_requests(_COLLECTIONS)]
    failed = False
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store, reports = build(folder), ("--reports", str(folder / "reports"))
        places: list[str | Path] = [store]
        if options.neo4j:
            places.append(stack.enter_context(_neo4j(store, folder)))
        for place in places:
            with ExitStack() as servers:
                other, ours = (servers.enter_context(served(tree, place, *reports))[0] for tree in trees)
                failed |= _report(place, compare(Side(other, store), Side(ours, store), corpus))
    sys.exit(failed)


if __name__ == "__main__":
    main()
