"""Arms of tier 1, and the encoders that they are scored with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Dose = Literal["none", "small", "middle"]
"""Steps of pre-training: none, 3,000 of batch 64, or 39,065 of batch 256."""

ARMS: Mapping[str, str] = {
    "exact": "exact FO",
    "augmented": "augmented",
    "shuffled": "shuffled",
    "permuted": "permuted",
    "scratch": "scratch",
}
"""Title of each arm of tier 1, in the order of the plan."""

TRAINED = ("exact", "augmented", "shuffled")
"""Arms that are trained. The others need no training of their own."""


@dataclass(frozen=True)
class Unit:
    """One encoder: an arm, a pre-training seed, and a dose, which is `none` for the arm `scratch` alone."""

    arm: str
    seed: int
    dose: Dose

    @classmethod
    def at_dose(cls, arm: str, seed: int, dose: Dose) -> "Unit":
        """Return the encoder of an arm in a comparison at this dose."""
        return cls(arm, seed, "none" if arm == "scratch" else dose)

    @property
    def name(self) -> str:
        return f"{self.arm}-{self.seed}"

    @property
    def trained(self) -> "Unit | None":
        """The encoder whose weights it has, or whose weights were permuted; None if nothing was trained."""
        if self.arm == "scratch":
            return None
        return Unit("exact", self.seed, self.dose) if self.arm == "permuted" else self
