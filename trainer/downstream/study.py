"""Fine-tuning with several seeds. The results are a JSON document and a table with published scores."""

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
from graphkin.trainer.downstream.finetune import FinetuneOptions, FinetuneRun, InitialEncoder, finetune
from graphkin.trainer.downstream.frozen import evaluate_frozen
from graphkin.trainer.downstream.labeled import LabeledGraphs
from graphkin.trainer.downstream.published_scores import published_scores
from graphkin.trainer.downstream.saved_model import ModelFolder
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.downstream.tuning import SPACE, Values, tune
from graphkin.trainer.encoder_registry import package_record
from graphkin.trainer.pretraining.checkpoint import Run, newest_checkpoint
from graphkin.trainer.pretraining.pretrained import weights_sha256

_FORMAT = 2
_TITLES = {
    "auc": "ROC-AUC",
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "rc_f1": "rc_f1",
    "rmse": "RMSE",
    "mae": "MAE",
}

Document = dict[str, Any]
Stage = Callable[[str, int, str], AbstractContextManager[Callable[[int], object]]]
"""Progress bar: a function of a name, a size and a unit. The context yields a function to call with the units done."""


@dataclass(frozen=True, eq=False)
class Study:
    """A study: an encoder is fine-tuned on a data set, once for each seed and split.

    Attributes:
        data: The data set.
        name: Name of a data set of the paper; None for another set.
        start: Encoder to start from.
        options: Options of fine-tuning.
        trials: Number of trials of population-based tuning, which improves `options` before the runs; 0 for no tuning.
        device: `cpu` or `cuda`.
        is_frozen: Whether the encoder stays as it is. If so, `evaluate_frozen` is used in place of `finetune`.
        output: Folder for the fine-tuned encoder after its best epoch, to be read by `load_encoder`; None to discard
            it. The study must consist of a single run.
        model_folder: Folder for encoder and head after the best epoch; None to discard them. There must be one seed,
            and the first split counts.
    """

    data: LabeledGraphs
    name: str | None
    start: InitialEncoder
    options: FinetuneOptions
    trials: int = 0
    device: str = "cpu"
    is_frozen: bool = False
    output: Path | None = None
    model_folder: ModelFolder | None = None

    def run(self, seeds: Sequence[int], path: Path, stage: Stage) -> Document:
        """Fine-tune once for each seed on each split, and write a document with all results after each run.

        If `path` holds a document of the same study, made with the same library versions and number of threads, its
        trials and runs are reused. A run is repeated if its weights have to be saved and were not. Any other content of
        `path` is replaced. Tuning uses the first seed.

        The document has these keys:

            setting, versions  everything that the scores depend on
            tuning             the trials in order
            options            the options of the runs
            runs               for each run its seed, its `fold` if there are several splits, its duration, its losses,
                               and for each metric the curves, the best epoch (from 1) and the scores of that epoch
            summary            for each metric the mean test score and its standard deviation (n - 1; null for one run)
            first_fold         the summary of the first split, if there are several
            published          the paper's scores

        Args:
            seeds: Seeds of the runs.
            path: File of the document.
            stage: Progress bar of the tuning, and of each run.

        Raises:
            InvalidInput: There are no seeds, `path` cannot be written, there is not exactly one model to save, or its
                folder holds something else.
            GraphkinError: The errors of `finetune`, `evaluate_frozen` and `tune`.
        """
        if not seeds:
            raise InvalidInput(
                "there are no seeds", given=list(seeds), expected="one seed or more", hint="use --seeds 1 or more"
            )
        splits = self.data.splits()
        self._require_runnable(splits)
        training = self._training(splits, seeds)
        saved_run = None if self.output is None else Run(self.output, training, resume=True)
        model_folder = None if self.model_folder is None or self.model_folder.holds(training) else self.model_folder
        document = self._load_or_create(path, self._setting(splits, seeds[0]))
        train = evaluate_frozen if self.is_frozen else finetune

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
        has_unsaved_weights = model_folder is not None or (
            saved_run is not None and newest_checkpoint(saved_run.folder) is None
        )
        has_folds, epochs = len(splits) > 1, 1 if self.is_frozen else options.epochs
        for seed, fold in product(seeds, range(len(splits))):
            result = None
            if (seed, fold) not in results or (has_unsaved_weights and fold == 0):
                with stage(f"seed {seed}, fold {fold}" if has_folds else f"seed {seed}", epochs, "epochs") as advance:
                    result = run_once(options, seed, advance, fold)
                run = _run_document(result)
                results[seed, fold] = {"fold": fold, **run} if has_folds else run
            document["runs"].append(results[seed, fold])
            document["summary"] = _summary(document["runs"], self.data.metrics)
            if has_folds:
                first_fold_runs = [run for run in document["runs"] if run["fold"] == 0]
                document["first_fold"] = _summary(first_fold_runs, self.data.metrics)
            _write(document, path)
            if saved_run is not None and result is not None and result.checkpoint is not None:
                with saved_run.claimed():
                    saved_run.save(result.checkpoint)
            if model_folder is not None and fold == 0 and result is not None and result.weights is not None:
                model_folder.save(self.start.model, options.pooling, result.weights, splits[fold].train, training)
        return document

    def _training(self, splits: Sequence[Split], seeds: Sequence[int]) -> Document:
        """Return everything that saved weights depend on, or nothing if no weights are saved.

        Raises:
            InvalidInput: There is not exactly one model to save.
        """
        if self.output is None and self.model_folder is None:
            return {}
        if self.is_frozen or len(seeds) > 1 or (self.output is not None and len(splits) > 1):
            raise InvalidInput(
                "one model cannot be saved from these runs",
                given="an encoder that is not trained"
                if self.is_frozen
                else f"{len(seeds)} seeds on {len(splits)} splits",
                expected="one run that trains the encoder: one seed, and for --save-encoder molecules or graphs",
                hint="use --seeds 0 with --save-model or --save-encoder, without --frozen",
            )
        setting = self._setting(splits, seeds[0])
        config, model, previous = setting.pop("pretraining"), setting.pop("model"), setting.pop("finetuned", None)
        setting.pop("package", None)
        finetuning = {**setting, "seed": seeds[0], "before": previous}
        return {"config": config, "model": model, "finetuned": finetuning, **package_record(model["encoder"])}

    def _require_runnable(self, splits: Sequence[Split]) -> None:
        for split in splits:
            self.data.require_scorable(split)
            if self.options.class_weights is not None:
                self.data.class_weights(split.train)
        if self.trials and (self.is_frozen or not len(splits[0].valid)):
            raise InvalidInput(
                "there is nothing to tune on validation data",
                given="an encoder that is not trained"
                if self.is_frozen
                else f"{self.data.noun} without validation data",
                expected="a trained encoder, and a set with validation data",
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
            **package_record(start.model.encoder),
            "pretraining": start.pretraining.as_json() if start.pretraining else None,
            "weights_sha256": _digest(start),
            "options": self.options.as_json(),
            "tuning": {"trials": self.trials, "seed": seed} if self.trials else None,
            "device": self.device,
            "threads": torch.get_num_threads(),
            **({"folds": len(splits)} if len(splits) > 1 else {}),
            **({"frozen": True} if self.is_frozen else {}),
            **({"finetuned": start.finetuned} if start.finetuned else {}),
        }

    def _load_or_create(self, path: Path, setting: Document) -> Document:
        """Return the document at `path` if it has the same setting, versions and published scores; else a new one."""
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
            "published": published_scores(
                self.start.model.encoder, pretraining.strategy if pretraining else None, self.name
            ),
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
            pass  # A file that is not such a document is replaced.
        return document_json

    def _tune(
        self, document: Document, path: Path, score: Callable[[FinetuneOptions], float | None], seed: int
    ) -> FinetuneOptions:
        """Return the options of the best trial.

        Args:
            document: Document of the study. Its trials are reused, and new trials are added.
            path: File of the document.
            score: Runs a trial with these options and returns its best validation score.
            seed: Seed of the tuning.
        """
        score_name = f"valid_{self.data.metrics[0]}"
        recorded = [trial[score_name] for trial in document["tuning"]]

        def objective(values: Values) -> float:
            if recorded:
                return self._fitness(float(recorded.pop(0)))
            result = score(replace(self.options, **values))
            assert result is not None, "_require_runnable checks that there is a validation part"
            document["tuning"].append({"values": dict(values), score_name: result})
            _write(document, path)
            return self._fitness(result)

        start_values = {name: getattr(self.options, name) for name in SPACE}
        return replace(self.options, **tune(objective, start_values, self.trials, seed).values)

    def _fitness(self, score: float) -> float:
        """Return a score for `tune`, where higher is better. An error e becomes 1 / (1 + e)."""
        return 1 / (1 + score) if self.data.lower_is_better else score


def _digest(start: InitialEncoder) -> str | None:
    """Return the SHA-256 of the weights of a pre-trained encoder; None for a new encoder."""
    return None if start.pretrained is None else weights_sha256(start.pretrained)


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
        raise InvalidInput(
            f"cannot write the file: {error.strerror or error}",
            given=str(path),
            expected="a writable path",
            hint="name another file, or fix the permissions",
        ) from error


def table(document: Document) -> str:
    """Return the scores of a document of `Study.run` as a Markdown table.

    The first row has the mean(std) of the test scores for each metric, and also for the first of several splits. The
    other rows have published scores in the last column.
    """
    setting, summary = document["setting"], document["summary"]
    metrics = setting["metrics"]
    if setting["pretraining"]:
        training = f"after {setting['pretraining']['strategy']}"
    else:
        is_imported = setting["weights_sha256"] is not None and "finetuned" not in setting
        training = "with imported weights" if is_imported else "without pre-training"
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
    """Return the names of the data sets on which the encoder was fine-tuned before this study, oldest first."""
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
    """Return a score as the paper prints it, with four digits and without a leading zero."""
    return f"{score:.4f}".removeprefix("0")
