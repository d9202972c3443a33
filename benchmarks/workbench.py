"""Waiting times of a chemist at 85,000 molecules, on the page and over HTTP, each with its upper bound.

    python -m benchmarks.workbench [--molecules 85000]

It prints the times of:

- substructure filters, each pattern once, after all molecules have been described
- activity cliffs, on the first request
- a look-up of 200 pasted structures on the page, from the click until all results are shown. Some structures are
  stored, some are not, and some are unreadable.

The last line is the number of clicks from the empty page to an SD file of all members of a series. Needs Chromium.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect, sync_playwright
from rdkit import Chem

from benchmarks.data import molecules
from benchmarks.http import reply, served, wait
from benchmarks.substructures import PATTERNS, query_pattern
from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

SERIES = "S(=O)(=O)N1CCNCC1"
PASTED = 200
GARBAGE = 10
STORED = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=85_000)
    options = parser.parse_args()
    source, lines = molecules(options.molecules + PASTED)
    if len(lines) < options.molecules + PASTED:
        raise SystemExit(f"{len(lines):,} of {source} are too few: this needs the molecules of ../shared")
    stored, others = lines[:-PASTED], lines[-PASTED:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = f"{folder}/user"
        (folder / "molecules.smi").write_text("".join(stored))
        with open_store(folder / "store", create=True) as store:
            ingest(store, "benchmark", [str(folder / "molecules.smi")], resolve())
        settings: dict[str, Any] = {"store": folder / "store", "cache_dir": folder / "cache"}
        with served(lambda: create_app(Settings(**settings))) as api:
            wait(api)
            print(f"{len(stored):,} of {source}; load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
            print(f"all described for substructures                {query_pattern(api, '[U]')[0]:7.2f} s")
            took = {pattern: query_pattern(api, pattern)[0] for pattern in PATTERNS}
            for pattern in PATTERNS:
                print_figure(f"substructure {pattern}", took[pattern], 1)
            for by in ("sali", "difference"):
                begin = time.perf_counter()
                path = f"/v1/collections/benchmark/cliffs?property=molwt&by={by}&min_similarity=0.4"
                total = json.loads(reply(api, ("GET", path, None, {})))["total"]
                print_figure(f"cliffs by {by}, the first of {total:,}", time.perf_counter() - begin, 2)
            with sync_playwright() as playwright:
                arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
                browser_path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
                page = browser.new_page()
                page.set_default_timeout(120_000)
                url = f"http://{api.host}:{api.port}/?collection=benchmark"
                for attempt in ("first", "again"):
                    print_figure(
                        f"{PASTED} pasted structures on the page, {attempt}",
                        look_up_seconds(page, url, stored, others),
                        3,
                    )
                members, clicks = series(page, url)
                print(f"a series of {members:,} as an SD file: {clicks} clicks (at most 4)")
                browser.close()


def print_figure(label: str, seconds: float, limit: float) -> None:
    print(f"{label:46} {seconds:7.2f} s (under {limit} s{'' if seconds < limit else ': NOT'})", flush=True)


def look_up_seconds(page: Page, url: str, stored: list[str], others: list[str]) -> float:
    """Return the seconds from the click until the page shows the results of all structures."""
    step = len(stored) // STORED
    stored_smiles = [line.split()[0] for line in stored[::step][:STORED]]
    new = [line.split()[0] for line in others[: PASTED - STORED - GARBAGE]]
    page.goto(f"{url}&part=list")
    page.get_by_role("textbox", name="Paste SMILES").fill("\n".join([*stored_smiles, *new, *["c1ccc("] * GARBAGE]))
    begin = time.perf_counter()
    page.get_by_role("button", name="Look up").click()
    page.get_by_role("status").filter(has_text=f"{GARBAGE} unreadable").wait_for()
    return time.perf_counter() - begin


def series(page: Page, url: str) -> tuple[int, int]:
    """Download all items with a substructure, starting from the empty page.

    Return their number and the number of clicks.
    """
    clicks = 0

    def click(target: Locator) -> None:
        nonlocal clicks
        target.click()
        clicks += 1

    page.goto(url)
    click(page.get_by_role("link", name="Items", exact=True))
    page.get_by_label("Substructure", exact=True).fill(SERIES)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text(" of ", timeout=120_000)
    click(page.get_by_text("Download", exact=True))
    with page.expect_download() as download:
        click(page.get_by_role("button", name="SDF"))
    pattern = Chem.MolFromSmarts(SERIES)
    members = [*Chem.SDMolSupplier(str(download.value.path()))]
    assert all(each.HasSubstructMatch(pattern) for each in members)
    return len(members), clicks


if __name__ == "__main__":
    main()
