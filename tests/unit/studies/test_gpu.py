"""Jobs for a GPU: files to send, files that return, and the remaining work."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from graphkin.trainer.pretraining.checkpoint import Checkpoint, Run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from studies.gpu import nodes, payload, readme
from studies.gpu.__main__ import gpu
from studies.gpu.collect import collect
from studies.gpu.jobs import JOBS
from studies.gpu.metrics import thin_metrics
from studies.gpu.results import read_results, write_results
from studies.gpu.returned import CELLS, PART, archive, export, restore
from studies.gpu.setting import Piece, Setting, select
from studies.gpu.training import read_encoder, save_encoder

STAMP = {"card": "NVIDIA H100", "date": "2026-11-26", "command": "python -m studies.gpu run dose", "commit": "c"}
SMALL = Model(layers=2, width=16)


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path / "work", "cpu", 1, 0)


def write_metrics(path: Path, steps: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"step": step, "loss": 1 / step}) + "\n" for step in range(1, steps + 1)))


def write_run(setting: Setting, unit: str, steps: int, size: int) -> Mapping[str, torch.Tensor]:
    """Write an unfinished run whose checkpoint has about `size` bytes."""
    options = {"config": PretrainConfig.from_strategy("hgc-fo").as_json(), "generation": {"id": "g"}}
    run = Run(setting.run("dose", unit), options, resume=True)
    write_metrics(run.metrics, steps)
    tensors = {"weight": torch.rand(size // 8, generator=torch.Generator().manual_seed(steps))}
    run.save(Checkpoint(steps, 100, run.metrics.stat().st_size, tensors, tensors))
    return tensors


def write_cell(setting: Setting, unit: str, **values: object) -> None:
    path = setting.cell("dose", unit, "train")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**STAMP, **values}))


def test_page_equals_the_list_of_jobs() -> None:
    assert readme.PAGE.read_text(encoding="utf-8") == readme.page()
    assert CliRunner().invoke(gpu, ["list"]).output in readme.page()


def test_list_shows_card_and_date_of_a_job(tmp_path: Path) -> None:
    write_results("join", {("0.5", "join"): dict(STAMP), ("0.6", "join"): dict(STAMP)}, tmp_path)
    result = readme.state(JOBS["join"], tmp_path)
    assert (result.done, result.of, result.cards, result.date) == (2, 6, ["NVIDIA H100"], "2026-11-26")
    assert "| 2 of 6 | NVIDIA H100 | 2026-11-26 |" in readme.table(tmp_path)


def test_unknown_job_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(gpu, ["run", "steps", "--output", str(tmp_path)])
    assert result.exit_code == 2
    assert "'steps' is no job: give plan1, nodes, step, join, ten-million, dose, finetune" in result.output


def test_pieces_are_selected_by_unit_and_part() -> None:
    train, scores, other = Piece("a", ("train",)), Piece("a", ("bbbp", "bace")), Piece("b", ("bbbp",))
    pieces = [train, scores, other]
    assert select(pieces, (), ()) == pieces
    assert select(pieces, ("a",), ()) == [train, scores]
    assert select(pieces, (), ("bbbp",)) == [scores._replace(parts=("bbbp",)), other]
    assert select(pieces, ("b",), ("train",)) == []


def test_metrics_are_thinned_by_step(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_metrics(path, 1500)
    steps = [json.loads(line)["step"] for line in thin_metrics(path, 1500)]
    assert steps == [*range(8, 1500, 8), 1500]


def test_thinned_metrics_thin_to_the_same(tmp_path: Path) -> None:
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other.jsonl"
    write_metrics(path, 1500)
    lines = path.read_text().splitlines()
    other.write_text("\n".join([*thin_metrics(path, 700), *lines[700:]]) + "\n")
    assert thin_metrics(other, 1500) == thin_metrics(path, 1500)


def test_metrics_of_long_runs_are_thinned_to_equal_intervals(tmp_path: Path) -> None:
    """After 10,000 steps, metrics.jsonl has the steps 10,001, 10,051, ... alone."""
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other.jsonl"
    write_metrics(path, 40_000)
    lines = path.read_text().splitlines()
    lines = lines[:10_000] + lines[10_000::50] + lines[-1:]
    path.write_text("\n".join(lines) + "\n")
    steps = [json.loads(line)["step"] for line in thin_metrics(path, 40_000)]
    assert steps[:3] == [256, 512, 768]
    assert all(0 <= step % 256 < 50 for step in steps[:-1])
    assert [step // 256 for step in steps[:-1]] == list(range(1, 40_000 // 256 + 1))
    assert steps[-1] == 40_000
    other.write_text("\n".join([*thin_metrics(path, 20_001), *lines[10_000 + 201 :]]) + "\n")
    assert thin_metrics(other, 40_000) == thin_metrics(path, 40_000)


def test_unfinished_run_returns_in_parts_and_continues(setting: Setting, tmp_path: Path) -> None:
    tensors = write_run(setting, "exact-0", 300, 22_000_000)
    output = tmp_path / "output"
    export("dose", setting, output, tmp_path)
    parts = archive(output)
    assert len(parts) == 2
    assert all(part.stat().st_size <= PART for part in parts)
    elsewhere = replace(setting, work=tmp_path / "elsewhere")
    restore("dose", elsewhere, output, tmp_path)
    options = {"config": PretrainConfig.from_strategy("hgc-fo").as_json(), "generation": {"id": "g"}}
    run = Run(elsewhere.run("dose", "exact-0"), options, resume=True)
    result = run.newest()
    assert result is not None
    assert result.steps == 300
    assert torch.equal(result.model["weight"], tensors["weight"])
    assert result.metrics_bytes == run.metrics.stat().st_size


def test_most_advanced_runs_fill_the_available_size(setting: Setting, tmp_path: Path) -> None:
    for steps in (100, 300, 200, 50):
        write_run(setting, f"run-{steps}", steps, 24_000_000)
    output = tmp_path / "output"
    export("dose", setting, output, tmp_path)
    files = [*output.iterdir()]
    assert len(files) <= 8
    assert sum(file.stat().st_size for file in files) <= 64 * 2**20
    elsewhere = replace(setting, work=tmp_path / "elsewhere")
    restore("dose", elsewhere, output, tmp_path)
    assert {path.name for path in elsewhere.run("dose", "").iterdir()} == {"run-300", "run-200"}


def test_newer_archive_replaces_the_older(setting: Setting, tmp_path: Path) -> None:
    output = tmp_path / "output"
    for steps in (100, 200):
        write_run(setting, "exact-0", steps, 1000)
        export("dose", setting, output, tmp_path)
        export("dose", setting, output, tmp_path)
    assert [path.name for path in output.glob("checkpoints-*")] == ["checkpoints-000002.0-of-1"]


def test_archive_with_a_missing_part_is_skipped(tmp_path: Path) -> None:
    for name in ("checkpoints-000001.0-of-1", "checkpoints-000002.0-of-2"):
        (tmp_path / name).touch()
    assert [path.name for path in archive(tmp_path)] == ["checkpoints-000001.0-of-1"]


def test_encoders_return_four_per_file_in_float16(setting: Setting, tmp_path: Path) -> None:
    torch.manual_seed(0)
    encoders = {f"arm-{number}": make_encoder(SMALL) for number in range(5)}
    for unit, encoder in encoders.items():
        save_encoder(setting.encoder("dose", unit), encoder)
    output = tmp_path / "output"
    export("dose", setting, output, tmp_path)
    names = sorted(path.name for path in output.glob("*.safetensors"))
    assert names == ["arm-0__arm-1__arm-2__arm-3.safetensors", "arm-4.safetensors"]
    elsewhere = replace(setting, work=tmp_path / "elsewhere")
    restore("dose", elsewhere, output, tmp_path)
    for unit, encoder in encoders.items():
        result = read_encoder(
            elsewhere.encoder("dose", unit), PretrainConfig.from_strategy("hgc-fo", model=SMALL).as_json()["model"]
        )
        for name, value in encoder.state_dict().items():
            assert torch.equal(result.state_dict()[name], value.half().to(value.dtype))


def test_collect_merges_two_runs(setting: Setting, tmp_path: Path) -> None:
    results = tmp_path / "results"
    write_cell(setting, "exact-0", loss=[[1, 0.5]])
    write_run(setting, "window-0", 100, 1000)
    export("dose", setting, tmp_path / "first", results)
    assert collect(tmp_path / "first", results) == "dose"
    other = replace(setting, work=tmp_path / "other")
    restore("dose", other, tmp_path / "second", results)
    assert other.run("dose", "window-0").is_dir()
    write_cell(other, "window-0", loss=[[1, 0.25]])
    save_encoder(other.encoder("dose", "window-0"), make_encoder(SMALL))
    export("dose", other, tmp_path / "second", results)
    collect(tmp_path / "second", results)
    assert {unit: cell["loss"] for (unit, _), cell in read_results("dose", results).items()} == {
        "exact-0": [[1, 0.5]],
        "window-0": [[1, 0.25]],
    }
    assert archive(results / "dose") == []
    assert readme.state(JOBS["dose"], results).done == 2


def test_collect_writes_the_cells_of_the_second_plan(tmp_path: Path) -> None:
    unit = {"arm": "exact", "seed": 1, "dose": "middle", "set": "bace", "split": 2, "epochs": 100}
    cell = {**STAMP, **unit, "learning_rate": 1e-3, "dropout": 0.5, "test": [0.75], "valid": [0.5]}
    (tmp_path / "returned").mkdir()
    line = json.dumps({"job": "finetune", "unit": "bace-1", "part": "exact-1-split-2", **cell})
    (tmp_path / "returned" / CELLS).write_text(f"{line}\n")
    assert collect(tmp_path / "returned", tmp_path / "results") == "finetune"
    folder = tmp_path / "results" / "evidence" / "middle" / "finetuned" / "100-epochs" / "lr-0.001-dropout-0.5"
    assert json.loads((folder / "exact-1" / "bace-2.json").read_text()) == {**cell, "device": STAMP["card"]}


@pytest.mark.parametrize(("command", "problem"), [("run dose --tiny", "a tiny run"), (None, "no results of one job")])
def test_collect_refuses_folders_without_measurements(tmp_path: Path, command: str | None, problem: str) -> None:
    if command is not None:
        cell = {"job": "dose", "unit": "exact-0", "part": "train", "command": command}
        (tmp_path / CELLS).write_text(json.dumps(cell) + "\n")
    with pytest.raises(SystemExit, match=problem):
        collect(tmp_path, tmp_path / "results")


def test_pack_names_missing_files(tmp_path: Path) -> None:
    (tmp_path / "molecules").mkdir()
    with pytest.raises(SystemExit, match="no folder moleculeace, moleculenet:"):
        payload.pack([JOBS["plan1"]], tmp_path / "payload", tmp_path)


def test_payload_is_packed_and_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    for name in ("molecules", "moleculenet", "moleculeace", "nodes"):
        (shared / name).mkdir(parents=True)
    (shared / "moleculenet" / "BBBP.csv").write_text("smiles\nCC\n")
    (shared / "nodes" / "usa-airports.edgelist").write_text("0 1\n")
    with gzip.open(shared / "molecules" / "zinc250k.smiles.gz", "wt") as file:
        file.write("CCO\nCCN\n")
    for part, smiles in (("train", "CCC\nCC"), ("test", "C")):
        with gzip.open(shared / "molecules" / f"moses_{part}.csv.gz", "wt") as file:
            file.write(f"SMILES\n{smiles}\n")
    monkeypatch.setattr(payload, "_pack_wheels", lambda path: path.touch())
    monkeypatch.setattr(payload, "_pack_inputs", lambda path, _: path.touch())
    assert 0 < payload.pack(JOBS.values(), tmp_path / "payload", shared) < 10_000
    for name in ("PYTHONPATH", "GRAPHKIN_SHARED"):
        monkeypatch.setenv(name, "")
    monkeypatch.syspath_prepend(str(tmp_path))
    setting = Setting(tmp_path / "work" / "full", "cpu", 1, 0)
    for job in JOBS.values():
        payload.unpack(setting, job, tmp_path / "payload")
    assert (setting.data / "two-million.smi").read_text().split() == ["C", "CC", "CCC", "CCO", "CCN"]
    assert (setting.data / "zinc.smi").read_text().split() == ["CCO", "CCN"]
    assert (setting.data / "moleculenet" / "BBBP.csv").read_text() == "smiles\nCC\n"
    assert (setting.data / "nodes" / "usa-airports.edgelist").read_text() == "0 1\n"
    with gzip.open(setting.data / "molecules" / "zinc250k.smiles.gz", "rt") as file:
        assert file.read().split() == ["CCO", "CCN"]


def test_payload_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "LIMIT", 10)
    (tmp_path / "wheels.tar.xz").write_bytes(bytes(11))
    with pytest.raises(SystemExit, match="the payload has"):
        payload._require_fitting(tmp_path)


@pytest.mark.parametrize("files", [[], ["manifest.json", "zinc.smi.xz"]])
def test_full_run_needs_the_payload_of_its_job(setting: Setting, tmp_path: Path, files: list[str]) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(SystemExit, match=r"run `python -m studies\.gpu pack plan1`"):
        payload.unpack(setting, JOBS["plan1"], tmp_path)


def test_node_reports_show_complete_tables_only() -> None:
    setting = Setting(Path(), "cuda", 1, 0)
    times = {"seconds": 60.0, "processor_seconds": 60.0}
    sizes = {"name": "usa-airports", "nodes": 1190, "classes": 4, "edges": 13599, "links": 1}
    cells = {
        (piece.unit, part): {**times, **sizes, "pretraining": times, "scores": [0.5] * 9 + [0.6], "accuracy": 0.7}
        for piece in nodes.pieces(setting)
        for part in piece.parts
        if "github" not in piece.unit and (piece.unit, part) != ("usa-airports-gin-gcc-0", "fold-3")
    }
    titles = [text.splitlines()[0] for text in nodes.reports(cells)]
    assert titles == [f"## usa-airports, {model}" for model in ("gin", "gin-gcc", "gin", "gin-gcc")]
    without_fold, complete, *_ = nodes.reports(cells)
    assert "| frozen | HGC(HO) | 0.5100" in without_fold
    assert "fine-tuned" not in without_fold
    assert "| fine-tuned | HGC(HO) | 0.7000" in complete
