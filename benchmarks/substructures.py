"""Substructure filters over HTTP: seconds until the first page, and number of molecules with the pattern.

    python -m benchmarks.substructures [--molecules 85000]

The first line is the time until the server has described all molecules. Each pattern is requested once afterwards.
Repeated requests are answered from memory and are not measured.
"""

import argparse
import http.client
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.data import smiles_file
from benchmarks.http import NotYet, reply, served, wait
from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store

PATTERNS = [
    "[#7;R]",
    "c1ccccc1",
    "[#6]",
    "C(=O)N",
    "[$([NX3;H2,H1;!$(NC=O)])]c",
    "c1ccncc1",
    "C(=O)[OX2H1]",
    "S(=O)(=O)N",
    "c1ccc2[nH]ccc2c1",
    "[r7]",
    "C#N",
    "O1CCCCC1",
    "[Pt]",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=85_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/user"
        label, path = smiles_file(Path(folder), options.molecules)
        with open_store(Path(folder) / "store", create=True) as store:
            ingest(store, "benchmark", [str(path)], resolve(threshold=0.95))
        settings: dict[str, Any] = {"store": Path(folder) / "store", "cache_dir": Path(folder) / "cache"}
        with served(lambda: create_app(Settings(**settings))) as ours:
            wait(ours)
            print(f"{label}; load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
            print(f"  {'all described':32} {query_pattern(ours, '[U]')[0]:7.2f} s")
            for pattern in PATTERNS:
                seconds, total = query_pattern(ours, pattern)
                print(f"  {pattern:32} {seconds:7.2f} s {total:9,}", flush=True)


def query_pattern(connection: http.client.HTTPConnection, pattern: str) -> tuple[float, int]:
    """Return the seconds until the server answers, including retries, and the number of molecules with the pattern."""
    body = json.dumps({"substructure": pattern, "limit": 100})
    ask = ("POST", "/v1/collections/benchmark/items/query", body, {"Content-Type": "application/json"})
    begin = time.perf_counter()
    while True:
        try:
            total = json.loads(reply(connection, ask))["total"]
            return time.perf_counter() - begin, total
        except NotYet:
            continue  # the server waits before it replies, so no pause is needed


if __name__ == "__main__":
    main()
