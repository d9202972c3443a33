"""A structure somebody asks about, read exactly as the collection's recipe reads its records."""

from dataclasses import dataclass

from ingest.fingerprints import Fingerprinter
from ingest.molecules import MAX_RECORD_BYTES, MoleculeReader, Rejected, TextFormat
from ingest.recipe import Recipe
from store.errors import InvalidInput
from store.records import UInt64


@dataclass(frozen=True)
class Query:
    """Canonical SMILES after standardisation, and the packed fingerprint (W,) uint64."""

    smiles: str
    fingerprint: UInt64


def read_structure(
    recipe: Recipe, *, smiles: str | None = None, inchi: str | None = None, molblock: str | None = None
) -> Query:
    """Read exactly one of SMILES, InChI (10 kB each) or molblock (1 MB), at most 1,000 atoms.

    Raises `InvalidInput` with RDKit's reason.
    """
    formats: dict[TextFormat, str | None] = {"smiles": smiles, "inchi": inchi, "molblock": molblock}
    given = [(text, text_format) for text_format, text in formats.items() if text is not None]
    if len(given) != 1:
        raise InvalidInput(
            "a structure is given in one way",
            given=[text_format for _, text_format in given],
            expected="exactly one of smiles, inchi, molblock",
        )
    text, text_format = given[0]
    if len(text) > MAX_RECORD_BYTES:
        raise InvalidInput(f"the {text_format} is too long", given=f"{len(text)} bytes")
    reader = MoleculeReader(recipe)
    try:
        molecule = reader.read(text, text_format)
    except Rejected as reason:
        given_text = text[:200].encode(errors="backslashreplace").decode()
        raise InvalidInput(f"not a molecule: {reason}", given=given_text, expected=f"a valid {text_format}") from reason
    fingerprinter = Fingerprinter(recipe.fingerprint)
    return Query(reader.describe(molecule).smiles, fingerprinter.unpack(fingerprinter.packed(molecule))[0])
