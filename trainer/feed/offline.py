"""Offline folders: the features of a generation and the samples of some epochs, for machines without a network.

folder/
  manifest.json     `manifest.FolderManifest`, with the SHA-256 of every file, and of the manifest itself
  corpus.npz        the columns of `features.corpus.Corpus`
  twins.npz         `pairs`: the pairs of items with similarity 1
  links.npz         `pairs`: the edges of the big graph, for strategies that sample subgraphs of it
  epoch-00000.npz   `positives` and `negatives` of `source.Epoch`; one file per epoch

Reading an offline folder requires no package but numpy.
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
    ErrorFactory,
    require_corpus,
    require_linked,
    require_negatives,
    require_pairs,
    require_positives,
)
from graphkin.trainer.strategy import Sampling

_MANIFEST = "manifest.json"
_CORPUS = "corpus.npz"
_TWINS = "twins.npz"
_LINKS = "links.npz"


def write_offline(source: Source, epochs: int, folder: Path, advance: Callable[[int], object] = lambda _: None) -> None:
    """Write an offline folder with everything that a training needs.

    The manifest is written last, so a folder without a manifest is incomplete.

    Args:
        source: Source to copy from.
        epochs: Number of epochs to copy.
        folder: An existing folder.
        advance: Called with 1 after each epoch.

    Raises:
        GraphkinError: The errors of `source`.
        OSError: A file cannot be written.
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
    manifest = FolderManifest(
        source.generation, source.draws, epochs, [*corpus.columns], files, anchors, source.second_generation
    )
    (folder / _MANIFEST).write_bytes(manifest.to_bytes())


class OfflineSource(Source):
    """Source that reads an offline folder, as `graphkin fetch` writes it.

    The SHA-256 and the contents of every file are checked.

    Args:
        folder: The folder.
        draws: Sampling settings of the training. They must equal the settings of the folder, except that batches may be
            larger. A strategy without positives can train for any number of epochs.
        last: Last epoch that the training needs; None if unknown.

    Raises:
        NotFound: There is no such folder.
        Damaged: A file is damaged. The error names it.
        InvalidInput: The sampling settings of the folder differ, or it has too few epochs.
    """

    def __init__(self, folder: Path, draws: Sampling, *, last: int | None = None) -> None:
        self._manifest = _read_manifest(folder)
        self.draws = draws
        self.generation, self.second_generation = self._manifest.generation, self._manifest.beside
        self._folder = folder
        self._require_draws(draws)
        if last is not None:
            self.require(last)
        self._epochs = Prefetch(self._load, self._manifest.epochs - 1)

    def corpus(self) -> Corpus:
        columns = self._arrays(_CORPUS, *self._manifest.columns)
        make_error = self._error_factory(_CORPUS)
        try:
            corpus = Corpus(self.generation.id, **dict(zip(self._manifest.columns, columns, strict=True)))
        except (Damaged, TypeError, LookupError) as error:
            raise make_error(str(error)) from error
        require_corpus(corpus, self.generation.size, make_error)
        return corpus

    def twins(self) -> NDArray[np.int32]:
        return self._pairs(_TWINS)

    def links(self) -> NDArray[np.int32]:
        return super().links() if self._manifest.draws.walks is None else self._pairs(_LINKS)

    def _pairs(self, name: str) -> NDArray[np.int32]:
        (pairs,) = self._arrays(name, "pairs")
        require_pairs(pairs, self.generation.size, self._error_factory(name))
        return pairs

    def prefetch(self, epoch: int) -> None:
        self.require(epoch)
        self._epochs.start(epoch)

    def require(self, last: int) -> None:
        if self.draws.policy is not None and not 0 <= last < self._manifest.epochs:
            raise InvalidInput(
                "this epoch was not fetched",
                given=last,
                expected=f"0 to {self._manifest.epochs - 1}",
                hint="run `graphkin fetch` again, with more --epochs",
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
        make_error = self._error_factory(name)
        is_sampled = fetched.positives == "exact" and self.second_generation is None
        require_positives(positives, size, fetched, make_error, anchors=self._manifest.anchors, is_sampled=is_sampled)
        require_negatives(negatives, size, fetched.batches(size), fetched.negatives, make_error)
        if is_sampled:
            require_linked(negatives, positives, make_error)
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
        except Exception as error:  # For damaged files, zipfile and numpy raise various errors of their parsers.
            raise _damaged(path, str(error)) from error

    def _error_factory(self, name: str) -> ErrorFactory:
        return partial(_damaged, self._folder / name)

    def _require_draws(self, draws: Sampling) -> None:
        """Raise `InvalidInput` unless the folder has these sampling settings and enough batches of negatives."""
        fetched = self._manifest.draws
        is_same = replace(draws, batch_size=fetched.batch_size) == fetched
        if not is_same or draws.batches(self.generation.size) > fetched.batches(self.generation.size):
            raise InvalidInput(
                "this folder was fetched for other settings",
                given=json.dumps(fetched.as_json()),
                expected=json.dumps(draws.as_json()),
                hint="use the same strategy, preset, encoder, batch size, seed and settings as `graphkin "
                "fetch`, or fetch again",
            )


def read_generation(folder: Path) -> Generation:
    """Return the generation whose data an offline folder holds.

    Raises:
        NotFound: There is no such folder.
        Damaged: The manifest is damaged.
    """
    return _read_manifest(folder).generation


def _read_manifest(folder: Path) -> FolderManifest:
    path = folder / _MANIFEST
    try:
        return FolderManifest.from_bytes(path.read_bytes())
    except FileNotFoundError as error:
        raise NotFound(
            "this folder was not written by `graphkin fetch`",
            given=str(folder),
            expected=f"a folder with {_MANIFEST}, from `graphkin fetch`",
            hint="check the path, or write the folder with `graphkin fetch`",
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write arrays to a file, and return its SHA-256."""
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
