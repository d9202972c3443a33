from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

Publish = Callable[[Path, str, list[str]], str]


def test_list_has_every_collection_with_its_counts(client: httpx.Client) -> None:
    entries = client.get("/v1/collections").json()["collections"]
    assert [(each["name"], each["kind"]) for each in entries] == [
        ("graphs", "graph"),
        ("hard", "molecule"),
        ("karate", "node"),
        ("keyed", "molecule"),
        ("nci", "molecule"),
        ("social", "graph"),
    ]
    detail = client.get("/v1/collections/nci").json()
    assert entries[4]["generation"] == detail["generation"] == detail["manifest"]["generation"]
    assert entries[4]["items"] == detail["manifest"]["counts"]["kept"]
    assert entries[4]["edges"] == detail["manifest"]["edges"]


def test_collection_reports_its_recipe(client: httpx.Client) -> None:
    detail = client.get("/v1/collections/nci").json()
    assert detail["name"] == "nci"
    assert detail["generations"] == [detail["generation"]]
    assert detail["manifest"]["recipe"]["fingerprint"]["name"] == "morgan"
    for name in ("degree", "similarity"):
        histogram = detail["histograms"][name]
        assert len(histogram["edges"]) == len(histogram["counts"]) + 1
    assert sum(detail["histograms"]["similarity"]["counts"]) == detail["manifest"]["edges"]


def test_rejections_are_listed_with_line_and_reason(own_folder: Path, serve: Callable, publish: Publish) -> None:
    lines = [f"{'C' * length}O" for length in range(1, 50)]
    broken = {7: "C1CC", 20: "not-a-molecule", 43: "c1ccc"}
    for line, text in broken.items():
        lines.insert(line - 1, text)
    publish(own_folder, "chains", lines)
    url, cursor = "/v1/collections/chains/rejections", None
    rejections: list[dict[str, Any]] = []
    with serve(own_folder) as client:
        while rejections == [] or cursor is not None:
            page = client.get(url, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            rejections += page["rejections"]
            cursor = page["next_cursor"]
        assert client.get("/v1/collections/nci/rejections", params={"limit": 1001}).status_code == 422
    assert [(each["line"], each["input"]) for each in rejections] == list(broken.items())
    assert all(each["source"].endswith("chains.smi") for each in rejections)
    assert all(each["reason"] for each in rejections)
