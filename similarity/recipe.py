"""Recipes: everything that decides the edges. Presets are recipes with a name; explicit options override them."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from graphkin.store.errors import InvalidInput
from graphkin.store.records import Frozen

AnyRecipe = TypeVar("AnyRecipe", bound="Recipe")
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
    """What every recipe says, resolved: no field is left to a default that could change (`schema_version`)."""

    schema_version: Literal[1] = 1
    candidates: Literal["exact", "window"] = "exact"
    ties: Literal["hash", "index"] = "hash"  # among equals: by seeded content hash; `index` is the authors' code
    tie_seed: int = 0
    threshold: float
    top_k: Annotated[int, Field(ge=0)] = 70  # 0: no cap

    @model_validator(mode="after")
    def _ties(self) -> Self:
        if self.ties == "index" and self.candidates != "window":
            raise ValueError("ties by index exist only for parity with the authors' window candidates")
        return self


class MoleculeRecipe(Recipe):
    """How molecules are read, described by fingerprints, and joined."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.4
    standardise: tuple[Step, ...] = ()
    inchikey: bool = False
    fingerprint: FingerprintRecipe = FingerprintRecipe()


class GraphRecipe(Recipe):
    """How attribute-less graphs are compared: initial node labels, refinements and kernel (method.md A3, A4).

    Two graphs are candidates if their numbers of nodes and of edges differ by at most 1 / `closeness` of one's. At
    threshold 0 every pair with any similarity counts. The kernels of GraKeL need it installed.
    """

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0
    labels: Literal["degree", "uniform", "index", "given"] = "degree"
    iterations: Annotated[int, Field(ge=0, le=20)] = 3
    closeness: Annotated[int, Field(ge=1, le=100)] = 10
    kernel: Literal["wl", "grakel", "grakel-shortest-path", "grakel-graphlet"] = "wl"


_PUBLISHED = {"fingerprint": {"name": "rdkit"}, "candidates": "window", "threshold": 0.36, "top_k": 0}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PUBLISHED,
    "rc": {**_PUBLISHED, "ties": "index"},
}

_PUBLISHED_GRAPHS = {"candidates": "window", "top_k": 0}

GRAPH_PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PUBLISHED_GRAPHS,
    "rc": {**_PUBLISHED_GRAPHS, "ties": "index", "labels": "index", "closeness": 5},
}


def resolve(preset: str = "default", **explicit: Any) -> MoleculeRecipe:
    """The preset's recipe with every option that is not None put over it (`fingerprint` is a dict of its own).

    Naming another fingerprint than the preset's starts from that fingerprint's defaults. Raises `InvalidInput`.
    """
    values = _combined(PRESETS, preset, explicit)
    described = {key: value for key, value in (explicit.get("fingerprint") or {}).items() if value is not None}
    published = PRESETS[preset].get("fingerprint", {})
    values["fingerprint"] = described if "name" in described else {**published, **described}
    return _validated(MoleculeRecipe, values)


def resolve_graphs(preset: str = "default", **explicit: Any) -> GraphRecipe:
    """The preset's recipe with every option that is not None put over it. Raises `InvalidInput`."""
    return _validated(GraphRecipe, _combined(GRAPH_PRESETS, preset, explicit))


def _combined(presets: dict[str, dict[str, Any]], preset: str, explicit: dict[str, Any]) -> dict[str, Any]:
    if preset not in presets:
        raise InvalidInput("no such preset", given=preset, expected=f"one of {', '.join(presets)}")
    values = {**presets[preset], **{key: value for key, value in explicit.items() if value is not None}}
    if values.get("candidates") == "exact" and explicit.get("ties") is None:
        values["ties"] = "hash"
    return values


def _validated(recipe: type[AnyRecipe], values: dict[str, Any]) -> AnyRecipe:
    try:
        return recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the recipe"
        raise InvalidInput(f"{where}: {first['msg']}", given=str(first["input"])) from error
