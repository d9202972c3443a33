"""Imports on machines that lack packages or system libraries."""

import subprocess
import sys

FORBIDDEN = ["httpx", "pyarrow", "tenacity", "rdkit", "filelock", "platformdirs", "pydantic", "torch"]


def test_offline_folder_only_needs_numpy() -> None:
    block = f"import sys; sys.modules.update(dict.fromkeys({FORBIDDEN}))"
    script = f"{block}; from graphkin.trainer.feed import offline, source"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_client_needs_no_torch_and_no_rdkit() -> None:
    block = "import sys; sys.modules.update(dict.fromkeys(['torch', 'rdkit']))"
    script = f"{block}; import graphkin.client; from graphkin.trainer.feed import online"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_training_from_a_store_needs_no_httpx() -> None:
    script = "import sys; sys.modules['httpx'] = None; import graphkin.library.training"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_library_needs_no_drawings() -> None:
    script = "import sys; sys.modules['rdkit.Chem.Draw'] = None; import graphkin; graphkin.ingest(['CCO'])"
    subprocess.run([sys.executable, "-c", script], check=True)
