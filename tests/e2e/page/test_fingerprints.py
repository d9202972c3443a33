"""A collection of items without depictions: fingerprints."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.similarity.fingerprints.recipe import resolve_bits
from graphkin.store import open_store


@pytest.fixture(scope="module")
def url(
    tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., AbstractContextManager[httpx.Client]]
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("bits")
    (folder / "bits.fps").write_text("".join(f"{(1 << size) - 1:04x}\tprint {size}\n" for size in range(1, 17)))
    with open_store(folder / "store", create=True) as store:
        pipeline.ingest(store, "bits", [str(folder / "bits.fps")], resolve_bits(bits=16), IngestOptions(workers=1))
    with serve(Path(folder / "store")) as client:
        yield str(client.base_url)


def test_fingerprints_are_found_by_name_and_have_no_pictures(page: Page, url: str, look: Callable[..., None]) -> None:
    page.goto(f"{url}/?collection=bits")
    box = page.get_by_role("combobox", name="Name or id")
    box.fill("print 8")
    box.press("Enter")
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="print 9")).to_contain_text("0.88")
    expect(rows.get_by_role("img", name="Depiction of print 9: no depiction")).to_be_visible()
    look(page, "fingerprints")
