"""What Prometheus is told, as its own parser reads it, and what the dashboard asks of it."""

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


def measured(client: httpx.Client) -> dict[tuple[str, str], float]:
    """(sample, its class of work or nothing) -> value."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {(each.name, each.labels.get("work", "")): each.value for family in families for each in family.samples}


@pytest.fixture
def own(store_folder: Path, serve: Callable) -> Iterator[httpx.Client]:
    """Asks a server that nobody has asked before."""
    with serve(store_folder) as client:
        yield client


def test_what_is_open_and_kept_is_measured(own: httpx.Client, store_folder: Path) -> None:
    assert measured(own)["graphkin_generations_open", ""] == 0
    generation = own.get(f"{URL}/items/5").headers["Graphkin-Generation"]
    own.get(f"{URL}/export?what=edges&format=csv", headers={"Range": "bytes=0-1"})
    size = int(own.head(f"{URL}/export?what=edges&format=csv").headers["Content-Length"])
    found = measured(own)
    files = [path.stat().st_size for path in (store_folder / "collections" / "nci" / generation).iterdir()]
    assert found["graphkin_generations_open", ""] == 1
    assert found["graphkin_generations_open_bytes", ""] == sum(files)
    assert found["graphkin_exports_bytes", ""] == size


def test_positive_sets_are_hit_or_missed(own: httpx.Client) -> None:
    url, misses = f"{URL}/positives/epochs/0?policy=first_order", 0
    assert measured(own)["graphkin_positive_sets_bytes", ""] == 0
    while own.get(url).status_code == 503:
        misses += 1
    own.get(url)
    found = measured(own)
    assert (found["graphkin_positive_sets_hits_total", ""], found["graphkin_positive_sets_misses_total", ""]) == (
        2,
        misses,
    )
    assert misses > 0
    assert found["graphkin_positive_sets_bytes", ""] > 400 * 7  # items, and bytes of a row at the least


def test_searches_are_timed(own: httpx.Client) -> None:
    for _ in range(3):
        own.post(f"{URL}/search", json={"smiles": "CCO"})
    own.post(f"{URL}/search", json={"smiles": "what"})
    found = measured(own)
    assert found["graphkin_search_seconds_count", ""] == 3
    assert 0 < found["graphkin_search_seconds_sum", ""] < 60


def test_each_class_of_work_has_its_queue(own: httpx.Client) -> None:
    found = measured(own)
    for name in CLASSES:
        for figure in ("working", "waiting", "refused_total"):
            assert found[f"graphkin_queue_{figure}", name] == 0


def test_the_dashboard_asks_for_what_there_is(client: httpx.Client) -> None:
    client.post(f"{URL}/search", json={"smiles": "CCO"})
    dashboard: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "graphkin.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    samples = {name for name, _ in measured(client)}
    named = {name for expression in asked for name in re.findall(r"\b(?:graphkin|process)_\w+", expression)}
    assert len(asked) >= len(dashboard["panels"]) > 0
    assert named <= samples
    ours = {name for name in samples if name.startswith("graphkin_") and not name.endswith("_created")}
    shown, there = ({re.sub("_(bucket|count|sum)$", "", name) for name in names} for names in (named, ours))
    assert there <= shown, "what is measured is shown"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
