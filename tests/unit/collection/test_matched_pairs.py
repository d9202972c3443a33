"""Matched pairs equal a brute force that shares no code with the index, and statistics of the standard library."""

import statistics
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from rdkit import Chem, rdBase

from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.processes import map_in_processes
from graphkin.collection.sar.matched_pairs import blocks
from graphkin.collection.sar.matched_pairs.applying import cut_molecule, join_parts
from graphkin.collection.sar.matched_pairs.attachments import permutation
from graphkin.collection.sar.matched_pairs.blocks import Fragments
from graphkin.collection.sar.matched_pairs.index import MatchedPairs, cached_matched_pairs, pair_fragments
from graphkin.collection.sar.matched_pairs.ranking import Transformations, label
from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.matched_pairs import AppliedFields, MatchedPairsFields
from graphkin.store.base import Generation

# The default rules of mmpdb 3.1 (fragment_types.py and smarts_aliases.py).
CUT = Chem.MolFromSmarts("[#6+0;!$(*=,#[!#6])]!@!=!#[!#0;!#1;!$([CH2]);!$([CH3][CH2])]")
LARGEST = 10

Ends = tuple[str, str]
Pairs = dict[tuple[int, int], set[frozenset[Ends]]]
"""The transformations of each pair of molecules. Each has several ways to write it if constant parts are alike."""


def labeled_smiles(molecule: Chem.Mol) -> str:
    """Return a canonical SMILES in which isotopes number the attachment points."""
    Chem.SanitizeMol(molecule)
    Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    return Chem.MolToSmiles(molecule)


