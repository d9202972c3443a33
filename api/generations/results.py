"""Results of open generations that take seconds or minutes, computed in the background."""

from graphkin.api.generations.background import PROCESSES, GenerationJobs
from graphkin.api.generations.clusterings import Clusterings
from graphkin.api.generations.comparisons import Comparisons
from graphkin.api.generations.matched_pairs import MatchedPairJobs
from graphkin.collection.layout import cached_layout
from graphkin.collection.sar.descriptors import DescriptorTable, descriptor_table
from graphkin.collection.sar.scaffolds import ScaffoldTree, cached_scaffolds
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation

_CACHED_LAYOUTS = 8  # maps, whose arrays are memory-mapped files
_CACHED_TREES = 8  # scaffold trees, whose arrays are memory-mapped files
_CACHED_TABLES = 32  # tables of descriptors, whose arrays are memory-mapped files


class BackgroundResults:
    """The background jobs of the server, one collection of them for each kind of result.

    Attributes:
        clusterings: Clusters by method and threshold.
        scaffold_trees: Scaffold trees.
        layouts: Layouts of maps.
        matched_pairs: Matched pairs.
        descriptors: Molecular descriptors.
        comparisons: Nearest items of pairs of collections.
    """

    def __init__(self) -> None:
        self.clusterings = Clusterings()
        self.scaffold_trees = GenerationJobs("scaffolds", _scaffold_tree, _CACHED_TREES)
        self.layouts = GenerationJobs("a map", cached_layout, _CACHED_LAYOUTS)
        self.matched_pairs = MatchedPairJobs()
        self.descriptors = GenerationJobs("descriptors", _descriptors, _CACHED_TABLES)
        self.comparisons = Comparisons()

    def close(self) -> None:
        """Stop all jobs and wait until they have ended."""
        of_one = (self.clusterings, self.scaffold_trees, self.layouts, self.matched_pairs, self.descriptors)
        for jobs in (*of_one, self.comparisons):
            jobs.close()


def _scaffold_tree(generation: Generation, advance: Advance) -> ScaffoldTree:
    return cached_scaffolds(generation, PROCESSES, advance)


def _descriptors(generation: Generation, advance: Advance) -> DescriptorTable:
    return descriptor_table(generation, PROCESSES, advance, in_process=0)
