"""Fine-tuning over several seeds: a JSON document that is updated after each run, and a table with published scores."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
import torch_geometric
from rdkit import rdBase

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.finetune import FinetuneOptions, FinetuneRun, Start, finetune
from graphkin.trainer.downstream.frozen import frozen
from graphkin.trainer.downstream.labelled import Labelled
from graphkin.trainer.downstream.published import published
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.downstream.tuning import SPACE, Values, tune
from graphkin.trainer.pretraining.checkpoint import Run, newest_checkpoint

_FORMAT = 2
_TITLES = {"auc": "ROC-AUC", "accuracy": "accuracy", "rc_f1": "rc_f1", "rmse": "RMSE", "mae": "MAE"}

Document = dict[str, Any]
Stage = Callable[[str, int, str], AbstractContextManager[Callable[[int], object]]]
"""A progress bar: takes a name, a size and a unit, and yields a function to call with the number of units done."""


@dataclass(frozen=True, eq=False)
class Study:
    """An encoder, a data set, and the options to fine-tune one on the other.

    Attributes:
        data: The data set.
        name: Name of a published set; None for another set.
        start: The encoder to start from.
        options: Options of fine-tuning.
        trials: Trials of population-based tuning before the seeds, starting from `options`; 0 for none.
        device: `cpu` or `cuda`.
        frozen: Whether the encoder stays unchanged; `frozen` then replaces `finetune`.
        save: Folder for the encoder of the only run, after the epoch whose score counts, in the format that
            `load_encoder` reads; None to discard it.
    """

    data: Labelled
    name: str | None
    start: Start
    options: FinetuneOptions
    trials: int = 0
    device: str = "cpu"
    frozen: bool = False
    save: Path | None = None

    def run(self, seeds: Sequence[int], path: Path, stage: Stage) -> Document:
        """Fine-tune once for each seed on each split, and write the whole document to `path` after each run.

        Trials and runs that `path` already holds are reused if they belong to the same study, the same library versions
        and the same number of threads, unless the encoder is to be saved and is missing. Any other content is replaced.
        Tuning uses the first seed.

        The document has these keys:

            setting, versions  everything that the scores depend on
            tuning             the trials in order
            options            the options used
            runs               for each seed (and `fold`, if there are several splits): the seconds, the losses, and for
                               every metric the curves, the best epoch (from 1) and its scores
            summary            for every metric the mean test score and its standard deviation (n - 1; null for one run)
            first_fold         the summary of the first of several splits
            published          the paper's scores

        Also raises the errors of `finetune`, `frozen` and `tune`.

        Raises:
            InvalidInput: There are no seeds, `path` cannot be written, there is not exactly one encoder to save, or the
                folder for it holds something else.
        """
        if not seeds:
            raise InvalidInput("no seeds", expected="one or more")
        splits = self.data.splits()
        for split in splits:
            self.data.require_scorable(split)
        self._require_tunable(splits[0])
        saved_run = None if self.save is None else self._open_saved_run(self.save, splits, seeds)
        document = self._load_or_create(path, self._setting(splits, seeds[0]))
        train = frozen if self.frozen else finetune

        def run_once(
            options: FinetuneOptions, seed: int, advance: Callable[[int], object], fold: int = 0
        ) -> FinetuneRun:
            return train(self.start, self.data, splits[fold], options, seed, self.device, advance)

        _write(document, path)
        options = self.options
        if self.trials:
            with stage("tuning", self.trials * options.epochs, "epochs") as advance:
                options = self._tune(
                    document,
                    path,
                    lambda trial_options: run_once(trial_options, seeds[0], advance).main.best_valid,
                    seeds[0],
                )
        document["options"] = options.as_json()
        results, document["runs"] = {_run_key(run): run for run in document["runs"]}, []
        has_folds, epochs = len(splits) > 1, 1 if self.frozen else options.epochs
        for seed, fold in product(seeds, range(len(splits))):
            checkpoint = None
            if (seed, fold) not in results or (saved_run is not None and newest_checkpoint(saved_run.folder) is None):
                with stage(f"seed {seed}, fold {fold}" if has_folds else f"seed {seed}", epochs, "epochs") as advance:
                    result = run_once(options, seed, advance, fold)
                run, checkpoint = _run_document(result), result.reported
                results[seed, fold] = {"fold": fold, **run} if has_folds else run
            document["runs"].append(results[seed, fold])
            document["summary"] = _summary(document["runs"], self.data.metrics)
            if has_folds:
                first_fold_runs = [run for run in document["runs"] if run["fold"] == 0]
                document["first_fold"] = _summary(first_fold_runs, self.data.metrics)
            _write(document, path)
            if saved_run is not None and checkpoint is not None:
                with saved_run.claimed():
                    saved_run.save(checkpoint)
        return document

    def _open_saved_run(self, folder: Path, splits: Sequence[Split], seeds: Sequence[int]) -> Run:
        """Return the run that will hold the encoder. Its options are everything that the encoder depends on."""
        if self.frozen or len(splits) * len(seeds) > 1:
            raise InvalidInput(
                "there is not one encoder to save",
                given="one that stays as it is" if self.frozen else f"{len(seeds)} seeds on {len(splits)} splits",
                expected="one run that trains it: one seed, of molecules or graphs",
            )
        setting = self._setting(splits, seeds[0])
        config, model, previous = setting.pop("pretraining"), setting.pop("model"), setting.pop("finetuned", None)
        finetuning = {**setting, "seed": seeds[0], "before": previous}
        return Run(folder, {"config": config, "model": model, "finetuned": finetuning}, resume=True)

    def _require_tunable(self, split: Split) -> None:
        if self.trials and (self.frozen or not len(split.valid)):
            raise InvalidInput(
                "nothing can be tuned on validation",
                given="an encoder that stays as it is" if self.frozen else f"{self.data.noun}, all for train or test",
                hint="leave --tune out",
            )

    def _setting(self, splits: Sequence[Split], seed: int) -> Document:
        """Return everything that the scores depend on, except the seeds."""
        split = splits[0]
        data, start = self.data, self.start
        return {
            "dataset": self.name,
            "file_sha256": data.corpus.identity,
            **data.summary(split),
            "metrics": data.metrics,
            "split": {part: len(rows) for part, rows in split._asdict().items()},
            "model": asdict(start.model),
            "pretraining": start.pretraining.as_json() if start.pretraining else None,
            "weights_sha256": _digest(start),
            "options": self.options.as_json(),
            "tuning": {"trials": self.trials, "seed": seed} if self.trials else None,
            "device": self.device,
            "threads": torch.get_num_threads(),
            **({"folds": len(splits)} if len(splits) > 1 else {}),
            **({"frozen": True} if self.frozen else {}),
            **({"finetuned": start.finetuned} if start.finetuned else {}),
        }

    def _load_or_create(self, path: Path, setting: Document) -> Document:
        """Return the document at `path` if it has this setting, else a new one."""
        pretraining = self.start.pretraining
        document: Document = {
            "format": _FORMAT,
            "setting": setting,
            "versions": {
                "torch": torch.__version__,
                "torch_geometric": torch_geometric.__version__,
                "numpy": np.__version__,
                "rdkit": rdBase.rdkitVersion,
                "scikit-learn": sklearn.__version__,
            },
            "published": published(self.start.model.encoder, pretraining.strategy if pretraining else None, self.name),
            "tuning": [],
            "options": None,
            "runs": [],
            "summary": None,
        }
        document_json = json.loads(json.dumps(document))
        try:
            previous = json.loads(path.read_text())
            if all(previous[key] == document_json[key] for key in ("format", "setting", "versions", "published")):
                return {**document_json, "tuning": previous["tuning"], "runs": previous["runs"]}
        except (OSError, ValueError, LookupError, TypeError):
            pass  # an unreadable document is replaced
        return document_json

    def _tune(
        self, document: Document, path: Path, score: Callable[[FinetuneOptions], float | None], seed: int
    ) -> FinetuneOptions:
        """Return the options of the best trial.

        Trials in the document are reused. New trials are added to it.
        """
        score_name = f"valid_{self.data.metrics[0]}"
        recorded = [trial[score_name] for trial in document["tuning"]]

        def objective(values: Values) -> float:
            if recorded:
                return self._fitness(float(recorded.pop(0)))
            result = score(replace(self.options, **values))
            assert result is not None, "there is validation"
            document["tuning"].append({"values": dict(values), score_name: result})
            _write(document, path)
            return self._fitness(result)

        start_values = {name: getattr(self.options, name) for name in SPACE}
        return replace(self.options, **tune(objective, start_values, self.trials, seed).values)

    def _fitness(self, score: float) -> float:
        """Return a score in the form that `tune` compares, where higher is better."""
        return 1 / (1 + score) if self.data.lower_is_better else score


def _digest(start: Start) -> str | None:
    if start.pretrained is None:
        return None
    digest = hashlib.sha256()
    for name, tensor in start.pretrained.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def _run_key(run: Document) -> tuple[int, int]:
    """Return the seed and the fold of a run."""
    return run["seed"], run.get("fold", 0)


def _run_document(run: FinetuneRun) -> Document:
    scores = {
        metric: {
            "best_epoch": curve.best_epoch,
            "valid_at_best": curve.best_valid,
            "test_at_best": curve.score,
            "valid": curve.valid,
            "test": curve.test,
        }
        for metric, curve in run.curves.items()
    }
    return {"seed": run.seed, "seconds": run.seconds, "loss": run.loss, "scores": scores}


def _summary(runs: Sequence[Document], metrics: Sequence[str]) -> Document:
    return {metric: _mean_and_std([run["scores"][metric]["test_at_best"] for run in runs]) for metric in metrics}


def _mean_and_std(scores: Sequence[float]) -> Document:
    return {"mean": float(np.mean(scores)), "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else None}


def _write(document: Document, path: Path) -> None:
    draft = path.with_name(f".{path.name}.partial")
    try:
        draft.write_text(json.dumps(document, indent=1) + "\n")
        draft.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot write the file: {error}", given=str(path), expected="a writable path") from error


def table(document: Document) -> str:
    """Return a Markdown table of mean(std) test scores from a document of `Study.run`, with published scores below.

    Published scores are in the last column.
    """
    setting, summary = document["setting"], document["summary"]
    metrics = setting["metrics"]
    training = f"after {setting['pretraining']['strategy']}" if setting["pretraining"] else "without pre-training"
    training += "".join(f", fine-tuned on {name}" for name in _previous_datasets(setting))
    if setting.get("frozen"):
        training += ", as it is"
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(run["seed"] for run in document["runs"]))
    row_name = f"here: {setting['model']['encoder'].upper()} {training}, seeds {seeds}"
    first_fold = document.get("first_fold") or {}
    scores = [
        _format_score(**averages[metric])
        for averages in (summary, first_fold)
        for metric in metrics
        if metric in averages
    ]
    rows = [
        [row_name, *scores],
        *([f"published: {name}", *[""] * (len(scores) - 1), score] for name, score in document["published"].items()),
    ]
    header = [setting["dataset"] or "dataset", *(_TITLES[metric] for metric in metrics)]
    header += [f"{_TITLES[metric]}, fold 0" for metric in metrics if metric in first_fold]
    lines = [_row(header), f"|{'---|' * len(header)}", *map(_row, rows)]
    return "\n".join([*lines, "", setting["note"]])


def _previous_datasets(setting: Document) -> list[str]:
    """Return the names of the sets that the encoder was fine-tuned on before, oldest first."""
    finetuning = setting.get("finetuned")
    names = []
    while finetuning is not None:
        names.append(finetuning["dataset"] or "a set without a name")
        finetuning = finetuning["before"]
    return names[::-1]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format_score(mean: float, std: float | None) -> str:
    return _format_number(mean) + ("" if std is None else f"({_format_number(std)})")


def _format_number(score: float) -> str:
    """Format a score as the paper prints it: four digits, without the leading zero."""
    return f"{score:.4f}".removeprefix("0")
