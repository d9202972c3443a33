"""`graphkin compare` that is interrupted or runs out of disk space leaves nothing."""

import errno
import signal

import pytest


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ({"kind": "write", "at": 3, "action": signal.SIGINT}, 130, "interrupted"),
        ({"kind": "write", "at": 2, "action": -errno.ENOSPC}, 2, "cannot write the folder: No space left on device"),
    ],
    ids=["interrupted", "full"],
)
def test_failed_comparison_leaves_nothing(fault, code, message, graphkin, saboteur, tmp_path):
    sets = [tmp_path / "a.smi", tmp_path / "b.smi"]
    for path in sets:
        path.write_text("CCO ethanol\nCCN amine\n")
    folder = tmp_path / "reports"
    folder.mkdir()
    plan = saboteur.plan(folder, **fault)
    process = graphkin.run("compare", *sets, "--output", folder / "out", plan=plan)
    assert (process.returncode, process.stdout) == (code, "")
    assert message in process.stderr
    assert "Traceback" not in process.stderr
    assert len(plan.operations()) > 1
    assert not [*folder.iterdir()]
