"""A fine-tuned model in a folder, with the items that it was trained on.

folder/
  model.json          kind of items, architecture, meaning of the outputs, setting of the training, checksums
  model.safetensors   weights of the encoder and of the head
  items.parquet       training items: text, measured values, and the fingerprints of molecules
"""

import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import Conflict, Damaged, InvalidInput, NotFound
from graphkin.runtime.files import rename_durably, temporary_path
from graphkin.trainer.downstream.finetune import Classifier, FinetuneOptions, compute_logits
from graphkin.trainer.downstream.readout import Readout
from graphkin.trainer.downstream.split import Rows
from graphkin.trainer.encoder_registry import package_record, require_package
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.pooling import Pooling
from graphkin.trainer.model.weights import load_tensors, save_tensors
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.objective import make_encoder

_FORMAT = 1
_DESCRIPTION, _WEIGHTS, _ITEMS = "model.json", "model.safetensors", "items.parquet"


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """The folder in which a study saves its model.

    Attributes:
        path: The folder.
        kind: Kind of the items: `molecules`, `graphs` or `nodes`.
        readout: The meaning of the outputs.
        fingerprint: Type of the fingerprints in `items`; None if there are none.
        items: The labeled items, of which the training part is saved.
        subgraphs: The rule that represents nodes by subgraphs, as JSON; None for other kinds.
    """

    path: Path
    kind: str
    readout: Readout
    fingerprint: str | None
    items: pa.Table
    subgraphs: Mapping[str, Any] | None = None

    def holds(self, training: Mapping[str, Any]) -> bool:
        """Return whether the folder holds a model of this training. A missing or empty folder holds none.

        Raises:
            InvalidInput: The folder holds something else, or cannot be read.
        """
        try:
            if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
                return False
        except OSError as error:
            raise self._unwritable(error) from error
        if (self.path / _DESCRIPTION).exists() and _read_description(self.path)["training"] == _as_read(training):
            return True
        raise InvalidInput(
            "this folder holds another model, or other files",
            given=str(self.path),
            expected="a new or empty folder",
            hint="name another folder in --save-model, or delete this one",
        )

    def save(
        self, model: Model, pooling: Pooling, weights: Mapping[str, Tensor], rows: Rows, training: Mapping[str, Any]
    ) -> None:
        """Write the model. The folder appears when everything in it is complete.

        Args:
            model: Architecture of the encoder.
            pooling: How the vectors of atoms become the vector of a graph.
            weights: State of the `Classifier`.
            rows: Rows of the training part.
            training: Everything that the weights depend on.

        Raises:
            InvalidInput: The folder cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary_path(self.path.absolute()) as draft:
                draft.mkdir()
                save_tensors(draft / _WEIGHTS, weights)
                pq.write_table(self.items.take(pa.array(rows)), draft / _ITEMS)
                description = {
                    "format": _FORMAT,
                    "kind": self.kind,
                    "model": asdict(model),
                    **package_record(model.encoder),
                    "pooling": pooling,
                    "readout": self.readout.as_json(),
                    "fingerprint": self.fingerprint,
                    **({} if self.subgraphs is None else {"subgraphs": self.subgraphs}),
                    "training": training,
                    "crc32": {name: zlib.crc32((draft / name).read_bytes()) for name in (_WEIGHTS, _ITEMS)},
                }
                (draft / _DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n")
                rename_durably(draft, self.path.absolute())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InvalidInput:
        return InvalidInput(
            f"cannot write the model: {error.strerror or error}",
            given=str(self.path),
            expected="a new folder in a folder that you may write",
            hint="free space or fix the permissions, or name another folder in --save-model",
        )


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fine-tuned model, in evaluation mode.

    Attributes:
        kind: Kind of the items that it predicts: `molecules`, `graphs` or `nodes`.
        features: Name of the set of features of molecules that it needs.
        readout: The meaning of its outputs.
        fingerprint: Type of the fingerprints in `items`; None if there are none.
        items: The training items: their text, the columns `measured_TARGET`, and `fingerprint` for molecules.
        subgraphs: The rule that represents nodes by subgraphs, as JSON; None for other kinds.
    """

    kind: str
    features: str
    readout: Readout
    fingerprint: str | None
    items: pa.Table
    subgraphs: Mapping[str, Any] | None
    _classifier: Classifier

    def predict(self, corpus: Corpus) -> dict[str, NDArray[Any]]:
        """Return the predictions for the graphs of a corpus, as columns (`Readout.predictions`)."""
        if not corpus.size:
            return self.readout.predictions(np.empty((0, self.readout.outputs), np.float32))
        device = self._classifier.head.weight.device
        return self.readout.predictions(compute_logits(self._classifier, Assembler(corpus, device), corpus))


def load_model(folder: Path, device: str = "cpu") -> SavedModel:
    """Load the model that `graphkin finetune --save-model` wrote. Nothing in the folder is executed.

    Args:
        folder: The folder.
        device: Where the model runs: `cpu` or `cuda`.

    Raises:
        NotFound: The folder holds no model.
        Conflict: A newer version of graphkin wrote the model.
        Damaged: A file of the folder is damaged.
        InvalidInput: The encoder is of a package that is not installed.
    """
    description = _read_description(folder)
    try:
        for name, checksum in description["crc32"].items():
            if zlib.crc32((folder / name).read_bytes()) != checksum:
                raise ValueError(f"{name} differs from its checksum")
        readout = Readout.from_json(description["readout"])
        options = FinetuneOptions(pooling=description["pooling"])
        require_package(description["model"]["encoder"], description)
        model = Model.from_json(description["model"])
        classifier = Classifier(make_encoder(model), readout.outputs, options)
        classifier.load_state_dict(load_tensors(folder / _WEIGHTS))
        items = pq.read_table(io.BytesIO((folder / _ITEMS).read_bytes()))
        kind, fingerprint = description["kind"], description["fingerprint"]
        subgraphs = description.get("subgraphs")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        raise _damaged(folder, error) from error
    return SavedModel(kind, model.features, readout, fingerprint, items, subgraphs, classifier.eval().to(device))


def _read_description(folder: Path) -> dict[str, Any]:
    """Return the content of model.json.

    Raises:
        NotFound: The folder holds no model.
        Conflict: A newer version of graphkin wrote the model.
        Damaged: The file is damaged.
    """
    try:
        description = json.loads((folder / _DESCRIPTION).read_text())
        version = description["format"]
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            "this folder holds no fine-tuned model",
            given=str(folder),
            expected=f"a folder with {_DESCRIPTION}, from `graphkin finetune --save-model`",
            hint="check the path, or fine-tune with --save-model",
        ) from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _damaged(folder, error) from error
    if not isinstance(version, int) or version > _FORMAT:
        raise Conflict(
            "a newer version of graphkin wrote this model",
            given=f"{folder}, format {version}",
            expected=f"format {_FORMAT} or lower",
            hint="upgrade graphkin, or fine-tune again with this version",
        )
    return description


def _damaged(folder: Path, error: Exception) -> Damaged:
    return Damaged(
        f"the model is damaged: {error}",
        given=str(folder),
        expected="the files as `graphkin finetune --save-model` wrote them",
        hint="restore the folder from a copy, or fine-tune again",
    )


def _as_read(value: Mapping[str, Any]) -> Any:
    """Return a value as it is after a round trip through a JSON file."""
    return json.loads(json.dumps(value))
