import subprocess
import sys
from pathlib import Path

import httpx
import pytest

LEFT_OUT = "/(epochs|export)"  # the stream that is rightly 503 while it is drawn, and exports


@pytest.mark.parametrize("examples", [4, pytest.param(200, marks=pytest.mark.long)])
def test_no_request_that_schemathesis_makes_up_finds_a_fault(
    client: httpx.Client, tmp_path: Path, examples: int
) -> None:
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        str(client.base_url.join("/openapi.json")),
        "--exclude-path-regex=" + LEFT_OUT,
        "--exclude-checks=positive_data_acceptance",  # a bad SMILES is rightly refused
        "--seed=20210211",
        f"--max-examples={examples}",
        "--continue-on-failure",
        "--warnings=off",
        "--no-color",
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "No issues found" in run.stdout
