"""Recipes of molecules, and their presets."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.similarity.packed import MAX_BITS, word_count
from graphkin.similarity.recipe import Recipe, override_preset, validate_recipe

FingerprintName = Literal["morgan", "rdkit", "maccs", "atompair", "torsion", "given"]
Step = Literal["largest_fragment", "uncharge", "tautomer"]

GIVEN: Literal["given"] = "given"
"""Name of precomputed fingerprints, which come with the records."""

MACCS_BITS = 167
_CHIRAL = ("morgan", "atompair", "torsion")


class FingerprintRecipe(Frozen):
    """Settings of the fingerprint of a molecule.

    Attributes:
        name: Name of the fingerprint; "given" if it comes with the records.
        radius: Radius of a Morgan fingerprint. Other fingerprints have none.
        bits: Number of bits: a multiple of 64 if RDKit computes the fingerprint, and always 167 for MACCS keys.
        chirality: Whether the fingerprint distinguishes stereoisomers.
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
    def _check_consistency(self) -> "FingerprintRecipe":
        if self.radius is not None and self.name != "morgan":
            raise ValueError(f"no radius with the fingerprint {self.name}: only morgan has one")
        if self.name == "maccs" and self.bits != MACCS_BITS:
            raise ValueError(f"{MACCS_BITS} bits with the fingerprint maccs, not {self.bits}")
        if self.name not in ("maccs", GIVEN) and self.bits % 64:
            raise ValueError(f"a number of bits that is a multiple of 64, not {self.bits}")
        if self.chirality and self.name not in _CHIRAL:
            raise ValueError(f"chirality only with the fingerprints {', '.join(_CHIRAL)}, not with {self.name}")
        return self

    @property
    def words(self) -> int:
        """Number of 64-bit words of a packed fingerprint."""
        return word_count(self.bits)

    @property
    def is_precomputed(self) -> bool:
        """Whether the fingerprints come with the records, so that RDKit cannot compute them."""
        return self.name == GIVEN

    @property
    def type(self) -> str:
        """Type of the fingerprint in the notation of chemfp; "" if the fingerprints come with the records.

        chemfp has no types for atom pairs and torsions with chirality, and none for MACCS keys with RDKit's unused bit
        0. These texts follow the same pattern.
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
    """Settings for standardizing and comparing molecules.

    Attributes:
        standardise: Steps of the standardization, in order.
        inchikey: Whether the item table holds the InChIKeys.
        fingerprint: Settings of the fingerprint.
    """

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

    Args:
        preset: Name of the preset.
        explicit: The options by name. `fingerprint` is a dict of the options of the fingerprint. If it names a
            fingerprint, its other options have the defaults of that fingerprint, not the values of the preset.

    Raises:
        InvalidInput: The preset does not exist, or a value is invalid.
    """
    values = override_preset(PRESETS, preset, explicit)
    fingerprint = {key: value for key, value in (explicit.get("fingerprint") or {}).items() if value is not None}
    preset_fingerprint = PRESETS[preset].get("fingerprint", {})
    values["fingerprint"] = fingerprint if "name" in fingerprint else {**preset_fingerprint, **fingerprint}
    return validate_recipe(MoleculeRecipe, values)


def resolve_flat(preset: str = "default", **explicit: Any) -> MoleculeRecipe:
    """Return the recipe as `resolve` does, from options without nesting, such as those of a command line.

    Args:
        preset: Name of the preset.
        explicit: The options by name. The options of the fingerprint are `fingerprint`, which is its name, `radius`,
            `bits` and `chirality`.
    """
    fingerprint = {"name": explicit.pop("fingerprint", None)}
    fingerprint |= {option: explicit.pop(option, None) for option in ("radius", "bits", "chirality")}
    return resolve(preset, fingerprint=fingerprint, **explicit)
