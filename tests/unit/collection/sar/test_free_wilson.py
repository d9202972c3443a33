"""Free-Wilson contributions equal an ordinary least squares of statsmodels, and matrix cells equal those of pandas."""

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from graphkin.collection.sar.free_wilson import MAX_GROUPS, MIN_DEGREES_OF_FREEDOM, FreeWilson, fit_free_wilson
from graphkin.collection.sar.group_matrix import group_matrix
from graphkin.collection.sar.rgroups import decompose
from tests.documentation_files import PI3K_ALPHA


def random_groups(seed: int, compounds: int, sizes: dict[str, int]) -> dict[str, list[str]]:
    """Return random groups. Small numbers are more frequent, and some groups occur once."""
    random = np.random.default_rng(seed)
    return {
        name: [f"{'C' * (number + 1)}[*:1]" for number in np.minimum(random.geometric(2.5 / size, compounds), size)]
        for name, size in sizes.items()
    }


def series_of_two_blocks() -> dict[str, list[str]]:
    """Return a series in which the group N occurs only with F, and only there."""
    rest = random_groups(1, 40, {"R1": 4, "R2": 3})
    return {"R1": rest["R1"] + ["N[*:1]"] * 4, "R2": rest["R2"] + ["F[*:2]"] * 4}


SERIES = {
    "dense": random_groups(2, 120, {"R1": 6, "R2": 5}),
    "sparse": random_groups(3, 60, {"R1": 30, "R2": 4, "R3": 12}),
    "two blocks": series_of_two_blocks(),
    "a position without variation": {**random_groups(4, 40, {"R1": 5}), "R2": ["O[*:2]"] * 40},
}


def assert_equal_to_statsmodels(groups: Mapping[str, list[str]], values: np.ndarray) -> None:
    fit = fit_free_wilson(groups, values)
    frame = pd.DataFrame(groups)[np.isfinite(values)]
    references = {each.position: each.group for each in fit.contributions if each.is_reference}
    parameters = [(each.position, each.group) for each in fit.contributions if not each.is_reference]
    design = np.column_stack(
        [np.ones(len(frame))] + [(frame[position] == group).astype(float) for position, group in parameters]
    )
    with warnings.catch_warnings():  # statsmodels warns of a design without full rank, and returns one of its solutions
        warnings.simplefilter("ignore", SingularMatrixWarning)
        expected = OLS(values[np.isfinite(values)], design).fit()
    assert references == {position: frame[position].mode().sort_values().iloc[0] for position in groups}
    assert set(parameters) | set(references.items()) == {
        (position, group) for position in groups for group in frame[position]
    }
    assert fit.problem is None
    assert fit.compounds == len(frame)
    assert fit.parameters == np.linalg.matrix_rank(design)
    assert fit.residual_sd == pytest.approx(np.sqrt(expected.mse_resid))
    assert fit.r_squared == pytest.approx(expected.rsquared)
    is_determined = np.isclose(np.linalg.pinv(design) @ design, np.eye(design.shape[1])).all(axis=1)
    contributions = [each for each in fit.contributions if not each.is_reference]
    own_estimates = [(each.contribution, each.standard_error) for each in contributions]
    for number, own in enumerate([(fit.baseline, fit.baseline_error), *own_estimates]):
        if is_determined[number]:
            assert own == pytest.approx((expected.params[number], expected.bse[number]))
        else:
            assert own == (None, None)
    for each in contributions:
        assert each.compounds == (frame[each.position] == each.group).sum()


@pytest.mark.parametrize("name", SERIES)
def test_contributions_and_errors_equal_those_of_statsmodels(name: str) -> None:
    groups = SERIES[name]
    random = np.random.default_rng(0)
    compounds = len(groups["R1"])
    values = 7 + 0.3 * np.array([len(each) for each in groups["R1"]]) + random.normal(0, 0.5, compounds)
    values[random.choice(compounds, 5, replace=False)] = np.nan
    assert_equal_to_statsmodels(groups, values)


def test_contributions_to_measured_affinities_equal_those_of_statsmodels() -> None:
    series = pd.read_csv(PI3K_ALPHA)
    decomposition = decompose(series["smiles"].tolist(), "Cc1nc(N)nc(-c2cccnc2N)n1")
    assert len(decomposition.matched) == 179
    assert_equal_to_statsmodels(decomposition.groups, series["pKi"].to_numpy()[decomposition.matched])


def test_groups_that_occur_only_together_have_no_contributions() -> None:
    fit = fit_free_wilson(series_of_two_blocks(), np.random.default_rng(0).normal(7, 1, 44))
    undetermined = {each.group for each in fit.contributions if each.contribution is None}
    assert undetermined == {"N[*:1]", "F[*:2]"}


