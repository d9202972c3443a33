"""Metrics as Prometheus' own parser reads them, and the dashboard's queries of them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from graphkin.api.work.classes import CLASSES

ROOT = Path(__file__).parents[3]
URL = "/v1/collections/nci"


def read_metrics(client: httpx.Client) -> dict[tuple[str, str], float]:
    """Return values by (sample, its class of work or "")."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {(each.name, each.labels.get("work", "")): each.value for family in families for each in family.samples}


@pytest.fixture
def fresh_client(store_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    """Yield a client of a server that has received no requests."""
    with serve(store_folder) as client:
        yield client


def test_metrics_count_open_generations_and_stored_files(fresh_client: httpx.Client, store_folder: Path) -> None:
    assert read_metrics(fresh_client)["graphkin_generations_open", ""] == 0
    generation = fresh_client.get(f"{URL}/items/5").headers["Graphkin-Generation"]
    fresh_client.get(f"{URL}/export?what=edges&format=csv", headers={"Range": "bytes=0-1"})
    size = int(fresh_client.head(f"{URL}/export?what=edges&format=csv").headers["Content-Length"])
    metrics = read_metrics(fresh_client)
    files = [path.stat().st_size for path in (store_folder / "collections" / "nci" / generation).iterdir()]
    assert metrics["graphkin_generations_open", ""] == 1
    assert metrics["graphkin_generations_open_bytes", ""] == sum(files)
    assert metrics["graphkin_exports_bytes", ""] == size


def test_metrics_count_hits_and_misses_of_positive_sets(fresh_client: httpx.Client) -> None:
    url, misses = f"{URL}/positives/epochs/0?policy=first_order", 0
    assert read_metrics(fresh_client)["graphkin_positive_sets_bytes", ""] == 0
    while fresh_client.get(url).status_code == 503:
        misses += 1
    fresh_client.get(url)
    metrics = read_metrics(fresh_client)
    assert (metrics["graphkin_positive_sets_hits_total", ""], metrics["graphkin_positive_sets_misses_total", ""]) == (
        2,
        misses,
    )
    assert misses > 0
    assert metrics["graphkin_positive_sets_bytes", ""] > 400 * 7  # Items, and the minimum number of bytes per row.


def test_metrics_time_successful_searches(fresh_client: httpx.Client) -> None:
    for _ in range(3):
        fresh_client.post(f"{URL}/search", json={"smiles": "CCO"})
    fresh_client.post(f"{URL}/search", json={"smiles": "what"})
    metrics = read_metrics(fresh_client)
    assert metrics["graphkin_search_seconds_count", ""] == 3
    assert 0 < metrics["graphkin_search_seconds_sum", ""] < 60


def test_metrics_have_a_queue_per_class_of_work(fresh_client: httpx.Client) -> None:
    metrics = read_metrics(fresh_client)
    for name in CLASSES:
        for figure in ("working", "waiting", "refused_total"):
            assert metrics[f"graphkin_queue_{figure}", name] == 0


def test_dashboard_queries_existing_metrics(client: httpx.Client) -> None:
    client.post(f"{URL}/search", json={"smiles": "CCO"})
    dashboard: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "graphkin.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    samples = {name for name, _ in read_metrics(client)}
    queried = {name for expression in expressions for name in re.findall(r"\b(?:graphkin|process)_\w+", expression)}
    assert len(expressions) >= len(dashboard["panels"]) > 0
    assert queried <= samples
    exposed = {name for name in samples if name.startswith("graphkin_") and not name.endswith("_created")}
    queried_names, exposed_names = (
        {re.sub("_(bucket|count|sum)$", "", name) for name in names} for names in (queried, exposed)
    )
    assert exposed_names <= queried_names, "what is measured is shown"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
