"""The offline folder: a generation's features and the samples of some epochs, for machines without a network.

folder/
  manifest.json     `manifest.FolderManifest`, sealed, with the SHA-256 of every other file
  corpus.npz        the columns of `features.corpus.Corpus`
  twins.npz         `pairs`: the pairs of similarity 1
  links.npz         `pairs`: the edges of the big graph, if subgraphs of it will be sampled
  epoch-00000.npz   `positives` and `negatives` of `source.Epoch`; one file per epoch

Reading a folder needs no package but numpy.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.manifest import FolderManifest
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.feed.validation import (
    Refuse,
    require_corpus,
    require_linked,
    require_negatives,
    require_pairs,
    require_positives,
)
from graphkin.trainer.strategy import Draws

_MANIFEST = "manifest.json"
_CORPUS = "corpus.npz"
_TWINS = "twins.npz"
_LINKS = "links.npz"


def write_offline(source: Source, epochs: int, folder: Path, advance: Callable[[int], object] = lambda _: None) -> None:
    """Write everything that training for `epochs` epochs needs into a folder.

    The manifest is written last, so a folder without one is incomplete. Raises the errors of `source`, and `OSError`.

    Args:
        source: The source to copy from.
        epochs: Number of epochs to copy.
        folder: An existing folder.
        advance: Called with 1 after each epoch.
    """
    corpus = source.corpus()
    files = {_CORPUS: _write(folder / _CORPUS, corpus.columns)}
    files[_TWINS] = _write(folder / _TWINS, {"pairs": source.twins()})
    if source.draws.walks is not None:
        files[_LINKS] = _write(folder / _LINKS, {"pairs": source.links()})
    anchors = None
    for epoch in range(epochs):
        samples = source.epoch(epoch)
        if source.draws.policy is not None:
            anchors = int(np.count_nonzero(samples.positives[:, 0] >= 0))
        files[_epoch_file(epoch)] = _write(folder / _epoch_file(epoch), samples._asdict())
        advance(1)
    manifest = FolderManifest(source.generation, source.draws, epochs, [*corpus.columns], files, anchors, source.beside)
    (folder / _MANIFEST).write_bytes(manifest.sealed())


class OfflineSource(Source):
    """A source that reads a folder written by `graphkin fetch`.

    The contents of every file are checked, and so is its SHA-256.

    Args:
        folder: The folder to read.
        draws: The samples that training needs, which must be those of the folder. Batches may be larger than those
            fetched. Without positives there is no limit to the epochs.
        last: The last epoch that training needs; None if unknown.

    Raises:
        NotFound: There is no such folder.
        Damaged: A file is damaged; the message names it.
        InvalidInput: The folder holds other samples, or too few.
    """

    def __init__(self, folder: Path, draws: Draws, *, last: int | None = None) -> None:
        self._manifest = _read_manifest(folder)
        self.draws = draws
        self.generation, self.beside = self._manifest.generation, self._manifest.beside
        self._folder = folder
        self._require(draws)
        if last is not None:
            self.require(last)
        self._epochs = Prefetch(self._load, self._manifest.epochs - 1)

    def corpus(self) -> Corpus:
        columns = self._arrays(_CORPUS, *self._manifest.columns)
        refuse = self._refuse(_CORPUS)
        try:
            corpus = Corpus(self.generation.id, **dict(zip(self._manifest.columns, columns, strict=True)))
        except (Damaged, TypeError, LookupError) as error:
            raise refuse(str(error)) from error
        require_corpus(corpus, self.generation.size, refuse)
        return corpus

    def twins(self) -> NDArray[np.int32]:
        return self._pairs(_TWINS)

    def links(self) -> NDArray[np.int32]:
        return super().links() if self._manifest.draws.walks is None else self._pairs(_LINKS)

    def _pairs(self, name: str) -> NDArray[np.int32]:
        (pairs,) = self._arrays(name, "pairs")
        require_pairs(pairs, self.generation.size, self._refuse(name))
        return pairs

    def prefetch(self, epoch: int) -> None:
        self.require(epoch)
        self._epochs.begin(epoch)

    def require(self, last: int) -> None:
        if self.draws.policy is not None and not 0 <= last < self._manifest.epochs:
            raise InvalidInput(
                "this epoch was not fetched",
                given=last,
                expected=f"0 to {self._manifest.epochs - 1}",
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
        name, size, fetched = _epoch_file(epoch), self.generation.size, self._manifest.draws
        positives, negatives = self._arrays(name, *Epoch._fields)
        refuse = self._refuse(name)
        is_sampled = fetched.positives == "exact" and self.beside is None
        require_positives(positives, size, fetched, refuse, anchors=self._manifest.anchors, is_sampled=is_sampled)
        require_negatives(negatives, size, fetched.batches(size), fetched.negatives, refuse)
        if is_sampled:
            require_linked(negatives, positives, refuse)
        return Epoch(positives, negatives[: self.draws.batches(size)])

    def _arrays(self, name: str, *columns: str) -> list[NDArray[Any]]:
        path = self._folder / name
        try:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != self._manifest.files.get(name):
                    raise ValueError(f"its SHA-256 is not the one in {_MANIFEST}")
                file.seek(0)
                with np.load(file, allow_pickle=False) as arrays:
                    return [arrays[each] for each in columns]
        except Exception as error:  # zipfile and numpy do not translate the errors that their parsers raise on damage
            raise _damaged(path, str(error)) from error

    def _refuse(self, name: str) -> Refuse:
        return partial(_damaged, self._folder / name)

    def _require(self, draws: Draws) -> None:
        """Raise `InvalidInput` unless the folder holds these samples, in batches that are not larger."""
        fetched = self._manifest.draws
        same = replace(draws, batch_size=fetched.batch_size) == fetched
        if not same or draws.batches(self.generation.size) > fetched.batches(self.generation.size):
            raise InvalidInput(
                "this folder was fetched for something else",
                given=json.dumps(fetched.as_json()),
                expected=json.dumps(draws.as_json()),
                hint="train with the strategy, preset, encoder, batch size, seed and settings it was fetched with",
            )


def fetched_generation(folder: Path) -> Generation:
    """Return the generation that a folder was fetched from.

    Raises:
        NotFound: There is no such folder.
        Damaged: The manifest is damaged.
    """
    return _read_manifest(folder).generation


def _read_manifest(folder: Path) -> FolderManifest:
    path = folder / _MANIFEST
    try:
        return FolderManifest.from_content(path.read_bytes())
    except FileNotFoundError as error:
        raise NotFound(
            "no offline folder there", given=str(folder), expected=f"a folder with {_MANIFEST}, from `graphkin fetch`"
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write the file and return its SHA-256."""
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # no column is named allow_pickle
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _epoch_file(epoch: int) -> str:
    return f"epoch-{epoch:05}.npz"


def _damaged(path: Path, problem: str) -> Damaged:
    return Damaged(
        f"{path.name} is damaged: {problem}",
        given=str(path),
        expected="the file as `graphkin fetch` of this version wrote it",
        hint="copy the folder again, or run `graphkin fetch` again",
    )
