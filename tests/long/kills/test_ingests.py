"""Ingests killed in every stage: of a first and a next generation, with the window rule, and of graphs."""

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest

from graphkin.cli import run
from graphkin.similarity.verify import verify
from graphkin.store import open_store
from tests.faults.conftest import COMMAND, Session
from tests.long.kills.edges import Edges, brute_force, stored_edges

STAGES = ("start and compile", "parse", "items", "index", "join", "cap", "write", "publish")
KILLS, BLOCKS = 5, 4
THRESHOLD = 0.4
SAMPLE = 300  # edges of graphs that are recomputed
INGESTS = {  # name -> (file ingested before, file to ingest, options)
    "first ingest": (None, "first.smi", ("molecules", "--threshold", str(THRESHOLD), "--top-k", "0")),
    "next ingest": ("first.smi", "next.smi", ("molecules", "--threshold", str(THRESHOLD), "--top-k", "0")),
    "window": ("first.smi", "next.smi", ("molecules", "--threshold", str(THRESHOLD), "--candidates", "window")),
    "graphs": (None, "graphs.jsonl", ("graphs",)),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, nci_file):
    """Return a folder with overlapping files of real molecules, and a file of random graphs."""
    folder = tmp_path_factory.mktemp("inputs")
    lines = nci_file.read_text().splitlines(keepends=True)
    (folder / "first.smi").write_text("".join(lines[:2500]))
    (folder / "next.smi").write_text("".join(lines[1500:4500]))
    graphs = [nx.gnm_random_graph(8 + seed % 20, 10 + seed % 40, seed=seed) for seed in range(2500)]
    records = (
        {"name": f"g{seed}", "edges": [*graph.edges], "num_nodes": len(graph)} for seed, graph in enumerate(graphs)
    )
    (folder / "graphs.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return folder


@dataclass
class Scene:
    """An undisturbed ingest.

    Attributes:
        name: Name of the case.
        command: The command without its store.
        start: The store before the ingest; None for none.
        before: Published state before the ingest.
        after: Published state after the ingest.
        names: Paths in the store after the ingest.
        seconds: Seconds by stage.
        edges: The correct edges.
    """

    name: str
    command: tuple
    start: object
    before: object
    after: object
    names: set
    seconds: dict
    edges: Edges

    def wrong_edges(self, store, seed):
        """Yield the wrong edges of the current generation."""
        with open_store(store) as opened, opened.open("c") as generation:
            yield from stored_edges(generation).differences(self.edges)
            if self.name == "graphs":
                yield from verify(generation, SAMPLE, seed)


def ingest_arguments(command, store):
    return [str(each) for each in ("ingest", *command, "--store", store, "--collection", "c", "--workers", "2")]


def start_ingest(command, store):
    return subprocess.Popen(
        [COMMAND, *ingest_arguments(command, store)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module", params=INGESTS)
def scene(request, inputs, tmp_path_factory, published, tree):
    before, file, (kind, *options) = INGESTS[request.param]
    command = (kind, inputs / file, *options)
    folder = tmp_path_factory.mktemp("scene")
    start, store = None, folder / "after"
    if before is not None:
        start = folder / "before"
        assert run(ingest_arguments(("molecules", inputs / before), start)) == 0
        shutil.copytree(start, store)
    with start_ingest(command, store) as process:
        moments = [time.monotonic(), *(time.monotonic() for _ in process.stderr)]
        moments.append(time.monotonic())
    assert process.returncode == 0
    assert len(moments) == len(STAGES) + 1
    with open_store(store) as opened, opened.open("c") as generation:
        edges = stored_edges(generation)
        if kind == "molecules":
            all_edges = brute_force(generation.structures(), THRESHOLD)
            edges = all_edges if request.param != "window" else all_edges.restrict(edges.pairs)
    return Scene(
        request.param,
        command,
        start,
        start and published(start),
        published(store),
        tree(store),
        dict(zip(STAGES, np.diff(moments), strict=True)),
        edges,
    )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_ingest_killed_in_any_stage_restarts_cleanly(block, scene, part, tmp_path, keep, tree):
    """A restarted ingest ends as if it had not been killed."""
    kills = part(scene.name)
    for number, random in enumerate(kills.attempts(f"{scene.name} {block}", KILLS)):
        store = tmp_path / str(number)
        if scene.start is not None:
            shutil.copytree(scene.start, store)
        stage = STAGES[(block * KILLS + number) % len(STAGES)]
        stage_hit = kill_ingest(scene, store, stage, random)
        if stage_hit is None:
            kills.late += 1
            continue
        if STAGES.index(stage_hit) > STAGES.index(stage):
            scene.seconds[stage] /= 2  # the stage was faster than estimated
        kills.landed[stage_hit] += 1
        where = f"{scene.name}, block {block}, attempt {number}, {stage_hit}"
        keep(kills, store, (scene.before, scene.after), where)
        assert run(ingest_arguments(scene.command, store)) == 0
        keep(kills, store, scene.after, f"{where}, again")
        kills.wrong += [f"{where}: {edge}" for edge in scene.wrong_edges(store, number)]
        kills.diverging += [f"{where}: {name}" for name in tree(store) ^ scene.names]
        shutil.rmtree(store)


def kill_ingest(scene, store, stage, random):
    """Kill an ingest during a stage, alone or with its worker processes, and return the stage that was hit."""
    with start_ingest(scene.command, store) as process:
        lines = [process.stderr.readline() for _ in range(STAGES.index(stage))]
        time.sleep(
            scene.seconds[stage] * random.random() ** 2
        )  # tends to be early, because a late kill hits another stage
        if random.random() < 0.5:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        lines += process.stderr
        Session(process).wait_until_ended()
    return STAGES[len(lines)] if process.returncode == -signal.SIGKILL else None
