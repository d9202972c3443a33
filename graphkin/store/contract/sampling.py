"""Tests that samplers return the same samples for every store."""

from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.policy import Policy
from graphkin.store.base import Generation, Store
from graphkin.store.contract.places import StoreFixtures
from graphkin.store.sampling.base import Engine
from graphkin.store.sampling.snapshot import SnapshotSampler


class SamplingTests(StoreFixtures):
    """Tests of the samplers of a shared generation and of an empty store."""

    @pytest.mark.parametrize("name", ["first_order", "second_order", "random_walk"])
    def test_snapshot_samples_are_the_same_in_every_store(
        self, published: Generation, molecules: Any, name: Any
    ) -> None:
        """Positives are within reach of the written edges and do not depend on the number of threads."""
        anchors, policy = np.arange(published.size, dtype=np.int32), Policy.from_name(name)
        neighbors: dict[int, set[int]] = {id: set() for id in anchors.tolist()}
        for a, b in molecules.pairs:
            neighbors[a].add(b)
            neighbors[b].add(a)
        sets = published.sampler().positives(anchors, policy, 3, 1)
        assert sets.isolated.tolist() == [not neighbors[id] for id in anchors.tolist()]
        for anchor, row in zip(anchors.tolist(), sets.positives.tolist(), strict=True):
            reached, steps = neighbors[anchor], {"first_order": 1, "second_order": 2}.get(name, policy.length)
            for _ in range(steps - 1):
                reached = reached.union(*(neighbors[id] for id in reached))
            assert {id for id in row if id >= 0} <= reached
        for other in (
            published.sampler("snapshot", threads=1),
            SnapshotSampler(published.graph(), published.id),
        ):
            other_sets = other.positives(anchors, policy, 3, 1)
            assert all(
                np.array_equal(getattr(sets, part.name), getattr(other_sets, part.name)) for part in fields(sets)
            )

    def test_store_and_generations_agree_on_engines(self, store: Store, molecules: Any) -> None:
        molecules.publish(store, "molecules")
        store.require_engine("snapshot")
        with store.open("molecules") as generation:
            for engine in get_args(Engine):
                try:
                    store.require_engine(engine)
                except InvalidInput:
                    with pytest.raises(InvalidInput, match=f"{engine} sampler"):
                        generation.sampler(engine)
                else:
                    assert generation.sampler(engine).engine == engine
