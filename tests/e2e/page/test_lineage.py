"""The chemist appends molecules, and sees which clusters grew, split, merged and appeared."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, expect

import graphkin
from tests.until import until_available

Look = Callable[[Page, str], None]
LINEAGE = "/v1/collections/series/lineage"


def test_changes_of_clusters_since_an_append(
    serve: Callable[..., AbstractContextManager[httpx.Client]],
    page: Page,
    look: Look,
    tmp_path: Path,
    nci_smiles: list[str],
) -> None:
    options: dict[str, Any] = {
        "store": tmp_path / "store",
        "collection": "series",
        "threshold": 0.3,
        "workers": 1,
        "max_rejected": 1,
    }
    with graphkin.ingest(nci_smiles[:180], **options) as collection:
        before = collection.generation
        collection.append(nci_smiles[180:260], workers=1, max_rejected=1)
    with serve(tmp_path / "store") as api:
        query: dict[str, Any] = {"before": before, "threshold": 0.3}
        reply = until_available(lambda: api.get(LINEAGE, params=query)).json()
        merged = next(row for row in reply["rows"] if row["event"] == "merged")
        page.goto(f"{api.base_url}/?collection=series&part=clusters&min_similarity=0.3")
        page.get_by_role("combobox", name="Show changes since").select_option(before)
        changes = page.get_by_role("list", name="Changes of clusters").get_by_role("listitem")
        expect(changes).to_have_count(len({row["change"] for row in reply["rows"]}))
        summary = page.get_by_text(re.compile("^Since generation"))
        expect(summary).to_contain_text(f"{reply['added']} items added and 0 removed")
        expect(summary).to_contain_text(f"{reply['events']['merged']} merged")
        card = changes.filter(has_text=f"Merged: {merged['after']['size']} items").first
        expect(card).to_contain_text(f"{merged['shared']} of earlier cluster {merged['before']['id']}")
        look(page, "changes of clusters")
        page.reload()
        card.get_by_role("link").click()
        page.get_by_text(f"Cluster {merged['after']['id']}: {merged['after']['size']} items").wait_for()
        page.go_back()
        expect(card).to_be_visible()
        page.get_by_role("combobox", name="Show changes since").select_option("")
        expect(page.get_by_text(re.compile("of them contain a single item"))).to_be_visible()
