"""Molecules from text: parse, cap, standardise, describe. Used for ingested records and for queries alike."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from rdkit import Chem, rdBase
from rdkit.Chem import Descriptors
from rdkit.Chem.MolStandardize import rdMolStandardize

from ingest.describer import Rejected
from ingest.recipe import MoleculeRecipe, Step

TextFormat = Literal["smiles", "molblock", "inchi"]

MAX_ATOMS = 1_000
MAX_RECORD_BYTES = 1_000_000
_BYTES_PER_ATOM = 10  # of SMILES or InChI text; generous: drug-like SMILES need about two
_PREFIX = re.compile(r"^\[\d\d:\d\d:\d\d\]\s*(ERROR:)?")


@dataclass(frozen=True)
class Description:
    """What the item table keeps of a molecule: MolWt in g/mol, rings by symmetrised SSSR, heavy atoms."""

    smiles: str
    inchikey: str | None
    molwt: float
    rings: int
    heavy_atoms: int


class MoleculeReader:
    """Turns text into standardised molecules, as one recipe says. Thread-safe."""

    def __init__(self, recipe: MoleculeRecipe, max_atoms: int = MAX_ATOMS) -> None:
        self._recipe = recipe
        self._max_atoms = max_atoms

    def read(self, text: str, text_format: TextFormat) -> Chem.Mol:
        """The standardised molecule. Raises `Rejected` with RDKit's own words where it has any.

        Bytes are capped before parsing and atoms right after it: RDKit parses a chain of 20,000 carbons and then
        crashes the process while writing its SMILES.
        """
        self._check_text(text, text_format)
        with rdkit_messages() as messages:
            molecule = _parse(text, text_format)
            if molecule is None:
                said = "; ".join(line for line in dict.fromkeys(messages) if line != text.strip())
                raise Rejected(said or f"RDKit cannot read this {text_format}")
            self._check_atoms(molecule)
            try:
                molecule = _standardise(molecule, self._recipe.standardise)
            except (ValueError, RuntimeError) as error:
                raise Rejected(f"standardisation failed: {error}") from error
            return molecule if self._as_written(text_format) else _reread(molecule)

    def _as_written(self, text_format: TextFormat) -> bool:
        """Whether the fingerprint of the molecule as written is the one of its canonical SMILES.

        Not with query atoms and stereo marks of other formats, not after standardisation, and not for RDKit's
        topological torsions: those of three-membered rings depend on the order of the atoms.
        """
        return text_format == "smiles" and not self._recipe.standardise and self._recipe.fingerprint.name != "torsion"

    def _check_text(self, text: str, text_format: TextFormat) -> None:
        if not text.strip():
            raise Rejected("empty record")
        if "\0" in text:
            raise Rejected("contains a NUL byte")  # RDKit's InChI reader would stop there and take the beginning
        limit = MAX_RECORD_BYTES if text_format == "molblock" else _BYTES_PER_ATOM * self._max_atoms
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise Rejected("is not Unicode text") from error
        if size > limit:
            raise Rejected(f"{size} bytes of {text_format}, more than {limit}")
        if text_format == "smiles":
            _, *rest = text.split(maxsplit=1)
            if rest and not rest[0].startswith("|"):
                raise Rejected("white space inside the SMILES")

    def _check_atoms(self, molecule: Chem.Mol) -> None:
        atoms = molecule.GetNumAtoms()
        if not atoms:
            raise Rejected("no atoms")
        if atoms > self._max_atoms:
            raise Rejected(f"{atoms} atoms, more than {self._max_atoms}")

    def describe(self, molecule: Chem.Mol) -> Description:
        return Description(
            smiles=Chem.MolToSmiles(molecule),
            inchikey=_inchikey(molecule) if self._recipe.inchikey else None,
            molwt=round(Descriptors.MolWt(molecule), 6),  # type: ignore[attr-defined]  # the rest is the atoms' order
            rings=molecule.GetRingInfo().NumRings(),  # sanitisation left the symmetrised SSSR there
            heavy_atoms=molecule.GetNumHeavyAtoms(),
        )


def _parse(text: str, text_format: TextFormat) -> Chem.Mol | None:
    match text_format:
        case "smiles":
            return Chem.MolFromSmiles(text)
        case "molblock":
            return Chem.MolFromMolBlock(text)
        case "inchi":
            return Chem.MolFromInchi(text.strip())  # type: ignore[no-untyped-call]


def _standardise(molecule: Chem.Mol, steps: tuple[Step, ...]) -> Chem.Mol:
    for step in steps:
        match step:
            case "largest_fragment":
                molecule = rdMolStandardize.LargestFragmentChooser().choose(molecule)
            case "uncharge":
                molecule = rdMolStandardize.Uncharger().uncharge(molecule)
    if steps:
        Chem.GetSymmSSSR(molecule)
    return molecule


def _reread(molecule: Chem.Mol) -> Chem.Mol:
    """What the canonical SMILES says, so that everything kept follows from what identifies the item."""
    smiles = Chem.MolToSmiles(molecule)
    again = Chem.MolFromSmiles(smiles)
    if again is None:
        raise Rejected(f"RDKit cannot read the SMILES it writes for this: {smiles}")
    return again


def _inchikey(molecule: Chem.Mol) -> str | None:
    with rdkit_messages():
        return Chem.MolToInchiKey(molecule) or None  # type: ignore[no-untyped-call]


class _Collector(logging.Handler):
    """Hands RDKit's log lines to whoever listens on this thread, and drops the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.listening = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        messages: list[str] | None = getattr(self.listening, "messages", None)
        line = _PREFIX.sub("", record.getMessage()).strip()
        if messages is not None and line and not set(line) <= {"~", "^"}:
            messages.append(line)


_collector = _Collector()


def _capture_rdkit_log() -> None:
    rdBase.LogToPythonLogger()
    logger = logging.getLogger("rdkit")
    logger.propagate = False
    logger.handlers = [_collector]


_capture_rdkit_log()


@contextmanager
def rdkit_messages() -> Iterator[list[str]]:
    """Collects what RDKit logs on this thread, instead of printing it."""
    messages: list[str] = []
    _collector.listening.messages = messages
    try:
        yield messages
    finally:
        _collector.listening.messages = None
