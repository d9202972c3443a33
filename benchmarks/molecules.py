"""Generate millions of distinct, valid, drug-like molecules.

    python -m benchmarks.molecules COUNT --output FILE.smi.gz [--seed 1]

RDKit cuts 5,000 screening compounds that ship with it at their BRICS bonds (Degen et al., ChemMedChem 2008). Each
fragment is written with an open ring closure at every cut bond ("c%901ccccc1"), so that fragments joined by dots form a
molecule without any chemistry per molecule. Only bonds that BRICS could cut again are made. Molecules are numbered, and
each number below `Library.capacity` stands for another combination of a core and its ends. The limits below give about
the molecular weights, ring counts and numbers of fingerprint bits of ZINC250k (docs/about/benchmarks.md).
"""

import argparse
import csv
import gzip
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rdkit import Chem, RDConfig, rdBase
from rdkit.Chem import BRICS

_SOURCE = Path(RDConfig.RDDataDir) / "Pains" / "test_data" / "wehi_mols.csv"
_MOLECULES = 5_000  # molecules that are cut into fragments
_ENDS, _LINKS, _HUBS = 1_400, 450, 60  # the most frequent fragments with one, two and three cut bonds
_PAIRED = 130  # links that are also joined in pairs, of which one at most has rings
_HEAVY_ATOMS = 8  # maximum of a fragment
_ELEMENTS = {0, 6, 7, 8, 9, 16, 17, 35}  # 0 marks a cut bond
_JOINT = 93  # ring closure between two links; ends have 90, 91 and 92
_SHAPES = (0, 1, 1, 1, 1, 1, 2)  # shapes of consecutive molecules: one link, two links, a hub
_BLOCK = 50_000

Positions = NDArray[np.int64]

_JOINED = {
    pair
    for rules in BRICS.reactionDefs
    for one, other, bond in rules
    if bond == "-"
    for pair in ((int(one), int(other)), (int(other), int(one)))
}
"""Pairs of BRICS environments that a single bond may join."""


class Core(NamedTuple):
    """A text with open ring closures.

    Attributes:
        text: SMILES with open ring closures.
        environments: BRICS environment of the atom at each ring closure.
        has_rings: whether there is a ring in the text.
    """

    text: str
    environments: tuple[int, ...]
    has_rings: bool


class _Shape(NamedTuple):
    """All molecules whose cores have the same number of ends.

    Attributes:
        cores: texts of the cores.
        firsts: (C + 1,) the number of each core's first molecule, then the number of molecules.
        begins: (C, points) where the ends that fit each point of a core begin in the table of ends.
        lengths: (C, points) how many ends fit each point.
        stride: molecule i of the shuffled order is number (i * stride + start) modulo the number of molecules. The
            stride is coprime to that number, so each molecule occurs once.
        start: see stride.
    """

    cores: pa.StringArray
    firsts: Positions
    begins: Positions
    lengths: Positions
    stride: int
    start: int


class Library:
    """Numbered molecules, whose text depends only on the number, the seed and the release of RDKit.

    `capacity` is the number of molecules.
    """

    def __init__(self, seed: int = 1) -> None:
        counts = _fragments()
        ordered = sorted(counts, key=lambda text: (-counts[text], text))
        ends, links, hubs = (
            [text for text in ordered if text.count("*") == points][:limit]
            for points, limit in ((1, _ENDS), (2, _LINKS), (3, _HUBS))
        )
        pairs = product(
            [_open_cuts(text, 90, _JOINT) for text in links[:_PAIRED]],
            [_open_cuts(text, _JOINT, 91) for text in links[:_PAIRED]],
        )
        cores = (
            [_open_cuts(text, 90, 91) for text in links],
            [joined for pair in pairs if (joined := _join_links(*pair))],
            [_open_cuts(text, 90, 91, 92) for text in hubs],
        )
        rng = np.random.default_rng(seed)
        table = _Ends(ends)
        self._ends = pa.array(table.texts)
        self._shapes = [_shape(each, table, rng) for each in cores]
        share = Counter(_SHAPES)
        self.capacity = len(_SHAPES) * min(
            int(shape.firsts[-1]) // share[number] for number, shape in enumerate(self._shapes)
        )

    def block(self, begin: int, end: int) -> pa.StringArray:
        """Return the SMILES of molecules `begin` to `end` - 1.

        Raises:
            ValueError: the range is beyond `capacity`.
        """
        if not 0 <= begin <= end <= self.capacity:
            raise ValueError(f"no molecules {begin:,} to {end:,}: the library has {self.capacity:,}")
        rounds, places = np.divmod(np.arange(begin, end, dtype=np.int64), len(_SHAPES))
        kinds = np.array(_SHAPES)[places]
        parts, order = [], []
        for number, shape in enumerate(self._shapes):
            rows = np.flatnonzero(kinds == number)
            slots = np.flatnonzero(np.array(_SHAPES) == number)
            ordinals = rounds[rows] * len(slots) + np.searchsorted(slots, places[rows])
            parts.append(self._texts(shape, ordinals))
            order.append(rows)
        return pa.concat_arrays(parts).take(np.argsort(np.concatenate(order)))

    def _texts(self, shape: _Shape, ordinals: Positions) -> pa.StringArray:
        numbers = (ordinals * shape.stride + shape.start) % shape.firsts[-1]
        cores = np.searchsorted(shape.firsts, numbers, side="right") - 1
        rest = numbers - shape.firsts[cores]
        columns = [shape.cores.take(cores)]
        for begins, lengths in zip(shape.begins.T, shape.lengths.T, strict=True):
            rest, choices = np.divmod(rest, lengths[cores])
            columns.append(self._ends.take(begins[cores] + choices))
        return pc.binary_join_element_wise(*columns, ".")


