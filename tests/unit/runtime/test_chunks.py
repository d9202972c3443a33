import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from graphkin.runtime.workers.chunks import ProcessEnded, map_chunks


def test_results_keep_the_order_of_the_chunks() -> None:
    chunks = [[number, -number] for number in range(20)]
    assert list(map_chunks(sorted, chunks, 2)) == [sorted(chunk) for chunk in chunks]


def test_chunks_are_read_only_a_little_ahead_of_results() -> None:
    chunks = ([number] for number in range(100))
    with closing(map_chunks(sum, chunks, 2)) as results:
        assert next(results) == 0
    assert next(chunks) == [4]


def test_crashed_process_raises_process_ended() -> None:
    with pytest.raises(ProcessEnded, match="a worker process ended, or could not be started"):
        list(map_chunks(os._exit, [1, 1], 1))


def test_error_of_the_function_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(map_chunks(int, ["a"], 1))


def test_program_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from graphkin.runtime.workers.chunks import map_chunks\n"
        "print('started', list(map_chunks(sum, [[1, 2], [3]], 2)))\n"
    )
    completed = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert (completed.stdout, completed.stderr) == ("started [3, 3]\n", "")
