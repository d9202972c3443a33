"""A damage campaign: `python damage.py FOLDER --trials 200 --seed 0`.

The script publishes a collection of molecules, one of graphs and one of nodes below FOLDER. Each trial then flips one
byte of one file, or truncates the file, and sends requests for all routes to the application in a fork of this process.
One JSON line is printed per trial: the damage, how requests were answered, how the fork ended, and whether all of that
is `right`. The exit code is 1 unless every trial is right.
"""

import argparse
import asyncio
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import httpx
import networkx as nx
import numpy as np
from rdkit import RDConfig

from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.api.work.pool import new_fork_server
from graphkin.cli import run
from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.protocol.errors import StoreFormat
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.similarity.warmup import compile_kernels
from graphkin.store import open_store

MOLECULES, GRAPHS, NODES = 250, 60, 60
PATIENCE = 60  # Seconds to wait for background work.
CATALOG = "catalog.sqlite"


def publish(folder):
    """Publish the store to damage."""
    molecules = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()[:MOLECULES]
    graphs = [nx.gnm_random_graph(10 + seed % 3, 12 + seed % 2, seed=seed) for seed in range(GRAPHS)]
    graph_records = [
        {"name": f"g{seed}", "num_nodes": len(graph), "edges": [*graph.edges]} for seed, graph in enumerate(graphs)
    ]
    files = {"molecules.smi": [*molecules, "C1CC broken"], "graphs.jsonl": map(json.dumps, graph_records)}
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    with open_store(folder / "store", create=True) as store:
        for name, recipe in (("molecules", resolve()), ("graphs", resolve_graphs(top_k=10))):
            file = next(file for file in files if file.startswith(name))
            pipeline.ingest(store, name, [str(folder / file)], recipe, IngestOptions(workers=1))
        nodes = nx.gnm_random_graph(NODES, 3 * NODES, seed=0)
        nx.write_edgelist(nodes, folder / "nodes.edgelist", data=False)
        pipeline.ingest(store, "nodes", [str(folder / "nodes.edgelist")], resolve_nodes(), IngestOptions(workers=1))
    return folder / "store"


def requests():
    """Yield method, path, and query or body of a request for every route that reads stored data."""
    yield "GET", "/v1/collections", None
    nodes = "/v1/collections/nodes"
    yield "GET", f"{nodes}/items/17/neighbors", None
    yield "GET", f"{nodes}/positives/epochs/3", {"policy": "random_walk"}
    yield "GET", f"{nodes}/components", None
    yield "GET", f"{nodes}/export", {"what": "items", "format": "csv"}
    yield "GET", f"{nodes}/export", {"what": "links", "format": "arrow"}
    query_graph = {"edges": [[0, 1], [1, 2]], "labels": [1, 2, 1], "weights": [1, 4, 1], "centre": 1}
    yield "POST", f"{nodes}/search", {"graph": query_graph}
    for name, query in (("molecules", {"smiles": "CCO"}), ("graphs", {"graph": {"edges": [[0, 1], [1, 2]]}})):
        base = f"/v1/collections/{name}"
        yield "GET", base, None
        for path, parameters in (
            ("rejections", None),
            ("items", {"limit": 30}),
            ("items", {"name": "g3" if name == "graphs" else "3"}),
            ("items/5", None),
            ("items/17/neighbors", None),
            ("items/17/positives", {"policy": "first_order"}),
            ("items/17/positives", {"policy": "random_walk", "q": 0.5}),
            ("items/17/positives", {"policy": "second_order"}),
            ("positives/epochs/3", {"policy": "random_walk"}),
            ("negatives", {"batches": 3, "count": 20}),
            ("items/17/subgraph", {"hops": 3}),
            ("paths", {"from": 3, "to": 40}),
            ("components", {"min_similarity": 0.6}),
            ("components/0", {"min_similarity": 0.4}),
            ("hops", None),
            ("clusters", {"property": "nodes" if name == "graphs" else "molwt"}),
            ("clusters/1", {"method": "single"}),
            *([] if name == "graphs" else [("clusters/1/mcs", {"method": "single"})]),
            ("items/17/cluster", None),
            ("map", {"property": "nodes" if name == "graphs" else "molwt"}),
            ("cliffs", {"property": "nodes" if name == "graphs" else "molwt"}),
            ("export", {"what": "items", "format": "csv"}),
            ("export", {"what": "edges", "format": "arrow"}),
            ("export", {"what": "edges", "format": "graphml"}),
        ):
            yield "GET", f"{base}/{path}", parameters
        yield "POST", f"{base}/items/query", {"name": "1", "sort": {"by": "names"}}
        yield "POST", f"{base}/values", {"columns": ["nodes" if name == "graphs" else "molwt"]}
        yield "POST", f"{base}/pick", {"count": 3}
        yield "POST", f"{base}/search", query
        yield "POST", f"{base}/search/batch", {"structures": [query, {"name": "g3" if name == "graphs" else "3"}]}
        yield "POST", f"{base}/positives/batch", {"ids": [*range(40)], "policy": "second_order"}
        yield "POST", f"{base}/export", {"ids": [*range(40)], "what": "edges", "format": "csv"}


async def send_until_ready(client, method, path, content):
    """Return the reply after the background work that it needs."""
    end = time.monotonic() + PATIENCE
    while True:
        how = {"params": content} if method == "GET" else {"json": content}
        reply = await client.request(method, path, **how)
        if reply.status_code != 503 or "Retry-After" not in reply.headers or time.monotonic() > end:
            return reply
        await asyncio.sleep(0.01)


