"""The layout of a model on Hugging Face: config.json, model.safetensors and README.md, the model card."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import nn

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.model.weights import save_tensors
from graphkin.trainer.pretraining.config import Model

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
_MODEL_TYPE = "graphkin"


def write_model(folder: Path, encoder: nn.Module, model: Model, run: Mapping[str, Any], steps: int) -> None:
    """Write an encoder into a folder.

    Args:
        folder: An existing folder.
        encoder: The encoder, on the CPU.
        model: Its architecture.
        run: Content of its run.json.
        steps: Completed steps of its training.
    """
    config = {
        "model_type": _MODEL_TYPE,
        "graphkin_version": version("graphkin"),
        "steps": steps,
        "run": dict(run),
    }
    save_tensors(folder / WEIGHTS, encoder.state_dict())
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n")
    (folder / CARD).write_text(_card(encoder, model, run, steps))


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of config.json.

    Raises:
        InvalidInput: The folder has no config.json, or that of another library.
    """
    try:
        config = json.loads((folder / CONFIG).read_text())
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict) or config.get("model_type") != _MODEL_TYPE:
        raise InvalidInput(
            "this is not the folder of an encoder that graphkin exported",
            given=str(folder),
            expected=f"a folder with a {CONFIG} whose model_type is {_MODEL_TYPE}, and {WEIGHTS}",
            hint="write such a folder with `graphkin weights export --format hugging-face`",
        )
    return config


def _card(encoder: nn.Module, model: Model, run: Mapping[str, Any], steps: int) -> str:
    weights = sum(parameter.numel() for parameter in encoder.parameters())
    rows = {
        "encoder": f"{model.encoder}, {model.layers} layers of width {model.width}",
        "parameters": f"{weights:,}",
        **_history(run, steps),
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return _TEMPLATE.format(table=table, weights=WEIGHTS, config=CONFIG)


def _history(run: Mapping[str, Any], steps: int) -> dict[str, object]:
    """Return the rows of the card about pre-training, fine-tuning and import, by name."""
    rows: dict[str, object] = {}
    if run.get("config"):
        rows |= {"pre-training": f"{run['config']['strategy']}, seed {run['config']['draws']['seed']}", "steps": steps}
    if "generation" in run:
        generation = run["generation"]
        rows["data"] = f"collection {generation['collection']}, generation {generation['id']}"
    if "finetuned" in run:
        rows["fine-tuning"] = f"with labels; `{CONFIG}` has its settings"
    if "imported" in run:
        rows["imported from"] = f"{run['imported']['name']} ({run['imported']['format']})"
    return rows


_TEMPLATE = """\
---
library_name: graphkin
tags:
- graph-neural-network
- graph-embedding
---

# Graph encoder

| | |
|---|---|
{table}

`{weights}` holds the weights of the encoder, and `{config}` all settings of its training.

## Use

Import the folder, and embed molecules:

```sh
graphkin weights import --format hugging-face --input FOLDER --output runs/imported
graphkin embed --checkpoint runs/imported --input molecules.smi --output embeddings.parquet
```

An embedding is the mean of the vectors of the atoms or nodes, scaled to length 1. The product of two embeddings is
their cosine.
"""
