"""Reading of query molecules."""

from typing import cast

from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.describer import Rejected, failure_reason
from graphkin.similarity.kind import Query
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.reader import MAX_RECORD_BYTES, MoleculeReader
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.molecules.structure_text import Notation
from graphkin.similarity.packed import read_fingerprint

_SPELLINGS = {"smiles": "SMILES", "smarts": "SMARTS", "inchi": "InChI"}


def read_molecule(recipe: MoleculeRecipe, text: str, notation: str) -> Query:
    """Read a query molecule or a query fingerprint.

    Args:
        recipe: The recipe of the collection to search.
        text: A SMILES or InChI of at most 10 kB, a molblock of at most 1 MB, or a fingerprint in hexadecimal. A
            molecule may have at most 1,000 atoms.
        notation: Notation of the text: "smiles", "inchi", "molblock" or "fingerprint".

    Returns:
        The query, whose array is the packed fingerprint, (W,) uint64. It has no array if the text is a molecule and the
        fingerprints of the recipe come with the records. It has no SMILES if the text is a fingerprint. The SMILES is
        that of the standardized molecule.

    Raises:
        InvalidInput: The text cannot be read. The message gives the reason.
    """
    if len(text) > MAX_RECORD_BYTES:
        raise InvalidInput(
            f"the {notation} is too long",
            given=f"{len(text)} bytes",
            expected=f"at most {MAX_RECORD_BYTES:,} bytes",
            hint="send a smaller structure",
        )
    if notation == "fingerprint":
        return Query(text.lower(), (read_fingerprint(text, recipe.fingerprint.bits),))
    reader = MoleculeReader(recipe)
    fingerprinter = None if recipe.fingerprint.is_precomputed else Fingerprinter(recipe.fingerprint)
    try:
        molecule = reader.read(text, cast("Notation", notation))
        smiles = reader.describe(molecule).smiles
        arrays = () if fingerprinter is None else (fingerprinter.unpack(fingerprinter.compute_packed(molecule))[0],)
    except Rejected as reason:
        raise invalid_text_error(text, notation, str(reason)) from reason
    except Exception as error:
        raise invalid_text_error(text, notation, failure_reason(error)) from error
    return Query(smiles, arrays, smiles)


def invalid_text_error(text: str, notation: str, reason: str, expected_kind: str = "molecule") -> InvalidInput:
    """Return the error for a text that is not a valid `expected_kind`, such as "molecule"."""
    excerpt = text[:200].encode(errors="backslashreplace").decode()
    written = _SPELLINGS.get(notation, notation)
    return InvalidInput(
        f"this is not a {expected_kind}: {reason}",
        given=excerpt,
        expected=f"a valid {written}",
        hint=f"correct the {written}",
    )
