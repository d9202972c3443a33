"""Implementation of the ports of `OpenCollection` by the server's worker processes and background jobs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import cpu_count

from anyio import from_thread

from graphkin.api.depictor import Depictor
from graphkin.api.generations.patterns import PatternMatches
from graphkin.api.generations.results import BackgroundResults
from graphkin.api.work.classes import in_work_class
from graphkin.api.work.fragments import MoleculeCutter
from graphkin.api.work.structures import StructureReader
from graphkin.collection.batches import StructureText, Unreadable
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.comparison import NearestItems
from graphkin.collection.layout import Layout
from graphkin.collection.ports import Ports
from graphkin.collection.sar.descriptors import DescriptorTable
from graphkin.collection.sar.matched_pairs.applying import CutMolecule
from graphkin.collection.sar.matched_pairs.index import MatchedPairs
from graphkin.collection.sar.rgroups import Decomposition
from graphkin.collection.sar.scaffolds import ScaffoldTree
from graphkin.collection.selection import Selector
from graphkin.collection.structures import pattern_arguments
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.protocol.requests import Substructure
from graphkin.protocol.values import MAX_COMPARED, ClusterMethod
from graphkin.similarity.kind import Query
from graphkin.store.base import Generation
from graphkin.store.records import Int32
from graphkin.store.sampling.base import Sampler

_MAX_THREADS = max(1, (cpu_count() or 1) // 2)  # The other cores serve other requests.


class PortFactory:
    """Creates the ports of open generations.

    A port runs a coroutine on the event loop and blocks its thread until the result is ready. So it may be called only
    in the threads of `RequestContext.run`. The coroutine belongs to the cancel scope of the request, and is stopped
    with it.
    """

    def __init__(
        self,
        structures: StructureReader,
        patterns: PatternMatches,
        results: BackgroundResults,
        depictor: Depictor,
        cutter: MoleculeCutter,
    ) -> None:
        self._structures = structures
        self._patterns = patterns
        self._results = results
        self._depictor = depictor
        self._cutter = cutter

    def ports(self, sampler: Callable[[], Sampler], generation: Generation, selector: Selector) -> Ports:
        """Return the ports of one open generation.

        Args:
            sampler: Returns the sampler of the generation.
            generation: The generation.
            selector: Cache of substructure matches of the generation.
        """
        return Ports(
            _StructurePort(self._structures, generation),
            _SubstructurePort(self._patterns, generation, selector),
            _BuilderPort(self._results, self._depictor, self._cutter, generation),
            sampler,
            _MAX_THREADS,
            _cancellable,
            MAX_COMPARED,
        )


class _StructurePort:
    """Reader of query structures."""

    def __init__(self, structures: StructureReader, generation: Generation) -> None:
        self._structures = structures
        self._generation = generation

    def read(self, structure: StructureText) -> Query:
        return from_thread.run(partial(self._structures.read, self._generation, **structure))

    def read_each(self, structures: Iterable[StructureText | Unreadable]) -> list[Query | Unreadable]:
        return from_thread.run(self._structures.read_each, self._generation, [*structures])

    def read_scaffold(self, smiles: str) -> str:
        return from_thread.run(self._structures.read_scaffold, smiles)

    def describe(self, smiles: str) -> list[float | None]:
        return from_thread.run(self._structures.describe, smiles)


class _SubstructurePort:
    """Matcher of substructure patterns."""

    def __init__(self, patterns: PatternMatches, generation: Generation, selector: Selector) -> None:
        self._patterns = patterns
        self._generation = generation
        self._selector = selector

    def match(self, substructure: str | Substructure, select: Callable[[], Int32]) -> SubstructureMatches:
        return from_thread.run(self._match, substructure, select())

    async def _match(self, substructure: str | Substructure, ids: Int32) -> SubstructureMatches:
        async with in_work_class("substructure"):
            return await self._patterns.get(self._generation, self._selector, *pattern_arguments(substructure), ids)


class _BuilderPort:
    """Builder of cached results, in background jobs, and of results for one request, in worker processes."""

    def __init__(
        self,
        results: BackgroundResults,
        depictor: Depictor,
        cutter: MoleculeCutter,
        generation: Generation,
    ) -> None:
        self._results = results
        self._depictor = depictor
        self._cutter = cutter
        self._generation = generation

    def clusters(self, method: ClusterMethod, threshold: float | None) -> Clusters:
        return from_thread.run(self._results.clusterings.get, self._generation, method, threshold)

    def scaffolds(self) -> ScaffoldTree:
        return from_thread.run(self._results.scaffold_trees.get, self._generation)

    def layout(self) -> Layout:
        return from_thread.run(self._results.layouts.get, self._generation)

    def nearest_items(self, other: Generation) -> NearestItems:
        return from_thread.run(self._results.comparisons.get, self._generation, other)

    def descriptors(self) -> DescriptorTable:
        return from_thread.run(self._results.descriptors.get, self._generation)

    def find_mcs(self, smiles: Sequence[str]) -> CommonSubstructure:
        return from_thread.run(self._depictor.find_mcs, smiles)

    def decompose(self, smiles: Sequence[str], core: str | None) -> Decomposition:
        return from_thread.run(self._depictor.decompose, smiles, core)

    def matched_pairs(self) -> MatchedPairs:
        return from_thread.run(self._results.matched_pairs.get, self._generation)

    def cut_molecule(self, smiles: str) -> CutMolecule:
        return from_thread.run(self._cutter.cut, smiles)

    def join_parts(self, assemblies: Sequence[Sequence[str]]) -> list[str | None]:
        return from_thread.run(self._cutter.join, assemblies)


@contextmanager
def _cancellable(name: str, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG001
    """Yield a function that stops the work if the request was canceled, and that ignores the progress."""
    yield lambda _: from_thread.check_cancelled()
