"""Payload: wheels and data for a GPU machine without network and RDKit.

payload/
  manifest.json     the commit, the wheels and their versions
  wheels.tar.xz     the wheels of CPython 3.12, unpacked

and what the packed jobs need (`Job.data`):

  zinc.smi.xz       ZINC250k, in its own order
  moses.smi.xz      the training and test molecules of MOSES, sorted
  tables.tar.xz     the tables of MoleculeNet and MoleculeACE
  nodes.tar.xz      big graphs
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
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from studies.gpu.jobs import Job
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
_FOLDERS = {"tables.tar.xz": ("moleculenet", "moleculeace"), "nodes.tar.xz": ("nodes",)}
_FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**26}]


def pack(jobs: Iterable[Job], folder: Path = PAYLOAD, shared: Path = _SHARED) -> int:
    """Write what the jobs need, and return its size in bytes.

    Raises:
        SystemExit: the data are missing, or the payload is too large.
    """
    names = {name for job in jobs for name in job.data}
    folders = {each for name in names for each in _FOLDERS.get(name, ("molecules",))}
    missing = sorted(name for name in folders if not (shared / name).is_dir())
    if missing:
        raise SystemExit(
            f"{shared} has no folder {', '.join(missing)}: the payload needs the data folder ../shared/data"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _pack_wheels(folder / "wheels.tar.xz")
    for name in sorted(names):
        _pack_data(folder / name, shared)
    manifest = {"commit": commit(), "wheels": {name: version(name) for name in WHEELS}}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return _require_fitting(folder)


def _pack_data(target: Path, shared: Path) -> None:
    match target.name:
        case "zinc.smi.xz":
            _compress(target, zinc(shared))
        case "moses.smi.xz":
            _compress(target, sorted([*moses(shared, "train"), *moses(shared, "test")]))
        case "inputs.tar.xz":
            _pack_inputs(target, zinc(shared))
        case name:
            with tarfile.open(target, "w:xz") as tar:
                for folder in _FOLDERS[name]:
                    tar.add(shared / folder, folder)


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


def unpack(setting: Setting, job: Job, folder: Path = PAYLOAD) -> None:
    """Make a job's data readable, and the wheels importable unless RDKit is installed.

    A tiny run generates its data. Both apply to this process and to its child processes.

    Raises:
        SystemExit: the payload is missing, or was packed for other jobs.
    """
    site = setting.work.parent / "site"
    if not setting.tiny:
        _require(folder, job, job.data)
    elif find_spec("rdkit") is None:
        _require(folder, job, ())
    if find_spec("rdkit") is None:
        _extract(folder / "wheels.tar.xz", site)
    _describe_graphkin(site)
    sys.path.insert(0, str(site))
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join([str(site), str(_ROOT), *inherited])
    os.environ["GRAPHKIN_SHARED"] = str(setting.data)
    if not setting.tiny:
        for name in job.data:
            _unpack_data(folder / name, setting.data)
        _join_molecules(setting.data)
    elif not setting.data.exists():
        from studies.gpu.tiny import write_data  # it imports RDKit

        write_data(setting)


def _unpack_data(file: Path, data: Path) -> None:
    """Unpack one file of the payload, unless this was done before."""
    done = data / f"{file.name}.unpacked"
    if done.exists():
        return
    (data / "molecules").mkdir(parents=True, exist_ok=True)
    match file.name:
        case "zinc.smi.xz":
            lines = _lines(file)
            (data / "zinc.smi").write_bytes(lines)
            with gzip.open(data / "molecules" / "zinc250k.smiles.gz", "wb", 1) as compressed:
                compressed.write(lines)
        case "moses.smi.xz":
            (data / "moses.smi").write_bytes(_lines(file))
        case "inputs.tar.xz":
            pass  # the job `step` unpacks it
        case _:
            with tarfile.open(file) as tar:
                tar.extractall(data, filter="data")
    done.touch()


def _join_molecules(data: Path) -> None:
    """Write MOSES followed by ZINC250k, two million molecules, where both are there."""
    parts, whole = [data / "moses.smi", data / "zinc.smi"], data / "two-million.smi"
    if all(part.exists() for part in parts) and not whole.exists():
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))


def commit() -> str:
    """Return the commit of this checkout or, in a copy without Git, the commit of the payload."""
    if (_ROOT / ".git").exists():
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=_ROOT, check=True, capture_output=True, text=True)
        return head.stdout.strip()
    manifest = PAYLOAD / "manifest.json"
    return str(json.loads(manifest.read_text())["commit"]) if manifest.exists() else "unknown"


def _require(folder: Path, job: Job, names: Iterable[str]) -> None:
    missing = [name for name in ("manifest.json", *names) if not (folder / name).exists()]
    if missing:
        raise SystemExit(
            f"{folder} has no {', '.join(missing)}: "
            f"run `python -m studies.gpu pack {job.name}` where ../shared/data lies"
        )


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
