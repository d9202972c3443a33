"""Samplers return the same samples for every store."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.policy import Policy
from graphkin.store.base import Generation, Store
from graphkin.store.contract.places import Places
from graphkin.store.sampling.snapshot import SnapshotSampler


class Sample(Places):
    """Tests of the samplers of a shared generation and of an empty store."""

    @pytest.mark.parametrize("name", ["first_order", "second_order", "random_walk"])
    def test_the_snapshot_draws_the_same_in_every_store(self, published: Generation, molecules: Any, name: Any) -> None:
        """Positives are within reach of the written edges and do not depend on the number of threads."""
        anchors, policy = np.arange(published.size, dtype=np.int32), Policy.of(name)
        near: dict[int, set[int]] = {id: set() for id in anchors.tolist()}
        for a, b in molecules.pairs:
            near[a].add(b)
            near[b].add(a)
        drawn = published.sampler().positives(anchors, policy, 3, 1)
        assert drawn.isolated.tolist() == [not near[id] for id in anchors.tolist()]
        for anchor, row in zip(anchors.tolist(), drawn.positives.tolist(), strict=True):
            reached, steps = near[anchor], {"first_order": 1, "second_order": 2}.get(name, policy.length)
            for _ in range(steps - 1):
                reached = reached.union(*(near[id] for id in reached))
            assert {id for id in row if id >= 0} <= reached
        for other in (
            published.sampler("snapshot", threads=1),
            SnapshotSampler(published.graph(), published.id),
        ):
            again = other.positives(anchors, policy, 3, 1)
            assert all(np.array_equal(getattr(drawn, part.name), getattr(again, part.name)) for part in fields(drawn))

    def test_an_engine_is_had_by_a_store_and_its_generations_or_by_neither(self, store: Store, molecules: Any) -> None:
        molecules.publish(store, "molecules")
        store.require_engine("snapshot")
        with store.open("molecules") as generation:
            assert generation.sampler("snapshot").engine == "snapshot"
            try:
                store.require_engine("gds")
            except InvalidInput:
                with pytest.raises(InvalidInput, match="gds sampler"):
                    generation.sampler("gds")
            else:
                assert generation.sampler("gds").engine == "gds"
