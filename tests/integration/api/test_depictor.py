import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import numpy as np
import pytest
from numpy.typing import NDArray
from rdkit import Chem

from graphkin.api.depictor import Depictor
from graphkin.api.work.pool import Pool, new_fork_server
from graphkin.depiction.molecule import draw_molecule, shared_atoms
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import Mark
from graphkin.runtime.workers.fork_server import ForkServer
from tests.stopped import request_while_suspended

PEPTIDE = Chem.MolToSmiles(Chem.MolFromSequence("ACDEFGHIKLMNPQRSTVWY" * 5))  # This peptide takes seconds to draw.


@asynccontextmanager
async def _depictor(fork_server: ForkServer, **options: float) -> AsyncIterator[Depictor]:
    async with Pool(fork_server, 2) as drawers, Pool(fork_server, 1) as comparers:
        yield Depictor(drawers, comparers, **options)


def test_slow_drawing_only_ends_its_process(fork_server: ForkServer) -> None:
    async def session() -> str:
        async with _depictor(fork_server, seconds=0.5) as depictor:
            for _ in range(3):  # There are fewer processes than attempts.
                with pytest.raises(InvalidInput, match="takes more than"):
                    await depictor.draw("molecule", PEPTIDE, "", 250, 250)
            return await depictor.draw("molecule", "CCO", "ethanol", 250, 250)

    assert "<title>ethanol</title>" in asyncio.run(session())


def test_waiting_for_a_processor_does_not_count_as_drawing(fork_server: ForkServer) -> None:
    """The time limit applies to the drawing, not to the wait for a processor."""

    async def session() -> str:
        async with Pool(fork_server, 1) as drawers, Pool(fork_server, 1) as comparers:
            async with drawers.worker() as drawer:
                pid = drawer.pid
            assert pid is not None
            drawing = Depictor(drawers, comparers, seconds=0.3).draw("molecule", "CCO", "", 250, 250)
            return await request_while_suspended(pid, drawing, 0.9)

    assert "</svg>" in asyncio.run(session())


def test_unreadable_structure_does_not_end_the_process(fork_server: ForkServer) -> None:
    async def session() -> str:
        async with _depictor(fork_server) as depictor:
            with pytest.raises(InvalidInput, match="cannot read back"):
                await depictor.draw("molecule", "C(", "", 250, 250)
            return await depictor.draw("molecule", "CCO", "ethanol", 250, 250)

    assert "<title>ethanol</title>" in asyncio.run(session())


def test_concurrent_drawings_are_correct(fork_server: ForkServer) -> None:
    async def session() -> list[str]:
        async with _depictor(fork_server) as depictor:
            return await asyncio.gather(*(depictor.draw("molecule", "C" * n, str(n), 250, 250) for n in range(2, 30)))

    assert [f"<title>{n}</title>" in svg for n, svg in enumerate(asyncio.run(session()), start=2)] == [True] * 28


@pytest.mark.parametrize(
    ("smiles", "other", "atoms"),
    [
        ("CCO", "CCO", {0, 1, 2}),
        ("CCO", "NCCC", {0, 1}),
        ("Oc1ccccc1", "Nc1ccccc1", {1, 2, 3, 4, 5, 6}),
        ("c1ccccc1", "CCCCCC", set()),  # a ring is no chain
        ("C=C", "CC", {0}),
        ("[Na+]", "[K+]", set()),
    ],
)
def test_shared_atoms_are_found(smiles: str, other: str, atoms: set[int]) -> None:
    pairs = shared_atoms(smiles, other)
    assert pairs is not None
    assert {own_fork_server for own_fork_server, _ in pairs} == atoms
    symbols = [[atom.GetSymbol() for atom in Chem.MolFromSmiles(text).GetAtoms()] for text in (smiles, other)]
    assert [symbols[0][own_fork_server] for own_fork_server, _ in pairs] == [
        symbols[1][other_atom] for _, other_atom in pairs
    ]


QUINAZOLINE = "COc1cc2ncnc(Nc3cccc(Br)c3)c2cc1OC"


