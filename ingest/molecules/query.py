"""Molecules somebody asks about."""

from typing import cast

from ingest.describer import Rejected
from ingest.kind import Query
from ingest.molecules.fingerprints import Fingerprinter
from ingest.molecules.reader import MAX_RECORD_BYTES, MoleculeReader, TextFormat
from ingest.recipe import MoleculeRecipe
from store.errors import InvalidInput


def read_molecule(recipe: MoleculeRecipe, text: str, text_format: str) -> Query:
    """Read a SMILES, an InChI (10 kB each) or a molblock (1 MB), of at most 1,000 atoms: the canonical SMILES after
    standardisation, described by the packed fingerprint (W,) uint64.

    Raises `InvalidInput` with RDKit's reason.
    """
    if len(text) > MAX_RECORD_BYTES:
        raise InvalidInput(f"the {text_format} is too long", given=f"{len(text)} bytes")
    reader = MoleculeReader(recipe)
    try:
        molecule = reader.read(text, cast("TextFormat", text_format))
    except Rejected as reason:
        given_text = text[:200].encode(errors="backslashreplace").decode()
        raise InvalidInput(f"not a molecule: {reason}", given=given_text, expected=f"a valid {text_format}") from reason
    fingerprinter = Fingerprinter(recipe.fingerprint)
    smiles = reader.describe(molecule).smiles
    return Query(smiles, fingerprinter.unpack(fingerprinter.packed(molecule))[0], smiles)
