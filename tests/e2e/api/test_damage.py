"""Damaged files behind the real server: replies are 503 `damaged` and name the file, and every status view shows it."""

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.client import Graphkin
from graphkin.protocol.errors import Damaged
from graphkin.store import open_store
from tests.until import until

URL = "/v1/collections/nci"
POSITIVES = {"policy": "random_walk"}

READERS: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "indptr.npy": lambda client: client.get(f"{URL}/items/5/neighbors"),
    "indices.npy": lambda client: client.get(f"{URL}/items/5/positives", params=POSITIVES),
    "similarity.npy": lambda client: client.get(f"{URL}/paths", params={"from": 0, "to": 9}),
    "forest.target.npy": lambda client: client.get(f"{URL}/components"),
    "fingerprints.npy": lambda client: client.post(f"{URL}/search", json={"smiles": "CCO"}),
    "index.lacking.npy": lambda client: client.post(f"{URL}/search", json={"smiles": "CCO"}),
    "dropped.npy": lambda client: client.get(f"{URL}/items/5"),
    "items.arrow": lambda client: client.get(f"{URL}/export", params={"what": "items", "format": "csv"}),
}


def folder_of(store: Path, collection: str = "nci") -> Path:
    (generation_folder,) = (store / "collections" / collection).iterdir()
    return generation_folder


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) * 2 // 3] ^= 0x40
    file.write_bytes(data)


def wait_for(send: Callable[[], httpx.Response], is_expected: Callable[[httpx.Response], bool]) -> httpx.Response:
    end = time.monotonic() + 60
    while not is_expected(reply := send()):
        assert time.monotonic() < end, reply.text
    return reply


def damage_of_nci(client: httpx.Client) -> httpx.Response:
    """Return the list of collections once it reports damage of nci."""

    def is_listed(reply: httpx.Response) -> bool:
        return any(each["name"] == "nci" and each["damaged"] for each in reply.json()["collections"])

    return wait_for(lambda: client.get("/v1/collections"), is_listed)


def damaged_generations(client: httpx.Client) -> dict[str, float]:
    """Return the metric by collection."""
    pattern = r'graphkin_damaged_generations\{collection="(.*)"\} (.*)'
    return {name: float(count) for name, count in re.findall(pattern, client.get("/metrics").text)}


def require_ready(client: httpx.Client) -> None:
    """Wait until the server is ready. The reply counts one damaged generation, and names no collection and no file."""
    reply = wait_for(lambda: client.get("/readyz"), lambda reply: reply.status_code == 200)
    assert reply.json() == {"status": "ready", "damaged": 1}


def is_damaged(reply: httpx.Response) -> bool:
    return reply.status_code == 503 and reply.json()["title"] == "Damaged"


@pytest.mark.parametrize("name", READERS)
def test_request_that_reads_a_damaged_file_returns_503_with_its_name(
    own_folder: Path, serve: Callable, name: str
) -> None:
    generation = folder_of(own_folder)
    damage(generation / name)
    with serve(own_folder) as client:
        for _ in range(2):
            reply = READERS[name](client)
            assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json")
            assert "Retry-After" not in reply.headers
            problem = reply.json()
            assert (problem["type"], problem["title"]) == ("urn:graphkin:problem:damaged", "Damaged")
            assert name in problem["detail"]
            assert generation.name[:12] in problem["detail"]
        report = {"file": name, "problem": "its SHA-256 differs from the manifest's"}
        assert is_damaged(client.get(f"{URL}/items/0/neighbors"))  # No request of this generation is answered any more.
        damage_by_collection = {
            each["name"]: each["damaged"] for each in client.get("/v1/collections").json()["collections"]
        }
        assert damage_by_collection == {
            "graphs": None,
            "hard": None,
            "karate": None,
            "keyed": None,
            "nci": report,
            "social": None,
        }
        detail = client.get(URL)
        assert (detail.status_code, detail.json()["damaged"]) == (200, report)
        require_ready(client)
        assert damaged_generations(client) == {"nci": 1}
        assert client.get("/v1/collections/social/items/5").status_code == 200
        assert client.get("/livez").status_code == 200


@pytest.mark.parametrize("name", ["index.rank.npy", "popcounts.npy"])
def test_damage_is_detected_without_a_request(own_folder: Path, serve: Callable, name: str) -> None:
    damage(folder_of(own_folder) / name)
    with serve(own_folder) as client:
        assert client.get(f"{URL}/items/5/neighbors").status_code == 200
        assert name in damage_of_nci(client).text
        require_ready(client)
        assert is_damaged(client.get(f"{URL}/items/5/neighbors"))


