from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

Publish = Callable[[Path, str, list[str]], str]


def test_the_list_names_every_collection_with_its_counts(client: httpx.Client) -> None:
    listed = client.get("/v1/collections").json()["collections"]
    assert [(each["name"], each["kind"]) for each in listed] == [
        ("graphs", "graph"),
        ("hard", "molecule"),
        ("karate", "node"),
        ("keyed", "molecule"),
        ("nci", "molecule"),
        ("social", "graph"),
    ]
    detail = client.get("/v1/collections/nci").json()
    assert listed[4]["generation"] == detail["generation"] == detail["manifest"]["generation"]
    assert listed[4]["items"] == detail["manifest"]["counts"]["kept"]
    assert listed[4]["edges"] == detail["manifest"]["edges"]


def test_a_collection_tells_how_it_was_made(client: httpx.Client) -> None:
    detail = client.get("/v1/collections/nci").json()
    assert detail["name"] == "nci"
    assert detail["generations"] == [detail["generation"]]
    assert detail["manifest"]["recipe"]["fingerprint"]["name"] == "morgan"
    for of in ("degree", "similarity"):
        histogram = detail["histograms"][of]
        assert len(histogram["edges"]) == len(histogram["counts"]) + 1
    assert sum(detail["histograms"]["similarity"]["counts"]) == detail["manifest"]["edges"]


def test_what_was_rejected_is_listed_with_where_it_stood_and_why(
    own_folder: Path, serve: Callable, publish: Publish
) -> None:
    lines = [f"{'C' * length}O" for length in range(1, 50)]
    broken = {7: "C1CC", 20: "not-a-molecule", 43: "c1ccc"}
    for line, text in broken.items():
        lines.insert(line - 1, text)
    publish(own_folder, "chains", lines)
    url, cursor = "/v1/collections/chains/rejections", None
    found: list[dict[str, Any]] = []
    with serve(own_folder) as client:
        while found == [] or cursor is not None:
            page = client.get(url, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            found += page["rejections"]
            cursor = page["next_cursor"]
        assert client.get("/v1/collections/nci/rejections", params={"limit": 1001}).status_code == 422
    assert [(each["line"], each["input"]) for each in found] == list(broken.items())
    assert all(each["source"].endswith("chains.smi") for each in found)
    assert all(each["reason"] for each in found)
