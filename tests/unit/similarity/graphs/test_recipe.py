"""Recipes of graphs: presets, options that override them, and invalid options."""

from typing import Any

import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.graphs.recipe import GraphRecipe, resolve_graphs


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("default", {}),
        ("paper", {"candidates": "window", "top_k": 0}),
        ("rc", {"candidates": "window", "top_k": 0, "ties": "index", "labels": "index", "closeness": 5}),
    ],
)
def test_presets_have_their_options(preset: str, expected: dict[str, Any]) -> None:
    default = {
        "schema_version": 1, "candidates": "exact", "ties": "hash", "tie_seed": 0, "threshold": 0.0, "top_k": 70,
        "labels": "degree", "iterations": 3, "closeness": 10, "kernel": "wl",
    }  # fmt: skip
    assert resolve_graphs(preset).model_dump() == {**default, **expected}


def test_options_override_a_preset() -> None:
    recipe = resolve_graphs("rc", labels="degree", candidates="exact", threshold=0.5, iterations=None)
    assert (recipe.labels, recipe.candidates, recipe.ties, recipe.closeness) == ("degree", "exact", "hash", 5)
    assert (recipe.threshold, recipe.iterations) == (0.5, 3)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"labels": "colour"}, "labels"),
        ({"iterations": -1}, "iterations"),
        ({"iterations": 21}, "iterations"),
        ({"closeness": 0}, "closeness"),
        ({"kernel": "rbf"}, "kernel"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"top_k": -1}, "top_k"),
        ({"ties": "index"}, "ties hash"),
        ({"fingerprint": {}}, "fingerprint"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        resolve_graphs(**options)


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no preset of this name") as error:
        resolve_graphs("best")
    assert error.value.expected == "one of default, paper, rc"


def test_recipe_round_trips_through_the_manifest() -> None:
    recipe = resolve_graphs("rc", threshold=0.25)
    assert GraphRecipe.model_validate(recipe.model_dump(mode="json")) == recipe
