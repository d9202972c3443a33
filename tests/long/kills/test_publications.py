"""Kills during the publication of an ingest, and during deletions.

A publication starts with the first synced file and ends after the catalog's row. It takes milliseconds, as does a
deletion, so processes are killed at file operations.
"""

import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from graphkin.cli import run
from graphkin.store import open_store
from tests.long.kills.edges import brute_force, stored_edges

KILLS, PUBLICATIONS, DELETIONS = 5, 6, 4
COLLECTION = "nci"
THRESHOLD = 0.4
STAGES = ("files", "between rename and row", "after the row")
DELETED = {  # name -> (number of generations, index of the deleted one, index of its file)
    "the current one": (2, 1, 1),
    "an old one": (2, 0, 0),
    "the only one": (1, 0, 0),
}


def ingest_again(graphkin, file, store):
    """Repeat the ingest in this process."""
    assert run([str(each) for each in graphkin.ingest_arguments(file, store)]) == 0


def wrong_edges(store):
    with open_store(store) as opened, opened.open(COLLECTION) as generation:
        assert not generation.manifest.dropped
        yield from stored_edges(generation).differences(brute_force(generation.structures(), THRESHOLD))


def moments(operations):
    """Return the numbers, from 1, of the operations of a publication by stage."""
    first = next(at for at, (kind, path) in enumerate(operations, 1) if kind == "sync" and "collections" in path.parts)
    last = range(first, len(operations) + 1)
    return {stage: [at for at in last if stage_of(operations[:at]) == stage] for stage in STAGES}


def stage_of(operations):
    """Return the stage of a publication that was killed before the last of these operations."""
    unlinked = [(kind, path.parts[-3] if kind == "rename" else path.name) for kind, path in operations[:-1]]
    if ("unlink", "catalog.sqlite-journal") in unlinked:
        return "after the row"
    return "between rename and row" if ("rename", "collections") in unlinked else "files"


@pytest.fixture(scope="module")
def names(baseline, graphkin, molecule_files, tmp_path_factory, tree):
    """Return the paths in the store after the second ingest."""
    store = tmp_path_factory.mktemp("names") / "store"
    shutil.copytree(baseline.store, store)
    ingest_again(graphkin, molecule_files[1], store)
    return tree(store)


@pytest.mark.parametrize("block", range(PUBLICATIONS))
def test_killed_publication_is_complete_or_absent(
    block, baseline, graphkin, molecule_files, saboteur, names, part, keep, tree, tmp_path
):
    kills, at = part("publish"), moments(baseline.operations)
    for number, random in enumerate(kills.attempts(f"publish {block}", KILLS)):
        store = tmp_path / str(number)
        shutil.copytree(baseline.store, store)
        plan = saboteur.plan(store, at=random.choice(at[STAGES[(block + number) % len(STAGES)]]))
        if graphkin.ingest(molecule_files[1], store, plan=plan).returncode != -signal.SIGKILL:
            kills.late += 1
            continue
        stage = stage_of(plan.operations())
        kills.landed[stage] += 1
        where = f"publish, block {block}, attempt {number}, before {plan.operations()[-1]}"
        keep(kills, store, baseline.second if stage == "after the row" else baseline.first, where)
        ingest_again(graphkin, molecule_files[1], store)
        keep(kills, store, baseline.second, f"{where}, again")
        kills.wrong += [f"{where}: {edge}" for edge in wrong_edges(store)]
        kills.diverging += [f"{where}: {name}" for name in tree(store) ^ names]


@dataclass
class Deletion:
    """An undisturbed deletion.

    Attributes:
        name: Name of the case.
        start: The store before the deletion.
        generation: The deleted generation.
        file: The file that the generation was ingested from.
        operations: File operations of the deletion.
        before: Published state before the deletion.
        after: Published state after the deletion.
        after_ingest: Published state after the file was ingested again.
        names: Paths in the store after that.
    """

    name: str
    start: Path
    generation: str
    file: Path
    operations: list
    before: object
    after: object
    after_ingest: object
    names: set

    def command(self, store):
        return "delete", "--store", str(store), "--collection", COLLECTION, "--generation", self.generation


@pytest.fixture(scope="module", params=DELETED)
def deletion(request, baseline, graphkin, molecule_files, saboteur, published, tree, tmp_path_factory):
    generations, deleted, file = DELETED[request.param]
    start, store = (tmp_path_factory.mktemp("deletion") / each for each in ("before", "after"))
    shutil.copytree(baseline.store, start)
    if generations == 2:
        ingest_again(graphkin, molecule_files[1], start)
    shutil.copytree(start, store)
    before = published(store)
    case = Deletion(
        request.param, start, before.generations[deleted], molecule_files[file], [], before, None, None, set()
    )
    plan = saboteur.plan(store)
    graphkin.run(*case.command(store), plan=plan).check_returncode()
    after = published(store)
    ingest_again(graphkin, case.file, store)
    return replace(case, operations=plan.operations(), after=after, after_ingest=published(store), names=tree(store))


@pytest.mark.parametrize("block", range(DELETIONS))
def test_killed_deletion_is_complete_or_absent(block, deletion, graphkin, saboteur, part, keep, tree, tmp_path):
    kills = part("delete")
    for number, random in enumerate(kills.attempts(f"delete {deletion.name} {block}", 2)):
        store = tmp_path / str(number)
        shutil.copytree(deletion.start, store)
        plan = saboteur.plan(store, at=random.randint(1, len(deletion.operations)))
        if graphkin.run(*deletion.command(store), plan=plan).returncode != -signal.SIGKILL:
            kills.late += 1
            continue
        unlinked = stage_of(plan.operations()) == "after the row"
        kills.landed["after the row" if unlinked else "before the row"] += 1
        where = f"delete {deletion.name}, block {block}, attempt {number}, before {plan.operations()[-1]}"
        keep(kills, store, deletion.after if unlinked else deletion.before, where)
        assert run([*deletion.command(store)]) == (3 if unlinked else 0)
        keep(kills, store, deletion.after, f"{where}, again")
        ingest_again(graphkin, deletion.file, store)
        keep(kills, store, deletion.after_ingest, f"{where}, ingested again")
        kills.wrong += [f"{where}: {edge}" for edge in wrong_edges(store)]
        kills.diverging += [f"{where}: {name}" for name in tree(store) ^ deletion.names]
