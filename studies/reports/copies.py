"""Augmented views of stored items: their validity as molecules and their similarity (docs/reference/reports.md)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase

from graphkin.protocol.errors import Conflict
from graphkin.similarity.graphs.describer import read_structure
from graphkin.similarity.graphs.recipe import WEISFEILER_LEHMAN, GraphRecipe
from graphkin.similarity.graphs.structure import Structure
from graphkin.similarity.graphs.wl import Features
from graphkin.similarity.molecules.fingerprints import Fingerprinter
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.tanimoto import pairwise_tanimoto
from graphkin.similarity.window import Similarity
from graphkin.store.base import Generation
from graphkin.store.records import Float64, Int32
from graphkin.trainer.features.altered import RESTART, AugmentedGraphs, augment
from graphkin.trainer.features.corpus import DUMMY, Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.strategy import Operation
from studies.reports.decoding import molecules

Way = Literal[Operation, "mask"]
Key = tuple[int, ...]

_COPIES = 2  # views of each item


@dataclass(frozen=True)
class Damage:
    """Augmentation of a view.

    Attributes:
        way: an operation of `features.altered`, or "mask", which replaces atoms by the dummy element (T15).
        ratio: share of the nodes or edges that is left out or masked, 0 to 1. It means floor(ratio * n) + 1 of them, as
            in the authors' code, and none at 0. At least one node is left. Walks ignore it.
        restart: probability per step that a walk returns to its first node.
    """

    way: Way
    ratio: float = 0.0
    restart: float = RESTART

    def apply(self, corpus: Corpus, turn: int, key: Key) -> AugmentedGraphs:
        """Return one view of every graph. For a mask, it holds the atoms that are not masked.

        `turn` distinguishes several views of the same item.
        """
        ids, turns = np.arange(corpus.size), np.full(corpus.size, turn)
        operation: Operation = "drop-nodes" if self.way == "mask" else self.way
        counts = self._counts(corpus.edges // 2 if operation == "drop-edges" else corpus.atoms)
        return augment(corpus, ids, turns, operation, counts, key, restart=self.restart)

    def _counts(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        share = Fraction(repr(self.ratio))  # exact, so that a tenth of ten is one
        return sizes * share.numerator // share.denominator + (share > 0)


@dataclass(frozen=True)
class Chemistry:
    """Validity of two views of each of n molecules.

    Attributes:
        legal: (2, n) bool, RDKit can read the SMILES that it writes for the view.
        aromatic: (2, n) bool, the view has an aromatic bond.
    """

    legal: NDArray[np.bool_]
    aromatic: NDArray[np.bool_]


@dataclass(frozen=True)
class Copies:
    """Similarities of two views of each of n items. Molecules that are not legal are compared by their features alone.

    Attributes:
        target: (2, n) similarity to the item.
        between: (n,) similarity of the two views.
        chemistry: validity of views of molecules.
    """

    target: Float64
    between: Float64
    chemistry: Chemistry | None = None

    @classmethod
    def from_similarity(cls, similarity: Similarity, items: int, chemistry: Chemistry | None = None) -> "Copies":
        """Compute the similarities. `similarity` numbers the items, then their first views, then their second views."""
        item, *copies = np.arange(3 * items, dtype=np.int32).reshape(3, -1)
        target = np.stack([similarity(item, copy) for copy in copies])
        return cls(target, similarity(*copies), chemistry)

    def figures(self) -> dict[str, float]:
        """Return means by name.

        The names are `target`, `between` and, for molecules, the shares `legal` and `legal_not_aromatic`. Molecules
        also have both similarities with 0 for views that are not legal (`_or_0`), and of legal views only (`_legal`),
        if there are any.
        """
        values_by_name: dict[str, NDArray[Any]] = {"target": self.target, "between": self.between}
        if self.chemistry is not None:
            legal = self.chemistry.legal
            values_by_name |= {"legal": legal, "legal_not_aromatic": legal & ~self.chemistry.aromatic}
            for name, values, mask in ("target", self.target, legal), ("between", self.between, legal.all(0)):
                values_by_name |= {f"{name}_or_0": values * mask, f"{name}_legal": values[mask]}
        return {name: float(values.mean()) for name, values in values_by_name.items() if values.size}


class Sample(ABC):
    """Some items of a generation, and their views. Equal keys give equal views."""

    ways: ClassVar[Sequence[Way]]

    @abstractmethod
    def __init__(self, generation: Generation, ids: Int32) -> None: ...

    @abstractmethod
    def copies(self, damage: Damage, key: Key) -> Copies: ...


class MoleculeSample(Sample):
    """Molecules compared by the recipe's fingerprint.

    A view's fingerprint is that of the molecule that RDKit reads, or of its features if RDKit cannot read it.
    """

    ways = ("drop-nodes", "drop-edges", "mask", "subgraph", "subgraph-published", "walk")

    def __init__(self, generation: Generation, ids: Int32) -> None:
        recipe = MoleculeRecipe.model_validate(generation.manifest.recipe)
        self._fingerprinter = Fingerprinter(recipe.fingerprint)
        self._fingerprints = generation.fingerprints().words[ids]
        self._corpus = featurize([*generation.structures(ids)], generation.id)

    def copies(self, damage: Damage, key: Key) -> Copies:
        views = [*chain.from_iterable(molecules(self._damage(damage, turn, key)) for turn in range(_COPIES))]
        with rdBase.BlockLogs():
            parsed = [Chem.MolFromSmiles(Chem.MolToSmiles(each)) for each in views]
        packed = [
            self._fingerprinter.compute_packed(parsed_view or view)
            for parsed_view, view in zip(parsed, views, strict=True)
        ]
        bits = np.concatenate([self._fingerprints, self._fingerprinter.unpack(b"".join(packed))])
        legal = np.array([parsed_view is not None for parsed_view in parsed]).reshape(_COPIES, -1)
        aromatic = np.array([_is_aromatic(view) for view in views]).reshape(_COPIES, -1)
        return Copies.from_similarity(pairwise_tanimoto(bits), self._corpus.size, Chemistry(legal, aromatic))

    def _damage(self, damage: Damage, turn: int, key: Key) -> Corpus:
        remainder = damage.apply(self._corpus, turn, key)
        if damage.way != "mask":
            return remainder.corpus()
        masked = np.ones(len(self._corpus.atom_type), np.bool_)
        masked[remainder.atoms] = False
        kinds, tags = np.where(masked, DUMMY, self._corpus.atom_type), np.where(masked, 0, self._corpus.chirality)
        return replace(self._corpus, atom_type=kinds.astype(np.uint8), chirality=tags.astype(np.uint8))


def _is_aromatic(molecule: Chem.Mol) -> bool:
    return any(bond.GetIsAromatic() for bond in molecule.GetBonds())


class GraphSample(Sample):
    """Graphs compared by the Weisfeiler-Lehman kernel with the recipe's labels.

    Raises:
        Conflict: the recipe has another kernel.
    """

    ways = ("drop-nodes", "drop-edges", "subgraph", "subgraph-published", "walk")

    def __init__(self, generation: Generation, ids: Int32) -> None:
        self._recipe = GraphRecipe.model_validate(generation.manifest.recipe)
        if self._recipe.kernel not in WEISFEILER_LEHMAN:
            raise Conflict(
                "the copies would be compared by another kernel than the collection",
                given=f"kernel {self._recipe.kernel}",
                expected=f"kernel {' or '.join(WEISFEILER_LEHMAN)}",
            )
        texts = [*generation.structures(ids)]
        structures = [read_structure(text, self._recipe) for text in texts]
        self._features = Features.from_structures(structures, self._recipe)
        self._labels = [*chain.from_iterable(each.labels or () for each in structures)]
        self._corpus = featurize_graphs(texts, generation.id)

    def copies(self, damage: Damage, key: Key) -> Copies:
        views = [self._structures(damage.apply(self._corpus, turn, key)) for turn in range(_COPIES)]
        features = [self._features, *(Features.from_structures(each, self._recipe) for each in views)]
        return Copies.from_similarity(Features.concatenate(features).similarities, self._corpus.size)

    def _structures(self, remainder: AugmentedGraphs) -> list[Structure]:
        begin = np.cumsum(remainder.atom_counts) - remainder.atom_counts
        owner, once = np.repeat(np.arange(len(begin)), remainder.edge_counts), remainder.target < remainder.source
        edges = np.stack([remainder.target, remainder.source], axis=1)[once] - begin[owner[once], None]
        parts = np.split(edges, np.cumsum(np.bincount(owner[once], minlength=len(begin)))[:-1])
        atoms = np.split(remainder.atoms, begin[1:])
        return [Structure(len(nodes), part, self._node_labels(nodes)) for nodes, part in zip(atoms, parts, strict=True)]

    def _node_labels(self, atoms: NDArray[np.int64]) -> Sequence[str] | Sequence[int] | None:
        return [self._labels[atom] for atom in atoms] if self._labels else None


_SAMPLES: Mapping[str, type[Sample]] = {"molecule": MoleculeSample, "graph": GraphSample}


def sample_type(generation: Generation) -> type[Sample]:
    """Return the class for the generation's kind of items.

    Raises:
        Conflict: the items are neither molecules nor graphs.
    """
    if generation.manifest.kind not in _SAMPLES:
        raise Conflict(
            "copies of these items are not damaged: what is compared of a node is around it, and a copy could lose it",
            given=f"{generation.collection}, of kind {generation.manifest.kind}",
            expected=f"a collection of kind {' or '.join(_SAMPLES)}",
        )
    return _SAMPLES[generation.manifest.kind]
