"""Background substructure searches: their progress, and their end when no client waits."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from rdkit import Chem

from graphkin.api.generations.patterns import PatternMatches
from graphkin.api.work.pool import Pool
from graphkin.api.work.substructures import SubstructureMatcher
from graphkin.collection import substructure_matches
from graphkin.collection.selection import Selector
from graphkin.library import connect
from graphkin.protocol.errors import StoreBusy
from graphkin.runtime.workers.fork_server import ForkServer
from graphkin.store import open_store
from graphkin.store.base import Generation
from tests.until import until_available

URL = "/v1/collections/nci"


def molecules(client: httpx.Client) -> list[Chem.Mol]:
    items = client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]
    return [Chem.MolFromSmiles(item["smiles"]) for item in items]


def matching_ids(pattern: str, stored: list[Chem.Mol]) -> list[int]:
    pattern_query = Chem.MolFromSmarts(pattern)
    return [id for id, molecule in enumerate(stored) if molecule.HasSubstructMatch(pattern_query)]


def test_progress_is_reported_until_the_search_is_done(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatternMatches, "patience", 0)
    pattern, stored = "[#6]!@[#8]", molecules(client)

    def send_query(**query: Any) -> Callable[[], httpx.Response]:
        body = {"substructure": pattern, "limit": 1000, **query}
        return lambda: client.post(f"{URL}/items/query", json=body)

    for ask, progress in ((send_query(ids=[*range(150)]), "0 of 150"), (send_query(), "150 of 400")):
        reply = ask()
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        problem = reply.json()
        assert problem["type"] == "urn:graphkin:problem:not-available-now"
        assert problem["detail"] == f"computing matches of this substructure: {progress}"
        assert until_available(ask).status_code == 200
    expected = matching_ids(pattern, stored)
    assert 0 < len(expected) < 400
    assert [item["id"] for item in ask().json()["items"]] == expected
    for reply in (  # Any request with this pattern now has the result.
        client.post(f"{URL}/search", json={"smiles": "CCO", "substructure": pattern}),
        client.get(f"{URL}/items/5/neighbors", params={"substructure": pattern}),
        client.get(f"{URL}/cliffs", params={"property": "molwt", "substructure": pattern}),
        client.post(f"{URL}/pick", json={"count": 2, "from": {"substructure": pattern}}),
        client.post(f"{URL}/export", json={"what": "items", "format": "csv", "query": {"substructure": pattern}}),
    ):
        assert reply.status_code == 200, reply.text


def test_client_waits_for_the_search(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatternMatches, "patience", 0)
    pattern = "[#6]!@[#7]"
    with connect(str(client.base_url)) as server:
        items = server.collection("nci").query(substructure=pattern)
    assert items["id"].to_pylist() == matching_ids(pattern, molecules(client))


def test_abandoned_search_stops_and_keeps_its_results(
    fork_server: ForkServer, store_folder: Path, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(substructure_matches, "_PART", 16)
    monkeypatch.setattr(PatternMatches, "patience", 0)
    pattern, ids = "[#6]!@[#6]", np.arange(400, dtype=np.int32)

    async def wait_for_matches(
        patterns: PatternMatches, generation: Generation, selector: Selector
    ) -> substructure_matches.SubstructureMatches:
        while True:
            try:
                return await patterns.get(generation, selector, pattern, "smarts", ids)
            except StoreBusy:
                await asyncio.sleep(0.01)

    async def run_scenario(generation: Generation) -> list[int]:
        selector = Selector(generation)
        async with (
            Pool(fork_server, 1) as pool,
            aclosing(PatternMatches(SubstructureMatcher(pool, pool, str(store_folder), 2))) as patterns,
        ):
            with pytest.raises(StoreBusy, match="0 of 400"):
                await patterns.get(generation, selector, pattern, "smarts", ids)
            (job,) = patterns._jobs.values()
            record = substructure_matches.SubstructureMatches.record

            def record_once(self: substructure_matches.SubstructureMatches, *arguments: Any) -> None:
                record(self, *arguments)
                job.abandoned_after = -1

            with monkeypatch.context() as until_then:
                until_then.setattr(substructure_matches.SubstructureMatches, "record", record_once)
                with pytest.raises(StoreBusy, match="was stopped"):
                    await asyncio.wrap_future(job.future)
            with pytest.raises(StoreBusy, match="16 of 400"):
                await patterns.get(generation, selector, pattern, "smarts", ids)
            ids_with_match = np.flatnonzero((await wait_for_matches(patterns, generation, selector)).mask(ids)).tolist()
            with pytest.raises(StoreBusy, match="0 of 400"):
                await patterns.get(generation, selector, "[#8]!@[#7]", "smarts", ids)
            (job,) = patterns._jobs.values()
        assert job.future.cancelled()
        return ids_with_match

    with open_store(store_folder) as store, store.open("nci") as generation:
        assert asyncio.run(run_scenario(generation)) == matching_ids(pattern, molecules(client))
