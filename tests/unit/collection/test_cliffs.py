"""Activity cliffs beside a brute-force ranking of all pairs, computed from RDKit's fingerprints."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from graphkin.collection.cliffs import Cliffs, cliffs
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import CliffRanking
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation

MOLECULES = ["C" * length + end for length in range(4, 16) for end in ("O", "N", "C(=O)O", "c1ccccc1")]


@pytest.fixture(scope="module")
def chains(generation: Callable[..., Generation]) -> Generation:
    """Chains, of which the longer have the same Morgan environments, whatever their length."""
    return generation([Chem.MolFromSmiles(smiles) for smiles in MOLECULES], resolve(threshold=0.3))


@pytest.fixture(scope="module")
def every_pair(generators: Any, similarities: Any) -> pd.DataFrame:
    """a, b, similarity, difference of molwt and sali of every pair that differs."""
    molecules = [Chem.MolFromSmiles(smiles) for smiles in MOLECULES]
    weights = np.array([Descriptors.MolWt(molecule) for molecule in molecules])
    a, b = np.triu_indices(len(molecules), 1)
    similarity = similarities([generators["morgan"](molecule) for molecule in molecules])[a, b].astype(np.float32)
    pairs = pd.DataFrame({"a": a, "b": b, "similarity": similarity, "difference": np.abs(weights[a] - weights[b])})
    with np.errstate(divide="ignore"):
        pairs["sali"] = pairs["difference"] / (1 - similarity.astype(float))
    return pairs[pairs["difference"] > 0]


def expected(pairs: pd.DataFrame, by: str) -> Iterator[tuple[int, int]]:
    ordered = pairs.sort_values([by, "difference", "a", "b"], ascending=[False, False, True, True])
    return zip(ordered["a"], ordered["b"], strict=True)


def ends(found: Cliffs) -> list[tuple[int, int]]:
    return [*zip(found.a.tolist(), found.b.tolist(), strict=True)]


@pytest.mark.parametrize("by", ["sali", "difference"])
@pytest.mark.parametrize("exclude_identical", [True, False])
@pytest.mark.parametrize(("least", "most"), [(0.3, 1.0), (0.5, 0.8), (1.0, 1.0)])
def test_ranking_is_that_of_brute_force(
    chains: Generation, every_pair: pd.DataFrame, by: Any, exclude_identical: bool, least: float, most: float
) -> None:
    ranking = CliffRanking(
        property="molwt", by=by, min_similarity=least, max_similarity=most, exclude_identical=exclude_identical
    )
    identical = every_pair["similarity"] == 1
    within = every_pair["similarity"].between(np.float32(least), np.float32(most))
    passing = every_pair[within & ~identical] if exclude_identical else every_pair[within]
    found = cliffs(chains, ranking)
    assert ends(found) == [*expected(passing, by)]
    assert (found.total, found.identical) == (len(passing), identical.sum())
    assert found.identical > 20
    few = cliffs(chains, ranking, limit=7)
    assert ends(few) == ends(found)[:7]
    assert (few.total, few.identical) == (found.total, found.identical)


def test_default_has_no_infinite_sali(chains: Generation, every_pair: pd.DataFrame) -> None:
    similar = every_pair[every_pair["similarity"].between(np.float32(0.7), 1, inclusive="left")]
    found = cliffs(chains, CliffRanking(property="molwt"))
    assert ends(found) == [*expected(similar, "difference")]
    assert np.isfinite(cliffs(chains, CliffRanking(property="molwt", by="sali")).sali).all()


def test_equal_sali_ranks_by_difference(chains: Generation) -> None:
    """All identical pairs have infinite SALI."""
    ranking = CliffRanking(property="molwt", by="sali", min_similarity=1, exclude_identical=False)
    found = cliffs(chains, ranking, limit=15)
    assert np.isinf(found.sali).all()
    assert found.difference.tolist() == sorted(found.difference.tolist(), reverse=True)
    assert found.difference[0] > found.difference[-1]


def test_default_similarity_is_the_stored_threshold_if_that_is_larger(generation: Callable[..., Generation]) -> None:
    molecules = [Chem.MolFromSmiles(smiles) for smiles in MOLECULES]
    found = cliffs(generation(molecules, resolve(threshold=0.9)), CliffRanking(property="molwt"))
    assert len(found.a)
    assert (found.similarity >= np.float32(0.9)).all()


def test_bounds_that_no_pair_fulfills_are_refused(chains: Generation) -> None:
    with pytest.raises(InvalidInput, match="no pair can have such a similarity") as raised:
        cliffs(chains, CliffRanking(property="molwt", max_similarity=0.6))
    assert "0.7" in cast(str, raised.value.hint)
    with pytest.raises(InvalidInput):
        cliffs(chains, CliffRanking(property="molwt", min_similarity=0.8, max_similarity=0.5))
