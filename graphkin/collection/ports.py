"""The expensive parts of a question, which a program does itself and a server leaves to worker processes."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from graphkin.collection.batches import StructureText, Unreadable, read_each
from graphkin.collection.clusters.cached import cached_clusters
from graphkin.collection.clusters.mcs import CommonSubstructure, find_mcs
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.layout import Layout, cached_layout
from graphkin.collection.selection import Selector
from graphkin.collection.structures import pattern_arguments, read_structure
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.protocol.requests import Substructure
from graphkin.protocol.values import ClusterMethod
from graphkin.similarity.kind import Query, Substructures
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.store.base import Generation
from graphkin.store.records import Int32
from graphkin.store.sampling.base import Sampler
from graphkin.store.transfer import Stage, no_progress


class StructureReader(Protocol):
    """Reads structures as the recipe of one generation says."""

    def read(self, structure: StructureText) -> Query:
        """Return the structure. Raises as `read_structure` does."""

    def read_each(self, structures: Iterable[StructureText | Unreadable]) -> Iterable[Query | Unreadable]:
        """Yield each structure, or why it could not be read."""


class SubstructureMatcher(Protocol):
    """Finds the items of one generation that have a substructure."""

    def match(self, substructure: str | Substructure, select: Callable[[], Int32]) -> SubstructureMatches:
        """Return the matches, which are known at least for the items that `select` returns.

        Raises as `select` and `Kind.pattern` do.
        """


class Builder(Protocol):
    """Computes whatever takes long and is kept for the next request."""

    def clusters(self, method: ClusterMethod, threshold: float | None) -> Clusters:
        """Return all items in clusters, at a threshold from `resolve_threshold`."""

    def layout(self) -> Layout:
        """Return the map of the collection."""

    def find_mcs(self, smiles: Sequence[str]) -> CommonSubstructure:
        """Return the largest substructure that molecules share."""


@dataclass(frozen=True)
class Ports:
    """How the expensive parts of the questions about one generation are done.

    Attributes:
        reader: reads query structures.
        matcher: matches substructures.
        builder: computes clusters, maps and common substructures.
        sampler: opens the sampler of positives and negatives.
        threads: threads of a search for many structures.
        stage: reports the progress of a pick or of a search for many structures, and may stop it by raising.
        max_comparisons: the most comparisons of one pick; None means any number.
    """

    reader: StructureReader
    matcher: SubstructureMatcher
    builder: Builder
    sampler: Callable[[], Sampler]
    threads: int
    stage: Stage
    max_comparisons: int | None = None


def local_ports(
    generation: Generation, selector: Selector, threads: int | None = None, stage: Stage = no_progress
) -> Ports:
    """Return ports that do everything in this process.

    Args:
        generation: the generation that the questions are about.
        selector: remembers the matches of substructures.
        threads: of searches and of matching substructures, and processes of clusters; by default one for each core.
        stage: reports the progress of questions that take long.
    """
    workers = threads or os.cpu_count() or 1
    return Ports(
        _Reader(generation),
        _Matcher(generation, selector, workers, stage),
        _Builder(generation, workers, stage),
        generation.sampler,
        workers,
        stage,
    )


class _Reader:
    def __init__(self, generation: Generation) -> None:
        self._generation = generation

    def read(self, structure: StructureText) -> Query:
        return read_structure(recipe_of(self._generation), **structure)

    def read_each(self, structures: Iterable[StructureText | Unreadable]) -> Iterable[Query | Unreadable]:
        return read_each(self._generation, structures)


class _Matcher:
    def __init__(self, generation: Generation, selector: Selector, threads: int, stage: Stage) -> None:
        self._generation = generation
        self._selector = selector
        self._threads = threads
        self._stage = stage

    @cached_property
    def _substructures(self) -> Substructures:
        return kind_of(self._generation).substructures(self._generation)

    def match(self, substructure: str | Substructure, select: Callable[[], Int32]) -> SubstructureMatches:
        ids = select()
        pattern = kind_of(self._generation).pattern(recipe_of(self._generation), *pattern_arguments(substructure))
        with self._stage("match", len(ids), "items") as advance:
            return self._selector.matches(pattern).find(self._substructures, ids, self._threads, advance)


class _Builder:
    def __init__(self, generation: Generation, threads: int, stage: Stage) -> None:
        self._generation = generation
        self._threads = threads
        self._stage = stage

    def clusters(self, method: ClusterMethod, threshold: float | None) -> Clusters:
        with self._stage("clusters", self._generation.size, "items") as advance:
            return cached_clusters(self._generation, method, threshold, self._threads, advance)

    def layout(self) -> Layout:
        with self._stage("map", self._generation.size, "items") as advance:
            return cached_layout(self._generation, advance)

    def find_mcs(self, smiles: Sequence[str]) -> CommonSubstructure:
        return find_mcs(smiles)
