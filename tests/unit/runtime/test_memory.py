"""The available memory is the least of what the system and the container leave."""

from pathlib import Path

import psutil
import pytest

from graphkin.runtime.memory import available_memory


def test_available_memory_is_that_of_psutil() -> None:
    assert 0 < available_memory() <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("limit", "expected"), [("max", 8 << 30), (str(3 << 30), (3 << 30) - (1 << 30) + 4096), (str(1 << 20), 0)]
)
def test_container_limits_the_memory(limit: str, expected: int, tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 16777216 kB\nMemAvailable: {8 << 20} kB\n")
    files = {"memory.max": limit, "memory.current": str(1 << 30), "memory.stat": "anon 7\ninactive_file 4096\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    assert available_memory(meminfo, tmp_path) == expected


def test_systems_without_these_files_have_half_of_their_memory(tmp_path: Path) -> None:
    assert available_memory(tmp_path / "none", tmp_path) == psutil.virtual_memory().total // 2
