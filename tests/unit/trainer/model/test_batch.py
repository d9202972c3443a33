"""Batches against graphs taken one by one."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler, Batch


def expected(corpus: Corpus, ids: list[int]) -> dict[str, list[object]]:
    """The batch as plain lists: one graph after the other, its atoms moved up by the atoms before."""
    said: dict[str, list[object]] = {"atom_type": [], "chirality": [], "graph": [], "edges": []}
    for place, id in enumerate(ids):
        moved = len(said["atom_type"])
        atoms = range(corpus.atom_offsets[id], corpus.atom_offsets[id + 1])
        edge = int(corpus.edge_offsets[id])
        for atom in atoms:
            said["atom_type"].append(int(corpus.atom_type[atom]))
            said["chirality"].append(int(corpus.chirality[atom]))
            said["graph"].append(place)
            for _ in range(corpus.degree[atom]):
                ends = moved + int(corpus.source[edge]), moved + atom - atoms.start
                said["edges"].append((*ends, int(corpus.bond[edge])))
                edge += 1
    return said


def assert_is(batch: Batch, corpus: Corpus, ids: list[int]) -> None:
    said = expected(corpus, ids)
    assert batch.atom_type.tolist() == said["atom_type"]
    assert batch.chirality.tolist() == said["chirality"]
    assert batch.graph.tolist() == said["graph"]
    assert list(zip(*batch.edge_index.tolist(), batch.bond.tolist(), strict=True)) == said["edges"]
    assert batch.edge_ptr.diff().tolist() == torch.bincount(batch.edge_index[1], minlength=batch.atoms).tolist()
    assert batch.atom_ptr.tolist() == [0, *batch.atom_ends.tolist()]
    assert batch.graphs == len(ids)
    assert batch.atoms == len(said["atom_type"])


@pytest.mark.parametrize("ids", [[0], [1], [11, 3, 3, 0, 7, 1], list(range(12))])
def test_a_batch_is_its_graphs_one_after_the_other(corpus: Corpus, assembler: Assembler, ids: list[int]) -> None:
    assert_is(assembler.batch(np.array(ids, np.int32)), corpus, ids)


def test_batch_of_many_graphs_holds_each_of_them(random_corpus: Callable[..., Corpus]) -> None:
    sizes = np.random.default_rng(1).integers(1, 40, size=200).tolist()
    corpus = random_corpus(sizes)
    ids = np.random.default_rng(2).integers(200, size=300)
    assert_is(Assembler(corpus).batch(ids), corpus, ids.tolist())


def test_its_first_graphs_are_the_batch_of_them(assembler: Assembler) -> None:
    whole, part = assembler.batch(np.array([3, 7, 0, 5])), assembler.batch(np.array([3, 7]))
    first = whole.first(2)
    for name in ("atom_type", "chirality", "graph", "atom_ptr", "edge_index", "edge_ptr", "bond"):
        assert torch.equal(getattr(first, name), getattr(part, name))
    assert (first.graphs, first.atoms) == (part.graphs, part.atoms)


def test_masking_changes_only_the_masked_atoms(assembler: Assembler) -> None:
    batch = assembler.batch(np.array([3, 4]))
    mask = torch.zeros(batch.atoms, dtype=torch.bool)
    mask[1] = True
    masked = batch.masked(mask)
    assert (masked.atom_type[1].item(), masked.chirality[1].item()) == (119, 0)
    assert batch.chirality[1] != 0
    assert torch.equal(masked.atom_type[~mask], batch.atom_type[~mask])
    assert torch.equal(masked.bond, batch.bond)


@pytest.mark.parametrize("ids", [[], [-1], [0, 12]])
def test_ids_that_are_none_are_refused(assembler: Assembler, ids: list[int]) -> None:
    with pytest.raises(InvalidInput, match="0 to 11"):
        assembler.batch(np.array(ids, np.int32))
