"""Reader of positive sets from the files of `graphkin epochs`, on any file system that fsspec supports."""

import hashlib
import json
from dataclasses import asdict
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graphkin.protocol.epochs import MANIFEST, EpochPart, Epochs
from graphkin.protocol.errors import Damaged, InvalidInput, NotFound, Unavailable, unknown_file_system
from graphkin.protocol.policy import Policy
from graphkin.runtime.location import Location, UnknownFileSystem, Unreachable, without_credentials
from graphkin.trainer.feed.source import Generation
from graphkin.trainer.feed.tables import read_positives
from graphkin.trainer.strategy import Sampling


class EpochFolder:
    """Positive sets of some epochs, in a folder or below a URL.

    The file system takes credentials from its environment. The SHA-256 of every file is checked.

    Raises:
        NotFound: There is no manifest of epochs.
        Damaged: A file was changed after it was written.
        Unavailable: The file system cannot be read.
        InvalidInput: The file system is unknown.
    """

    def __init__(self, url: str) -> None:
        self._safe_url = without_credentials(url)
        try:
            self._location = Location(url)
        except UnknownFileSystem as error:
            expected = "a folder, file:///FOLDER, s3://BUCKET/FOLDER"
            raise unknown_file_system(error, self._safe_url, expected) from error
        try:
            self._manifest = Epochs.from_bytes(self._read(MANIFEST))
        except FileNotFoundError as error:
            raise NotFound(
                "this folder holds no epochs",
                given=self._safe_url,
                expected=f"a folder with {MANIFEST}, from `graphkin epochs`",
                hint=f"check the address; a folder without {MANIFEST} is unfinished: start `graphkin epochs` again",
            ) from error

    def require(self, generation: Generation, draws: Sampling) -> None:
        """Check that the folder has the positives that a training needs.

        Args:
            generation: Generation to train on.
            draws: Sampling settings of the training.

        Raises:
            InvalidInput: The generation, the policy or the seed of the folder differs.
        """
        requested = None if draws.policy is None else Policy.from_name(**asdict(draws.policy))
        for name, actual, expected, is_same in (
            ("generation", self._manifest.generation, generation.id, self._manifest.generation == generation.id),
            (
                "policy",
                _describe(self._manifest.policy),
                _describe(requested),
                _key(self._manifest.policy) == _key(requested),
            ),
            ("seed", self._manifest.seed, draws.seed, self._manifest.seed == draws.seed),
        ):
            if not is_same:
                raise InvalidInput(
                    f"these epochs were sampled for another {name}",
                    given=f"{actual}, in {self._safe_url}",
                    expected=str(expected),
                    hint="sample them again: `graphkin epochs` with the generation, policy and seed of the training",
                )

    def require_epoch(self, epoch: int) -> None:
        """Check that the folder has an epoch.

        Raises:
            InvalidInput: The folder does not have it.
        """
        if not self._manifest.first <= epoch < self._manifest.stop:
            raise InvalidInput(
                "this epoch was not sampled",
                given=f"{epoch}, in {self._safe_url}",
                expected=f"{self._manifest.first} to {self._manifest.stop - 1}",
                hint="sample more epochs with `graphkin epochs`, into a new folder",
            )

    def epoch(self, epoch: int, generation: Generation, draws: Sampling, anchors: int | None) -> NDArray[np.int32]:
        """Return the positives of all items in an epoch, (size, k) int32.

        Args:
            epoch: The epoch.
            generation: Generation to train on.
            draws: Sampling settings of the training.
            anchors: Number of items with a neighbor; None if unknown.

        Raises:
            InvalidInput: The folder does not have the epoch.
            Damaged: A file is damaged, or its content is not what the manifest describes.
            Unavailable: The file system cannot be read.
        """
        self.require_epoch(epoch)
        tables = [self._table(part) for part in self._manifest.parts_of(epoch)]
        if self._manifest.size != generation.size or sum(map(len, tables)) != generation.size:
            raise self._damaged(
                MANIFEST,
                f"it has {sum(map(len, tables))} of {self._manifest.size} anchors in epoch {epoch}, and the generation "
                f"has {generation.size} items",
            )
        try:
            table = pa.concat_tables(tables)
        except pa.ArrowException as error:
            raise self._damaged(MANIFEST, f"the parts of epoch {epoch} do not fit together: {error}") from error
        make_error = partial(self._damaged, ", ".join(part.name for part in self._manifest.parts_of(epoch)))
        return read_positives(table, generation, draws, epoch, anchors, make_error)

    def _table(self, part: EpochPart) -> pa.Table:
        try:
            content = self._read(part.name)
        except FileNotFoundError as error:
            raise self._damaged(part.name, "it is missing") from error
        if hashlib.sha256(content).hexdigest() != part.sha256:
            raise self._damaged(part.name, "its SHA-256 differs from the manifest's")
        try:
            table = pq.read_table(pa.BufferReader(content))
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(part.name, str(error)) from error
        if len(table) != part.rows:
            raise self._damaged(part.name, f"it has {len(table)} rows, and {MANIFEST} says {part.rows}")
        return table

    def _read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: There is no such file.
            Unavailable: The file system cannot be read.
        """
        try:
            return self._location.read(name)
        except Unreachable as error:
            raise Unavailable(
                f"the epochs cannot be read: {error}",
                given=self._safe_url,
                hint="check the address and the credentials, then run the same command again",
            ) from error

    def _damaged(self, name: str, problem: str) -> Damaged:
        return Damaged(
            f"{name} is damaged: {problem}",
            given=self._safe_url,
            expected="the file as `graphkin epochs` wrote it",
            hint="copy the folder again, or sample the epochs again with `graphkin epochs`",
        )


def _key(policy: Policy | None) -> str | None:
    """Return the parameters of a policy that can change a sample, as text."""
    return None if policy is None else policy.canonical()


def _describe(policy: Policy | None) -> str:
    return "no positives" if policy is None else json.dumps(policy.model_dump())
