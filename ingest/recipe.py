"""The recipe: everything that decides the edges. Presets are recipes with a name; explicit options override them."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from store.errors import InvalidInput
from store.records import Frozen

FingerprintName = Literal["morgan", "rdkit", "maccs", "atompair", "torsion"]
Step = Literal["largest_fragment", "uncharge"]

MACCS_BITS = 167
_CHIRAL = ("morgan", "atompair", "torsion")


class FingerprintRecipe(Frozen):
    """Which bits describe a molecule. `radius` is Morgan's alone; MACCS has its own fixed 167 keys."""

    name: FingerprintName = "morgan"
    radius: Annotated[int, Field(ge=0, le=10)] | None = None
    bits: Annotated[int, Field(ge=64, le=16384)] = 2048
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
        if self.name != "maccs" and self.bits % 64:
            raise ValueError(f"bits must be a multiple of 64, not {self.bits}")
        if self.chirality and self.name not in _CHIRAL:
            raise ValueError(f"chirality applies to {', '.join(_CHIRAL)}, not to {self.name}")
        return self

    @property
    def words(self) -> int:
        """Length of one packed fingerprint in 64-bit words."""
        return -(-self.bits // 64)


class Recipe(Frozen):
    """A molecule recipe, resolved: no field is left to a default that could change (`schema_version`)."""

    schema_version: Literal[1] = 1
    standardise: tuple[Step, ...] = ()
    inchikey: bool = False
    fingerprint: FingerprintRecipe = FingerprintRecipe()
    candidates: Literal["exact", "window"] = "exact"
    ties: Literal["hash", "index"] = "hash"  # among equals: by seeded content hash; `index` is the authors' code
    tie_seed: int = 0
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.4
    top_k: Annotated[int, Field(ge=0)] = 70  # 0: no cap

    @model_validator(mode="after")
    def _ties(self) -> "Recipe":
        if self.ties == "index" and self.candidates != "window":
            raise ValueError("ties by index exist only for parity with the authors' window candidates")
        return self


_PUBLISHED = {"fingerprint": {"name": "rdkit"}, "candidates": "window", "threshold": 0.36, "top_k": 0}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PUBLISHED,
    "rc": {**_PUBLISHED, "ties": "index"},
}


def resolve(preset: str = "default", **explicit: Any) -> Recipe:
    """The preset's recipe with every option that is not None put over it (`fingerprint` is a dict of its own).

    Naming another fingerprint than the preset's starts from that fingerprint's defaults. Raises `InvalidInput`.
    """
    if preset not in PRESETS:
        raise InvalidInput("no such preset", given=preset, expected=f"one of {', '.join(PRESETS)}")
    values = {**PRESETS[preset], **{key: value for key, value in explicit.items() if value is not None}}
    described = {key: value for key, value in (explicit.get("fingerprint") or {}).items() if value is not None}
    published = PRESETS[preset].get("fingerprint", {})
    values["fingerprint"] = described if "name" in described else {**published, **described}
    if values.get("candidates") == "exact" and explicit.get("ties") is None:
        values["ties"] = "hash"
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the recipe"
        raise InvalidInput(f"{where}: {first['msg']}", given=str(first["input"])) from error
