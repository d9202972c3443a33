"""The manifest of an offline folder: its contents, and the SHA-256 of every file and of the manifest itself."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.seal import seal_document, unseal_document
from graphkin.trainer.feed.source import Generation
from graphkin.trainer.strategy import Sampling

_FORMAT = 2
_NAME = "offline"


@dataclass(frozen=True)
class FolderManifest:
    """The contents of an offline folder.

    Attributes:
        generation: Generation to train on.
        draws: Sampling settings.
        epochs: Number of epochs.
        columns: Columns of the features, as in `Corpus.columns`.
        files: SHA-256 of every file by its name.
        anchors: Number of items with positives; None for a strategy without positives.
        beside: Generation of the second collection (`--beside`); None if there is none.
    """

    generation: Generation
    draws: Sampling
    epochs: int
    columns: list[str]
    files: Mapping[str, str]
    anchors: int | None
    beside: Generation | None

    def to_bytes(self) -> bytes:
        """Return the content of `manifest.json`."""
        return seal_document(_NAME, {"format": _FORMAT, **asdict(self), "draws": self.draws.as_json()})

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Parse the content of `manifest.json`.

        Raises:
            ValueError: The content is not a manifest of this format, or was altered.
        """
        try:
            values, is_intact = unseal_document(_NAME, content)
        except ValueError as error:
            raise ValueError(f"it is no manifest of format {_FORMAT}") from error
        if not is_intact:
            raise ValueError("it was altered: its SHA-256 does not match")
        if values.pop("format", None) != _FORMAT:
            raise ValueError(f"it is of another format than {_FORMAT}")
        try:
            return cls._from_values(values)
        except (LookupError, TypeError, ValueError, AttributeError, InvalidInput) as error:
            raise ValueError(f"it does not describe an offline folder: {error}") from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        beside = values["beside"]
        parts = {
            "generation": _generation(values["generation"]),
            "draws": Sampling.from_json(values["draws"]),
            "beside": None if beside is None else _generation(beside),
        }
        manifest = cls(**{**values, **parts})
        _require_count(manifest.epochs)
        if manifest.anchors is not None:
            _require_count(manifest.anchors)
        texts = [*manifest.columns, *manifest.files, *manifest.files.values()]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("columns and files are no texts")
        return manifest


def _generation(values: dict[str, Any]) -> Generation:
    generation = Generation(**values)
    _require_count(generation.size)
    if not all(isinstance(text, str) for text in (generation.collection, generation.kind, generation.id)):
        raise TypeError(f"{values} is no generation")
    return generation


def _require_count(value: Any) -> None:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is no count")
