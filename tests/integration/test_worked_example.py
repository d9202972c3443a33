"""The worked example in CONTRIBUTING.md, applied to a copy of the code: a new operation in every interface."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import graphkin.library as graphkin
from benchmarks.command import free_port
from graphkin.store import open_store
from tests.karate import publish_karate

ROOT = Path(__file__).parents[2]
MOST_FILES = 6
LIMIT = 5

CLIENTS = """
import asyncio, json, sys
from graphkin.client import AsyncGraphkin, Graphkin

def pairs(table):
    return [list(pair) for pair in zip(*table.to_pydict().values(), strict=True)]

async def asynchronous(url):
    async with AsyncGraphkin(url) as server:
        return pairs(await (await server.collection("karate")).hubs(limit=5))

with Graphkin(sys.argv[1]) as server:
    synchronous = pairs(server.collection("karate").hubs(limit=5))
print(json.dumps([synchronous, asyncio.run(asynchronous(sys.argv[1]))]))
"""


def blocks() -> list[tuple[str, str | None, str]]:
    """Return the file, the class or dictionary, and the code of each block in the worked example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    matches = re.findall(r"```python\n# (\S+?)(?:, in (\w+))?\n(.*?)```", text, re.DOTALL)
    return [(file, place or None, code) for file, place, code in matches]


def insert(source: str, place: str | None, code: str) -> str:
    """Add code to the end of a module, a class or a dictionary, and its imports after the last import of the module."""
    lines, tree = source.splitlines(), ast.parse(source)
    imports = re.match(r"((?:(?:from|import) .*\n|\n)*)", code)
    assert imports is not None
    rest = code[imports.end() :].strip("\n")
    end = len(lines)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == place:
            end, rest = node.end_lineno or end, textwrap.indent(rest, "    ")
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == place:
            end = (node.end_lineno or end) - 1
    after = max(node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    gap = [] if rest.startswith(" " * 4 + '"') else ["", ""]
    return "\n".join(
        [*lines[:after], *imports[1].splitlines(), *lines[after:end], *gap, rest, *lines[end:], ""],
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the code with the example."""
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("node_modules", "__pycache__")
    for name in ("graphkin", "api", "ingest", "trainer", "docs"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    for file, place, code in blocks():
        path = folder / file
        path.write_text(insert(path.read_text(encoding="utf-8"), place, code), encoding="utf-8")
    run(folder, "docs/synchronous.py")
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("karate")
    with open_store(folder / "store", create=True) as opened:
        publish_karate(opened, folder)
    return folder / "store"


@pytest.fixture(scope="module")
def hubs(store: Path) -> list[list[int]]:
    """Return id and degree of the items with the most neighbors, counted from the edges."""
    with graphkin.open(store)["karate"] as karate:
        with pytest.warns(graphkin.TruncatedPairsWarning):
            edges = karate.edges().arrow
        ends = [*edges["source"].to_pylist(), *edges["target"].to_pylist()]
    by_degree = sorted(Counter(ends).items(), key=lambda pair: (-pair[1], pair[0]))
    return [[id, degree] for id, degree in by_degree[:LIMIT]]


@contextmanager
def serve_checkout(checkout: Path, store: Path) -> Iterator[str]:
    """Serve a store and yield the URL. The server may not be ready yet, because it still compiles kernels."""
    command = [sys.executable, "-m", "graphkin", "serve", "--store", str(store), "--port", str(free_port())]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    with subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()  # The server prints this line once it listens.
            yield f"http://127.0.0.1:{command[-1]}"
        finally:
            server.kill()


def run(folder: Path, *arguments: str | Path) -> str:
    command, environment = [sys.executable, *map(str, arguments)], {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_example_changes_at_most_six_files() -> None:
    assert 0 < len({file for file, _, _ in blocks()}) <= MOST_FILES


def test_command_of_the_example_works(checkout: Path, store: Path, hubs: list[list[int]]) -> None:
    options = ["--store", str(store), "--collection", "karate", "--limit", str(LIMIT)]
    lines = run(checkout, "-m", "graphkin", "hubs", *options).splitlines()
    assert [[*map(int, line.split("\t"))] for line in lines] == hubs


def test_api_and_clients_of_the_example_work(checkout: Path, store: Path, hubs: list[list[int]]) -> None:
    with serve_checkout(checkout, store) as url, httpx.Client(base_url=url, timeout=60) as http:
        reply = http.get("/v1/collections/karate/hubs", params={"limit": LIMIT})
        assert reply.status_code == 200, reply.text
        assert [[row["id"], row["degree"]] for row in map(json.loads, reply.text.splitlines())] == hubs
        assert http.get("/v1/collections/karate/hubs", params={"limit": 0}).status_code == 422
        assert json.loads(run(checkout, "-c", CLIENTS, url)) == [hubs, hubs]