@pytest.mark.parametrize(
    "smiles",
    ["COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1", "c1ccc2ncncc2c1", "CNc1ncnc2ccccc12", "C[C@H](N)c1ncnc2ccccc12"],
)
def test_molecule_is_aligned_with_the_compared_one(smiles: str) -> None:
    """Shared bonds have the same direction in both depictions."""
    pairs = shared_atoms(smiles, QUINAZOLINE) or []
    other_atom = dict(pairs)
    atom = _directions(draw_molecule(smiles, "", "", 300, 200, QUINAZOLINE, pairs))
    other_directions = _directions(draw_molecule(QUINAZOLINE, "", "", 300, 200))
    cosines = [
        float(direction @ other_directions[other_atom[a], other_atom[b]])
        for (a, b), direction in atom.items()
        if (other_atom.get(a), other_atom.get(b)) in other_directions
    ]
    assert len(cosines) >= len(pairs) - 1
    assert min(cosines) > 0.97


def _directions(svg: str) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Return the direction of each bond, from one atom to the other, as drawn."""
    pairs: dict[tuple[int, int], NDArray[np.float64]] = {}
    for a, b, path in re.findall(r"class='bond-\d+ atom-(\d+) atom-(\d+)' d='M ([^']*)'", svg):
        points = np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", path), float)
        along = points[-1] - points[0]
        along /= np.linalg.norm(along) or 1
        pairs.setdefault((int(a), int(b)), along)
        pairs.setdefault((int(b), int(a)), -along)
    return pairs


def test_impossible_alignment_keeps_the_default_orientation() -> None:
    """Two atoms in one place, which RDKit refuses to align."""
    assert draw_molecule("CCO", "", "", 300, 200, "CCO", [(0, 0), (1, 0)]) == draw_molecule("CCO", "", "", 300, 200)


@pytest.mark.parametrize(
    ("mark", "expected"), [("shared", {1, 2, 3, 4, 5, 6}), ("differences", {0}), ("nothing", set())]
)
def test_marks_highlight_shared_or_different_atoms(mark: Mark, expected: set[int]) -> None:
    phenol, aniline = "Oc1ccccc1", "Nc1ccccc1"
    pairs = shared_atoms(phenol, aniline) or []
    svg = draw_molecule(phenol, "", "", 300, 200, aniline, pairs, mark)
    assert {int(atom) for atom in _highlighted(svg)} == expected


def test_comparison_is_cached_for_both_sides(fork_server: ForkServer) -> None:
    """The second depiction needs no comparing process, because the first comparison is cached."""

    async def session() -> list[set[str]]:
        async with Pool(fork_server, 1) as drawers:
            with closing(new_fork_server()) as atom:
                async with Pool(atom, 1) as comparers:
                    depictor = Depictor(drawers, comparers)
                    svg = await depictor.draw("molecule", "CC(Cl)CO", "", 250, 250, "CCCO", "differences", align=False)
            other = await depictor.draw("molecule", "CCCO", "", 250, 250, "CC(Cl)CO", "differences")
        return [_highlighted(each) for each in (svg, other)]

    assert asyncio.run(session()) == [{"2"}, set()]


def _highlighted(svg: str) -> set[str]:
    """Return the atoms that are highlighted."""
    return set(re.findall(r"<ellipse [^>]*class='atom-(\d+)' [^>]*style='fill:#99D3ED", svg))


def test_depiction_is_cached() -> None:
    """The process that drew it has ended."""

    async def session() -> tuple[str, str]:
        with closing(new_fork_server()) as atom:
            async with _depictor(atom) as depictor:
                first = await depictor.draw("molecule", "CCO", "ethanol", 250, 250, "CCN", "shared")
        return first, await depictor.draw("molecule", "CCO", "ethanol", 250, 250, "CCN", "shared")

    first, cached = asyncio.run(session())
    assert first == cached


def test_comparison_is_cached_for_any_size_and_mark(fork_server: ForkServer) -> None:
    """The process that compared them has ended."""

    async def session() -> tuple[str, str]:
        async with Pool(fork_server, 1) as drawers:
            with closing(new_fork_server()) as atom:
                async with Pool(atom, 1) as comparers:
                    depictor = Depictor(drawers, comparers)
                    first = await depictor.draw("molecule", "CCO", "", 250, 250, "CCN", "shared")
            return first, await depictor.draw("molecule", "CCO", "", 180, 120, "CCN", "differences")

    for svg in asyncio.run(session()):
        assert "2 atoms shared with CCN" in svg
