"""The offline folder: a generation's features and the draws of some epochs, for machines without a network.

folder/
  manifest.json     format, the generation and the one beside it, the draws, the number of epochs, the corpus's columns
  corpus.npz        the columns of `features.corpus.Corpus`
  twins.npz         `pairs`: those of similarity 1
  links.npz         `pairs`: the edges of the big graph, where subgraphs of it are to be drawn
  epoch-00000.npz   `positives` and `negatives` of `source.Epoch`; one file an epoch

Reading needs numpy and nothing else.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.strategy import Draws

_FORMAT = 1
_MANIFEST = "manifest.json"
_CORPUS = "corpus.npz"
_TWINS = "twins.npz"
_LINKS = "links.npz"
_COLUMNS = [field.name for field in fields(Corpus) if field.default is MISSING and field.name != "identity"]
"""Those of every corpus; a folder with more says so in its manifest."""


def write_offline(source: Source, epochs: int, folder: Path, advance: Callable[[int], object] = lambda _: None) -> None:
    """Write all that training for `epochs` epochs needs into a folder. `advance(1)` is called after each epoch.

    Raises what `source` raises, and `OSError`; the manifest is written last, so a folder without one is not whole.
    """
    columns = source.corpus().columns
    _write(folder / _CORPUS, columns)
    _write(folder / _TWINS, {"pairs": source.twins()})
    if source.draws.walks is not None:
        _write(folder / _LINKS, {"pairs": source.links()})
    for epoch in range(epochs):
        _write(folder / _epoch_file(epoch), source.epoch(epoch)._asdict())
        advance(1)
    manifest = {
        "format": _FORMAT,
        "generation": asdict(source.generation),
        "draws": source.draws.as_json(),
        "epochs": epochs,
        "columns": [*columns],
    }
    if source.beside is not None:
        manifest["beside"] = asdict(source.beside)
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


class OfflineSource(Source):
    """Reads a folder that `graphkin fetch` wrote.

    draws  what the training is to draw: what was fetched must be that. Its batches may be larger than those fetched.
           Where nothing is drawn, there are as many epochs as are asked for.
    last   the last epoch that will be asked for; None if that is not known.

    Raises `NotFound` where there is no such folder, `Damaged`, and `InvalidInput` where it holds something else or
    too little.
    """

    def __init__(self, folder: Path, draws: Draws, *, last: int | None = None) -> None:
        manifest = _read_manifest(folder)
        self.draws = draws
        self.generation = fetched_generation(folder)
        try:
            self.beside = Generation(**manifest["beside"]) if "beside" in manifest else None
            self._fetched = Draws.from_json(manifest["draws"])
            self._count: int = manifest["epochs"]
            self._columns: list[str] = [*manifest.get("columns", _COLUMNS)]
        except (LookupError, TypeError) as error:
            raise _damaged(folder / _MANIFEST, error) from error
        self._folder = folder
        self._require(draws)
        if last is not None:
            self.require(last)
        self._epochs = Prefetch(self._load, self._count - 1)

    def corpus(self) -> Corpus:
        columns = self._arrays(_CORPUS, *self._columns)
        try:
            return Corpus(self.generation.id, **dict(zip(self._columns, columns, strict=True)))
        except TypeError as error:
            raise _damaged(self._folder / _MANIFEST, error) from error

    def twins(self) -> NDArray[np.int32]:
        (pairs,) = self._arrays(_TWINS, "pairs")
        return pairs

    def links(self) -> NDArray[np.int32]:
        if self._fetched.walks is None:
            return super().links()
        (pairs,) = self._arrays(_LINKS, "pairs")
        return pairs

    def prefetch(self, epoch: int) -> None:
        self.require(epoch)
        self._epochs.begin(epoch)

    def require(self, last: int) -> None:
        if self.draws.policy is not None and not 0 <= last < self._count:
            raise InvalidInput(
                "this epoch was not fetched",
                given=last,
                expected=f"0 to {self._count - 1}",
                hint="fetch again with more --epochs",
            )

    def epoch(self, epoch: int) -> Epoch:
        self.require(epoch)
        return self._epochs.get(epoch)

    def close(self) -> None:
        self._epochs.close()

    def _load(self, epoch: int) -> Epoch:
        if self.draws.policy is None:
            return Epoch(np.empty((self.generation.size, 0), np.int32), np.empty((0, 0), np.int32))
        positives, negatives = self._arrays(_epoch_file(epoch), *Epoch._fields)
        return Epoch(positives, negatives[: self.draws.batches(self.generation.size)])

    def _arrays(self, name: str, *wanted: str) -> list[NDArray[Any]]:
        path = self._folder / name
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return [arrays[each] for each in wanted]
        except Exception as error:  # zipfile and numpy let through whatever their parsers raise on damage
            raise _damaged(path, error) from error

    def _require(self, draws: Draws) -> None:
        """What was fetched must be what is to be drawn, in batches that are no smaller."""
        same = replace(draws, batch_size=self._fetched.batch_size) == self._fetched
        if not same or draws.batches(self.generation.size) > self._fetched.batches(self.generation.size):
            raise InvalidInput(
                "this folder was fetched for something else",
                given=json.dumps(self._fetched.as_json()),
                expected=json.dumps(draws.as_json()),
                hint="train with the strategy, preset, encoder, batch size, seed and settings it was fetched with",
            )


def fetched_generation(folder: Path) -> Generation:
    """What a folder was fetched of. Raises `NotFound` and `Damaged`."""
    try:
        return Generation(**_read_manifest(folder)["generation"])
    except (LookupError, TypeError) as error:
        raise _damaged(folder / _MANIFEST, error) from error


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFound(
            "no offline folder there", given=str(folder), expected=f"a folder with {_MANIFEST}, from `graphkin fetch`"
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise Damaged(
            "an offline folder of another format",
            given=found,
            expected=f"format {_FORMAT}",
            hint="fetch and train with the same version of graphkin",
        )
    return manifest


def _write(path: Path, arrays: dict[str, Any]) -> None:
    np.savez_compressed(path, **arrays)


def _epoch_file(epoch: int) -> str:
    return f"epoch-{epoch:05}.npz"


def _damaged(path: Path, error: Exception) -> Damaged:
    return Damaged(
        f"{path.name} is damaged: {error}",
        given=str(path),
        expected="the file as `graphkin fetch` wrote it",
        hint="copy the folder again, or run `graphkin fetch` again",
    )
