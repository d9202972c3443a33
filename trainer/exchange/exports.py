"""Writers of a run's encoder in the formats of other programs."""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch

from graphkin.protocol.errors import Conflict
from graphkin.trainer.exchange import hugging_face
from graphkin.trainer.exchange.formats import FileFormat, FolderFormat
from graphkin.trainer.exchange.pretrain_gnns import foreign_name
from graphkin.trainer.pretraining.checkpoint import newest_checkpoint, read_run
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.pretraining.pretrained import Pretrained, load_encoder
from graphkin.trainer.strategy import ENCODERS

_MODULE = Path(__file__).with_name("geometric_encoder.py")
"""The module for PyTorch Geometric, which an export copies. graphkin never imports it."""


@dataclass(frozen=True, eq=False)
class ExportedEncoder:
    """An encoder of a run.

    Attributes:
        pretrained: The encoder.
        folder: Folder of the run.
    """

    pretrained: Pretrained
    folder: Path

    @classmethod
    def from_checkpoint(cls, folder: Path) -> "ExportedEncoder":
        """Return the encoder of a run's newest checkpoint. Raises the errors of `load_encoder`."""
        return cls(load_encoder(folder), folder)

    def write_file(self, file: BinaryIO, format: FileFormat) -> None:
        """Write the weights by name, as `torch.save` does and `torch.load(weights_only=True)` reads.

        Args:
            file: The file.
            format: `state-dict` for the names in graphkin, or `pretrain-gnns`.

        Raises:
            Conflict: pretrain-gnns has no such encoder.
        """
        weights = dict(self.pretrained.encoder.state_dict())
        if format == "pretrain-gnns":
            self._require_atoms("pretrain-gnns")
            weights = {foreign_name(name): value for name, value in weights.items()}
        torch.save(weights, file)

    def write_folder(self, folder: Path, format: FolderFormat) -> None:
        """Write the encoder into an existing folder.

        Args:
            folder: The folder.
            format: `geometric` for a module of PyTorch Geometric that needs no graphkin, or `hugging-face`.

        Raises:
            Conflict: The module cannot compute this encoder.
        """
        encoder, model = self.pretrained.encoder, self.pretrained.model
        if format == "hugging-face":
            options = {name: value for name, value in read_run(self.folder).items() if name != "format"}
            hugging_face.write_model(folder, encoder, model, options, self._steps())
            return
        self._require_atoms("the module of PyTorch Geometric")
        shutil.copyfile(_MODULE, folder / "encoder.py")
        architecture: dict[str, Any] = {"encoder": model.encoder, "layers": model.layers, "width": model.width}
        (folder / "config.json").write_text(json.dumps(architecture) + "\n")
        with (folder / "encoder.pt").open("wb") as file:
            self.write_file(file, "state-dict")

    def _steps(self) -> int:
        """Return the completed steps of the run."""
        checkpoint = newest_checkpoint(self.folder)
        assert checkpoint is not None
        return int(checkpoint.name.removeprefix("step-"))

    def _require_atoms(self, target: str) -> None:
        """Raise `Conflict` unless the encoder is built in and has no inputs but the features of Hu et al."""
        model = self.pretrained.model
        if model.encoder not in ENCODERS or model != Model(model.encoder, model.layers, model.width, model.dropout):
            raise Conflict(
                f"this encoder cannot be exported to {target}",
                given=asdict(model),
                expected=f"{', '.join(ENCODERS)}, for molecules or graphs, with the features of Hu et al.",
                hint="choose --format state-dict or --format hugging-face",
            )