def status_and_content(reply):
    """Return status and content, without the catalog's notes on damage."""
    if reply.status_code != 200 or reply.request.url.path.count("/") > 3:
        return reply.status_code, reply.content
    body = reply.json()
    for each in body.get("collections", [body]):
        del each["damaged"]
    return reply.status_code, json.dumps(body).encode()


async def server_replies(fork_server, store, damaged=None):
    """Return the replies of a server of this store, and whether it finally reports the file `damaged`."""
    with tempfile.TemporaryDirectory() as cache:
        app = create_app(Settings(store=store, cache_dir=cache), fork_server)
        async with app.router.lifespan_context(app) as state:

            async def served(scope, receive, send):
                await app({**scope, "state": dict(state or {})}, receive, send)

            client = httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://localhost")
            async with client:
                replies = [await send_until_ready(client, *request) for request in requests()]
                return replies, damaged is not None and await is_reported(client, damaged)


async def is_reported(client, damaged):
    """Return whether the list of collections names the file in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        reply = await client.get("/v1/collections")
        if reply.status_code == 200 and damaged in reply.text:
            return True
        await asyncio.sleep(0.02)
    return False


def verdict(reply, expected, damaged):
    """Return `same`, `damaged` (503 with a problem document that names the file), or a description of a wrong reply."""
    if status_and_content(reply) == expected:
        return "same"
    if reply.status_code == 503 and reply.headers["content-type"] == "application/problem+json":
        problem = reply.json()
        if problem["title"] == "Damaged" and damaged in problem["detail"]:
            return "damaged"
    return f"WRONG: {reply.status_code} {reply.request.method} {reply.request.url.path}: {reply.content[:200]!r}"


def trial(fork_server, store, name, expected):
    """Run the requests and `verify`, and return their results. Runs in a fork."""
    result: dict[str, Any] = {}
    try:
        replies, reported = asyncio.run(server_replies(fork_server, store, None if name == CATALOG else name))
        result["replies"] = Counter(verdict(*pair, name) for pair in zip(replies, expected, strict=True))
        result["shown"] = reported
    except StoreFormat as error:
        result["replies"] = {f"no server: {type(error).__name__}": 1}
    with redirect_stdout(io.StringIO()):
        result["verify"] = run(["verify", "--store", str(store), "--sample", "20"])
    return result


def damage_file(file, random):
    """Damage a file and return a description of the damage."""
    data = file.read_bytes()
    file.unlink()  # The file is a hard link to the undamaged file.
    place = int(random.integers(len(data)))
    if random.random() < 0.3:
        file.write_bytes(data[:place])
        return f"cut to {place} of {len(data)} bytes"
    flipped = data[place] ^ int(random.integers(1, 256))
    file.write_bytes(data[:place] + bytes([flipped]) + data[place + 1 :])
    return f"byte {place} of {len(data)}: {data[place]} to {flipped}"


def run_in_fork(folder, *trial_arguments):
    """Return the result of a trial, its exit status, and whether it wrote a traceback."""
    said, complained = folder / "said", folder / "complained"
    fork = os.fork()
    if not fork:
        try:
            os.dup2(os.open(complained, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            said.write_text(json.dumps(trial(*trial_arguments)))
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    ended = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    result = json.loads(said.read_text()) if ended == 0 else {}
    return {**result, "ended": ended, "traceback": "Traceback" in complained.read_text()}


def is_right(trial):
    """Return whether no reply contains damaged data, nothing crashed, and the damage was reported and verified."""
    calm = (trial["ended"], trial["traceback"]) == (0, False)
    if not calm or set(trial["replies"]) - {"same", "damaged", "no server: StoreDamaged", "no server: StoreFormat"}:
        return False
    if trial["file"] == CATALOG:
        return trial["verify"] == (0 if set(trial["replies"]) == {"same"} else 1)
    # These replies are of the other collections.
    return trial["shown"] and trial["verify"] == 1 and trial["replies"]["same"] > 20


def campaign(folder, trials, seed):
    """Run all trials and return whether all are right."""
    store = publish(folder)
    compile_kernels()
    fork_server = new_fork_server()  # One fork server suffices for all trials, because it reads no store.
    expected = [status_and_content(reply) for reply in asyncio.run(server_replies(fork_server, store))[0]]
    assert {status for status, _ in expected} == {200}
    files = [store / CATALOG, *sorted(store.glob("collections/*/*/*"))]
    random = np.random.default_rng(seed)
    order = [files[place] for _ in range(-(-trials // len(files))) for place in random.permutation(len(files))]
    outcomes = []
    for number, file in enumerate(order[:trials]):
        copy = folder / "struck"
        shutil.copytree(store, copy, copy_function=os.link)
        how = damage_file(copy / file.relative_to(store), random)
        whose = "the store" if file.name == CATALOG else file.parts[-3]
        ended = run_in_fork(folder, fork_server, copy, file.name, expected)
        result = {"trial": number, "of": whose, "file": file.name, "damage": how, **ended}
        outcomes.append(is_right(result))
        print(json.dumps({**result, "right": outcomes[-1]}), flush=True)
        shutil.rmtree(copy)
    fork_server.close()
    return all(outcomes)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--trials", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    sys.exit(not campaign(**vars(arguments.parse_args())))
