import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import numpy as np
import pytest
from numpy.typing import NDArray
from rdkit import Chem

from graphkin.api.depiction.depictor import Depictor
from graphkin.api.depiction.molecule import draw_molecule, shared_atoms
from graphkin.api.work.pool import Pool, new_fork_server
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import Mark
from graphkin.runtime.workers.fork_server import ForkServer
from tests.stopped import held_up

PEPTIDE = Chem.MolToSmiles(Chem.MolFromSequence("ACDEFGHIKLMNPQRSTVWY" * 5))  # takes seconds to draw


@asynccontextmanager
async def _depictor(fork_server: ForkServer, **options: float) -> AsyncIterator[Depictor]:
    async with Pool(fork_server, 2) as drawers, Pool(fork_server, 1) as comparers:
        yield Depictor(drawers, comparers, **options)


def test_a_drawing_that_takes_too_long_costs_its_process_only(fork_server: ForkServer) -> None:
    async def session() -> str:
        async with _depictor(fork_server, seconds=0.5) as depictor:
            for _ in range(3):  # more often than there are processes
                with pytest.raises(InvalidInput, match="takes more than"):
                    await depictor.draw("molecule", PEPTIDE, "", 250, 250)
            return await depictor.draw("molecule", "CCO", "ethanol", 250, 250)

    assert "<title>ethanol</title>" in asyncio.run(session())


def test_who_has_to_wait_for_others_gets_the_picture(fork_server: ForkServer) -> None:
    """It is the drawing that must not take long, not the wait for a processor."""

    async def session() -> str:
        async with Pool(fork_server, 1) as drawers, Pool(fork_server, 1) as comparers:
            async with drawers.worker() as drawer:
                pid = drawer.pid
            assert pid is not None
            drawing = Depictor(drawers, comparers, seconds=0.3).draw("molecule", "CCO", "", 250, 250)
            return await held_up(pid, drawing, 0.9)

    assert "</svg>" in asyncio.run(session())


def test_what_rdkit_cannot_read_costs_nothing(fork_server: ForkServer) -> None:
    async def session() -> str:
        async with _depictor(fork_server) as depictor:
            with pytest.raises(InvalidInput, match="cannot read back"):
                await depictor.draw("molecule", "C(", "", 250, 250)
            return await depictor.draw("molecule", "CCO", "ethanol", 250, 250)

    assert "<title>ethanol</title>" in asyncio.run(session())


def test_many_drawings_at_once_are_all_right(fork_server: ForkServer) -> None:
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
def test_shared_atoms(smiles: str, other: str, atoms: set[int]) -> None:
    found = shared_atoms(smiles, other)
    assert found is not None
    assert {own for own, _ in found} == atoms
    symbols = [[atom.GetSymbol() for atom in Chem.MolFromSmiles(text).GetAtoms()] for text in (smiles, other)]
    assert [symbols[0][own] for own, _ in found] == [symbols[1][theirs] for _, theirs in found]


QUINAZOLINE = "COc1cc2ncnc(Nc3cccc(Br)c3)c2cc1OC"


@pytest.mark.parametrize(
    "smiles",
    ["COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1", "c1ccc2ncncc2c1", "CNc1ncnc2ccccc12", "C[C@H](N)c1ncnc2ccccc12"],
)
def test_a_molecule_lies_as_the_one_that_it_is_compared_with(smiles: str) -> None:
    """The bonds that both share point the same way in both pictures."""
    pairs = shared_atoms(smiles, QUINAZOLINE) or []
    theirs = dict(pairs)
    own = _directions(draw_molecule(smiles, "", "", 300, 200, QUINAZOLINE, pairs))
    others = _directions(draw_molecule(QUINAZOLINE, "", "", 300, 200))
    compared = [
        float(direction @ others[theirs[a], theirs[b]])
        for (a, b), direction in own.items()
        if (theirs.get(a), theirs.get(b)) in others
    ]
    assert len(compared) >= len(pairs) - 1
    assert min(compared) > 0.97


def _directions(svg: str) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Of each bond, from one atom to the other, as it is drawn."""
    found: dict[tuple[int, int], NDArray[np.float64]] = {}
    for a, b, path in re.findall(r"class='bond-\d+ atom-(\d+) atom-(\d+)' d='M ([^']*)'", svg):
        points = np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", path), float)
        along = points[-1] - points[0]
        along /= np.linalg.norm(along) or 1
        found.setdefault((int(a), int(b)), along)
        found.setdefault((int(b), int(a)), -along)
    return found


def test_what_cannot_be_laid_as_the_other_lies_as_it_would_alone() -> None:
    """Two atoms in one place, which RDKit does not lay."""
    assert draw_molecule("CCO", "", "", 300, 200, "CCO", [(0, 0), (1, 0)]) == draw_molecule("CCO", "", "", 300, 200)


@pytest.mark.parametrize(("mark", "marked"), [("shared", {1, 2, 3, 4, 5, 6}), ("differences", {0}), ("nothing", set())])
def test_what_is_marked(mark: Mark, marked: set[int]) -> None:
    phenol, aniline = "Oc1ccccc1", "Nc1ccccc1"
    pairs = shared_atoms(phenol, aniline) or []
    svg = draw_molecule(phenol, "", "", 300, 200, aniline, pairs, mark)
    assert {int(atom) for atom in _highlighted(svg)} == marked


def test_pictures_of_both_sides_are_compared_once(fork_server: ForkServer) -> None:
    """The second picture needs no process that compares: the first one is gone."""

    async def session() -> list[set[str]]:
        async with Pool(fork_server, 1) as drawers:
            with closing(new_fork_server()) as own:
                async with Pool(own, 1) as comparers:
                    depictor = Depictor(drawers, comparers)
                    svg = await depictor.draw("molecule", "CC(Cl)CO", "", 250, 250, "CCCO", "differences", align=False)
            other = await depictor.draw("molecule", "CCCO", "", 250, 250, "CC(Cl)CO", "differences")
        return [_highlighted(each) for each in (svg, other)]

    assert asyncio.run(session()) == [{"2"}, set()]


def _highlighted(svg: str) -> set[str]:
    """The atoms that are highlighted."""
    return set(re.findall(r"<ellipse [^>]*class='atom-(\d+)' [^>]*style='fill:#99D3ED", svg))


def test_what_was_drawn_is_remembered() -> None:
    """Whoever drew it is gone."""

    async def session() -> tuple[str, str]:
        with closing(new_fork_server()) as own:
            async with _depictor(own) as depictor:
                first = await depictor.draw("molecule", "CCO", "ethanol", 250, 250, "CCN", "shared")
        return first, await depictor.draw("molecule", "CCO", "ethanol", 250, 250, "CCN", "shared")

    first, again = asyncio.run(session())
    assert first == again


def test_what_two_share_is_looked_for_once(fork_server: ForkServer) -> None:
    """For pictures of any size and mark: whoever compared them is gone."""

    async def session() -> tuple[str, str]:
        async with Pool(fork_server, 1) as drawers:
            with closing(new_fork_server()) as own:
                async with Pool(own, 1) as comparers:
                    depictor = Depictor(drawers, comparers)
                    first = await depictor.draw("molecule", "CCO", "", 250, 250, "CCN", "shared")
            return first, await depictor.draw("molecule", "CCO", "", 180, 120, "CCN", "differences")

    for svg in asyncio.run(session()):
        assert "2 atoms shared with CCN" in svg
