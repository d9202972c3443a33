"""Python client for the REST API. It covers every endpoint and needs neither torch nor RDKit.

    with Graphkin("http://localhost:8000") as server:
        nci = server.collection("nci")
        nci.search(smiles="CCO", limit=5).hits
        nci.neighbors(17, min_similarity=0.7)
        nci.epoch(0, "random_walk", k=5, seed=1)      # an Arrow table, one row per anchor

    async with AsyncGraphkin("http://localhost:8000") as server:
        nci = await server.collection("nci")
        async for item in nci.items():
            ...

Methods return the models of `graphkin.protocol.replies` and Arrow tables for bulk data. They raise the errors of
`graphkin.protocol.errors`. `make docs` generates the package `synchronous` from `asynchronous`.
"""

from graphkin.client.asynchronous.collection import AsyncCollection
from graphkin.client.asynchronous.server import AsyncGraphkin
from graphkin.client.retries import RETRY_SECONDS
from graphkin.client.synchronous.collection import Collection
from graphkin.client.synchronous.server import Graphkin

__all__ = ["RETRY_SECONDS", "AsyncCollection", "AsyncGraphkin", "Collection", "Graphkin"]
