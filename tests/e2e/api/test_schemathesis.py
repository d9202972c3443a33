import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.until import until_available

NCI = "/v1/collections/nci"

CONFIGURATION = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]  # 503 asks a client to try again, while the processors are busy.
"""

EXCLUDED = "/(epochs|export|previews)"
"""The stream of an epoch may return 503 while it is sampled. Exports are slow, and a preview starts a process."""


@pytest.mark.parametrize("examples", [4, pytest.param(200, marks=pytest.mark.long)])
def test_schemathesis_finds_no_fault(client: httpx.Client, tmp_path: Path, examples: int) -> None:
    # The first request for these may return 503 while the server computes them.
    assert until_available(lambda: client.get(f"{NCI}/matched-pairs?property=molwt")).status_code == 200
    assert until_available(lambda: client.post(f"{NCI}/scaffolds", json={})).status_code == 200
    assert until_available(lambda: client.get(f"{NCI}/cliffs?property=descriptor.qed")).status_code == 200
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        str(client.base_url.join("/openapi.json")),
        "--exclude-path-regex=" + EXCLUDED,
        "--exclude-checks=positive_data_acceptance",  # The document cannot express which SMILES are valid.
        "--request-timeout=60",  # The R groups of a symmetric core take up to 20 s of a processor.
        "--seed=20210211",
        f"--max-examples={examples}",
        "--continue-on-failure",
        "--warnings=off",
        "--no-color",
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "No issues found" in run.stdout