def brute_force_cuts(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the constant parts, sorted, and the variable part whose isotope i + 1 marks constant part i."""
    molecule = Chem.MolFromSmiles(text)
    bonds = [molecule.GetBondBetweenAtoms(*pair).GetIdx() for pair in molecule.GetSubstructMatches(CUT)]
    for count in (1, 2, 3):
        for cut in combinations(bonds, count):
            labels = [(number + 1, number + 1) for number in range(count)]
            parts = Chem.GetMolFrags(Chem.FragmentOnBonds(molecule, cut, dummyLabels=labels), asMols=True)
            ends = [[atom.GetIsotope() for atom in part.GetAtoms() if atom.GetAtomicNum() == 0] for part in parts]
            for middle, part in enumerate(parts):
                others = [number for number in range(len(parts)) if number != middle]
                heavy = part.GetNumHeavyAtoms()
                if len(ends[middle]) != count or any(len(ends[number]) != 1 for number in others) or heavy > LARGEST:
                    continue
                constants = {}
                for number in others:
                    constant = Chem.RWMol(parts[number])
                    for atom in constant.GetAtoms():
                        if atom.GetAtomicNum() == 0:
                            atom.SetIsotope(0)
                    constants[ends[number][0]] = labeled_smiles(constant)
                order = sorted(constants, key=constants.__getitem__)
                variable = Chem.RWMol(part)
                for atom in variable.GetAtoms():
                    if atom.GetAtomicNum() == 0:
                        atom.SetIsotope(order.index(atom.GetIsotope()) + 1)
                yield tuple(constants[each] for each in order), without_lost_stereo(variable)


def without_lost_stereo(variable: Chem.Mol) -> str:
    """Return the labeled SMILES without the stereochemistry that the labels alone would keep."""
    plain = Chem.RWMol(variable)
    ends = [atom for atom in plain.GetAtoms() if atom.GetAtomicNum() == 0]
    labels = [atom.GetIsotope() for atom in ends]
    for atom in ends:
        atom.SetIsotope(0)
    labeled_smiles(plain)
    for atom, number in zip(ends, labels, strict=True):
        atom.SetIsotope(number)
    return Chem.MolToSmiles(plain)


@cache
def relabel(text: str, order: tuple[int, ...]) -> str:
    molecule = Chem.MolFromSmiles(text)
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() == 0:
            atom.SetIsotope(order[atom.GetIsotope() - 1] + 1)
    return Chem.MolToSmiles(molecule)


@cache
def canonical(first: str, second: str, points: int) -> Ends:
    """Return the smallest way to write two labeled variable parts with the same labels."""
    orders = [*permutations(range(points))]
    return min((relabel(first, order), relabel(second, order)) for order in orders)


def brute_force_pairs(smiles: list[str]) -> Pairs:
    """Return all pairs of molecules with their transformations, compared molecule by molecule."""
    cuts = [{*brute_force_cuts(text)} for text in smiles]
    for own in cuts:
        for constants, _ in [*own]:
            if len(constants) == 1:
                whole = Chem.CanonSmiles(constants[0].replace("*", "[H]", 1))
                if whole in smiles:
                    cuts[smiles.index(whole)].add((constants, isotopes("[*:1][H]")))
    pairs: Pairs = {}
    for a, b in combinations(range(len(smiles)), 2):
        for constants, first in cuts[a]:
            for _, second in [each for each in cuts[b] if each[0] == constants]:
                exchanges = [
                    order
                    for order in permutations(range(len(constants)))
                    if all(constants[to] == constants[at] for at, to in enumerate(order))
                ]
                ways = {canonical(first, relabel(second, order), len(constants)) for order in exchanges}
                if not any(one == other for one, other in ways):
                    pairs.setdefault((a, b), set()).add(frozenset(ways))
    return pairs


def assert_equal(index: MatchedPairs, expected: Pairs) -> None:
    """Assert that an index has the expected pairs, each in one way to write each of its transformations."""
    transformations = Transformations(index)
    found: dict[tuple[int, int], list[Ends]] = {}
    for number in range(len(index.source)):
        source, target = (isotopes(text) for text in transformations.ends(number, reverse=False))
        rows = slice(*index.starts[number : number + 2].tolist())
        for a, b in zip(index.a[rows].tolist(), index.b[rows].tolist(), strict=True):
            ends = (source, target) if a < b else (target, source)
            found.setdefault((min(a, b), max(a, b)), []).append(canonical(*ends, source.count("*")))
    assert found.keys() == expected.keys()
    for pair, ends_of_pair in found.items():
        classes = expected[pair]
        assert all(any(ends in ways for ways in classes) for ends in ends_of_pair), pair
        assert all(any(ends in ways for ends in ends_of_pair) for ways in classes), pair


def assert_same(first: MatchedPairs, second: MatchedPairs) -> None:
    for name in MatchedPairs._fields:
        assert getattr(first, name).tolist() == getattr(second, name).tolist(), name


def isotopes(text: str) -> str:
    for number in (1, 2, 3):
        text = text.replace(f"[*:{number}]", f"[{number}*]")
    return Chem.MolToSmiles(Chem.MolFromSmiles(text))


def paired(smiles: list[str]) -> MatchedPairs:
    return pair_fragments([(0, Fragments.from_smiles(smiles))], len(smiles))


def cuttable(nci_smiles: list[str], count: int) -> list[str]:
    """Return the first distinct molecules that are cut."""
    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(text) for text in nci_smiles[: 2 * count]]
    distinct = dict.fromkeys(Chem.MolToSmiles(each) for each in molecules if each is not None)
    return [text for text in distinct if cut_molecule(text).reason is None][:count]


@pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.long)])
def test_pairs_equal_a_brute_force(nci_smiles: list[str], count: int) -> None:
    smiles = cuttable(nci_smiles, count)
    with rdBase.BlockLogs():
        expected = brute_force_pairs(smiles)
    assert len(smiles) == count
    assert len(expected) > count / 2
    assert_equal(paired(smiles), expected)


SERIES = [
    *("CC(=O)Nc1ccc(F)cc1", "CC(=O)Nc1ccc(Cl)cc1", "CC(=O)Nc1ccccc1", "CC(=O)Nc1ccc(O)cc1", "CCC(=O)Nc1ccc(F)cc1"),
    *("COc1ccc(CNc2ccccn2)cc1", "COc1ccc(NCc2ccccn2)cc1", "C[C@H](O)c1ccccc1", "C[C@@H](O)c1ccccc1"),
    *("FC(Cl)c1ccccc1", "Cc1ccccc1C=CC", "C/C=C/c1ccccc1C", "OCCN", "O"),
]


def test_series_with_stereo_reversal_and_hydrogen_equals_a_brute_force() -> None:
    smiles = [*dict.fromkeys(map(Chem.CanonSmiles, SERIES))]
    with rdBase.BlockLogs():
        expected = brute_force_pairs(smiles[:-1])
    assert_equal(paired(smiles), expected)


def test_molecules_that_are_not_cut_are_listed_with_the_reason() -> None:
    smiles = ["CCO", "O", "C" * 101, "CCOC.Cl", "*CCO", "COCCOCCOCCOCCOCCOCCO"]
    uncut = Transformations(paired(smiles)).uncut
    assert {each.ids[0]: each.reason for each in uncut} == {
        1: "fewer than two heavy atoms",
        2: "more than 100 heavy atoms",
        3: "more than one component",
        4: "atoms without an element (*)",
        5: "more than 10 rotatable bonds",
    }
    assert [each.count for each in uncut] == [1] * 5


def test_parts_of_a_molecule_join_to_the_molecule(nci_smiles: list[str]) -> None:
    for text in [*cuttable(nci_smiles, 25), *SERIES[:-1]]:
        cuts = cut_molecule(text).fragmentations
        assemblies = [
            [
                label(each.variable, permutation(len(each.constants), each.order)),
                *(label(constant, (number,)) for number, constant in enumerate(each.constants)),
            ]
            for each in cuts
        ]
        for each, joined in zip(cuts, join_parts(assemblies), strict=True):
            # Several cuts at one atom lose its stereochemistry, as they do in mmpdb.
            isomeric = len(each.constants) == 1
            assert joined is not None
            assert Chem.CanonSmiles(joined, isomeric) == Chem.CanonSmiles(text, isomeric)


@pytest.fixture
def series(generation: Callable[..., Any]) -> Generation:
    made: Generation = generation([Chem.MolFromSmiles(text) for text in SERIES[:-1]])
    return made


def ranking(**fields: Any) -> MatchedPairsFields:
    return MatchedPairsFields.model_validate({"property": "molwt", "min_count": 1, **fields})


def test_summary_equals_the_statistics_of_its_pairs(series: Generation) -> None:
    values = series.column("molwt")
    summary = OpenCollection(series).matched_pairs(ranking())
    assert len(summary) > 10
    assert (np.diff(summary.count) <= 0).all()
    for row in range(len(summary)):
        first, second, difference = summary.pairs(row)
        changes = [float(values[b] - values[a]) for a, b in zip(first, second, strict=True)]
        assert difference.tolist() == changes == sorted(changes, reverse=True)
        assert summary.count[row] == len(changes)
        assert summary.mean[row] == pytest.approx(statistics.mean(changes))
        assert summary.mean[row] >= 0
        sd = statistics.stdev(changes) if len(changes) > 1 else np.nan
        assert summary.sd[row] == pytest.approx(sd, nan_ok=True)


def test_pairs_without_a_value_do_not_count(series: Generation) -> None:
    transformations = OpenCollection(series).matched_pairs(ranking()).transformations
    values = np.full(series.size, np.nan)
    assert len(transformations.summarize(values, 1)) == 0
    values[:2] = 4.0, 6.5
    summary = transformations.summarize(values, 1)
    assert {(*summary.pairs(row)[0], *summary.pairs(row)[1]) for row in range(len(summary))} == {(0, 1)}
    assert set(summary.mean.tolist()) == {2.5}


def test_one_transformation_is_found_in_both_directions(series: Generation) -> None:
    collection = OpenCollection(series)
    (forward,) = collection.matched_pairs(ranking(**{"from": "[*:1]F", "to": "[*:1]Cl"})).table(10).to_pylist()
    (backward,) = collection.matched_pairs(ranking(**{"from": "[*:1]Cl", "to": "[*:1]F"})).table(10).to_pylist()
    assert forward["pairs"] == [[0, 1]]
    assert backward["pairs"] == [[1, 0]]
    assert forward["mean"] == -backward["mean"] == pytest.approx(35.45 - 18.998, abs=0.01)
    assert not len(collection.matched_pairs(ranking(**{"from": "[*:1]Br", "to": "[*:1]F"})))


def test_applied_transformation_makes_the_other_molecule_of_its_pairs(series: Generation) -> None:
    collection = OpenCollection(series)
    for change, sign in (("raise", 1), ("lower", -1)):
        request = AppliedFields(property="molwt", min_count=1, change=change)
        for id in range(series.size):
            known = collection.matched_pairs_of(id, request)
            products = collection.products(id, known)
            assert (known.summary.mean * sign > 0).all()
            for row in range(len(known.summary)):
                first, second, _ = known.summary.pairs(row)
                partners = second[first == id].tolist()
                if known.summary.ends(row)[0].count("*") == 1:
                    assert {*partners} <= {own for _, own in products[row]}
                # Several cuts at one atom lose its stereochemistry.
                flat = {Chem.CanonSmiles(smiles, 0) for smiles, _ in products[row]}
                assert {Chem.CanonSmiles(SERIES[partner], 0) for partner in partners} <= flat
                assert all(own is None or own != id for _, own in products[row])


def test_append_cuts_only_the_last_block_and_equals_a_rebuild(
    generation: Callable[..., Any], nci_molecules: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 8)
    cut: list[int] = []

    def recorded(function: Any, chunks: Any, processes: int, results: str) -> Any:
        listed = [*chunks]
        cut.extend(map(len, listed))
        return map_in_processes(function, listed, processes, results)

    monkeypatch.setattr(blocks, "map_in_processes", recorded)
    before, after = generation(nci_molecules[:20]), generation(nci_molecules[:26])
    cached_matched_pairs(before, 1)
    assert cut == [8, 8, 4]
    cut.clear()
    appended = cached_matched_pairs(after, 1)
    assert cut == [8, 2]
    assert_same(appended, paired([*after.structures()]))


def test_blocks_do_not_change_the_pairs(nci_smiles: list[str]) -> None:
    smiles = cuttable(nci_smiles, 20)
    parts = [(start, Fragments.from_smiles(smiles[start : start + 7])) for start in range(0, 20, 7)]
    assert_same(pair_fragments(parts, 20), paired(smiles))


def test_too_many_pairs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="too many molecules share their constant parts") as error:
        pair_fragments([(0, Fragments.from_smiles(SERIES))], len(SERIES), max_pairs=3)
    assert error.value.expected == "at most 3 on this server"


def test_invalid_requests(series: Generation, generation: Callable[..., Any]) -> None:
    collection = OpenCollection(series)
    with pytest.raises(InvalidInput, match="no numeric property") as error:
        collection.matched_pairs(ranking(property="pIC50"))
    assert "molwt" in str(error.value.expected)
    with pytest.raises(NotFound):
        collection.matched_pairs_of(series.size, AppliedFields(property="molwt"))
    graphs = OpenCollection(generation([Chem.MolFromSmiles("CCO")], kind="graph"))
    with pytest.raises(Conflict, match="no matched pairs"):
        graphs.matched_pairs(ranking())
