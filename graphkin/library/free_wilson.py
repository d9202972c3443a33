"""Free-Wilson analysis of a series, as a result with a table."""

from dataclasses import dataclass
from html import escape

from graphkin.library.table import Table


@dataclass(frozen=True)
class FreeWilsonResult:
    """A Free-Wilson analysis: a property as a baseline plus one contribution for the R group at each position.

    Attributes:
        property: The property.
        compounds: Number of molecules that have a value. Only these are fitted.
        parameters: Number of independent parameters.
        problem: The reason why nothing was fitted; None if there is enough data: at least 5 more molecules with a value
            than independent parameters, two groups at one position or more, and at most 500 groups in all.
        baseline: Fitted property of the molecule with the reference groups, in units of the property; None if the data
            do not determine it.
        baseline_error: Standard error of the baseline.
        residual_sd: Residual standard deviation, in units of the property.
        r_squared: Share of the variance that the model explains, which grows with the number of parameters; None if all
            values are equal.
        contributions: One row per position and R group, the most frequent group of a position first: position and group
            string; compounds int64, the fitted molecules with this group; contribution and standard_error float64, in
            units of the property; is_reference bool. The contribution is null if the data do not determine it, because
            the group occurs only together with certain groups at other positions.
    """

    property: str
    compounds: int
    parameters: int
    problem: str | None
    baseline: float | None
    baseline_error: float | None
    residual_sd: float | None
    r_squared: float | None
    contributions: Table
    _summary: str

    def __repr__(self) -> str:
        return f"FreeWilsonResult({self.property}: {self._summary})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.contributions._repr_html_()}"
