"""Recipes of molecules, and their presets."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.similarity.packed import MAX_BITS, word_count
from graphkin.similarity.recipe import Recipe, override_preset, validate_recipe

FingerprintName = Literal["morgan", "rdkit", "maccs", "atompair", "torsion", "given"]
Step = Literal["largest_fragment", "uncharge"]

GIVEN: Literal["given"] = "given"
MACCS_BITS = 167
_CHIRAL = ("morgan", "atompair", "torsion")


class FingerprintRecipe(Frozen):
    """The fingerprint of a molecule.

    `radius` applies to Morgan fingerprints only. MACCS has 167 fixed keys. Fingerprints that come with the records may
    have any number of bits.
    """

    name: FingerprintName = "morgan"
    radius: Annotated[int, Field(ge=0, le=10)] | None = None
    bits: Annotated[int, Field(ge=1, le=MAX_BITS)] = 2048
    chirality: bool = False

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, values: dict[str, Any]) -> dict[str, Any]:
        resolved = {key: value for key, value in values.items() if value is not None}
        if resolved.get("name", "morgan") == "morgan":
            resolved.setdefault("radius", 2)
        if resolved.get("name") == "maccs":
            resolved.setdefault("bits", MACCS_BITS)
        return resolved

    @model_validator(mode="after")
    def _consistent(self) -> "FingerprintRecipe":
        if self.radius is not None and self.name != "morgan":
            raise ValueError(f"radius applies to the morgan fingerprint only, not to {self.name}")
        if self.name == "maccs" and self.bits != MACCS_BITS:
            raise ValueError(f"maccs has {MACCS_BITS} bits, not {self.bits}")
        if self.name not in ("maccs", GIVEN) and self.bits % 64:
            raise ValueError(f"bits must be a multiple of 64, not {self.bits}")
        if self.chirality and self.name not in _CHIRAL:
            raise ValueError(f"chirality applies to {', '.join(_CHIRAL)}, not to {self.name}")
        return self

    @property
    def words(self) -> int:
        """Length of a packed fingerprint in 64-bit words."""
        return word_count(self.bits)

    @property
    def given(self) -> bool:
        """True if the fingerprints come with the records, so that RDKit cannot compute them."""
        return self.name == GIVEN

    @property
    def type(self) -> str:
        """chemfp's name of this RDKit fingerprint; "" if the fingerprints come with the records.

        chemfp has no name for atom pairs and torsions with chirality, nor for MACCS keys with an unused bit 0.
        """
        chiral = " includeChirality=1" if self.chirality else ""
        match self.name:
            case "morgan":
                options = f"useFeatures=0 useChirality={self.chirality:d} useBondTypes=1"
                return f"RDKit-Morgan/1 radius={self.radius} fpSize={self.bits} {options}"
            case "rdkit":
                return f"RDKit-Fingerprint/2 minPath=1 maxPath=7 fpSize={self.bits} nBitsPerHash=2 useHs=1"
            case "atompair":
                return f"RDKit-AtomPair/2 fpSize={self.bits} minLength=1 maxLength=30{chiral}"
            case "torsion":
                return f"RDKit-Torsion/2 fpSize={self.bits} targetSize=4{chiral}"
            case "maccs":
                return f"RDKit-MACCS{self.bits}/1"
            case "given":
                return ""


class MoleculeRecipe(Recipe):
    """The standardization, fingerprint and join of molecules."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.4
    standardise: tuple[Step, ...] = ()
    inchikey: bool = False
    fingerprint: FingerprintRecipe = FingerprintRecipe()


_PUBLISHED = {"fingerprint": {"name": "rdkit"}, "candidates": "window", "threshold": 0.36, "top_k": 0}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PUBLISHED,
    "rc": {**_PUBLISHED, "ties": "index"},
}


def resolve(preset: str = "default", **explicit: Any) -> MoleculeRecipe:
    """Return the recipe of a preset, overridden by every option that is not None.

    `fingerprint` is a dict of options. Naming another fingerprint than the preset's starts from the defaults of that
    fingerprint.

    Raises:
        InvalidInput: The preset does not exist, or a value is invalid.
    """
    values = override_preset(PRESETS, preset, explicit)
    fingerprint = {key: value for key, value in (explicit.get("fingerprint") or {}).items() if value is not None}
    preset_fingerprint = PRESETS[preset].get("fingerprint", {})
    values["fingerprint"] = fingerprint if "name" in fingerprint else {**preset_fingerprint, **fingerprint}
    return validate_recipe(MoleculeRecipe, values)


def resolve_flat(preset: str = "default", **explicit: Any) -> MoleculeRecipe:
    """Return the recipe as `resolve` does, with the options of the fingerprint as separate arguments.

    They are `fingerprint` (its name), `radius`, `bits` and `chirality`.
    """
    fingerprint = {"name": explicit.pop("fingerprint", None)}
    fingerprint |= {option: explicit.pop(option, None) for option in ("radius", "bits", "chirality")}
    return resolve(preset, fingerprint=fingerprint, **explicit)
