"""Fine-tuning over several seeds: a JSON document that grows as they end, and a table beside the published scores."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
import torch_geometric
from numpy.typing import NDArray
from rdkit import rdBase

from trainer.dataset import Dataset
from trainer.errors import InvalidInput
from trainer.finetune import FinetuneOptions, FinetuneRun, Start, finetune, require_scorable
from trainer.published import published
from trainer.roc import scorable
from trainer.scaffold import scaffold_split, scaffolds
from trainer.tuning import SPACE, Values, tune

_FORMAT = 1

Document = dict[str, Any]
Stage = Callable[[str, int, str], AbstractContextManager[Callable[[int], object]]]
"""Given the name, the size and the unit of what begins, yields what to call with the units done."""


@dataclass(frozen=True, eq=False)
class Study:
    """What is fine-tuned on what, and how.

    name    of the MoleculeNet set, None for one's own.
    trials  of population-based tuning before the seeds, starting from `options`; 0: none.
    """

    dataset: Dataset
    name: str | None
    start: Start
    options: FinetuneOptions
    trials: int = 0
    device: str = "cpu"

    def run(self, seeds: Sequence[int], path: Path, stage: Stage) -> Document:
        """Fine-tune once for each seed on the scaffold split, and write the document to `path`, whole, after each.

        What `path` has already, trials and seeds, of the same study by the same versions on as many threads, is kept
        and not done again; anything else there is replaced. Tuning uses the first seed.

        The document: `setting` and `versions`, all that the scores depend on; `tuning`, the trials in order; `options`,
        those used; `runs`, for each seed the curves, the best epoch (from 1), its validation and test ROC-AUC, and the
        seconds; `summary`, the mean test ROC-AUC and its standard deviation (n - 1; null for one seed); `published`.

        Raises as `finetune` and `tune`, and `InvalidInput` for no seeds or a path that cannot be written.
        """
        if not seeds:
            raise InvalidInput("no seeds", expected="one or more")
        split = scaffold_split(scaffolds(self.dataset.smiles))
        require_scorable(self.dataset, split)
        document = self._continued(path, self._setting(split._asdict(), seeds[0]))

        def fine_tuned(options: FinetuneOptions, seed: int, advance: Callable[[int], object]) -> FinetuneRun:
            return finetune(self.start, self.dataset, split, options, seed, self.device, advance)

        _write(document, path)
        options = self.options
        if self.trials:
            with stage("tuning", self.trials * options.epochs, "epochs") as advance:
                options = self._tuned(
                    document, path, lambda tried: fine_tuned(tried, seeds[0], advance).best_valid_auc, seeds[0]
                )
        document["options"] = asdict(options)
        done, document["runs"] = {run["seed"]: run for run in document["runs"]}, []
        for seed in seeds:
            if seed not in done:
                with stage(f"seed {seed}", options.epochs, "epochs") as advance:
                    done[seed] = _described(fine_tuned(options, seed, advance))
            document["runs"].append(done[seed])
            document["summary"] = _summary(document["runs"])
            _write(document, path)
        return document

    def _setting(self, split: dict[str, Any], seed: int) -> Document:
        """All that the scores depend on, but for the seeds."""
        data, start = self.dataset, self.start
        return {
            "dataset": self.name,
            "file_sha256": data.corpus.identity,
            "molecules": len(data.smiles),
            "rejected": len(data.rejected),
            "tasks": data.tasks,
            "one_class": data.one_class,
            "split": {part: len(rows) for part, rows in split.items()},
            "omitted": {part: _omitted(data, split[part]) for part in ("valid", "test")},
            "model": asdict(start.model),
            "pretraining": start.pretraining.as_json() if start.pretraining else None,
            "weights_sha256": _digest(start),
            "options": asdict(self.options),
            "tuning": {"trials": self.trials, "seed": seed} if self.trials else None,
            "device": self.device,
            "threads": torch.get_num_threads(),
        }

    def _continued(self, path: Path, setting: Document) -> Document:
        """The document at `path` if it is of this setting, else a new one."""
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
        same = json.loads(json.dumps(document))
        try:
            found = json.loads(path.read_text())
            if all(found[key] == same[key] for key in ("format", "setting", "versions", "published")):
                return {**same, "tuning": found["tuning"], "runs": found["runs"]}
        except (OSError, ValueError, LookupError, TypeError):
            pass  # nothing to continue
        return same

    def _tuned(
        self, document: Document, path: Path, score: Callable[[FinetuneOptions], float], seed: int
    ) -> FinetuneOptions:
        """The options of the best trial. Trials that the document has are taken from there, others written to it."""
        known = [trial["valid_auc"] for trial in document["tuning"]]

        def objective(values: Values) -> float:
            if known:
                return float(known.pop(0))
            reached = score(replace(self.options, **values))
            document["tuning"].append({"values": dict(values), "valid_auc": reached})
            _write(document, path)
            return reached

        begin = {name: getattr(self.options, name) for name in SPACE}
        return replace(self.options, **tune(objective, begin, self.trials, seed).values)


def _omitted(data: Dataset, rows: NDArray[np.int64]) -> Document:
    """The tasks that cannot be scored there, having one class, and their share of all."""
    omitted = ~scorable(data.labels[rows])
    return {"share": float(omitted.mean()), "tasks": [data.tasks[task] for task in np.flatnonzero(omitted)]}


def _digest(start: Start) -> str | None:
    if start.pretrained is None:
        return None
    digest = hashlib.sha256()
    for name, tensor in start.pretrained.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def _described(run: FinetuneRun) -> Document:
    return {
        "seed": run.seed,
        "best_epoch": run.best_epoch,
        "best_valid_auc": run.best_valid_auc,
        "test_auc_at_best": run.score,
        "seconds": run.seconds,
        "loss": run.loss,
        "valid_auc": run.valid_auc,
        "test_auc": run.test_auc,
    }


def _summary(runs: Sequence[Document]) -> Document:
    scores = np.array([run["test_auc_at_best"] for run in runs])
    return {"mean": float(scores.mean()), "std": float(scores.std(ddof=1)) if len(scores) > 1 else None}


def _write(document: Document, path: Path) -> None:
    draft = path.with_name(f".{path.name}.partial")
    try:
        draft.write_text(json.dumps(document, indent=1) + "\n")
        draft.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot write the file: {error}", given=str(path), expected="a writable path") from error


def table(document: Document) -> str:
    """The mean(std) test ROC-AUC of a document of `Study.run` beside the published ones, in Markdown."""
    setting, summary = document["setting"], document["summary"]
    learnt = f"after {setting['pretraining']['strategy']}" if setting["pretraining"] else "without pre-training"
    spread = "" if summary["std"] is None else f"({_short(summary['std'])})"
    seeds = ", ".join(str(run["seed"]) for run in document["runs"])
    rows = {
        f"here: {setting['model']['encoder'].upper()} {learnt}, seeds {seeds}": _short(summary["mean"]) + spread,
        **{f"published: {name}": score for name, score in document["published"].items()},
    }
    lines = [f"| {setting['dataset'] or 'dataset'} | ROC-AUC |", "|---|---|"]
    lines += [f"| {name} | {score} |" for name, score in rows.items()]
    return "\n".join([*lines, "", _told(setting)])


def _told(setting: Document) -> str:
    """What the scores are of, in a few sentences."""
    split = ", ".join(f"{size:,} {part}" for part, size in setting["split"].items())
    omitted, one_class = setting["omitted"]["test"], setting["one_class"]
    without = f"{len(omitted['tasks']):,} of {len(setting['tasks']):,} ({omitted['share']:.1%})"
    sentences = [
        f"{setting['molecules']:,} molecules ({split}), {setting['rejected']:,} rejected.",
        f"Tasks with one class in test, which do not count: {without}.",
        *([f"Left out, having one class in all: {', '.join(one_class)}."] if one_class else []),
    ]
    return " ".join(sentences)


def _short(score: float) -> str:
    """As the paper prints it: four digits, without the zero before them."""
    return f"{score:.4f}".removeprefix("0")
