"""Presets, options that override them, and invalid recipes."""

from typing import Any

import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.molecules.recipe import PRESETS, FingerprintRecipe, MoleculeRecipe, resolve

MORGAN = {"name": "morgan", "radius": 2, "bits": 2048, "chirality": False}
RDKIT = {"name": "rdkit", "radius": None, "bits": 2048, "chirality": False}
COMMON = {"schema_version": 1, "standardise": (), "inchikey": False, "tie_seed": 0}
PUBLISHED = {**COMMON, "fingerprint": RDKIT, "candidates": "window", "threshold": 0.36, "top_k": 0}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (
            "default",
            {**COMMON, "fingerprint": MORGAN, "candidates": "exact", "threshold": 0.4, "top_k": 70, "ties": "hash"},
        ),
        ("paper", {**PUBLISHED, "ties": "hash"}),
        ("rc", {**PUBLISHED, "ties": "index"}),
    ],
)
def test_presets_have_their_options(preset: str, expected: dict[str, Any]) -> None:
    assert resolve(preset).model_dump() == expected


@pytest.mark.parametrize("preset", PRESETS)
def test_explicit_options_override_and_none_keeps_the_preset(preset: str) -> None:
    plain = resolve(preset)
    nothing = {"name": None, "radius": None, "bits": None, "chirality": None}
    assert resolve(preset, threshold=None, top_k=None, inchikey=None, fingerprint=nothing) == plain
    changed = resolve(preset, threshold=0.9, top_k=5, inchikey=True, tie_seed=7, standardise=["uncharge"])
    assert changed.model_dump() == plain.model_dump() | {
        "threshold": 0.9,
        "top_k": 5,
        "inchikey": True,
        "tie_seed": 7,
        "standardise": ("uncharge",),
    }


def test_zero_overrides_the_preset() -> None:
    assert resolve(top_k=0).top_k == 0
    assert resolve(fingerprint={"radius": 0}).fingerprint.radius == 0
    assert resolve("rc", threshold=1).threshold == 1


@pytest.mark.parametrize("preset", ["paper", "rc"])
def test_named_fingerprint_has_its_own_defaults(preset: str) -> None:
    assert resolve(preset, fingerprint={"name": "morgan"}).fingerprint.model_dump() == MORGAN
    assert resolve(preset, fingerprint={"name": "maccs"}).fingerprint.bits == 167
    assert resolve(preset, fingerprint={"bits": 1024}).fingerprint.model_dump() == {**RDKIT, "bits": 1024}


def test_exact_candidates_never_break_ties_by_index() -> None:
    assert resolve("rc", candidates="exact").ties == "hash"
    for preset in PRESETS:
        with pytest.raises(InvalidInput, match="ties hash"):
            resolve(preset, candidates="exact", ties="index")
    assert resolve(candidates="window", ties="index").ties == "index"


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"threshold": 0}, "threshold"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": 1.0000001}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold": float("inf")}, "threshold"),
        ({"threshold": "high"}, "threshold"),
        ({"top_k": -1}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"candidates": "all"}, "candidates"),
        ({"standardise": ["neutralise"]}, "standardise"),
        ({"unknown": 1}, "unknown"),
        ({"schema_version": 2}, "schema_version"),
        ({"fingerprint": {"name": "ecfp"}}, "fingerprint: expected one of"),
        ({"fingerprint": {"radius": -1}}, "radius: expected at"),
        ({"fingerprint": {"radius": 11}}, "radius: expected at"),
        ({"fingerprint": {"bits": 32}}, "multiple of 64"),
        ({"fingerprint": {"name": "given", "bits": 0}}, "bits: expected at"),
        ({"fingerprint": {"name": "given", "radius": 2}}, "no radius with the fingerprint"),
        ({"fingerprint": {"bits": 100}}, "multiple of 64"),
        ({"fingerprint": {"bits": 32768}}, "bits: expected at"),
        ({"fingerprint": {"name": "maccs", "bits": 2048}}, "167 bits with the fingerprint maccs"),
        ({"fingerprint": {"name": "rdkit", "radius": 2}}, "no radius with the fingerprint"),
        ({"fingerprint": {"name": "rdkit", "chirality": True}}, "chirality only with"),
        ({"fingerprint": {"name": "maccs", "chirality": True}}, "chirality only with"),
        ({"ties": "index"}, "ties hash"),
    ],
)
def test_invalid_recipes_are_refused(options: dict[str, Any], about: str) -> None:
    with pytest.raises(InvalidInput, match=about) as error:
        resolve(**options)
    assert error.value.given is not None


def test_unknown_preset_names_the_presets() -> None:
    with pytest.raises(InvalidInput, match="default, paper, rc"):
        resolve("published")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["morgan", "maccs"])
def test_recipe_round_trips_through_json(preset: str, name: str) -> None:
    recipe = resolve(preset, fingerprint={"name": name}, standardise=["uncharge", "largest_fragment"])
    assert MoleculeRecipe.model_validate(recipe.model_dump(mode="json")) == recipe
    assert MoleculeRecipe.model_validate_json(recipe.model_dump_json()) == recipe


@pytest.mark.parametrize(("bits", "words"), [(64, 1), (128, 2), (2048, 32), (16384, 256)])
def test_fingerprint_takes_one_word_per_64_bits(bits: int, words: int) -> None:
    assert FingerprintRecipe(bits=bits).words == words


def test_maccs_keys_take_three_words() -> None:
    assert FingerprintRecipe(name="maccs").words == 3
