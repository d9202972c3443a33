"""Every request of the corpus: the committed ones, structures over the routes that read them, all that the OpenAPI
names with values that it should not have, and cursors that were tampered with.

A run replays a part of them, always the same: each structure in one of its places, each parameter with one of 24 of
its values. With GRAPHKIN_FUZZ=all it replays all.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from urllib.parse import quote

from graphkin.protocol.values import MAX_REQUEST_LINE
from tests.fuzz import cursors, operations
from tests.fuzz.corpus import ALL, chosen, content, lines, whole
from tests.fuzz.molblocks import molblocks

_BASE = "/v1/collections"
_JSON = "Content-Type: application/json"
_LONGEST_TARGET = MAX_REQUEST_LINE - 1_000  # bytes; the rest is for the path and what stands around the target


@dataclass(frozen=True)
class Request:
    """One request. Some targets hold the {name} of what only the running server knows."""

    id: str
    method: str
    target: str
    headers: tuple[str, ...] = ()
    body: bytes | None = None

    def bytes(self, known: Mapping[str, str]) -> bytes:
        """As it is sent, `known` filled in."""
        target = self.target
        for name, value in known.items():
            target = target.replace("{" + name + "}", value)
        given = {header.partition(":")[0].lower() for header in self.headers}
        head = [f"{self.method} {target} HTTP/1.1", *self.headers, "Connection: close"]
        if "host" not in given:
            head.append("Host: localhost")
        if self.body is not None and not given & {"content-length", "transfer-encoding"}:
            head.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*head, "", ""]).encode("latin-1") + (self.body or b"")


@cache
def requests() -> tuple[Request, ...]:
    """All of them, in an order in which slow ones are far from each other."""
    operations = [case for case in _operations() if chosen(case.id, 24) == 0]
    found = [*_committed(), *_structures(), *_molblocks(), *operations, *_cursors()]
    Random(0).shuffle(found)
    return tuple(found)


def _committed() -> Iterator[Request]:
    for case in lines("requests.jsonl"):
        body = content(case["body"]) if "body" in case else None
        headers = tuple(whole(header) for header in case.get("headers", ()))
        yield Request(case["id"], case.get("method", "GET"), whole(case["target"]), headers, body)


def _structures() -> Iterator[Request]:
    for case in lines("structures.jsonl"):
        id = case.pop("id")
        ((writing, parts),) = case.items()
        name, text = f"{writing}/{id}", whole(parts)
        if writing == "graph":
            yield _posted(f"search/{name}", "social/search", f'{{"limit":3,"graph":{text}}}')
        else:
            places = [_searched(name, writing, text), *_asked(name, writing, text)]
            at = chosen(name, len(places))
            yield from places if ALL else places[at : at + 1]


def _asked(name: str, writing: str, text: str) -> Iterator[Request]:
    """A structure in each of the other places that read it."""
    asked = quote(text.encode("utf-8", "surrogatepass"))
    if len(asked) > _LONGEST_TARGET:
        return
    yield _got(f"structure/{name}", f"nci/structure?{writing}={asked}")
    yield _got(f"structure.svg/{name}", f"nci/structure.svg?{writing}={asked}")
    if writing == "smiles":
        yield _got(f"items/{name}", f"standardised/items?smiles={asked}")
        yield _got(f"depiction.svg/{name}", f"nci/items/5/depiction.svg?highlight_smiles={asked}")
        body = {"ids": [0, 1], "what": "items", "format": "csv", "query_smiles": text}
        yield _posted(f"export/{name}", "nci/export", json.dumps(body))


def _molblocks() -> Iterator[Request]:
    return (_searched(f"molblock/{name}", "molblock", block) for name, block in molblocks())


def _operations() -> Iterator[Request]:
    for id, method, target, body, media_type in (*operations.parameters(), *operations.fields()):
        headers = () if body is None else (f"Content-Type: {media_type}",)
        yield Request(id, method, target, headers, None if body is None else body.encode())


def _cursors() -> Iterator[Request]:
    for query in cursors.PAGED:
        route = query.partition("?")[0]
        for made in cursors.MADE:
            yield _got(f"cursor/{route}/{made}", f"nci/{query}&cursor={{{made} {query}}}")
        for other in cursors.PAGED:
            yield _got(f"cursor/{route}/of {other}", f"nci/{query}&cursor={{whole {other}}}")


def _searched(name: str, writing: str, text: str) -> Request:
    return _posted(f"search/{name}", "nci/search", json.dumps({writing: text, "limit": 3}))


def _got(id: str, path: str) -> Request:
    return Request(id, "GET", f"{_BASE}/{path}")


def _posted(id: str, path: str, body: str) -> Request:
    return Request(id, "POST", f"{_BASE}/{path}", (_JSON,), body.encode())
