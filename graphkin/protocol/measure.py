"""Similarity measures that a search can use instead of the collection's own."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphkin.protocol.frozen import Frozen

Weight = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Measure(Frozen):
    """tversky, of fingerprints: c / (alpha (a - c) + beta (b - c) + c), a bits being the query's, b the item's, and c
    common to both. counts, of molecules: min-max Tanimoto similarity of their Morgan environments, each as often as it
    is there."""

    name: Literal["tversky", "counts"]
    alpha: Weight | None = None
    beta: Weight | None = None

    @model_validator(mode="after")
    def _weights(self) -> "Measure":
        if (self.name == "tversky") != (self.alpha is not None) or (self.name == "tversky") != (self.beta is not None):
            raise ValueError("alpha and beta are tversky's, which needs both")
        if self.alpha == self.beta == 0:
            raise ValueError("alpha and beta are not both 0: any common bit would be all there is")
        return self
