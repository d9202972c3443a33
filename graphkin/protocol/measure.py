"""Similarity measures that a search can use instead of the measure of the collection."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphkin.protocol.frozen import Frozen

Weight = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Measure(Frozen):
    """A similarity measure that replaces the measure of the collection in a search.

    `tversky` compares fingerprints: c / (alpha (a - c) + beta (b - c) + c), with a bits in the query, b bits in
    the item and c common bits. It needs alpha and beta, which must not both be 0.

    `dice` is 2 c / (a + b), which is Tversky similarity with weights of 0.5.

    `cosine` is c / √(a b).

    `counts` compares molecules by the min-max Tanimoto similarity of their Morgan environments, counted with
    multiplicity.
    """

    name: Annotated[Literal["tversky", "dice", "cosine", "counts"], Field(description="Name of the measure.")]
    alpha: Annotated[Weight | None, Field(description="Weight of bits that only the query has, for `tversky`.")] = None
    beta: Annotated[Weight | None, Field(description="Weight of bits that only the item has, for `tversky`.")] = None

    @model_validator(mode="after")
    def _check_weights(self) -> "Measure":
        if (self.name == "tversky") != (self.alpha is not None) or (self.name == "tversky") != (self.beta is not None):
            raise ValueError("alpha and beta for tversky, and neither of them for other measures")
        if self.alpha == self.beta == 0:
            raise ValueError("alpha or beta above 0")
        return self

    @property
    def weights(self) -> tuple[float, float] | None:
        """The weights alpha and beta if the measure is a Tversky similarity, or None."""
        if self.name == "dice":
            return 0.5, 0.5
        return None if self.alpha is None or self.beta is None else (self.alpha, self.beta)
