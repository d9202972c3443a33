"""The describer of molecules: columns of the item table, computed by RDKit."""

from importlib.metadata import version
from typing import cast

import pyarrow as pa
from rdkit import rdBase

from graphkin.similarity.describer import Describer
from graphkin.similarity.molecules.fingerprint_text import split_fingerprint
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.reader import MoleculeReader
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.molecules.structure_text import Notation
from graphkin.similarity.packed import pack_hex
from graphkin.store.identity import content_digest

_VERSION = 2
"""Version of the description. It is part of the key of cached descriptions.

It is incremented when the same text is described differently. Text that is cached under an older version is then
described again.
"""
_KEY_FIELDS = {"schema_version", "standardise", "inchikey", "fingerprint", "tie_seed"}


class MoleculeDescriber(Describer[MoleculeRecipe]):
    """Describes molecules.

    The column `fingerprint` holds the packed fingerprint, which RDKit computes or the record contains. The column
    `digest` holds a seeded hash of the canonical SMILES or CXSMILES.
    """

    def __init__(self, recipe: MoleculeRecipe, max_atoms: int) -> None:
        self._recipe = recipe
        self._reader = MoleculeReader(recipe, max_atoms)
        self._fingerprinter = None if recipe.fingerprint.is_precomputed else Fingerprinter(recipe.fingerprint)
        settings = recipe.model_dump_json(include=_KEY_FIELDS)
        self.key = f"{settings} {max_atoms} {rdBase.rdkitVersion} {version('graphkin')} {_VERSION}".encode()
        self.schema = pa.schema(
            [
                ("smiles", pa.string()),
                ("inchikey", pa.string()),
                ("molwt", pa.float64()),
                ("rings", pa.int32()),
                ("heavy_atoms", pa.int32()),
                ("fingerprint", pa.binary(8 * recipe.fingerprint.words)),
                ("digest", pa.binary(16)),
            ]
        )

    def describe(self, text: str, notation: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        if self._fingerprinter is None:
            fingerprint, text = split_fingerprint(text, notation)
            bits, notation = pack_hex(fingerprint, self._recipe.fingerprint.bits), "smiles"
        molecule = self._reader.read(text, cast("Notation", notation))
        description = self._reader.describe(molecule)
        if self._fingerprinter is not None:
            bits = self._fingerprinter.compute_packed(molecule)
        return (
            description.smiles,
            description.inchikey,
            description.molwt,
            description.rings,
            description.heavy_atoms,
            bits,
            content_digest(description.smiles, self._recipe.tie_seed),
        )


class FingerprintDescriber(Describer[MoleculeRecipe]):
    """Computes only the fingerprints of molecules: the column `fingerprint` of `MoleculeDescriber`."""

    def __init__(self, recipe: MoleculeRecipe, max_atoms: int) -> None:
        self._reader = MoleculeReader(recipe, max_atoms)
        self._fingerprinter = Fingerprinter(recipe.fingerprint)
        settings = recipe.model_dump_json(include=_KEY_FIELDS)
        self.key = f"fingerprint {settings} {max_atoms} {rdBase.rdkitVersion} {version('graphkin')}".encode()
        self.schema = pa.schema([("fingerprint", pa.binary(8 * recipe.fingerprint.words))])

    def describe(self, text: str, notation: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        molecule = self._reader.read(text, cast("Notation", notation))
        return (self._fingerprinter.compute_packed(molecule),)