def generate(count: int, seed: int = 1) -> Iterator[str]:
    """Return an iterator over `count` distinct SMILES, which holds one block of them in memory.

    Raises:
        ValueError: `count` is beyond the capacity.
    """
    library = Library(seed)
    library.block(count, count)  # checks the range
    blocks = (library.block(begin, min(begin + _BLOCK, count)) for begin in range(0, count, _BLOCK))
    return (smiles for block in blocks for smiles in block.to_pylist())


class _Ends:
    """Texts of all ends, grouped by the point and the BRICS environment that they fit.

    Each end fits only one of the three points. The library therefore does not contain both a molecule and its mirror
    image, with the core reversed and the ends swapped.
    """

    def __init__(self, ends: Sequence[str]) -> None:
        self.texts: list[str] = []
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        opened = [[_open_cuts(text, 90 + point) for text in ends[point::3]] for point in range(3)]
        for point, environment in product(range(3), {pair[0] for pair in _JOINED}):
            begin = len(self.texts)
            self.texts += [text for text, (own,), _ in opened[point] if (environment, own) in _JOINED]
            self._places[point, environment] = begin, len(self.texts) - begin

    def places(self, core: Core) -> list[tuple[int, int]]:
        """Return (first, count) in `texts` for each point of the core."""
        return [self._places[point, environment] for point, environment in enumerate(core.environments)]


def _shape(cores: Sequence[Core], ends: _Ends, rng: np.random.Generator) -> _Shape:
    places = np.array([ends.places(core) for core in cores], np.int64)
    begins, lengths = places[..., 0], places[..., 1]
    firsts = np.array([0, *accumulate(math.prod(map(int, row)) for row in lengths)])
    size = int(firsts[-1])
    stride = int(rng.integers(size // 4, size // 2))
    while math.gcd(stride, size) > 1:
        stride += 1
    return _Shape(pa.array([core.text for core in cores]), firsts, begins, lengths, stride, int(rng.integers(size)))


@cache
def _fragments() -> Counter[str]:
    """Count the fragments: canonical SMILES with a dummy atom, labeled by its environment, at each cut bond."""
    counts: Counter[str] = Counter()
    with rdBase.BlockLogs(), _SOURCE.open(newline="") as file:
        for _, (smiles, _) in zip(range(_MOLECULES), csv.reader(file), strict=False):
            molecule = Chem.MolFromSmiles(smiles)
            Chem.RemoveStereochemistry(molecule)
            cut = BRICS.BreakBRICSBonds(molecule)  # type: ignore[no-untyped-call]
            counts.update(Chem.MolToSmiles(cut).split("."))
    return Counter({text: count for text, count in counts.items() if _is_usual(Chem.MolFromSmiles(text))})


def _is_usual(fragment: Chem.Mol) -> bool:
    environments = {atom.GetIsotope() for atom in fragment.GetAtoms() if atom.GetAtomicNum() == 0}
    return (
        fragment.GetNumHeavyAtoms() <= _HEAVY_ATOMS
        and {atom.GetAtomicNum() for atom in fragment.GetAtoms()} <= _ELEMENTS
        and Chem.GetFormalCharge(fragment) == 0
        and environments <= {pair[0] for pair in _JOINED}  # excludes cut double bonds
    )


def _open_cuts(text: str, *closures: int) -> Core:
    """Write the fragment with these ring closures in place of its dummy atoms."""
    fragment = Chem.MolFromSmiles(text)
    cut = [atom for atom in fragment.GetAtoms() if atom.GetAtomicNum() == 0]
    labels: dict[int, str] = {}
    for atom, closure in zip(cut, closures, strict=True):
        neighbor = atom.GetNeighbors()[0].GetIdx()
        labels[neighbor] = f"{labels.get(neighbor, '')}%{closure}"
    for index, label in labels.items():
        Chem.SetSupplementalSmilesLabel(fragment.GetAtomWithIdx(index), label)
    atoms = [atom.GetIdx() for atom in fragment.GetAtoms() if atom.GetAtomicNum()]
    environments = tuple(atom.GetIsotope() for atom in cut)
    return Core(Chem.MolFragmentToSmiles(fragment, atoms), environments, fragment.GetRingInfo().NumRings() > 0)


def _join_links(one: Core, other: Core) -> Core | None:
    """Return two links in a row, or None if both have rings or BRICS would not join them."""
    if (one.has_rings and other.has_rings) or (one.environments[1], other.environments[0]) not in _JOINED:
        return None
    environments = one.environments[0], other.environments[1]
    return Core(f"{one.text}.{other.text}", environments, one.has_rings or other.has_rings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--output", type=Path, required=True, help="compressed if its name ends with .gz")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.perf_counter()
    try:
        smiles = generate(options.count, options.seed)
    except ValueError as error:
        parser.error(str(error))
    compressed = options.output.suffix == ".gz"
    with gzip.open(options.output, "wt", 1) if compressed else options.output.open("w") as file:
        file.writelines(f"{each}\n" for each in smiles)
    seconds = time.perf_counter() - begin
    print(f"{options.count:,} molecules in {seconds:.1f} s, {options.count / seconds:,.0f} a second")


if __name__ == "__main__":
    main()
