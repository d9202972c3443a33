"""Jobs that are stopped while they publish. Their state says whether the generation exists."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphkin.api.jobs import Jobs
from graphkin.api.settings import Settings
from graphkin.protocol.uploads import CollectionForm
from graphkin.store import open_store

ID = "4f1c2a9be07d3358"
PROGRAM = """
import os, signal, sys
from pathlib import Path
from graphkin.ingest.job import main
from graphkin.store.embedded.catalog import Catalog

folder, moment, signal_name = sys.argv[1:]
publish = Catalog.publish

def publish_and_stop(*arguments):
    if moment == "after":
        publish(*arguments)
    os.kill(os.getpid(), getattr(signal, signal_name))
    if moment == "before":
        publish(*arguments)

Catalog.publish = publish_and_stop
main(Path(folder))
"""
"""Runs a job, and sends it a signal before or after the transaction that publishes the generation."""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGKILL"])
def test_job_stopped_while_publishing_says_whether_its_generation_exists(
    tmp_path: Path, moment: str, signal_name: str
) -> None:
    settings = Settings(store=tmp_path / "store", cache_dir=tmp_path / "cache")
    jobs = Jobs(settings)
    with jobs.slot():
        [root] = (tmp_path / "cache" / "jobs").iterdir()
    folder = root / ID
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "mine.csv").write_text("smiles\nCCO\nCCN\n")
    form = CollectionForm(file=None, name="mine")
    request: dict[str, Any] = {
        "command": "ingest",
        "collection": "mine",
        "source": "mine.csv",
        "started_at": "2026-11-27T08:00:00+00:00",
        "store": str(tmp_path / "store"),
        "memory": settings.job_bytes,
        "arguments": form.model_dump(mode="json", exclude={"file", "name"}),
    }
    (folder / "request.json").write_text(json.dumps(request))
    (folder / "canceled").touch()
    command = [sys.executable, "-c", PROGRAM, str(folder), moment, signal_name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder / "files", start_new_session=True) as process:
        process.wait(60)
    job = jobs.get(ID)
    with open_store(tmp_path / "store") as store:
        published = [entry.current for entry in store.collections()]
    if signal_name == "SIGTERM":
        assert (job.state, published) == ("done", [job.generation])
    else:
        assert (job.state, len(published)) == ("failed", moment == "after")
        assert job.error is not None
        assert "while it published" in job.error.detail