def test_later_damage_is_detected_too(own_folder: Path, tmp_path: Path) -> None:
    settings = Settings(store=own_folder, port=0, cache_dir=tmp_path / "cache", scrub_hours=0.5 / 3600)
    with Server(settings).running() as url, httpx.Client(base_url=url, timeout=60) as client:
        assert client.get(f"{URL}/items/5/neighbors").status_code == 200
        wait_for(lambda: client.get("/readyz"), lambda reply: reply.status_code == 200)
        damage(folder_of(own_folder) / "fingerprints.npy")
        assert "fingerprints.npy" in damage_of_nci(client).text


def test_generation_that_cannot_be_opened_leaves_the_others_served(own_folder: Path, serve: Callable) -> None:
    (folder_of(own_folder) / "indices.npy").unlink()
    shutil.rmtree(folder_of(own_folder, "keyed"))
    with serve(own_folder) as client:
        assert client.get("/v1/collections").status_code == 200
        for _ in range(2):
            assert "indices.npy: it is missing" in client.get(f"{URL}/items/0").json()["detail"]
        damage_by_name = {each["name"]: each["damaged"] for each in client.get("/v1/collections").json()["collections"]}
        assert damage_by_name["nci"] == {"file": "indices.npy", "problem": "it is missing"}
        assert client.get("/v1/collections/keyed").status_code == 200
        assert is_damaged(client.get("/v1/collections/keyed/items/0"))
        assert client.get("/v1/collections/social/items/0").status_code == 200


def test_damage_of_an_old_generation_leaves_the_server_ready(
    own_folder: Path, serve: Callable, publish: Callable[..., str]
) -> None:
    old = folder_of(own_folder)
    publish(str(own_folder), "nci", ["CCO", "CCCO"])
    damage(old / "similarity.npy")
    with serve(own_folder) as client:
        assert is_damaged(client.get(f"{URL}/items/0", params={"generation": old.name}))
        assert client.get(f"{URL}/items/0").status_code == 200
        require_ready(client)
        assert damaged_generations(client) == {"nci": 1}
        with open_store(own_folder) as store:
            store.delete("nci", old.name)
        until(lambda: damaged_generations(client) == {"nci": 0})
        assert client.get(f"{URL}/items/0", params={"generation": old.name}).status_code == 410


def test_damaged_generation_is_served_after_another_ingest(
    own_folder: Path, serve: Callable, publish: Callable[..., str]
) -> None:
    lines = ["CCO", "CCCO"]
    generation = publish(str(own_folder), "small", lines)
    damage(folder_of(own_folder, "small") / "items.arrow")
    url = "/v1/collections/small"
    with serve(own_folder) as client:
        assert is_damaged(client.get(f"{url}/items/0"))
        with open_store(own_folder) as store:
            store.delete("small", generation)
        assert publish(str(own_folder), "small", lines) == generation
        reply = wait_for(lambda: client.get(f"{url}/items/0"), lambda reply: reply.status_code == 200)
        assert reply.json()["generation"] == generation
        assert client.get(url).json()["damaged"] is None


def test_damaged_catalog_returns_503(own_folder: Path, serve: Callable, tmp_path: Path) -> None:
    with serve(own_folder) as client:
        assert client.get(f"{URL}/items/0").status_code == 200
        catalog = own_folder / "catalog.sqlite"
        data = catalog.read_bytes()
        catalog.write_bytes(data[: len(data) // 2])
        for path in ("/v1/collections", "/readyz", "/v1/collections/hard/items/0", "/v1/collections/hard"):
            reply = client.get(path)
            assert is_damaged(reply), path
            assert "catalog.sqlite" in reply.json()["detail"]
            assert "Retry-After" not in reply.headers
        catalog.write_bytes(data)
        assert client.get("/v1/collections").status_code == 200
    catalog.write_bytes(data[: len(data) // 2])
    with pytest.raises(Damaged):
        Server(Settings(store=own_folder, port=0, cache_dir=tmp_path))


def test_client_does_not_retry_a_damaged_generation(own_folder: Path, serve: Callable) -> None:
    with serve(own_folder) as client, Graphkin(str(client.base_url), retry_seconds=600) as server:
        nci: Any = server.collection("nci")
        damage(folder_of(own_folder) / "indptr.npy")
        before = time.monotonic()
        with pytest.raises(Damaged, match=r"indptr\.npy"):
            nci.item(5)
        with pytest.raises(Damaged, match=r"indptr\.npy"):
            nci.epoch(0, "first_order")
        assert time.monotonic() - before < 30
        damage_reports = {each.name: each.damaged for each in server.collections()}
        damage_report = damage_reports["nci"]
        assert damage_report is not None
        assert damage_report.file == "indptr.npy"
