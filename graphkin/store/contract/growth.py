"""Tests of growth: a generation that has grown equals one that is written at once."""

from dataclasses import replace
from itertools import combinations, count, pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.protocol.errors import NotFound, StoreBusy
from graphkin.store.base import Generation, Store
from graphkin.store.contract.hierarchies import MOLECULES, Hierarchy
from graphkin.store.contract.places import StoreFactory, StoreFixtures
from graphkin.store.contract.random_hierarchies import LEVELS, few_examples

_names = count()
VALUES = {"number": 1.5, "text": "x"}


@st.composite
def steps(draw: Any) -> list[Hierarchy]:
    """Generate the states of a growing collection.

    From step to step it gains items, names, rejected records and properties, and its pairs change arbitrarily.
    """
    states: list[Hierarchy] = []
    rows: list[dict[str, Any]] = []
    rejections: list[dict[str, Any]] = []
    properties: dict[str, str] = {}
    for number in range(draw(st.integers(2, 4))):
        rows = [{**row, "names": [*row["names"], *([f"{number}"] if draw(st.booleans()) else [])]} for row in rows]
        kind = draw(st.sampled_from([*VALUES]))
        properties = {**properties, f"p{draw(st.integers(0, 2))}-{kind}": kind}
        for _ in range(draw(st.integers(1, 4))):
            values = {name: VALUES[kind] for name, kind in properties.items() if draw(st.booleans())}
            smiles = "C" * (len(rows) + 1)
            rows = [*rows, {"smiles": smiles, "inchikey": None, "names": [smiles, "all"], "properties": values}]
        rejected = [{"source": "f", "line": number, "input": "x", "reason": "y"}] * draw(st.integers(0, 2))
        rejections = [*rejections, *rejected]
        possible = [*combinations(range(len(rows)), 2)]
        similar_pairs = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
        dropped = [draw(st.integers(0, 2)) for _ in rows]
        states.append(
            Hierarchy(
                rows,
                {ends: draw(st.sampled_from(LEVELS)) for ends in similar_pairs},
                rejections,
                dropped=dropped,
                properties=properties,
            )
        )
    return states


def visible_state(generation: Generation) -> list[Any]:
    """Return everything that a reader can see, except how the generation was built."""
    dropped = generation.dropped()
    assert dropped is not None
    arrays = [*vars(generation.graph()).values(), *vars(generation.forest()).values()]
    arrays += [*vars(generation.fingerprints()).values(), dropped]
    names = [name for item in generation.items(range(generation.size)) for name in item["names"]]
    return [
        generation.id,
        generation.identity(),
        [(array.dtype.str, array.tolist()) for array in arrays],
        pa.Table.from_batches(generation.scan()).to_pylist(),
        generation.items(range(generation.size)),
        [row for batch in generation.rejections() for row in batch.to_pylist()],
        [generation.find("name", name) for name in names],
        [generation.find("smiles", smiles) for smiles in generation.structures()],
        generation.check(),
    ]


class GrowthTests(StoreFixtures):
    """Tests of a store whose collections grow."""

    @pytest.fixture(scope="class")
    @classmethod
    def growing(cls, store_factory: StoreFactory) -> Store:
        return store_factory("growing")

    @settings(few_examples, max_examples=10)
    @given(steps())
    def test_growth_equals_one_write(self, growing: Store, states: list[Hierarchy]) -> None:
        name = f"c{next(_names)}"
        first, *_ = states
        first.publish(growing, name)
        for before, after in pairwise(states):
            after.grow(growing, name, before)
            after.publish(growing, f"{name}-at-once")
            with growing.open(name) as grown_reader, growing.open(f"{name}-at-once") as reference:
                assert visible_state(grown_reader) == visible_state(reference)

    def test_a_growth_is_a_draft(self, growing: Store) -> None:
        MOLECULES.publish(growing, "draft")
        before = growing.collection("draft")
        with growing.growth("draft") as draft:
            assert draft.base.id == before.current
            with pytest.raises(StoreBusy):
                growing.growth("draft")
            with pytest.raises(StoreBusy):
                growing.draft("draft", "molecule")
        assert growing.collection("draft") == before
        with pytest.raises(NotFound):
            growing.growth("nobody")

    def test_empty_growth_is_the_same_generation(self, growing: Store) -> None:
        before = MOLECULES.publish(growing, "same")
        assert MOLECULES.grow(growing, "same", MOLECULES) == before

    def test_reader_of_the_base_continues(self, growing: Store) -> None:
        base = replace(MOLECULES, rows=MOLECULES.rows[:7], pairs={(0, 1): 0.7}, dropped=[0] * 7)
        base.publish(growing, "goes-on")
        with growing.open("goes-on") as reader:
            before = visible_state(reader)
            MOLECULES.grow(growing, "goes-on", base)
            assert visible_state(reader) == before