def test_a_group_of_one_compound_does_not_change_the_other_contributions() -> None:
    groups = random_groups(5, 50, {"R1": 4, "R2": 3})
    values = np.random.default_rng(0).normal(7, 1, 50)
    longer = {"R1": [*groups["R1"], "Br[*:1]"], "R2": [*groups["R2"], groups["R2"][0]]}
    without = {(each.position, each.group): each for each in fit_free_wilson(groups, values).contributions}
    fit = fit_free_wilson(longer, np.append(values, 40.0))
    for each in fit.contributions:
        if each.group == "Br[*:1]":
            assert each.compounds == 1
            assert each.contribution is not None
            assert each.contribution > 20
        elif not each.is_reference:
            expected = without[each.position, each.group]
            assert (each.contribution, each.standard_error) == pytest.approx(
                (expected.contribution, expected.standard_error)
            )


@pytest.mark.parametrize(
    ("groups", "values", "problem"),
    [
        ({"R1": ["C", "N"] * 3}, [1.0, 2, 3, 4, 5, 6], "at least 7 compounds are needed"),
        ({"R1": ["C"] * 20, "R2": ["N"] * 20}, [float(each) for each in range(20)], "same R groups"),
        ({}, [float(each) for each in range(20)], "same R groups"),
        ({"R1": ["C"] * 20}, [np.nan] * 20, "no compound of the R-group table has a value"),
        ({"R1": []}, [], "no compound of the R-group table has a value"),
        ({"R1": [str(each) for each in range(501)]}, [1.0] * 501, "at most 500"),
    ],
)
def test_the_result_names_the_reason_why_nothing_was_fitted(
    groups: dict[str, list[str]], values: list[float], problem: str
) -> None:
    fit = fit_free_wilson(groups, np.array(values))
    assert problem in (fit.problem or "")
    assert fit.baseline is fit.residual_sd is fit.r_squared is None
    assert all(each.contribution is each.standard_error is None for each in fit.contributions)


def test_seven_compounds_with_two_groups_are_enough() -> None:
    fit = fit_free_wilson({"R1": ["C", "C", "C", "C", "N", "N", "N"]}, np.array([1.0, 2, 3, 2, 6, 7, 8]))
    assert (fit.compounds, fit.parameters) == (2 + MIN_DEGREES_OF_FREEDOM, 2)
    assert fit.problem is None
    assert [each.contribution for each in fit.contributions] == pytest.approx([0, 5])


def test_equal_values_give_no_share_of_variance() -> None:
    fit = fit_free_wilson({"R1": ["C", "N"] * 10}, np.full(20, 0.1))
    assert fit.r_squared is None
    assert fit.baseline == pytest.approx(0.1)


def test_the_largest_fit_is_exact_on_a_chain_of_groups() -> None:
    # Each group shares one compound with the next one, so errors add up over the whole chain.
    half = MAX_GROUPS // 2
    numbers = np.repeat(np.arange(half), 2)
    groups = {"R1": [f"{each:04}" for each in numbers], "R2": [f"{each:04}" for each in np.append(numbers[1:], 0)]}
    extra = {"R1": [*groups["R1"], *["0000"] * 10], "R2": [*groups["R2"], *["0000"] * 10]}
    first, second = (np.random.default_rng(seed).normal(0, 1, half) for seed in (0, 1))
    values = np.array([first[int(a)] + second[int(b)] for a, b in zip(extra["R1"], extra["R2"], strict=True)])
    fit: FreeWilson = fit_free_wilson(extra, values)
    assert fit.parameters == MAX_GROUPS - 1
    for each in fit.contributions:
        effects = first if each.position == "R1" else second
        assert each.contribution == pytest.approx(effects[int(each.group)] - effects[0], abs=1e-6)


def test_matrix_cells_equal_a_pivot_table_of_pandas() -> None:
    groups = random_groups(6, 80, {"R1": 8, "R2": 5})
    values = np.random.default_rng(0).normal(7, 1, 80)
    values[::7] = np.nan
    ids = [3 * each for each in range(80)]
    matrix = group_matrix(("R1", "R2"), groups["R1"], groups["R2"], ids, values)
    frame = pd.DataFrame({**groups, "id": ids, "value": values})
    expected = frame.groupby(["R1", "R2"]).agg(ids=("id", list), values=("value", "count"), mean=("value", "mean"))
    cells = {(matrix.rows[cell.row], matrix.columns[cell.column]): cell for cell in matrix.cells}
    assert cells.keys() == set(expected.index)
    for key, row in expected.iterrows():
        cell = cells[key]
        assert (cell.ids, cell.values) == (row["ids"], row["values"])
        assert cell.mean == (None if np.isnan(row["mean"]) else pytest.approx(row["mean"]))
    for names, position in ((matrix.rows, "R1"), (matrix.columns, "R2")):
        counts = frame[position].value_counts()
        assert names == sorted(counts.index, key=lambda name: (-counts[name], name))
    assert [(cell.row, cell.column) for cell in matrix.cells] == sorted(
        (cell.row, cell.column) for cell in matrix.cells
    )


def test_matrix_of_no_compounds_is_empty() -> None:
    matrix = group_matrix(("R1", "R2"), [], [], [], np.empty(0))
    assert (matrix.rows, matrix.columns, matrix.cells) == ([], [], [])
