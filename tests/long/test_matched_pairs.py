"""The matched pairs of 2,000 molecules with measured affinities equal those of mmpdb."""

import csv
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem, rdBase

from graphkin.collection.sar.matched_pairs.blocks import Fragments
from graphkin.collection.sar.matched_pairs.index import pair_fragments
from graphkin.collection.sar.matched_pairs.ranking import Transformations

FILE = Path(__file__).parents[3] / "shared/data/moleculeace/CHEMBL204_Ki.csv"
MOLECULES = 2000


@pytest.fixture(scope="module")
def smiles() -> list[str]:
    """Return distinct molecules without stereo bonds: mmpdb 3.1.4 inverts some of them when it cuts next to them."""
    with FILE.open() as file:
        distinct = dict.fromkeys(Chem.CanonSmiles(row["smiles"]) for row in csv.DictReader(file))
    return [text for text in distinct if "/" not in text and "\\" not in text][:MOLECULES]


def mmpdb_pairs(smiles: list[str]) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """Yield both molecules and the transformation of each pair, without fragments in which mmpdb adds stereocenters."""
    from mmpdblib import config, index_algorithm  # type: ignore[import-untyped]
    from mmpdblib.fragment_records import make_fragment_record_from_smiles  # type: ignore[import-untyped]
    from mmpdblib.fragment_types import get_fragment_filter  # type: ignore[import-untyped]

    class Reader(list[Any]):
        options = config.DEFAULT_FRAGMENT_OPTIONS

    records = Reader(make_fragment_record_from_smiles(text, get_fragment_filter(Reader.options)) for text in smiles)
    for number, record in enumerate(records):
        record.id = number
        if record.errmsg is None:
            record.fragmentations = [each for each in record.fragmentations if each.enumeration_label == "N"]
    index = index_algorithm.load_fragment_index(records, index_algorithm.MaxVariableHeaviesFilter(10))
    for pair in index_algorithm.find_matched_molecular_pairs(index, records):
        source, target = pair.smirks.replace("[*]", "[*:1]").split(">>")
        yield pair.id1, pair.id2, (source, target)


def one_way(first: int, second: int, ends: tuple[str, str]) -> tuple[int, int, tuple[str, str]]:
    """Return a pair with the lower id first, and its transformation with the labels that sort first."""
    if first > second:
        first, second, ends = second, first, ends[::-1]
    points = ends[0].count("*")
    orders = [*permutations(range(1, points + 1))]
    return first, second, min((relabel(ends[0], order), relabel(ends[1], order)) for order in orders)


def relabel(text: str, order: tuple[int, ...]) -> str:
    molecule = Chem.MolFromSmiles(text)
    for atom in molecule.GetAtoms():
        if atom.GetAtomMapNum():
            atom.SetAtomMapNum(order[atom.GetAtomMapNum() - 1])
    return Chem.MolToSmiles(molecule)


def test_pairs_of_2000_molecules_equal_mmpdb(smiles: list[str]) -> None:
    index = pair_fragments([(0, Fragments.from_smiles(smiles))], len(smiles))
    transformations = Transformations(index)
    with rdBase.BlockLogs():
        ours = {
            one_way(a, b, transformations.ends(number, reverse=False))
            for number in range(len(index.source))
            for a, b in zip(
                index.a[index.starts[number] : index.starts[number + 1]].tolist(),
                index.b[index.starts[number] : index.starts[number + 1]].tolist(),
                strict=True,
            )
        }
        theirs = {one_way(*pair) for pair in mmpdb_pairs(smiles)}
    assert len(smiles) == MOLECULES
    assert len(ours) == len(index.a) > 10_000
    assert ours == theirs
