"""A damage campaign: `python damage.py FOLDER --trials 200 --seed 0`.

Publishes a collection of molecules and one of graphs below FOLDER. Each trial then flips one byte of one of its files,
or cuts it short, and has the application, in a fork of this process, answer requests to all of its routes. Prints one
JSON line a trial: what was damaged, how requests were answered, how the fork ended, and whether all of that is `right`.
Exits 1 unless it always is.
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
PATIENCE = 60  # seconds for what is built, or found, in the background
CATALOG = "catalog.sqlite"


def publish(folder):
    """Make the store that is damaged."""
    molecules = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()[:MOLECULES]
    graphs = [nx.gnm_random_graph(10 + seed % 3, 12 + seed % 2, seed=seed) for seed in range(GRAPHS)]
    told = [{"name": f"g{seed}", "num_nodes": len(graph), "edges": [*graph.edges]} for seed, graph in enumerate(graphs)]
    files = {"molecules.smi": [*molecules, "C1CC broken"], "graphs.jsonl": map(json.dumps, told)}
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
    """(method, path, query or body) of every route that reads what is stored."""
    yield "GET", "/v1/collections", None
    nodes = "/v1/collections/nodes"
    yield "GET", f"{nodes}/items/17/neighbors", None
    yield "GET", f"{nodes}/positives/epochs/3", {"policy": "random_walk"}
    yield "GET", f"{nodes}/components", None
    yield "GET", f"{nodes}/export", {"what": "items", "format": "csv"}
    yield "GET", f"{nodes}/export", {"what": "links", "format": "arrow"}
    yield "POST", f"{nodes}/search", {"graph": {"edges": [[0, 1], [1, 2]], "centre": 1}}
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
        yield "POST", f"{base}/pick", {"count": 3}
        yield "POST", f"{base}/search", query
        yield "POST", f"{base}/search/batch", {"structures": [query, {"name": "g3" if name == "graphs" else "3"}]}
        yield "POST", f"{base}/positives/batch", {"ids": [*range(40)], "policy": "second_order"}
        yield "POST", f"{base}/export", {"ids": [*range(40)], "what": "edges", "format": "csv"}


async def asked(client, method, path, content):
    """The reply, once what is built in the background is ready."""
    end = time.monotonic() + PATIENCE
    while True:
        how = {"params": content} if method == "GET" else {"json": content}
        reply = await client.request(method, path, **how)
        if reply.status_code != 503 or "Retry-After" not in reply.headers or time.monotonic() > end:
            return reply
        await asyncio.sleep(0.01)


def told(reply):
    """Status and content; what the catalogue's replies say of damage is not part of it."""
    if reply.status_code != 200 or reply.request.url.path.count("/") > 3:
        return reply.status_code, reply.content
    body = reply.json()
    for each in body.get("collections", [body]):
        del each["damaged"]
    return reply.status_code, json.dumps(body).encode()


async def answers(fork_server, store, damaged=None):
    """What a server of this store answers, and whether it says in the end that the file `damaged` is."""
    with tempfile.TemporaryDirectory() as cache:
        app = create_app(Settings(store=store, cache_dir=cache), fork_server)
        async with app.router.lifespan_context(app) as state:

            async def served(scope, receive, send):
                await app({**scope, "state": dict(state or {})}, receive, send)

            client = httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://localhost")
            async with client:
                replies = [await asked(client, *request) for request in requests()]
                return replies, damaged is not None and await shown(client, damaged)


async def shown(client, damaged):
    """Whether the list of collections comes to name the file."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        reply = await client.get("/v1/collections")
        if reply.status_code == 200 and damaged in reply.text:
            return True
        await asyncio.sleep(0.02)
    return False


def judged(reply, expected, damaged):
    """`same`, `damaged` (503 with a problem document that names the file), or what is wrong with the reply."""
    if told(reply) == expected:
        return "same"
    if reply.status_code == 503 and reply.headers["content-type"] == "application/problem+json":
        problem = reply.json()
        if problem["title"] == "Damaged" and damaged in problem["detail"]:
            return "damaged"
    return f"WRONG: {reply.status_code} {reply.request.method} {reply.request.url.path}: {reply.content[:200]!r}"


def trial(fork_server, store, name, expected):
    """In a fork: how the requests were answered, whether the damage was shown in the end, and what `verify` says."""
    result: dict[str, Any] = {}
    try:
        replies, shown = asyncio.run(answers(fork_server, store, None if name == CATALOG else name))
        result["replies"] = Counter(judged(*pair, name) for pair in zip(replies, expected, strict=True))
        result["shown"] = shown
    except StoreFormat as error:
        result["replies"] = {f"no server: {type(error).__name__}": 1}
    with redirect_stdout(io.StringIO()):
        result["verify"] = run(["verify", "--store", str(store), "--sample", "20"])
    return result


def struck(file, random):
    """Damage a file; says how."""
    data = file.read_bytes()
    file.unlink()  # it is a link to the whole one
    place = int(random.integers(len(data)))
    if random.random() < 0.3:
        file.write_bytes(data[:place])
        return f"cut to {place} of {len(data)} bytes"
    flipped = data[place] ^ int(random.integers(1, 256))
    file.write_bytes(data[:place] + bytes([flipped]) + data[place + 1 :])
    return f"byte {place} of {len(data)}: {data[place]} to {flipped}"


def in_a_fork(folder, *struck):
    """The trial's result, how its process ended, and what it wrote to standard error."""
    said, complained = folder / "said", folder / "complained"
    fork = os.fork()
    if not fork:
        try:
            os.dup2(os.open(complained, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            said.write_text(json.dumps(trial(*struck)))
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    ended = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    result = json.loads(said.read_text()) if ended == 0 else {}
    return {**result, "ended": ended, "traceback": "Traceback" in complained.read_text()}


def right(trial):
    """Whether nothing was answered from damage, nothing crashed, and it was shown and verified for what it is."""
    calm = (trial["ended"], trial["traceback"]) == (0, False)
    if not calm or set(trial["replies"]) - {"same", "damaged", "no server: StoreDamaged", "no server: StoreFormat"}:
        return False
    if trial["file"] == CATALOG:
        return trial["verify"] == (0 if set(trial["replies"]) == {"same"} else 1)
    return trial["shown"] and trial["verify"] == 1 and trial["replies"]["same"] > 20  # those of the other collection


def campaign(folder, trials, seed):
    """Whether all trials went right."""
    store = publish(folder)
    compile_kernels()
    fork_server = new_fork_server()  # one for all trials: it reads nothing itself
    expected = [told(reply) for reply in asyncio.run(answers(fork_server, store))[0]]
    assert {status for status, _ in expected} == {200}
    files = [store / CATALOG, *sorted(store.glob("collections/*/*/*"))]
    random = np.random.default_rng(seed)
    order = [files[place] for _ in range(-(-trials // len(files))) for place in random.permutation(len(files))]
    outcomes = []
    for number, file in enumerate(order[:trials]):
        copy = folder / "struck"
        shutil.copytree(store, copy, copy_function=os.link)
        how = struck(copy / file.relative_to(store), random)
        whose = "the store" if file.name == CATALOG else file.parts[-3]
        ended = in_a_fork(folder, fork_server, copy, file.name, expected)
        result = {"trial": number, "of": whose, "file": file.name, "damage": how, **ended}
        outcomes.append(right(result))
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
