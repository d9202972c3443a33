"""Activity cliffs equal a brute-force ranking of all pairs of RDKit fingerprints."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from graphkin.collection.cliffs import Cliffs, rank_cliffs
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import CliffRanking
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation

MOLECULES = ["C" * length + end for length in range(4, 16) for end in ("O", "N", "C(=O)O", "c1ccccc1")]


@pytest.fixture(scope="module")
def chains(generation: Callable[..., Generation]) -> Generation:
    """Return chains. The longer ones share all Morgan environments."""
    return generation([Chem.MolFromSmiles(smiles) for smiles in MOLECULES], resolve(threshold=0.3))


@pytest.fixture(scope="module")
def every_pair(generators: Any, similarities: Any) -> pd.DataFrame:
    """Return a, b, similarity, difference of molwt and SALI of each pair that differs."""
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


def ends(result: Cliffs) -> list[tuple[int, int]]:
    return [*zip(result.a.tolist(), result.b.tolist(), strict=True)]


@pytest.mark.parametrize("by", ["sali", "difference"])
@pytest.mark.parametrize("exclude_identical", [True, False])
@pytest.mark.parametrize(("least", "most"), [(0.3, 1.0), (0.5, 0.8), (1.0, 1.0)])
def test_ranking_equals_brute_force(
    chains: Generation, every_pair: pd.DataFrame, by: Any, exclude_identical: bool, least: float, most: float
) -> None:
    ranking = CliffRanking(
        property="molwt", by=by, min_similarity=least, max_similarity=most, exclude_identical=exclude_identical
    )
    identical = every_pair["similarity"] == 1
    within = every_pair["similarity"].between(np.float32(least), np.float32(most))
    passing = every_pair[within & ~identical] if exclude_identical else every_pair[within]
    result = rank_cliffs(chains, ranking)
    assert ends(result) == [*expected(passing, by)]
    assert (result.total, result.identical) == (len(passing), identical.sum())
    assert result.identical > 20
    few = rank_cliffs(chains, ranking, limit=7)
    assert ends(few) == ends(result)[:7]
    assert (few.total, few.identical) == (result.total, result.identical)


def test_default_ranking_has_no_infinite_sali(chains: Generation, every_pair: pd.DataFrame) -> None:
    similar = every_pair[every_pair["similarity"].between(np.float32(0.7), 1, inclusive="left")]
    result = rank_cliffs(chains, CliffRanking(property="molwt"))
    assert ends(result) == [*expected(similar, "difference")]
    assert np.isfinite(rank_cliffs(chains, CliffRanking(property="molwt", by="sali")).sali).all()


def test_pairs_of_equal_sali_are_ranked_by_difference(chains: Generation) -> None:
    """All identical pairs have infinite SALI."""
    ranking = CliffRanking(property="molwt", by="sali", min_similarity=1, exclude_identical=False)
    result = rank_cliffs(chains, ranking, limit=15)
    assert np.isinf(result.sali).all()
    assert result.difference.tolist() == sorted(result.difference.tolist(), reverse=True)
    assert result.difference[0] > result.difference[-1]


def test_default_min_similarity_is_at_least_the_stored_threshold(generation: Callable[..., Generation]) -> None:
    molecules = [Chem.MolFromSmiles(smiles) for smiles in MOLECULES]
    result = rank_cliffs(generation(molecules, resolve(threshold=0.9)), CliffRanking(property="molwt"))
    assert len(result.a)
    assert (result.similarity >= np.float32(0.9)).all()


def test_similarity_bounds_without_possible_pairs_are_refused(chains: Generation) -> None:
    with pytest.raises(InvalidInput, match="range of similarities is empty") as error:
        rank_cliffs(chains, CliffRanking(property="molwt", max_similarity=0.6))
    assert "0.7" in cast(str, error.value.hint)
    with pytest.raises(InvalidInput):
        rank_cliffs(chains, CliffRanking(property="molwt", min_similarity=0.8, max_similarity=0.5))
