"""A single request never blocks the server: untrusted structures are parsed in other processes, with a time limit."""

import re
import threading
import time

import httpx
import pytest

from tests.fused import fused
from tests.until import until_available

URL = "/v1/collections/nci"
TRIES = 3  # The test is about the server, but other processes on this machine may delay a try.


def slow_pulses(client: httpx.Client) -> float:
    """Return how many times the event loop was more than 0.25 s late, and wait until the server is ready first."""
    while client.get("/readyz").status_code != 200:
        time.sleep(0.05)
    metrics = client.get("/metrics").text
    on_time, total = (
        float(re.search(rf"^graphkin_event_loop_lag_seconds_{name} (\S+)$", metrics, re.MULTILINE)[1])  # type: ignore[index]
        for name in (r'bucket\{le="0.25"\}', "count")
    )
    return total - on_time


@pytest.mark.parametrize("place", ["search", "structure", "items", "structure.svg", "highlight", "export"])
@pytest.mark.parametrize("atoms", [pytest.param(200, marks=pytest.mark.long), 998])
def test_slow_fused_rings_do_not_block_the_server(client: httpx.Client, place: str, atoms: int) -> None:
    # Structures that were parsed before are cached.
    tails = ("C" * (len(place) + 20 * attempt) for attempt in range(TRIES))
    assert any(not is_blocked(client, place, atoms, fused(atoms) + tail) for tail in tails)


def is_blocked(client: httpx.Client, place: str, atoms: int, smiles: str) -> bool:
    """Return whether the event loop was late while the structure was parsed and other requests were answered."""
    replies: list[httpx.Response] = []

    def ask() -> None:
        match place:
            case "search":
                replies.append(client.post(f"{URL}/search", json={"smiles": smiles}))
            case "highlight":
                replies.append(client.get(f"{URL}/items/5/depiction.svg", params={"highlight_smiles": smiles}))
            case "export":
                body = {"ids": [1], "what": "items", "format": "csv", "query_smiles": smiles}
                replies.append(client.post(f"{URL}/export", json=body))
            case _:
                replies.append(client.get(f"{URL}/{place}", params={"smiles": smiles}))

    before, begin = slow_pulses(client), time.monotonic()
    asking = threading.Thread(target=ask)
    asking.start()
    other_requests = 0
    while asking.is_alive():
        assert client.get(f"{URL}/items/5/neighbors").status_code == 200
        other_requests += 1
        asking.join(0.01)
    assert time.monotonic() - begin < 5 + 2 * (place == "highlight")  # The search for a highlight may take 2 s.
    assert other_requests > 1
    pulses = slow_pulses(client)
    (reply,) = replies
    assert reply.status_code in ((200, 422) if atoms == 200 else (422,))
    if reply.status_code == 422:
        assert reply.json()["detail"].startswith("this structure cannot be read: reading it takes ")
        assert smiles[:150] in reply.json()["given"]
    return pulses > before


# RDKit matches eight carbons everywhere before the ninth atom. The second pattern nests another one, and has 10 kB.
HOSTILE = (
    ".".join("C" * 8) + ".[$([#6]([#7])([#7])([#7])[#8])]",
    "[$(" * 1900 + "C.C.C.C.C.C.C.C.[#8;R]" + ")]" * 1900,
)


def test_hostile_patterns_do_not_block_the_server(client: httpx.Client) -> None:
    assert any(longest_wait(client, attempt) < 0.5 for attempt in range(TRIES))


def longest_wait(client: httpx.Client, attempt: int) -> float:
    """Return the longest wait of other requests during more hostile patterns than are matched concurrently."""
    replies: list[httpx.Response] = []

    def ask(number: int) -> None:
        body = {"substructure": HOSTILE[number % 2], "filters": [{"property": "molwt", "min": attempt + number / 10}]}
        replies.append(until_available(lambda: client.post(f"{URL}/items/query", json=body)))

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for each in asking:
        each.start()
    waits = [0.0]
    while any(each.is_alive() for each in asking):
        for path, body in (
            ("items/query", {"filters": [{"property": "molwt", "min": attempt + len(waits) / 100}]}),
            ("search", {"smiles": "C" * (len(waits) % 90 + 1)}),
            ("items/5/neighbors", None),
        ):
            begin = time.monotonic()
            assert client.request("GET" if body is None else "POST", f"{URL}/{path}", json=body).status_code == 200
            waits.append(time.monotonic() - begin)
    assert len(waits) > 10
    for reply in replies:
        assert reply.status_code == 422, reply.text
        assert "this substructure takes more than" in reply.json()["detail"]
        assert reply.json()["given"].startswith(("C.C", "[$("))
    return max(waits)


def test_pattern_that_matches_every_item(client: httpx.Client) -> None:
    body = {"substructure": f"[{','.join('*' * 4_999)}]", "limit": 1}
    assert until_available(lambda: client.post(f"{URL}/items/query", json=body)).json()["total"] == 400


def test_large_graph_does_not_block_the_server(client: httpx.Client) -> None:
    nodes = 95_000

    def is_blocked(step: int) -> bool:
        edges = [[node, (node * step + 1) % nodes] for node in range(nodes)]
        before = slow_pulses(client)
        reply = client.post("/v1/collections/social/search", json={"graph": {"edges": edges}})
        assert reply.status_code in (200, 422)
        return slow_pulses(client) > before

    assert any(not is_blocked(7919 + attempt) for attempt in range(TRIES))
