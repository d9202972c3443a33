"""Ingest and append with `--device cuda` on a CPU, by Triton's interpreter.

TRITON_INTERPRET=1 python interpreted.py STORE COLLECTION FILE [APPENDED_FILE]
"""

import sys

import pytest
import torch

from graphkin.ingest.append import append
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.cuda import device, join
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store


def main(location: str, collection: str, first: str, *others: str) -> None:
    options = IngestOptions(workers=1, device="cuda")
    with pytest.MonkeyPatch.context() as patch, open_store(location, create=True) as store:
        for module in (device, join):
            patch.setattr(module, "require_cuda", lambda: torch.device("cpu"))
        ingest(store, collection, [first], resolve(threshold=0.3, top_k=5), options)
        for file in others:
            append(store, collection, [file], options)


if __name__ == "__main__":
    main(*sys.argv[1:])
