"""Exported fingerprints, read by RDKit and NumPy."""

import io
from collections.abc import Callable

import numpy as np
import pytest
from rdkit import Chem, DataStructs

from graphkin.export import export_fingerprints
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from tests.unit.conftest import GENERATORS

SOURCE = 'id,smiles\nethanol,CCO\n,CCN\nbenzene,c1ccccc1\nspirit,OCC\n"two\nlines",CCCO\n"a\ttab",CCCCO\nfine,CCCCO\n'
NAMES = ["ethanol", "CCN", "benzene", "CCCO", "fine"]
SMILES = ["CCO", "CCN", "c1ccccc1", "CCCO", "CCCCO"]


@pytest.fixture(scope="module")
def publish_by_fingerprint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Generation]:
    """Return a function that ingests molecules with a fingerprint and opens the generation."""
    folder = tmp_path_factory.mktemp("fingerprints")
    (folder / "molecules.csv").write_text(SOURCE)
    store = open_store(folder / "store", create=True)

    def publish(name: str) -> Generation:
        recipe = resolve(fingerprint={"name": name})
        ingest(store, name, [str(folder / "molecules.csv")], recipe, IngestOptions(workers=1))
        return store.open(name)

    return publish


def export_bytes(generation: Generation, format: str, **part: object) -> bytes:
    type = kind_of(generation).fingerprint(recipe_of(generation))
    return b"".join(export_fingerprints(generation, format, type, **part))  # type: ignore[arg-type]


def read_fps(content: bytes) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Parse as the format is documented: the header without its first line, then (hexadecimal bits, identifier)."""
    first, *lines = content.decode().splitlines()
    assert first == "#FPS1"
    header = dict(line[1:].split("=", 1) for line in lines if line.startswith("#"))
    records = [tuple(line.split("\t")) for line in lines if not line.startswith("#")]
    return header, records  # type: ignore[return-value]


@pytest.mark.parametrize("name", GENERATORS)
def test_exported_bits_equal_rdkit(publish_by_fingerprint: Callable[[str], Generation], name: str) -> None:
    with publish_by_fingerprint(name) as generation:
        header, records = read_fps(export_bytes(generation, "fps"))
        array = np.load(io.BytesIO(export_bytes(generation, "npy")), allow_pickle=False)
    expected = [GENERATORS[name](Chem.MolFromSmiles(smiles)) for smiles in SMILES]
    assert [identifier for _, identifier in records] == NAMES
    assert [bits for bits, _ in records] == [DataStructs.BitVectToFPSText(bits) for bits in expected]
    assert int(header["num_bits"]) == len(expected[0])
    assert (array.dtype, array.shape) == (np.uint8, (5, -(-len(expected[0]) // 8)))
    unpacked = np.unpackbits(array, axis=1, bitorder="little", count=len(expected[0]))
    assert [set(np.flatnonzero(row).tolist()) for row in unpacked] == [set(bits.GetOnBits()) for bits in expected]


def test_header_has_the_fingerprint_type_but_no_time(publish_by_fingerprint: Callable[[str], Generation]) -> None:
    with publish_by_fingerprint("morgan") as generation:
        header, _ = read_fps(export_bytes(generation, "fps"))
        assert export_bytes(generation, "fps") == export_bytes(generation, "fps")
        rdkit = generation.manifest.versions["rdkit"]
    assert header == {
        "num_bits": "2048",
        "type": "RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=0 useChirality=0 useBondTypes=1",
        "software": f"rdkit/{rdkit} graphkin",
    }


def test_export_selects_a_range_or_ids(publish_by_fingerprint: Callable[[str], Generation]) -> None:
    with publish_by_fingerprint("maccs") as generation:
        _, all_records = read_fps(export_bytes(generation, "fps"))
        assert read_fps(export_bytes(generation, "fps", start=1, stop=3))[1] == all_records[1:3]
        assert read_fps(export_bytes(generation, "fps", ids=np.array([3, 0, 3], np.int32)))[1] == [
            all_records[i] for i in (3, 0, 3)
        ]
        assert np.load(io.BytesIO(export_bytes(generation, "npy", stop=0))).shape == (0, 21)
        with pytest.raises(NotFound):
            export_bytes(generation, "fps", ids=np.array([5], np.int32))
        with pytest.raises(InvalidInput):
            export_bytes(generation, "npy", start=3, stop=9)
        with pytest.raises(InvalidInput, match="this format"):
            export_bytes(generation, "csv")
