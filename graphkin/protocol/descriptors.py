"""Computed columns: molecular descriptors, and activities on a logarithmic scale.

Their names begin with `descriptor.` and `pactivity.`. A source column whose name has one of these forms gets the prefix
`property.` wherever names of columns are used, so a computed column is never confused with a source column.
"""

import re
from typing import Literal, NamedTuple

from pydantic import Field

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.replies import FromGeneration


class Descriptor(Frozen):
    """A molecular descriptor, which RDKit computes from the structure of a molecule.

    `name` is the name of the column, `label` a title for people, and `unit` the unit, null for numbers without one.
    """

    name: str
    label: str
    unit: str | None = None
    description: str


DESCRIPTORS = {
    each.name: each
    for each in (
        Descriptor(
            name="descriptor.molecular_weight",
            label="Molecular weight",
            unit="g/mol",
            description="Average molecular weight, hydrogens included.",
        ),
        Descriptor(
            name="descriptor.heavy_atoms", label="Heavy atoms", description="Number of atoms other than hydrogen."
        ),
        Descriptor(
            name="descriptor.rings", label="Rings", description="Number of rings in the smallest set of smallest rings."
        ),
        Descriptor(
            name="descriptor.clogp",
            label="cLogP",
            description="Octanol-water partition coefficient, estimated by the method of Wildman and Crippen.",
        ),
        Descriptor(
            name="descriptor.tpsa",
            label="TPSA",
            unit="Å²",
            description="Topological polar surface area of nitrogen and oxygen, by the method of Ertl.",
        ),
        Descriptor(name="descriptor.hbd", label="H-bond donors", description="Number of hydrogen bond donors."),
        Descriptor(name="descriptor.hba", label="H-bond acceptors", description="Number of hydrogen bond acceptors."),
        Descriptor(
            name="descriptor.rotatable_bonds",
            label="Rotatable bonds",
            description="Number of rotatable bonds by RDKit's strict definition, which excludes amides and esters.",
        ),
        Descriptor(
            name="descriptor.qed",
            label="QED",
            description="Quantitative estimate of drug-likeness, from 0 to 1, with mean weights.",
        ),
        Descriptor(
            name="descriptor.fsp3", label="Fsp3", description="Fraction of the carbon atoms that are sp3 hybridized."
        ),
        Descriptor(
            name="descriptor.formal_charge", label="Formal charge", unit="e", description="Sum of the formal charges."
        ),
    )
}
"""The molecular descriptors by name, in the order of columns."""

MolarUnit = Literal["M", "mM", "uM", "nM", "pM"]

MOLAR_DIGITS: dict[MolarUnit, int] = {"M": 0, "mM": 3, "uM": 6, "nM": 9, "pM": 12}
"""For each unit, the decimal digits between it and mol/L: 1 M is 10^9 nM."""

_ACTIVITY = re.compile(r"pactivity\.(?P<unit>[munp]?M)\.(?P<source>.+)", re.DOTALL)
_UNIT_IN_NAME = re.compile(r"(?<![A-Za-z])(?P<unit>[munpµμ]M)(?![A-Za-z])")


_UNIT_IN_NAME_WITH_BRACKETS = re.compile(rf"[\s_]*[(\[]?{_UNIT_IN_NAME.pattern}[)\]]?")
_QUANTITY = re.compile(r"(?<![A-Za-z])(?:[A-Z]C\d\d|[A-Z]D\d\d|GI50|K[bdi]|MIC)(?![A-Za-z0-9])")


class ActivityName(NamedTuple):
    """The parts of the name of an activity on a logarithmic scale.

    Attributes:
        unit: The unit of the source column.
        source: The name of the source column.
    """

    unit: MolarUnit
    source: str

    @classmethod
    def from_text(cls, text: str) -> "ActivityName | None":
        """Return the parts of a name such as `pactivity.nM.IC50`, or None if the text has another form."""
        match = _ACTIVITY.fullmatch(text)
        return None if match is None else cls(match["unit"], match["source"])  # type: ignore[arg-type]

    @classmethod
    def from_source(cls, source: str) -> "ActivityName | None":
        """Return the name of the activity for a column whose name contains its unit, such as `IC50 (nM)`, or None."""
        match = _UNIT_IN_NAME.search(source)
        if match is None:
            return None
        return cls(match["unit"].replace("µ", "u").replace("μ", "u"), source)  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        return f"pactivity.{self.unit}.{self.source}"


def without_unit(title: str) -> str:
    """Return the title of a column without the units in it: `IC50` for `IC50 (nM)`."""
    return _UNIT_IN_NAME_WITH_BRACKETS.sub("", title).strip()


def is_computed(name: str) -> bool:
    """Return whether a name has the form of a computed column."""
    return name in DESCRIPTORS or _ACTIVITY.fullmatch(name) is not None


class Activity(Frozen):
    """An activity on a logarithmic scale: the negative decimal logarithm of a concentration in mol/L, such as pIC50.

    `name` is the name of the column, `label` a title for people. `source` is the source column, which is kept, and
    `unit` its unit. Items whose source value is missing, zero or negative have no activity.
    """

    name: str
    label: str
    source: str
    unit: MolarUnit

    @classmethod
    def from_name(cls, name: ActivityName) -> "Activity":
        """Return the activity with a label such as pIC50, or a logarithm if the source names no such quantity."""
        bare, quantities = _QUANTITY.subn(r"p\g<0>", _UNIT_IN_NAME_WITH_BRACKETS.sub("", name.source), count=1)
        label = bare if quantities else f"−log₁₀({name.source})"
        return cls(name=name.text, label=label, source=name.source, unit=name.unit)


class DescriptorsReply(FromGeneration):
    """The computed columns of a collection.

    `activities` lists the numeric columns whose names contain a unit, such as `IC50 (nM)`. For another numeric column,
    write the name yourself: `pactivity.nM.IC50` converts the column `IC50` from nM.
    """

    descriptors: list[Descriptor]
    activities: list[Activity]


class StructureDescriptorsReply(FromGeneration):
    """The descriptors of a structure after standardization.

    `id` is the id of the stored item with this structure, null if there is none. `descriptors` has one value for each
    descriptor by name, null if RDKit cannot compute it.
    """

    smiles: str
    id: int | None
    descriptors: dict[str, float | None] = Field(examples=[{"descriptor.molecular_weight": 46.07}])
