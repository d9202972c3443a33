"""`graphkin.ingest` and `Collection.append`, the Python counterparts of the commands `graphkin ingest` and `append`."""

import os
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from graphkin.library.arguments import KINDS, File, read_arguments, require_one_of
from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.values import Duplicates
from graphkin.similarity.recipe import Recipe

if TYPE_CHECKING:
    from graphkin.ingest.readers import Input, ReadOptions
    from graphkin.library.collection import Collection


def ingest(
    data: Any,
    *,
    store: File | None = None,
    collection: str = "items",
    kind: Literal["molecules", "graphs", "nodes", "fingerprints", "vectors"] = "molecules",
    preset: str = "default",
    threshold: float | None = None,
    smiles: str | None = None,
    name: str | None = None,
    properties: Sequence[str] | None = None,
    fingerprint_column: str | None = None,
    vector_column: str | None = None,
    names: File | Sequence[File] = (),
    format: str | None = None,
    delimiter: Literal["comma", "tab", "semicolon", "pipe", "space"] | None = None,
    encoding: str | None = None,
    decimal: Literal[".", ","] = ".",
    duplicates: Duplicates = "first",
    max_rejected: float = 0.1,
    workers: int | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    descriptors: bool = False,
    **recipe: Any,
) -> "Collection":
    """Build the similarity graph of molecules or other items, and publish it as a generation of a collection.

    Records that cannot be read are rejected. The rejected records of data in memory are named by their position,
    counted from 0. In notebooks and on terminals, stages that last longer than two seconds show progress bars.

    Args:
        data: The items, one of:

            - the path of a file, or a list of paths; or an open file, in binary or text mode
            - a data frame of pandas or Polars, an Arrow table, or any object with `__arrow_c_stream__`
            - a list, Series, array or other iterable of SMILES or of RDKit molecules, whose titles become names and
              whose properties are kept
            - fingerprints, with kind="fingerprints": an array of shape (n, bits) of 0 and 1, an array of uint64 of
              shape (n, bits / 64) with packed bits, a sparse matrix of SciPy, or RDKit bit vectors
            - vectors, with kind="vectors": an array of shape (n, numbers)
            - graphs of NetworkX or of PyTorch Geometric, with kind="graphs"
        store: A folder, which is created if it does not exist, or the address neo4j://HOST of a Neo4j server. By
            default, a temporary folder, which is removed with the last object that uses it.
        collection: Name of the collection.
        kind: Kind of the items.
        preset: Name of a set of defaults for the recipe. Molecules, graphs and nodes have presets
            besides "default".
        threshold: Minimum similarity of an edge. Without a preset, the default is 0.4 for molecules and fingerprints, 0
            for graphs, 0.5 for nodes, and 0.8 for vectors.
        smiles: Name of the column with SMILES, for tables. The default is "smiles".
        name: Name of the column with item names. The default is a column called id, Compound ID, name or
            similar, if there is one.
        properties: Names of the columns, or data items of an SD file, that become properties of the items. The default
            is all other columns.
        fingerprint_column: Name of the column with fingerprints. The default is "fingerprint". Molecules have such a
            column only with the recipe option fingerprint="given".
        vector_column: Name of the column with vectors. The default is "vector".
        names: The names of the rows of an array or list in memory. For a .npy file, the file with the names of its
            rows, one per line; for several, a list with one file per .npy file.
        format: Format of the files, such as "smi" or "csv". By default, the file name extension decides.
        delimiter: Delimiter of text tables. By default, it is inferred from the header of a .csv file.
        encoding: Encoding of text files, such as "cp1252" or "utf-16". The default is UTF-8.
        decimal: Decimal separator of numbers in the texts of tables and data frames.
        duplicates: Value of a column in which the records of an item differ. "first": the first one; "mean" and
            "median": of numbers; "list": the first one, and all of them in a column NAME_values; "reject": none,
            because the records of the item are rejected. Only with "first" can an append bring other values of items.
        max_rejected: Maximum fraction of records that may be rejected, 0 to 1. If more are rejected, nothing is
            published.
        workers: Number of worker processes and of threads. The default is the number of cores.
        device: Where pairs are compared: "cpu", or "cuda" for an NVIDIA GPU, which needs the extra `gpu` and compares
            molecules and fingerprints only. The result does not depend on it.
        descriptors: Whether to compute the molecular descriptors of molecules now, instead of when they are first used.
        **recipe: Options of the recipe, with the names that they have in `graphkin ingest KIND`, such as
            fingerprint="rdkit", bits=1024, top_k=20, standardise=("largest_fragment",) or candidates="window".
            The reference of the command lists them.

    Returns:
        The open collection. Its `manifest` has the counts, the recipe and the versions of libraries.

    Raises:
        InvalidInput: An argument or the data is invalid. Nothing is published.
        StoreError: The store cannot be written. Nothing is published.

    Example:
        ```python
        mine = graphkin.ingest("molecules.csv", store="store", collection="mine", threshold=0.4, top_k=20)
        print(mine, mine.manifest.counts)
        graphkin.ingest(["CCO", "CCN", "c1ccccc1O"]).edges(min_similarity=0.4)
        ```
    """
    from graphkin.ingest import pipeline
    from graphkin.ingest.progress_bars import library_progress
    from graphkin.library.stored import StoredCollections
    from graphkin.store import open_store

    require_one_of("kind", kind, KINDS)
    inputs, options = read_arguments(
        kind,
        data,
        smiles=smiles,
        name=name,
        properties=properties,
        fingerprint_column=fingerprint_column,
        vector_column=vector_column,
        names=names,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        duplicates=duplicates,
        max_rejected=max_rejected,
        workers=workers,
        device=device,
    )
    resolved_recipe = _resolve_recipe(kind, preset, inputs, options.read, {"threshold": threshold, **recipe})
    require(
        store is None or isinstance(store, str | os.PathLike),
        "store",
        store,
        "a folder, or the address neo4j://HOST",
        hint='pass store="FOLDER", or leave store out for a temporary folder',
    )
    require(
        not descriptors or kind == "molecules",
        "descriptors",
        f"descriptors of {kind}",
        'descriptors with kind="molecules"',
        hint="leave descriptors out",
    )
    folder: TemporaryDirectory[str] | None = None
    if store is None:
        folder = TemporaryDirectory(prefix="graphkin-")
        store = folder.name
    location = os.fspath(store)
    try:
        with open_store(location, create=True) as target:
            manifest = pipeline.ingest(target, collection, inputs, resolved_recipe, options, library_progress())
        opened = StoredCollections(location, folder).collection(collection, manifest.generation)
        if descriptors:
            opened.compute_descriptors()
    except BaseException:  # also a keyboard interrupt
        if folder is not None:
            folder.cleanup()
        raise
    opened.manifest = manifest  # That of the run: a run that repeats a generation has counts of its own.
    return opened


def _resolve_recipe(
    kind: str, preset: str, files: "Sequence[Input]", read: "ReadOptions", options: dict[str, Any]
) -> Recipe:
    """Return the recipe for a kind of items, with the defaults of a preset.

    Raises:
        InvalidInput: The kind has no such preset, or an option is invalid.
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
        hint="leave preset out",
    )
