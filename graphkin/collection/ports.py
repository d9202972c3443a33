"""Ports for the expensive parts of an operation.

The Python library performs them in its own process, and the server in worker processes.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from graphkin.collection.batches import StructureText, Unreadable, read_each
from graphkin.collection.clusters.cached import cached_clusters
from graphkin.collection.clusters.mcs import CommonSubstructure, find_mcs
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.comparison import NearestItems, cached_nearest
from graphkin.collection.layout import Layout, cached_layout
from graphkin.collection.sar.descriptors import DescriptorTable, describe_molecule, descriptor_table
from graphkin.collection.sar.matched_pairs.applying import CutMolecule, cut_molecule, join_parts
from graphkin.collection.sar.matched_pairs.index import MatchedPairs, cached_matched_pairs
from graphkin.collection.sar.rgroups import Decomposition, decompose
from graphkin.collection.sar.scaffolds import ScaffoldTree, cached_scaffolds, read_scaffold
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
    """A reader that standardizes structures by the recipe of one generation."""

    def read(self, structure: StructureText) -> Query:
        """Return the standardized structure. Raises the same errors as `read_structure`."""

    def read_each(self, structures: Iterable[StructureText | Unreadable]) -> Iterable[Query | Unreadable]:
        """Iterate over the standardized structures. An unreadable one becomes its error."""

    def read_scaffold(self, smiles: str) -> str:
        """Return the canonical SMILES of a scaffold. Raises the same errors as `sar.scaffolds.read_scaffold`."""

    def describe(self, smiles: str) -> list[float | None]:
        """Return the descriptors of a standardized molecule. The result is that of `describe_molecule`."""


class SubstructureMatcher(Protocol):
    """A matcher that finds the items of one generation that contain a substructure."""

    def match(self, substructure: str | Substructure, select: Callable[[], Int32]) -> SubstructureMatches:
        """Match at least the items whose ids `select` returns.

        Raises the same errors as `select` and `Kind.pattern`.
        """


class Builder(Protocol):
    """A builder of results that take seconds or minutes. Those of all items are cached on disk."""

    def clusters(self, method: ClusterMethod, threshold: float | None) -> Clusters:
        """Return the clusters of all items. `threshold` is a result of `resolve_threshold`."""

    def scaffolds(self) -> ScaffoldTree:
        """Return the scaffold tree of all molecules."""

    def layout(self) -> Layout:
        """Return the layout of the map of the collection."""

    def nearest_items(self, other: Generation) -> NearestItems:
        """Return the nearest item of the collection for each item of another one."""

    def descriptors(self) -> DescriptorTable:
        """Return the descriptors of all molecules. Raises the same errors as `descriptor_table`."""

    def find_mcs(self, smiles: Sequence[str]) -> CommonSubstructure:
        """Return the maximum common substructure of molecules."""

    def decompose(self, smiles: Sequence[str], core: str | None) -> Decomposition:
        """Return the R groups of molecules. Raises the same errors as `decompose`."""

    def matched_pairs(self) -> MatchedPairs:
        """Return the matched pairs of all molecules."""

    def cut_molecule(self, smiles: str) -> CutMolecule:
        """Return the fragmentations of a molecule."""

    def join_parts(self, assemblies: Sequence[Sequence[str]]) -> list[str | None]:
        """Return the SMILES of molecules from their labeled parts, None for parts that cannot be joined."""


@dataclass(frozen=True)
class Ports:
    """Implementations of the expensive parts of operations on one generation.

    Attributes:
        reader: The reader of query structures.
        matcher: The matcher of substructures.
        builder: The builder of clusters, scaffolds, maps, maximum common substructures and R groups.
        sampler: A function that opens the sampler of positives and negatives.
        threads: The number of threads of a batch search.
        stage: A reporter of the progress of picks and batch searches. It may stop them by raising an error.
        max_comparisons: The largest number of comparisons of one pick. None means any number.
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
    """Return ports that perform everything in this process.

    Args:
        generation: The generation.
        selector: The selector that records the matches of substructures.
        threads: The number of threads of searches and substructure matching, and of processes that compute
            scaffolds. By default one per core.
        stage: A reporter of the progress of long operations.
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

    def read_scaffold(self, smiles: str) -> str:
        return read_scaffold(smiles)

    def describe(self, smiles: str) -> list[float | None]:
        return describe_molecule(smiles)


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

    def scaffolds(self) -> ScaffoldTree:
        with self._stage("scaffolds", self._generation.size, "items") as advance:
            return cached_scaffolds(self._generation, self._threads, advance)

    def layout(self) -> Layout:
        with self._stage("map", self._generation.size, "items") as advance:
            return cached_layout(self._generation, advance)

    def nearest_items(self, other: Generation) -> NearestItems:
        with self._stage("compare", other.size, "items") as advance:
            return cached_nearest(self._generation, other, self._threads, advance)

    def descriptors(self) -> DescriptorTable:
        with self._stage("descriptors", self._generation.size, "items") as advance:
            return descriptor_table(self._generation, self._threads, advance)

    def find_mcs(self, smiles: Sequence[str]) -> CommonSubstructure:
        return find_mcs(smiles)

    def decompose(self, smiles: Sequence[str], core: str | None) -> Decomposition:
        with self._stage("R groups", len(smiles), "molecules") as advance:
            return decompose(smiles, core, advance)

    def matched_pairs(self) -> MatchedPairs:
        with self._stage("matched pairs", self._generation.size, "items") as advance:
            return cached_matched_pairs(self._generation, self._threads, advance)

    def cut_molecule(self, smiles: str) -> CutMolecule:
        return cut_molecule(smiles)

    def join_parts(self, assemblies: Sequence[Sequence[str]]) -> list[str | None]:
        return join_parts(assemblies)
