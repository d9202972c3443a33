"""Facts about a generation: its origin, its counts and its damage, as text, as JSON and as HTML."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from graphkin.ingest.notes import column_notes, differing_notes
from graphkin.protocol.errors import Damage
from graphkin.protocol.generations import short_id
from graphkin.protocol.manifest import Counts, Manifest, Rerun
from graphkin.store.base import Store


@dataclass(frozen=True, repr=False)
class CollectionInfo:
    """Facts about one generation of a collection. `print` and notebooks show them.

    Attributes:
        name: Name of the collection.
        manifest: Recipe, versions, inputs and counts of the generation.
        generations: Ids of all generations of the collection, oldest first.
        current: Id of the current generation.
        rerun: The latest run that produced the same generation again, or None.
        damage: The first damaged file with its problem, or None.
    """

    name: str
    manifest: Manifest
    generations: Sequence[str]
    current: str
    rerun: Rerun | None
    damage: Damage | None

    @classmethod
    def from_store(cls, store: Store, collection: str, generation: str | None = None) -> "CollectionInfo":
        """Return the facts about a generation of a store.

        Args:
            store: The store.
            collection: Name of the collection.
            generation: Id of the generation, or a prefix of the id. The default is the current generation.

        Returns:
            The facts.

        Raises:
            GraphkinError: Any error of `Store.full_id` and `Store.manifest`.
        """
        id = store.full_id(collection, generation)
        manifest, damage = store.manifest(collection, id), store.damage(collection, id)
        record, entry = store.rerun(collection, manifest.generation), store.collection(collection)
        return cls(
            collection,
            manifest,
            entry.generations,
            entry.current,
            None if record is None else record.rerun,
            damage,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as `graphkin info --json` prints them.

        Returns:
            A dictionary that can be written as JSON: name, generations, manifest, rerun and damaged.
        """
        damage = self.damage and {"file": self.damage.file, "problem": self.damage.problem}
        return {
            "name": self.name,
            "generations": list(self.generations),
            "manifest": self.manifest.model_dump(mode="json"),
            "rerun": None if self.rerun is None else self.rerun.model_dump(mode="json"),
            "damaged": damage,
        }

    def __str__(self) -> str:
        (title, *facts) = self._facts()
        return "\n  ".join([title, *facts])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        (title, *facts) = (escape(fact) for fact in self._facts())
        return f"<p>{title}</p><ul>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>"

    def _facts(self) -> Iterator[str]:
        manifest = self.manifest
        id = short_id(manifest.generation)
        yield f"{self.name} ({manifest.kind}), generation {id}, published {manifest.published_at}"
        if self.damage is not None:
            yield f"DAMAGED: {self.damage.file}: {self.damage.problem}"
        yield _count_text(manifest.counts)
        yield f"{manifest.edges:,} edges with similarity ≥ {manifest.threshold:g} ({manifest.pairs_text})"
        if manifest.stability is not None:
            yield manifest.stability.text
        yield f"recipe {json.dumps(manifest.recipe)}"
        yield f"versions {json.dumps(manifest.versions)}"
        yield from column_notes(manifest)
        for source in manifest.inputs:
            yield f"input {source.name}, {source.bytes:,} bytes, SHA-256 {source.sha256}"
        for removal in manifest.removed:
            yield f"removed {removal.items:,} items by {removal.by}: {removal.name}, SHA-256 {removal.sha256}"
        if self.rerun is not None:
            names = ", ".join(source.name for source in self.rerun.inputs)
            yield f"unchanged by the run of {self.rerun.ran_at} ({names}): {_count_text(self.rerun.counts)}"
            yield from (f"  {note}" for note in differing_notes(self.rerun.differing, self.manifest.duplicates))
        for generation in self.generations:
            yield f"generation {short_id(generation)}{' (current)' if generation == self.current else ''}"


def _count_text(counts: Counts) -> str:
    return (
        f"{counts.read:,} records read, {counts.kept:,} kept, {counts.duplicates:,} duplicates, "
        f"{counts.rejected:,} rejected"
    )
