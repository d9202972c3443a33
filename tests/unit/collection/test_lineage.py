"""Changes of clusters between two generations equal a comparison of sets."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.collection.clusters.lineage import Lineage, previous_generation
from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import Conflict, NotFound

Row = tuple[str, frozenset[int] | None, frozenset[int] | None]


def clusters_of(labels: dict[int, int], items: list[int]) -> Clusters:
    """Cluster items, which have the ids of their positions, by their labels. The first item is the center."""
    _, first, label = np.unique([labels[item] for item in items], return_index=True, return_inverse=True)
    return Clusters.from_labels(label.astype(np.int32), first.astype(np.int32))


def as_sets(clusters: Clusters, items: list[int]) -> list[frozenset[int]]:
    return [frozenset(items[id] for id in clusters.members(number)) for number in range(len(clusters.centre))]


def expected_rows(before: list[frozenset[int]], after: list[frozenset[int]]) -> list[Row]:
    """Compare clusters as sets of items, straight from the definitions."""
    older, newer = frozenset().union(*before), frozenset().union(*after)
    rows = list[Row]()
    for old in before:
        parts = [new for new in after if new & old]
        if not parts:
            rows.append(("vanished", old, None))
        elif len(parts) > 1:
            rows += [("split", old, new) for new in parts]
        elif parts[0] & older == old & newer and parts[0] != old:
            difference = len(parts[0]) - len(old)
            rows.append((("replaced", "grew", "shrank")[int(np.sign(difference))], old, parts[0]))
    for new in after:
        origins = [old for old in before if old & new]
        if not origins:
            rows.append(("appeared", None, new))
        elif len(origins) > 1:
            rows += [("merged", old, new) for old in origins]
    return rows


LABELS = st.dictionaries(st.integers(0, 14), st.integers(0, 4), min_size=1)


@given(LABELS, LABELS, st.integers(0, 2**32 - 1))
def test_lineage_of_random_clusters_equals_sets(old: dict[int, int], new: dict[int, int], seed: int) -> None:
    # Ids change from generation to generation.
    old_items, new_items = sorted(old), np.random.default_rng(seed).permutation(sorted(new)).tolist()
    before, after = clusters_of(old, old_items), clusters_of(new, new_items)
    origin = np.array([old_items.index(item) if item in old else -1 for item in new_items], np.int32)
    lineage = Lineage.from_clusters(before, after, origin)
    earlier, later = as_sets(before, old_items), as_sets(after, new_items)
    rows = lineage.rows().to_pylist()
    found = [
        (
            row["event"],
            None if row["before"] is None else earlier[row["before"] - 1],
            None if row["after"] is None else later[row["after"] - 1],
        )
        for row in rows
    ]
    expected = expected_rows(earlier, later)
    assert Counter(found) == Counter(expected)
    for row, (_, one, other) in zip(rows, found, strict=True):
        assert row["shared"] == len((one or frozenset()) & (other or frozenset()))
        assert row["size_before"] == (None if one is None else len(one))
        assert row["size_after"] == (None if other is None else len(other))
        assert row["added"] == (None if other is None else len(other - old.keys()))
        assert row["removed"] == (None if one is None else len(one - new.keys()))
    changes = {
        (event, one if event != "merged" else None, other if event != "split" else None)
        for event, one, other in expected
    }
    counts = Counter(event for event, _, _ in changes) + Counter(unchanged=sum(each in later for each in earlier))
    assert {event: count for event, count in lineage.counts.items() if count} == counts
    totals = lineage.totals
    assert (totals.added, totals.removed) == (len(new.keys() - old.keys()), len(old.keys() - new.keys()))
    numbers = [row["change"] for row in rows]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == len(changes)
    sizes = [max(row["size_before"] or 0, row["size_after"] or 0) for row in rows if row["event"] in ("grew", "shrank")]
    assert sizes == sorted(sizes, reverse=True)
    assert lineage.rows(1, 3).to_pylist() == rows[1:3]


def test_first_generation_has_no_lineage() -> None:
    assert previous_generation("c", ["a", "b", "c"], "c") == "b"
    with pytest.raises(Conflict, match="first generation"):
        previous_generation("c", ["a", "b"], "a")
    with pytest.raises(NotFound, match="no generation"):
        previous_generation("c", ["a", "b"], "d")
