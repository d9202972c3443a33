"""`graphkin.ingest`, the Python counterpart of the command `graphkin ingest`."""

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
    names: File | Sequence[File] = (),
    delimiter: Literal["comma", "tab", "semicolon", "pipe", "space"] | None = None,
    max_rejected: float = 0.1,
    workers: int | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    **recipe: Any,
) -> Manifest:
    """Build the similarity graph of the items in files, and publish it as a generation of a collection.

    Progress bars are shown in notebooks and on terminals.

    Args:
        files: One file, or a list of files.
        store: A folder, which is created if it does not exist, or the address neo4j://HOST of a Neo4j server.
        collection: Name of the collection.
        kind: Kind of the items.
        preset: Name of a set of defaults for the recipe. Molecules, graphs and nodes have presets
            besides "default".
        threshold: Minimum similarity of an edge. Without a preset, the default is 0.4 for molecules and fingerprints, 0
            for graphs, 0.5 for nodes, and 0.8 for vectors.
        format: Format of the files, such as "smi" or "csv". By default, the file name extension decides.
        smiles_column: Name of the column with SMILES, for tables. The default is "smiles".
        name_column: Name of the column with item names. The default is a column called id, Compound ID, name or
            similar, if there is one.
        fingerprint_column: Name of the column with fingerprints. The default is "fingerprint". Molecules have such a
            column only with the recipe option fingerprint="given".
        vector_column: Name of the column with vectors. The default is "vector".
        names: The file with the names of the rows of a .npy file, one name per line. For several .npy files, a list
            with one file per .npy file.
        delimiter: Delimiter of text tables. By default, it is inferred from the header of a .csv file.
        max_rejected: Maximum fraction of records that may be rejected, 0 to 1. If more are rejected, nothing is
            published.
        workers: Number of worker processes and of threads. The default is the number of cores.
        device: Where pairs are compared: "cpu", or "cuda" for an NVIDIA GPU, which needs the extra `gpu` and compares
            molecules and fingerprints only. The result does not depend on it.
        **recipe: Options of the recipe, with the names that they have in `graphkin ingest KIND`, such as
            fingerprint="rdkit", bits=1024, top_k=20, standardise=("largest_fragment",) or candidates="window".
            The reference of the command lists them.

    Returns:
        The manifest of the generation: counts, recipe, library versions and checksums.

    Raises:
        InvalidInput: An argument or a file is invalid. Nothing is published.
        StoreError: The store cannot be written. Nothing is published.

    Example:
        ```python
        manifest = graphkin.ingest("molecules.csv", store="store", collection="mine", threshold=0.4, top_k=20)
        print(manifest.counts, manifest.pairs, manifest.unchanged)
        ```
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
        names=_paths(names),
        max_rejected=max_rejected,
        workers=workers or os.cpu_count() or 1,
        device=device,
    )
    paths = _paths(files)
    resolved_recipe = _resolve_recipe(kind, preset, paths, read, {"threshold": threshold, **recipe})
    with open_store(os.fspath(store), create=True) as target:
        return pipeline.ingest(target, collection, paths, resolved_recipe, options, library_progress())


def _paths(files: File | Sequence[File]) -> list[str]:
    return [os.fspath(file) for file in ([files] if isinstance(files, str | PathLike) else files)]


def _resolve_recipe(
    kind: str, preset: str, files: Sequence[str], read: "ReadOptions", options: dict[str, Any]
) -> Recipe:
    """Return the recipe for a kind of items, with the defaults of a preset.

    Raises:
        InvalidInput: The kind or its preset does not exist, or an option is invalid.
    """
    from graphkin.ingest.recipes import bits_recipe, molecule_recipe, vector_recipe
    from graphkin.similarity.graphs.recipe import resolve_graphs
    from graphkin.similarity.nodes.recipe import resolve_nodes

    match kind:
        case "molecules":
            return molecule_recipe(files, read, preset, **options)
        case "graphs":
            return resolve_graphs(preset, **options)
        case "nodes":
            return resolve_nodes(preset, **options)
        case "fingerprints" if preset == "default":
            return bits_recipe(files, read, **options)
        case "vectors" if preset == "default":
            return vector_recipe(files, read, **options)
    raise InvalidInput(
        "there is no recipe for this kind and preset",
        given=f"kind {kind}, preset {preset}",
        expected="kind molecules, graphs or nodes with a preset; kind fingerprints or vectors without a preset",
        hint='pass kind="molecules", "graphs", "nodes", "fingerprints" or "vectors", and leave '
        "preset out for the last two",
    )
