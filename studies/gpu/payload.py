"""Payload: wheels and data for a GPU machine without network and RDKit.

payload/
  manifest.json     the commit, the wheels and their versions
  wheels.tar.xz     the wheels of CPython 3.12, unpacked
  zinc.smi.xz       ZINC250k, in its own order
  moses.smi.xz      the training and test molecules of MOSES, sorted
  tables.tar.xz     the tables of MoleculeNet and MoleculeACE
  inputs.tar.xz     what the job `step` trains on, from `inputs.py`
"""

import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from studies.gpu.setting import Setting, workers

PAYLOAD = Path(__file__).with_name("payload")
LIMIT = 50_000_000
"""Maximum size of a payload, in bytes."""

NAMED = (
    "click",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "safetensors",
    "scikit-learn",
    "scipy",
    "statsmodels",
    "tensorboard",
    "torch",
    "torch-geometric",
    "tqdm",
    "triton",
)
"""Packages that the GPU machine has, together with their dependencies."""

WHEELS = (
    "annotated-types",
    "cachetools",
    "filelock",
    "platformdirs",
    "pydantic",
    "pydantic-core",
    "rdkit",
    "typing-extensions",
    "typing-inspection",
)
"""Packages in the payload, in the versions installed here."""

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_ROOT = Path(__file__).parents[2]
_SHARED = _ROOT.parent / "shared" / "data"
_FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**26}]


def pack(folder: Path = PAYLOAD, shared: Path = _SHARED) -> int:
    """Write the payload, and return its size in bytes.

    Raises:
        SystemExit: the data are missing, or the payload is too large.
    """
    missing = [name for name in ("molecules", "moleculenet", "moleculeace") if not (shared / name).is_dir()]
    if missing:
        raise SystemExit(
            f"{shared} has no folder {', '.join(missing)}: the payload needs the data folder ../shared/data"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _pack_wheels(folder / "wheels.tar.xz")
    _compress(folder / "zinc.smi.xz", zinc(shared))
    _compress(folder / "moses.smi.xz", sorted([*moses(shared, "train"), *moses(shared, "test")]))
    with tarfile.open(folder / "tables.tar.xz", "w:xz") as tar:
        for name in ("moleculenet", "moleculeace"):
            tar.add(shared / name, name)
    _pack_inputs(folder / "inputs.tar.xz", zinc(shared))
    manifest = {"commit": commit(), "wheels": {name: version(name) for name in WHEELS}}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return _require_fitting(folder)


def _require_fitting(folder: Path) -> int:
    size = size_of(folder)
    if size > LIMIT:
        raise SystemExit(f"the payload has {size / 1e6:.1f} MB, and {LIMIT / 1e6:.0f} MB is the limit")
    return size


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def travelling() -> int:
    """Return the size in bytes of the repository's files that are sent, which are those that Git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sum(path.stat().st_size for name in names if name and (path := _ROOT / name).is_file())


def zinc(shared: Path) -> list[str]:
    with gzip.open(shared / "molecules" / "zinc250k.smiles.gz", "rt") as file:
        return [line.split()[0] for line in file]


def moses(shared: Path, part: str) -> list[str]:
    with gzip.open(shared / "molecules" / f"moses_{part}.csv.gz", "rt") as file:
        next(file)
        return [line.split(",")[0].strip() for line in file]


def unpack(setting: Setting, folder: Path = PAYLOAD) -> None:
    """Make the payload's data readable, and its wheels importable unless RDKit is installed.

    A tiny run generates its data. Both apply to this process and to its child processes.
    """
    site = setting.work.parent / "site"
    if not setting.tiny or find_spec("rdkit") is None:
        _require(folder)
    if find_spec("rdkit") is None:
        _extract(folder / "wheels.tar.xz", site)
    _describe_graphkin(site)
    sys.path.insert(0, str(site))
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join([str(site), str(_ROOT), *inherited])
    os.environ["GRAPHKIN_SHARED"] = str(setting.data)
    if (setting.data / "complete").exists():
        return
    if setting.tiny:
        from studies.gpu.tiny import write_data  # it imports RDKit

        write_data(setting)
        return
    setting.data.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "tables.tar.xz") as tar:
        tar.extractall(setting.data, filter="data")
    (setting.data / "molecules").mkdir(exist_ok=True)
    zinc_lines, moses_lines = _lines(folder / "zinc.smi.xz"), _lines(folder / "moses.smi.xz")
    with gzip.open(setting.data / "molecules" / "zinc250k.smiles.gz", "wb", 1) as file:
        file.write(zinc_lines)
    (setting.data / "zinc.smi").write_bytes(zinc_lines)
    (setting.data / "two-million.smi").write_bytes(moses_lines + zinc_lines)
    (setting.data / "complete").touch()


def commit() -> str:
    """Return the commit of this checkout or, in a copy without Git, the commit of the payload."""
    if (_ROOT / ".git").exists():
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=_ROOT, check=True, capture_output=True, text=True)
        return head.stdout.strip()
    manifest = PAYLOAD / "manifest.json"
    return str(json.loads(manifest.read_text())["commit"]) if manifest.exists() else "unknown"


def _require(folder: Path) -> None:
    if not (folder / "manifest.json").exists():
        raise SystemExit(f"there is no payload in {folder}: run `python -m studies.gpu pack` where ../shared/data lies")


def _pack_wheels(target: Path) -> None:
    pinned = [f"{name}=={version(name)}" for name in WHEELS]
    platforms = [argument for name in _PLATFORMS for argument in ("--platform", name)]
    with TemporaryDirectory() as temporary:
        wheels, site = Path(temporary, "wheels"), Path(temporary, "site")
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
                *("--python-version", "3.12", "--implementation", "cp", *platforms, "--dest", str(wheels), *pinned),
            ],
            check=True,
        )
        for wheel in sorted(wheels.glob("*.whl")):
            with ZipFile(wheel) as file:
                file.extractall(site)
        with (
            lzma.open(target, "wb", format=lzma.FORMAT_XZ, filters=_FILTERS) as compressed,
            tarfile.open(fileobj=compressed, mode="w") as tar,
        ):
            for path in sorted(site.iterdir()):
                tar.add(path, path.name)


def _pack_inputs(target: Path, smiles: list[str]) -> None:
    from studies.gpu.inputs import MOLECULES, pack_inputs
    from studies.gpu.step import samples

    pack_inputs(target, smiles[:MOLECULES], samples(), workers())


def _describe_graphkin(site: Path) -> None:
    """Write package metadata of graphkin if it is not installed, because stored data contain its version."""
    try:
        version("graphkin")
    except PackageNotFoundError:
        number = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]
        folder = site / f"graphkin-{number}.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: graphkin\nVersion: {number}\n")


def _extract(archive: Path, folder: Path) -> None:
    if folder.exists():
        return
    draft = folder.with_suffix(".partial")
    shutil.rmtree(draft, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(draft, filter="data")
    draft.rename(folder)


def _compress(path: Path, lines: list[str]) -> None:
    with lzma.open(path, "wt", preset=6) as file:
        file.writelines(f"{line}\n" for line in lines)


def _lines(path: Path) -> bytes:
    with lzma.open(path) as file:
        return file.read()
