"""The training loop on small graphs: it learns, and a continued run equals an uninterrupted one."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.memory import MemorySource
from graphkin.protocol.errors import Conflict, Damaged, InvalidInput
from graphkin.trainer.errors import Diverged
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.checkpoint import Run, newest_checkpoint, read_model
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import Model, Optimization, PretrainConfig
from graphkin.trainer.pretraining.loggers import LoggerName
from graphkin.trainer.pretraining.metrics_log import Report
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.pretraining.pretrained import Pretrained, encoder_checkpoint, load_encoder
from graphkin.trainer.strategy import ENCODERS, LEARNED_BY, Encoder

SIZE = 24


def source_of(config: PretrainConfig, corpus: Corpus, epochs: int = 3) -> MemorySource:
    """Return a source in which items are similar to the items with the next numbers. The last one is isolated."""
    random = np.random.default_rng(1)
    epochs_of_source = []
    for _ in range(epochs):
        positives = (
            np.arange(SIZE)[:, None]
            + random.integers(1, 4, (SIZE, config.draws.policy.k if config.draws.policy else 0))
        ) % SIZE
        positives[-1] = -1
        negatives = [random.choice(SIZE, config.draws.negatives, replace=False) for _ in range(6)]
        epochs_of_source.append(Epoch(positives.astype(np.int32), np.array(negatives, np.int32)))
    ring = np.stack([np.arange(SIZE - 1), np.arange(1, SIZE)], axis=1)
    chords = np.stack([np.arange(SIZE - 5), np.arange(5, SIZE)], axis=1)
    return MemorySource(corpus, config.draws, epochs_of_source, links=np.concatenate([ring, chords]).astype(np.int32))


def small(strategy: str, **options: Any) -> PretrainConfig:
    model = replace(Model.from_kind(options.get("kind", "molecule")), layers=2, width=8, dropout=0.2)
    config = PretrainConfig.from_strategy(strategy, model=model, batch_size=6, seed=11, **options)  # type: ignore[arg-type]
    return replace(config, draws=replace(config.draws, negatives=min(config.draws.negatives, 5)))


@pytest.fixture(scope="module")
def corpus(random_corpus: Callable[..., Corpus]) -> Corpus:
    all_graphs = random_corpus(np.random.default_rng(0).integers(3, 12, size=SIZE).tolist())
    return all_graphs.around(all_graphs.atoms // 2, laplacian_eigenvectors(all_graphs))


def metrics(folder: Path) -> list[dict[str, float]]:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in record.items() if name != "wait_share"} for record in records]


class StopRun(Exception):
    """Ends a run at this point."""


class InterruptedSource(MemorySource):
    """Raises an error at the third epoch."""

    def epoch(self, epoch: int) -> Epoch:
        if epoch == 2:
            raise StopRun
        return super().epoch(epoch)


@pytest.mark.parametrize(
    ("kind", "strategy"), [(kind, strategy) for kind in ("molecule", "node") for strategy in LEARNED_BY[kind]]
)
def test_continued_run_equals_an_uninterrupted_one(tmp_path: Path, corpus: Corpus, kind: str, strategy: str) -> None:
    """Weights, optimizer and metrics are equal bit by bit. 23 or 24 anchors make 4 steps per epoch, and the run stops
    after step 8.
    """
    config = small(strategy, kind=kind, max_steps=11, queue=10 if kind == "node" else None)
    pretrain(config, source_of(config, corpus), tmp_path / "whole", checkpoint_steps=100)
    source = source_of(config, corpus)
    links = source.links()
    interrupted_source = InterruptedSource(
        corpus, config.draws, [source.epoch(epoch) for epoch in range(3)], links=links
    )
    with pytest.raises(StopRun):
        pretrain(config, interrupted_source, tmp_path / "parts", checkpoint_steps=3)
    assert [each.name for each in (tmp_path / "parts").glob("step-*")] == ["step-000000006"]
    pretrain(config, source, tmp_path / "parts", resume=True, checkpoint_steps=3)
    for name in ("model.safetensors", "optimizer.safetensors"):
        whole, parts = (tmp_path / run / "step-000000011" / name for run in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()
    assert metrics(tmp_path / "whole") == metrics(tmp_path / "parts")
    assert [record["step"] for record in metrics(tmp_path / "whole")] == list(range(1, 12))


def start_of(folder: Path, config: PretrainConfig) -> Pretrained:
    """Return an encoder like that of the options, with other weights, from a run in `folder`."""
    torch.manual_seed(5)
    run = Run(folder, {"config": None, "model": asdict(config.model)}, resume=False)
    run.save(encoder_checkpoint(make_encoder(config.model), 0, 1))
    return load_encoder(folder)


@pytest.mark.parametrize(("kind", "encoders"), [("molecule", {"encoder"}), ("node", {"encoder", "key_encoder"})])
def test_run_starts_from_the_weights_of_a_checkpoint(
    tmp_path: Path, corpus: Corpus, kind: str, encoders: set[str]
) -> None:
    """The learning rate of the first step is 0, so only running statistics change."""
    config = small("hgc-fo", kind=kind, max_steps=1, queue=10 if kind == "node" else None)
    start = start_of(tmp_path / "start", config)
    pretrain(config, source_of(config, corpus), tmp_path / "run", start=start)
    weights, parameters = read_model(tmp_path / "run"), dict(start.encoder.named_parameters())
    assert {name.split(".")[0] for name in weights if "encoder" in name} == encoders
    assert all(torch.equal(weights[f"{each}.{name}"], value) for each in encoders for name, value in parameters.items())


def test_run_that_starts_from_a_checkpoint_continues_as_if_uninterrupted(tmp_path: Path, corpus: Corpus) -> None:
    config = small("hgc-fo", max_steps=11)
    start = start_of(tmp_path / "start", config)
    source = source_of(config, corpus)
    pretrain(config, source, tmp_path / "whole", start=start)
    with pytest.raises(StopRun):
        pretrain(config, source, tmp_path / "parts", checkpoint_steps=6, report=stop_after(6), start=start)
    with pytest.raises(InvalidInput, match=r"other options: start\.weights"):
        pretrain(config, source, tmp_path / "parts", resume=True)
    pretrain(config, source, tmp_path / "parts", resume=True, start=start)
    model = Path("step-000000011", "model.safetensors")
    assert (tmp_path / "whole" / model).read_bytes() == (tmp_path / "parts" / model).read_bytes()


def test_start_with_another_architecture_is_refused(tmp_path: Path, corpus: Corpus) -> None:
    config = small("hgc-fo", max_steps=1)
    wider = replace(config, model=replace(config.model, width=16, dropout=0.0))
    with pytest.raises(InvalidInput, match="differs from the one to train") as refused:
        pretrain(config, source_of(config, corpus), tmp_path / "run", start=start_of(tmp_path / "start", wider))
    assert (refused.value.given, refused.value.expected) == ("width 16", "width 8")


def test_loss_decreases_and_rate_follows_the_schedule(tmp_path: Path, corpus: Corpus) -> None:
    config = replace(small("hgc-fo", epochs=30), model=Model(layers=2, width=32))
    pretrain(config, source_of(config, corpus), tmp_path)
    records = metrics(tmp_path)
    assert len(records) == 120
    rates = [record["lr"] for record in records]
    assert (rates[0], rates[12], rates[-1]) == (0, 1e-3, 0)
    losses = [record["loss"] for record in records]
    assert np.mean(losses[-12:]) < 0.6 * np.mean(losses[:12])


def test_masked_training_reduces_the_loss(tmp_path: Path, corpus: Corpus) -> None:
    """The masked value can be predicted, because the type of each atom is its degree."""
    predictable = Corpus(**{**vars(corpus), "atom_type": corpus.degree.astype(np.uint8)})
    config = replace(small("rdm", epochs=30), model=Model(layers=2, width=32))
    pretrain(config, source_of(config, predictable), tmp_path)
    losses = [record["loss"] for record in metrics(tmp_path)]
    assert np.mean(losses[-12:]) < 0.5 * np.mean(losses[:12])


@pytest.mark.parametrize("encoder", ENCODERS)
def test_bf16_changes_losses_only_slightly(tmp_path: Path, corpus: Corpus, encoder: Encoder) -> None:
    config = replace(small("hgc-adam-fo", max_steps=1), model=Model(encoder, layers=2, width=8))
    for name, each in [("full", config), ("half", replace(config, bf16=True))]:
        pretrain(each, source_of(each, corpus), tmp_path / name)
    (full,), (half,) = metrics(tmp_path / "full"), metrics(tmp_path / "half")
    assert full["loss"] != half["loss"]
    assert half["masking"] == pytest.approx(full["masking"], rel=0.05)
    assert half["hgc"] == pytest.approx(full["hgc"], rel=0.15)
    assert all(value.dtype != torch.bfloat16 for value in read_model(tmp_path / "half").values())


def test_no_unused_epoch_is_requested(tmp_path: Path, corpus: Corpus) -> None:
    """An offline folder has no epoch after the last."""
    config = small("hgc-fo", epochs=2)
    source = source_of(config, corpus)
    pretrain(config, InterruptedSource(corpus, config.draws, [source.epoch(epoch) for epoch in range(2)]), tmp_path)
    assert len(metrics(tmp_path)) == 8


def test_finished_run_is_not_changed(tmp_path: Path, corpus: Corpus) -> None:
    config = small("rdm", max_steps=3)
    pretrain(config, source_of(config, corpus), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    pretrain(config, source_of(config, corpus), tmp_path, resume=True)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_non_finite_loss_stops_and_keeps_the_last_checkpoint(tmp_path: Path, corpus: Corpus) -> None:
    config = small("hgc-fo", max_steps=60)
    config = replace(config, optimization=Optimization(learning_rate=1e30, schedule="constant", clip=None))
    with pytest.raises(Diverged, match="not finite"):
        pretrain(config, source_of(config, corpus), tmp_path, checkpoint_steps=1)
    assert all(np.isfinite(record["loss"]) for record in metrics(tmp_path))
    assert read_model(tmp_path)


def test_damaged_checkpoints_and_graphs_without_atoms_are_refused(tmp_path: Path, corpus: Corpus) -> None:
    config = small("rdm", max_steps=2)
    pretrain(config, source_of(config, corpus), tmp_path / "run")
    model = tmp_path / "run" / "step-000000002" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-4])
    with pytest.raises(Damaged):
        pretrain(config, source_of(config, corpus), tmp_path / "run", resume=True)
    shapes = Corpus(**{**vars(corpus), "atom_type": np.full_like(corpus.atom_type, 119)})
    with pytest.raises(Conflict, match="no labels that could be masked"):
        pretrain(config, source_of(config, shapes), tmp_path / "other")


class RecordingSource(MemorySource):
    """Records the requests in order. Items 2 and 5 are twins and have an edge, and so do 2 and 9."""

    def __init__(self, source: MemorySource) -> None:
        super().__init__(source.corpus(), source.draws, [source.epoch(epoch) for epoch in range(3)])
        self.requests: list[object] = []

    def prefetch(self, epoch: int) -> None:
        self.requests.append(("prefetch", epoch))

    def require(self, last: int) -> None:
        self.requests.append(("require", last))

    def corpus(self) -> Corpus:
        self.requests.append("corpus")
        return super().corpus()

    def twins(self) -> NDArray[np.int32]:
        self.requests.append("twins")
        return np.array([[2, 5]], np.int32)

    def edges(self) -> NDArray[np.int32]:
        self.requests.append("edges")
        return np.array([[2, 5], [2, 9]], np.int32)

    def epoch(self, epoch: int) -> Epoch:
        self.requests.append(epoch)
        return super().epoch(epoch)


def test_ids_are_fetched_while_features_are_computed(tmp_path: Path, corpus: Corpus) -> None:
    """A continued run starts with its current epoch, and a finished run requests nothing."""
    config = small("hgc-fo", epochs=1, max_steps=9, mask_neighbors=True)  # Four steps per epoch.
    source = RecordingSource(source_of(config, corpus))
    with pytest.raises(StopRun):
        pretrain(config, source, tmp_path, checkpoint_steps=6, report=stop_after(6))
    first_requests = [("prefetch", 0), "corpus", "twins", "edges"]
    assert source.requests == [*first_requests, 0, ("require", 2), 1, ("require", 2), 2, ("require", 2)]
    source.requests.clear()
    pretrain(config, source, tmp_path, resume=True)
    assert source.requests == [("prefetch", 1), *first_requests[1:], 1, ("require", 2), 2, ("require", 2)]
    source.requests.clear()
    pretrain(config, source, tmp_path, resume=True)
    assert source.requests == []
    alone = small("rdm", max_steps=1)
    source = RecordingSource(source_of(alone, corpus))
    pretrain(alone, source, tmp_path / "alone")
    assert source.requests == [("prefetch", 0), "corpus", 0, ("require", 0)]


def stop_after(step: int) -> Callable[[Report], None]:
    """Stop right after the checkpoint of this step. A step is reported before its checkpoint is written."""

    def report(progress: Report) -> None:
        if progress.records[-1]["step"] > step:
            raise StopRun

    return report


def test_twins_and_neighbors_are_no_negatives(tmp_path: Path, corpus: Corpus) -> None:
    config = replace(small("hgc-fo", max_steps=4), model=Model(layers=2, width=8))
    plain_source = source_of(config, corpus)
    masking_config = replace(config, contrast=replace(config.contrast, mask_neighbors=True))  # type: ignore[type-var]
    runs = {
        "plain": (config, plain_source),
        "twins": (config, RecordingSource(plain_source)),
        "edges": (masking_config, RecordingSource(plain_source)),
    }
    for name, (each, source) in runs.items():
        pretrain(each, source, tmp_path / name)
    # The first losses, from equal weights.
    losses = {name: sum(record["loss"] for record in metrics(tmp_path / name)[:2]) for name in runs}
    assert losses["plain"] > losses["twins"] > losses["edges"]
    with pytest.raises(InvalidInput, match="edges"):
        pretrain(masking_config, plain_source, tmp_path / "unknown")


def test_alignment_and_uniformity_are_measured_at_intervals(tmp_path: Path, corpus: Corpus) -> None:
    config = small("hgc-ho", max_steps=110)
    pretrain(config, source_of(config, corpus), tmp_path / "contrast")
    records = metrics(tmp_path / "contrast")
    measured_steps = [record["step"] for record in records if "alignment" in record]
    assert measured_steps == [1, 51, 101, 110]
    assert all(("uniformity" in record) == (record["step"] in measured_steps) for record in records)
    masking = small("rdm", max_steps=2)
    pretrain(masking, source_of(masking, corpus), tmp_path / "masking")
    assert metrics(tmp_path / "masking")[0].keys() == {"step", "masking", "loss", "lr"}


def test_tensorboard_has_every_step_once_after_a_stop(tmp_path: Path, corpus: Corpus) -> None:
    config = small("hgc-adam-fo", max_steps=160)
    source = source_of(config, corpus)
    with pytest.raises(StopRun):
        pretrain(config, source, tmp_path, checkpoint_steps=40, report=stop_after(120))
    assert newest_checkpoint(tmp_path) == tmp_path / "step-000000120"
    pretrain(config, source, tmp_path, resume=True, checkpoint_steps=40)
    assert len([*(tmp_path / "tensorboard").iterdir()]) == 2
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    names = {"loss", "hgc", "masking", "lr", "wait_share", "alignment", "uniformity", "embeddings_per_second"}
    assert set(board.Tags()["scalars"]) == names
    records = {record["step"]: record for record in metrics(tmp_path)}
    for name in names:
        scalars = board.Scalars(name)
        assert [event.step for event in scalars] == [1, 51, 101, 151, 160]
        if name not in ("wait_share", "embeddings_per_second"):
            assert [event.value for event in scalars] == pytest.approx([records[event.step][name] for event in scalars])
    assert all(0 <= event.value <= 1 for event in board.Scalars("wait_share"))
    assert all(event.value > 0 for event in board.Scalars("embeddings_per_second"))


def test_missing_tensorboard_is_reported_once(
    tmp_path: Path, corpus: Corpus, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    config = small("rdm", max_steps=2)
    pretrain(config, source_of(config, corpus), tmp_path)
    assert len(metrics(tmp_path)) == 2
    assert not (tmp_path / "tensorboard").exists()
    (log_record,) = [record for record in caplog.records if record.name.startswith("graphkin.trainer")]
    assert (log_record.levelno, "tensorboard is not installed" in log_record.getMessage()) == (logging.WARNING, True)


@pytest.mark.parametrize(("name", "package"), [("tensorboard", "torch.utils.tensorboard"), ("mlflow", "mlflow")])
def test_logger_that_is_not_installed_ends_the_command_before_the_run_begins(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, name: LoggerName, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    config = small("rdm", max_steps=2)
    with pytest.raises(InvalidInput, match=r"logs need the package .* which is not installed") as refused:
        pretrain(config, source_of(config, corpus), tmp_path / "run", logger=name)
    assert "pip install" in (refused.value.hint or "")
    assert not (tmp_path / "run").exists()


def test_logger_none_writes_no_curves(tmp_path: Path, corpus: Corpus, caplog: pytest.LogCaptureFixture) -> None:
    config = small("rdm", max_steps=2)
    pretrain(config, source_of(config, corpus), tmp_path, logger="none")
    assert {path.name for path in tmp_path.iterdir()} <= {"run.json", "metrics.jsonl", "step-000000002", ".lock"}
    assert not [record for record in caplog.records if record.name.startswith("graphkin.trainer")]


def test_offline_wandb_run_has_the_points_and_the_options(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    config = small("rdm", max_steps=60)
    with pytest.raises(StopRun):
        pretrain(config, source_of(config, corpus, epochs=20), tmp_path, report=stop_after(59), logger="wandb")
    run = read_wandb(tmp_path)
    records = {record["step"]: record for record in metrics(tmp_path)}
    assert [step for step, _ in run.points] == [1, 51, 60]
    for step, values in run.points:
        assert records[step].items() <= {"step": step, **values}.items()
        assert values["embeddings_per_second"] > 0
    assert run.options["config"] == json.loads(json.dumps(config.as_json()))
    assert run.exit_code == 1


def test_continued_run_is_a_part_of_the_same_wandb_run(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    config = small("rdm", max_steps=60)
    source = source_of(config, corpus, epochs=20)
    with pytest.raises(StopRun):
        pretrain(config, source, tmp_path, checkpoint_steps=55, report=stop_after(55), logger="none")
    (tmp_path / "wandb.id").write_text("4930364a")
    pretrain(config, source, tmp_path, resume=True, logger="wandb")
    run = read_wandb(tmp_path)
    assert (run.id, [step for step, _ in run.points], run.exit_code) == ("4930364a", [60], 0)


class WandbRun(NamedTuple):
    """The content of an offline run of W&B."""

    id: str
    points: list[tuple[int, dict[str, float]]]
    options: dict[str, Any]
    exit_code: int


def read_wandb(folder: Path) -> WandbRun:
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # the process of W&B ends once the file is complete
    (path,) = folder.glob("wandb/offline-run-*/*.wandb")
    id, points, options, exit_code = "", [], {}, -1
    for data in leveldb_records(path.read_bytes()[7:]):
        record = Record.FromString(data)
        match record.WhichOneof("record_type"):
            case "history":
                values = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                points.append((record.history.step.num, values))
            case "run":
                id = record.run.run_id
                options = {item.key: json.loads(item.value_json) for item in record.run.config.update}
            case "exit":
                exit_code = record.exit.exit_code
    return WandbRun(id, points, options, exit_code)


def leveldb_records(log: bytes) -> Iterator[bytes]:
    """Yield the records of a log of LevelDB: blocks of 32 KiB with fragments of a checksum, a length and a type.

    W&B puts 7 bytes before the log, which belong to its first block.
    """
    at, record = 7, b""
    log = bytes(7) + log
    while at < len(log):
        if 32_768 - at % 32_768 < 7:
            at += 32_768 - at % 32_768
            continue
        length, kind = int.from_bytes(log[at + 4 : at + 6], "little"), log[at + 6]
        record += log[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last fragment of one
            yield record
            record = b""


def test_non_finite_weights_are_not_saved(tmp_path: Path, corpus: Corpus) -> None:
    """The loss of a step does not depend on the weights after it."""
    config = small("hgc-fo", max_steps=60)
    config = replace(config, optimization=Optimization(learning_rate=1e39, schedule="constant", clip=None))
    with pytest.raises(Diverged, match="update is not finite") as stopped:
        pretrain(config, source_of(config, corpus), tmp_path, checkpoint_steps=1)
    assert stopped.value.exit_code == 1
    assert newest_checkpoint(tmp_path) is None
    assert [np.isfinite(record["loss"]) for record in metrics(tmp_path)] == [True]


def test_missing_metrics_are_detected(tmp_path: Path, corpus: Corpus) -> None:
    config = small("rdm", max_steps=8)
    with pytest.raises(StopRun):
        pretrain(config, source_of(config, corpus), tmp_path, checkpoint_steps=4, report=stop_after(4))
    (tmp_path / "metrics.jsonl").unlink()
    with pytest.raises(Damaged, match="shorter"):
        pretrain(config, source_of(config, corpus), tmp_path, resume=True)


def test_continuing_with_epochs_of_another_length_is_refused(tmp_path: Path, corpus: Corpus) -> None:
    config = small("hgc-fo", max_steps=8)
    source = source_of(config, corpus)
    with pytest.raises(StopRun):
        pretrain(config, source, tmp_path, checkpoint_steps=4, report=stop_after(4))
    few = np.arange(SIZE)[:, None] < 12
    sparse = [each._replace(positives=np.where(few, each.positives, -1)) for each in map(source.epoch, range(3))]
    with pytest.raises(InvalidInput, match="another number of steps"):
        pretrain(config, MemorySource(corpus, config.draws, sparse), tmp_path, resume=True)


def test_clock_measures_the_waiting_time() -> None:
    spent: list[float] = []

    def get() -> int:
        first_requests = perf_counter()
        number = sum(range(200_000))
        spent.append(perf_counter() - first_requests)
        return number

    before = perf_counter()
    clock = Clock()
    after = perf_counter()
    assert clock.wait(get) == 19_999_900_000
    assert [*clock.waiting([3, 4])] == [3, 4]
    waited = perf_counter() - after
    get()  # This call is work, not waiting.
    early = perf_counter()
    share = clock.wait_share()
    assert spent[0] / (perf_counter() - before) <= share <= waited / (early - after)
