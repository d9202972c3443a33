"""Positive sets from files that `graphkin epochs` wrote, on any file system of fsspec."""

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
from graphkin.trainer.feed.tables import positives_of
from graphkin.trainer.strategy import Draws


class EpochFolder:
    """The epochs in a folder or below a URL.

    The file system finds credentials in its environment. Every file is compared with its SHA-256.

    Raises:
        NotFound: No epochs are published there.
        Damaged: A file differs from what was written.
        Unavailable: The file system cannot be read.
        InvalidInput: The file system is unknown.
    """

    def __init__(self, url: str) -> None:
        self._shown = without_credentials(url)
        try:
            self._location = Location(url)
        except UnknownFileSystem as error:
            expected = "a folder, file:///FOLDER, s3://BUCKET/FOLDER"
            raise unknown_file_system(error, self._shown, expected) from error
        try:
            self._manifest = Epochs.from_bytes(self._read(MANIFEST))
        except FileNotFoundError as error:
            raise NotFound(
                "no epochs there",
                given=self._shown,
                expected=f"a folder with {MANIFEST}, from `graphkin epochs`",
                hint="one without it was never finished: start the command that wrote it again",
            ) from error

    def require(self, generation: Generation, draws: Draws) -> None:
        """Raise `InvalidInput` unless these are the positives of this generation that `draws` requests."""
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
                    f"these epochs are of another {name} than is to be trained with",
                    given=f"{actual}, in {self._shown}",
                    expected=str(expected),
                    hint="draw them by `graphkin epochs` with the generation, policy and seed of the training",
                )

    def require_epoch(self, epoch: int) -> None:
        """Raise `InvalidInput` for an epoch that the folder does not hold."""
        if not self._manifest.first <= epoch < self._manifest.stop:
            raise InvalidInput(
                "this epoch was not drawn",
                given=f"{epoch}, in {self._shown}",
                expected=f"{self._manifest.first} to {self._manifest.stop - 1}",
                hint="draw more by `graphkin epochs`, into a new folder",
            )

    def epoch(self, epoch: int, generation: Generation, draws: Draws, anchors: int | None) -> NDArray[np.int32]:
        """The positives of an epoch, as `positives_of` checks them. Raises as `require_epoch`, and `Damaged`."""
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
        refuse = partial(self._damaged, ", ".join(part.name for part in self._manifest.parts_of(epoch)))
        return positives_of(table, generation, draws, epoch, anchors, refuse)

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
        """Raises `FileNotFoundError`."""
        try:
            return self._location.read(name)
        except Unreachable as error:
            raise Unavailable(
                f"the epochs cannot be read: {error}",
                given=self._shown,
                hint="check the address and the credentials, then run the same command again",
            ) from error

    def _damaged(self, name: str, problem: str) -> Damaged:
        return Damaged(
            f"{name} is damaged: {problem}",
            given=self._shown,
            expected="the file as `graphkin epochs` wrote it",
            hint="copy the folder again, or write it again",
        )


def _key(policy: Policy | None) -> str | None:
    """Return the part of a policy that can change a sample."""
    return None if policy is None else policy.canonical()


def _describe(policy: Policy | None) -> str:
    return "no positives" if policy is None else json.dumps(policy.model_dump())
