"""Requests of the users of `tests.rigs.load`.

    instant  70 %  an item; its neighbors; an item by its SMILES or a name; the collections; livez
    search   15 %  a search; a structure; a neighborhood of two hops; a path; components at one of 50 thresholds
    drawing  10 %  depiction of an item, of an item with what it shares with another item, of a structure
    heavy     5 %  an export of all items (CSV, SDF, Parquet) or edges (CSV, GraphML); one of 12 epochs of positives
                   (Arrow, JSON Lines); a million negatives; the positives of 4,096 anchors

Requests of a class are equally likely. Structures and ids are sampled uniformly from the collection.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

SHARES = {"instant": 0.70, "search": 0.15, "drawing": 0.10, "heavy": 0.05}

_ROWS = ("application/vnd.apache.arrow.stream", "application/x-ndjson")


class Ask(NamedTuple):
    """An encoded request and its kind."""

    kind: str
    content: bytes


@dataclass(frozen=True)
class Mix:
    """Requests to one collection.

    Attributes:
        host: Value of the Host header.
        collection: Name of the collection.
        items: Number of its items.
        smiles: SMILES of some items.
        threshold: Threshold of its recipe.
        key: API key, if the server requires one.
    """

    host: str
    collection: str
    items: int
    smiles: list[str]
    threshold: float
    key: str | None = None

    def draw(self, random: Random, shares: Mapping[str, float] = SHARES) -> tuple[str, Ask]:
        """Sample a class and a request of it."""
        (name,) = random.choices([*shares], [*shares.values()])
        return name, random.choice(self.classes[name])(random)

    @property
    def classes(self) -> dict[str, list[Callable[[Random], Ask]]]:
        return {
            "instant": [self.item, self.neighbors, self.lookup, self.collections, self.live],
            "search": [self.search, self.structure, self.subgraph, self.path, self.components],
            "drawing": [self.depiction, self.shared, self.structure_drawn],
            "heavy": [self.export, self.epoch, self.negatives, self.batch],
        }

    # instant

    def item(self, random: Random) -> Ask:
        return self.get("item", f"/items/{self._id(random)}")

    def neighbors(self, random: Random) -> Ask:
        return self.get("neighbours", f"/items/{self._id(random)}/neighbors")

    def lookup(self, random: Random) -> Ask:
        if random.random() < 0.5:
            return self.get("item by SMILES", "/items", smiles=random.choice(self.smiles))
        return self.get("item by name", "/items", name=f"ZINC{random.randrange(10**8):08}")

    def collections(self, random: Random) -> Ask:
        return Ask("collections", self._request("GET", "/v1/collections"))

    def live(self, random: Random) -> Ask:
        return Ask("livez", self._request("GET", "/livez"))

    # search

    def search(self, random: Random) -> Ask:
        return self._post("search", "/search", {"smiles": random.choice(self.smiles), "limit": 10})

    def structure(self, random: Random) -> Ask:
        return self.get("structure", "/structure", smiles=random.choice(self.smiles))

    def subgraph(self, random: Random) -> Ask:
        return self.get("subgraph", f"/items/{self._id(random)}/subgraph", hops=2)

    def path(self, random: Random) -> Ask:
        return self.get("path", f"/paths?from={self._id(random)}&to={self._id(random)}")

    def components(self, random: Random) -> Ask:
        threshold = self.threshold + (1 - self.threshold) * random.randrange(50) / 50
        return self.get("components", "/components", min_similarity=round(threshold, 4))

    # drawing

    def depiction(self, random: Random) -> Ask:
        return self.get("drawing", f"/items/{self._id(random)}/depiction.svg")

    def shared(self, random: Random) -> Ask:
        path = f"/items/{self._id(random)}/depiction.svg"
        return self.get("drawing of what is shared", path, highlight=self._id(random))

    def structure_drawn(self, random: Random) -> Ask:
        return self.get("structure drawn", "/structure.svg", smiles=random.choice(self.smiles))

    # heavy

    def export(self, random: Random) -> Ask:
        formats = {"items": ("csv", "sdf", "parquet"), "edges": ("csv", "graphml")}
        what, format = random.choice([(what, format) for what, each in formats.items() for format in each])
        return self.get(f"{what} as {format}", "/export", what=what, format=format)

    def epoch(self, random: Random) -> Ask:
        path = f"/positives/epochs/{random.randrange(3)}"
        accept = random.choice(_ROWS)
        return self.get("epoch", path, accept, policy="random_walk", seed=random.randrange(4))

    def negatives(self, random: Random) -> Ask:
        return self.get("negatives", "/negatives", _ROWS[0], seed=random.randrange(1000), batches=4096, count=255)

    def batch(self, random: Random) -> Ask:
        ids = [self._id(random) for _ in range(4096)]
        body = {"ids": ids, "policy": "random_walk", "seed": random.randrange(1000)}
        return self._post("batch of positives", "/positives/batch", body, _ROWS[0])

    def _id(self, random: Random) -> int:
        return random.randrange(self.items)

    def get(self, kind: str, path: str, accept: str = "*/*", **query: Any) -> Ask:
        place = f"/v1/collections/{self.collection}{path}"
        return Ask(kind, self._request("GET", f"{place}?{urlencode(query)}" if query else place, accept))

    def _post(self, kind: str, path: str, body: dict[str, Any], accept: str = "*/*") -> Ask:
        content = json.dumps(body).encode()
        head = self._request(
            "POST",
            f"/v1/collections/{self.collection}{path}",
            accept,
            **{"Content-Type": "application/json", "Content-Length": len(content)},
        )
        return Ask(kind, head + content)

    def _request(self, method: str, target: str, accept: str = "*/*", **headers: Any) -> bytes:
        known = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        fields = {"Host": self.host, "Accept": accept, **known, **headers}
        return "\r\n".join([f"{method} {target} HTTP/1.1", *map(": ".join, _texts(fields)), "", ""]).encode()


def _texts(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in fields.items()]
