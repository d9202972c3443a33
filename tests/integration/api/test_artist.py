import asyncio

import pytest
from rdkit import Chem

from graphkin.api.drawing.artist import Artist
from graphkin.api.drawing.molecule import shared_atoms
from graphkin.api.work.nursery import Nursery
from graphkin.api.work.pool import Pool
from graphkin.protocol.errors import InvalidInput

PEPTIDE = Chem.MolToSmiles(Chem.MolFromSequence("ACDEFGHIKLMNPQRSTVWY" * 5))  # takes seconds to draw


def test_a_drawing_that_takes_too_long_costs_its_process_only(nursery: Nursery) -> None:
    async def session() -> str:
        async with Pool(nursery, 2) as drawers:
            artist = Artist(drawers, patience=0.5)
            for _ in range(3):  # more often than there are processes
                with pytest.raises(InvalidInput, match="takes more than"):
                    await artist.draw("molecule", PEPTIDE, "", 250, 250)
            return await artist.draw("molecule", "CCO", "ethanol", 250, 250)

    assert "<title>ethanol</title>" in asyncio.run(session())


def test_what_rdkit_cannot_read_costs_nothing(nursery: Nursery) -> None:
    async def session() -> str:
        async with Pool(nursery, 2) as drawers:
            artist = Artist(drawers)
            with pytest.raises(InvalidInput, match="cannot read back"):
                await artist.draw("molecule", "C(", "", 250, 250)
            return await artist.draw("molecule", "CCO", "ethanol", 250, 250)

    assert "<title>ethanol</title>" in asyncio.run(session())


def test_many_drawings_at_once_are_all_right(nursery: Nursery) -> None:
    async def session() -> list[str]:
        async with Pool(nursery, 2) as drawers:
            artist = Artist(drawers)
            return await asyncio.gather(*(artist.draw("molecule", "C" * n, str(n), 250, 250) for n in range(2, 30)))

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
    found, complete = shared_atoms(smiles, other, seconds=2)
    assert set(found) == atoms
    assert complete is True
