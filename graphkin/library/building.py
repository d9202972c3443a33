"""Building a collection from files, as `graphkin ingest` does."""

import os
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graphkin.ingest.progress_bars import library_progress
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Manifest
from graphkin.similarity.recipe import Recipe

if TYPE_CHECKING:
    from graphkin.ingest.readers import ReadOptions

File: TypeAlias = str | PathLike[str]


def ingest(
    files: File | Sequence[File],
    *,
    store: File,
    collection: str,
    kind: Literal["molecules", "graphs", "nodes", "fingerprints", "vectors"] = "molecules",
    preset: str = "default",
    threshold: float | None = None,
    format: str | None = None,
    smiles_column: str | None = None,
    name_column: str | None = None,
    fingerprint_column: str | None = None,
    vector_column: str | None = None,
    names: Sequence[File] = (),
    delimiter: Literal["comma", "tab", "semicolon", "pipe", "space"] | None = None,
    max_rejected: float = 0.1,
    workers: int | None = None,
    **recipe: Any,
) -> Manifest:
    """Build a similarity hierarchy from files and publish it as a generation of the collection.

    store       a folder, made if there is none, or neo4j://HOST.
    threshold   smallest similarity, inclusive; by default 0.4, 0 for graphs and nodes, and 0.8 for vectors.
    format      by default told by the file's name.
    smiles_column, name_column  of tables; by default smiles, and id, Compound ID, name and the like if there is one.
    fingerprint_column, vector_column  of tables with such; by default fingerprint and vector. Molecules that come with
                fingerprints have them there with fingerprint="given".
    names       of the rows of .npy files: a file for each, with one on each line.
    delimiter   of tables; by default told by the header of .csv.
    max_rejected  share of records that may be no items; beyond it nothing is published.
    workers     processes and threads; by default as many as there are cores.
    recipe      options of `graphkin ingest KIND`, such as fingerprint="rdkit", bits=1024, top_k=20,
                standardise=("largest_fragment",) or candidates="window"; docs/cli.md lists them.

    Returns what was published: counts, recipe, versions, checksums. Raises `InvalidInput` and `StoreError`, and then
    nothing is published. Shows progress in a notebook or on a terminal.
    """
    from graphkin.ingest import pipeline
    from graphkin.ingest.recipes import read_options
    from graphkin.store import open_store

    read = read_options(
        kind,
        smiles_column,
        fingerprint_column,
        vector_column,
        format=format,
        name_column=name_column,
        delimiter=delimiter,
    )
    options = pipeline.IngestOptions(
        read=read,
        names=[os.fspath(file) for file in names],
        max_rejected=max_rejected,
        workers=workers or os.cpu_count() or 1,
    )
    given = [os.fspath(file) for file in ([files] if isinstance(files, str | PathLike) else files)]
    resolved = _recipe(kind, preset, given, read, {"threshold": threshold, **recipe})
    with open_store(os.fspath(store), create=True) as opened:
        return pipeline.ingest(opened, collection, given, resolved, options, library_progress())


def _recipe(kind: str, preset: str, files: Sequence[str], read: "ReadOptions", given: dict[str, Any]) -> Recipe:
    from graphkin.ingest.recipes import bits_recipe, molecule_recipe, vector_recipe
    from graphkin.similarity.graphs.recipe import resolve_graphs
    from graphkin.similarity.nodes.recipe import resolve_nodes

    match kind:
        case "molecules":
            return molecule_recipe(files, read, preset, **given)
        case "graphs":
            return resolve_graphs(preset, **given)
        case "nodes" if preset == "default":
            return resolve_nodes(**given)
        case "fingerprints" if preset == "default":
            return bits_recipe(files, read, **given)
        case "vectors" if preset == "default":
            return vector_recipe(files, read, **given)
    raise InvalidInput(
        "nothing is ingested so",
        given=f"kind {kind!r}, preset {preset!r}",
        expected="kind molecules or graphs, or nodes, fingerprints or vectors, which have no presets",
    )
