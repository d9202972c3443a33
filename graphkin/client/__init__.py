"""The Python client for every endpoint of the API. It needs neither torch nor RDKit.

    with Graphkin("http://localhost:8000") as server:
        nci = server.collection("nci")
        nci.search(smiles="CCO", limit=5).hits
        nci.neighbors(17, min_similarity=0.7)
        nci.epoch(0, "random_walk", k=5, seed=1)      # an Arrow table, one row per anchor

    async with AsyncGraphkin("http://localhost:8000") as server:
        nci = await server.collection("nci")
        async for item in nci.items():
            ...

Replies are models of `graphkin.protocol.replies`, bulk data are Arrow tables, and errors are those of
`graphkin.protocol.errors`. The package `synchronous` is generated from `asynchronous` by `make docs`.
"""

from graphkin.client.asynchronous.collection import AsyncCollection
from graphkin.client.asynchronous.server import AsyncGraphkin
from graphkin.client.patience import PATIENCE
from graphkin.client.synchronous.collection import Collection
from graphkin.client.synchronous.server import Graphkin

__all__ = ["PATIENCE", "AsyncCollection", "AsyncGraphkin", "Collection", "Graphkin"]
