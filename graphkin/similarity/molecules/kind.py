"""The kind of item "molecule"."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
from rdkit import rdBase

from graphkin.similarity.columns import fixed_width_array
from graphkin.similarity.kind import Kind, Pattern, Query
from graphkin.similarity.molecules.describer import MoleculeDescriber
from graphkin.similarity.molecules.descriptors import MoleculeDescriptors
from graphkin.similarity.molecules.query import read_molecule
from graphkin.similarity.molecules.reader import MAX_ATOMS
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.molecules.recomputation import recompute_fingerprints, recompute_similarities
from graphkin.similarity.molecules.search import MoleculeSearch
from graphkin.similarity.molecules.substructures import MoleculeSubstructures, read_pattern
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks
from graphkin.store.records import Edges, FingerprintType, Float64


class MoleculeKind(Kind[MoleculeRecipe]):
    """Molecules that RDKit can read, compared by the Tanimoto similarity of their fingerprints."""

    name = "molecule"
    recipe_type = MoleculeRecipe
    describer = MoleculeDescriber
    plural = "molecules"
    structure_column = "smiles"
    computed_columns = ("molwt", "rings", "heavy_atoms")
    notations = ("smiles", "inchi", "molblock", "fingerprint")
    file_formats: ClassVar = {
        "smi": "smiles",
        "csv": "smiles",
        "tsv": "smiles",
        "sdf": "molblock",
        "parquet": "smiles",
        "xlsx": "smiles",
    }
    max_size = MAX_ATOMS

    def descriptors(self, items: pa.Table, recipe: MoleculeRecipe) -> MoleculeDescriptors:
        return MoleculeDescriptors(
            recipe=recipe,
            bits=fixed_width_array(items["fingerprint"], "<u8").reshape(-1, recipe.fingerprint.words),
            molwt=np.asarray(items["molwt"]),
            rings=np.asarray(items["rings"]),
            heavy_atoms=np.asarray(items["heavy_atoms"]),
            tie=tie_ranks(fixed_width_array(items["digest"], "<u8")),
        )

    def load_descriptors(self, generation: Generation, recipe: MoleculeRecipe, digests: bytes) -> MoleculeDescriptors:
        molwt, rings, heavy_atoms = generation.numeric_columns(["molwt", "rings", "heavy_atoms"])
        return MoleculeDescriptors(
            recipe=recipe,
            bits=generation.fingerprints().words,
            molwt=molwt,
            rings=rings.astype(np.int32),
            heavy_atoms=heavy_atoms.astype(np.int32),
            tie=tie_ranks(digests),
        )

    def warmup_descriptors(self, recipe: MoleculeRecipe) -> MoleculeDescriptors:
        one = np.ones(2, np.int32)
        tie = np.arange(2, dtype=np.uint64)
        return MoleculeDescriptors(recipe, np.ones((2, recipe.fingerprint.words), np.uint64), np.ones(2), one, one, tie)

    def versions(self, recipe: MoleculeRecipe) -> dict[str, str]:  # noqa: ARG002
        return {"rdkit": rdBase.rdkitVersion}

    def consistent_column(self, recipe: MoleculeRecipe) -> str | None:
        return "fingerprint" if recipe.fingerprint.is_precomputed else None

    def fingerprint(self, recipe: MoleculeRecipe) -> FingerprintType:
        return FingerprintType(recipe.fingerprint.bits, recipe.fingerprint.type)

    def read(self, recipe: MoleculeRecipe, text: str, notation: str) -> Query:
        return read_molecule(recipe, text, notation)

    def search(self, generation: Generation) -> MoleculeSearch:
        return MoleculeSearch(generation)

    def pattern(self, recipe: MoleculeRecipe, text: str, notation: str) -> Pattern:
        return read_pattern(recipe, text, notation)

    def substructures(self, generation: Generation) -> MoleculeSubstructures:
        return MoleculeSubstructures(generation)

    def check_items(self, generation: Generation, sample: int, random: np.random.Generator) -> list[str]:
        recipe = self.recipe(generation.manifest.recipe)
        if recipe.fingerprint.is_precomputed:  # RDKit cannot recompute such fingerprints
            return []
        ids = random.choice(generation.size, min(sample, generation.size), replace=False).astype(np.int32)
        expected = recompute_fingerprints(generation, recipe, ids)
        is_wrong = (expected != generation.fingerprints().words[ids]).any(axis=1)
        return [f"item {id}: its stored fingerprint differs from RDKit's" for id in np.sort(ids[is_wrong])]

    def recompute_similarities(self, generation: Generation, edges: Edges) -> Float64:
        return recompute_similarities(generation, self.recipe(generation.manifest.recipe), edges)
