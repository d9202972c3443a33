"""Run store operations and whole commands, each in a fork of this process that `saboteur.c` may disturb.

Standard input has one JSON request per line. Standard output has, for each request, the message of the operation unless
it was killed, and then the fork's status from `os.waitstatus_to_exitcode`. A fork starts in milliseconds, so every file
operation can fail once.
"""

import ctypes
import json
import os
import sys
import tempfile

import numpy as np
import pyarrow as pa

from graphkin import cli
from graphkin.ingest import append, pipeline, remove
from graphkin.protocol.errors import GraphkinError
from graphkin.protocol.manifest import Counts, Histogram, Provenance
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.records import ADDED_NAMES, REJECTION_SCHEMA, Edges
from graphkin.store.transfer import write_generation

COLLECTION = "molecules"
IMPORTED = append, pipeline, remove, resolve  # Imported here, or commands would import them in every fork.


def create(store):
    open_store(store, create=True).close()


def publish(store, batch):
    """Publish alkanes up to length 40 * batch. Neighbors are 1 to 3 carbons longer or shorter."""
    size = 40 * batch
    smiles = ["C" * length for length in range(1, size + 1)]
    step = np.repeat(np.arange(1, 4, dtype=np.int32), size)
    source = np.tile(np.arange(size, dtype=np.int32), 3)
    inside = source + step < size
    edges = Edges(source[inside], (source + step)[inside], (1 - step / 10).astype(np.float32)[inside])
    with open_store(store, create=True) as opened, opened.draft(COLLECTION, "molecule") as draft:
        names = [[f"{text}-{copy}" for copy in range(8)] for text in smiles]
        none = [None] * size
        draft.append_items(pa.record_batch([smiles, none, none, names], schema=ITEM_SCHEMA))
        draft.append_rejections(pa.record_batch([["-"], [9], ["x"], ["no molecule"]], schema=REJECTION_SCHEMA))
        draft.append_fingerprints(np.random.default_rng(batch).integers(0, 2**63, (size, 32), np.uint64))
        draft.append_edges(edges)
        draft.write_dropped(np.zeros(size, np.int32))
        draft.write_forest(Edges(edges.source[: size - 1], edges.target[: size - 1], edges.similarity[: size - 1]))
        return draft.publish(_provenance(size, len(edges))).generation


def _provenance(size, edges):
    return Provenance(
        kind="molecule",
        recipe={"threshold": 0.7},
        structure="smiles",
        versions={"rdkit": "none"},
        libraries=["rdkit"],
        inputs=[],
        counts=Counts(read=size + 1, kept=size, duplicates=0, rejected=1),
        edges=edges,
        dropped=0,
        properties={},
        histograms={"degree": Histogram(edges=[0, 6], counts=[size])},
        times={},
    )


def grow(store):
    """Append twenty longer alkanes that are similar to the longest existing ones, and remove one existing edge."""
    with open_store(store) as opened, opened.growth(COLLECTION) as draft:
        size = draft.base.size
        smiles = ["C" * length for length in range(size + 1, size + 21)]
        none = [None] * len(smiles)
        draft.append_items(pa.record_batch([smiles, none, none, [[text] for text in smiles]], schema=ITEM_SCHEMA))
        draft.append_names(pa.record_batch([pa.array([0], pa.int32()), [["methane"]]], schema=ADDED_NAMES))
        draft.append_fingerprints(np.random.default_rng(0).integers(0, 2**63, (len(smiles), 32), np.uint64))
        (existing, *_) = draft.base.edges()
        source = np.arange(size - 1, size + 19, dtype=np.int32)
        added = Edges(source, source + np.int32(1), np.full(len(source), 0.9, np.float32))
        draft.remove_edges(existing.take(slice(1)))
        draft.append_edges(added)
        draft.write_dropped(np.ones(size + len(smiles), np.int32))
        draft.write_forest(added)
        provenance = _provenance(size + len(smiles), draft.base.manifest.edges + len(added) - 1)
        return draft.publish(provenance).generation


def compact(store):
    """Copy the current generation into one fragment."""
    with (
        open_store(store) as opened,
        opened.open(COLLECTION) as generation,
        opened.draft(COLLECTION, "molecule") as draft,
    ):
        write_generation(generation, draft)
        return draft.publish(generation.manifest.provenance).generation


def delete(store):
    """Delete the current generation."""
    with open_store(store) as opened:
        opened.delete(COLLECTION, opened.collection(COLLECTION).current)


def command(*arguments):
    """Run `graphkin` with these arguments and return its exit code."""
    return cli.run([*arguments])


OPERATIONS = {operation.__name__: operation for operation in (create, publish, grow, compact, delete, command)}


def run(answers, operation, arguments, sabotage):
    if sabotage is not None:
        ctypes.CDLL(None).sabotage(sabotage.encode())
    try:
        message = {"result": OPERATIONS[operation](*arguments)}
    except GraphkinError as error:
        message = {"error": type(error).__name__}
    except KeyboardInterrupt:
        message = {"error": "interrupted"}
    print(json.dumps(message), file=answers, flush=True)
    os._exit(0)


answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Output of commands must not mix with answers.
with tempfile.TemporaryDirectory() as folder:  # Forks then need not import or compile anything.
    publish(folder, 1)
    grow(folder)
    compact(folder)
for line in sys.stdin:
    fork = os.fork()
    if not fork:
        run(answers, **json.loads(line))
    _, status = os.waitpid(fork, 0)
    print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
