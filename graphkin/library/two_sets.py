"""`graphkin.compare`, and the two sets that it and the command `graphkin compare` read."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from graphkin.ingest.progress import Progress
from graphkin.ingest.progress_bars import library_progress
from graphkin.library.collection import Collection
from graphkin.library.comparison import ComparedSet, Comparison, ComparisonRun
from graphkin.library.pairs import comparable_words, compile_join, read_set, require_threshold, thread_count
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.similarity.molecules.recipe import FingerprintName, MoleculeRecipe, Step, resolve_flat


def compare(
    a: Any,
    b: Any,
    threshold: float = 0.7,
    *,
    smiles: str | None = None,
    fingerprint: FingerprintName | None = None,
    radius: int | None = None,
    bits: int | None = None,
    chirality: bool | None = None,
    standardise: Sequence[Step] = (),
    threads: int | None = None,
) -> Comparison:
    """Compare two sets of molecules or fingerprints: overlap, near duplicates, and novelty of `b` against `a`.

    Every item of `b` is compared with every item of `a`. `similar_pairs(a, b, threshold)` returns the pairs.

    Args:
        a: The first set, in any form that `similar_pairs` accepts.
        b: The second set, with fingerprints of the same type and length.
        threshold: Lowest similarity of a near duplicate, above 0 and at most 1.
        smiles: Name of the column with SMILES, for tables. The default is "smiles".
        fingerprint: Name of the fingerprint of molecules, as in `graphkin ingest molecules`. The default is "morgan".
            If a set is a collection, its fingerprint and its standardization apply to both sets.
        radius: Radius of Morgan fingerprints. The default is 2.
        bits: Length of the fingerprints of molecules. The default is 2048.
        chirality: Whether the fingerprints of molecules include chirality. The default is False.
        standardise: Steps of the standardization of both sets, in order: "largest_fragment", "uncharge", "tautomer".
        threads: Number of threads, which does not change the result. The default is the number of cores.

    Returns:
        The comparison: counts, the nearest item of `a` for each item of `b`, and a report.

    Raises:
        InvalidInput: If a set cannot be read, the fingerprints differ, or an argument is out of range.
        Conflict: If the recipes of two collections differ, or a collection is on a server.

    Example:
        ```python
        comparison = graphkin.compare("catalog.smi", "candidates.csv", 0.7)
        print(comparison.summary)
        comparison.nearest.to_pandas().sort_values("similarity")
        ```
    """
    similarity, count, progress = require_threshold(threshold), thread_count(threads), library_progress()
    recipe = {"fingerprint": fingerprint, "radius": radius, "bits": bits, "chirality": chirality}
    run = open_run(a, b, similarity, count, progress, smiles=smiles, standardise=standardise, **recipe)
    deque(run.pair_tables(), maxlen=0)
    return run.result()


def open_run(
    a: Any, b: Any, threshold: float, threads: int, progress: Progress, *, smiles: str | None, **recipe: Any
) -> ComparisonRun:
    """Read two sets, and return a run that compares them. The arguments are those of `compare`."""
    common_recipe = _common_recipe(a, b, recipe)
    sets = [read_set(each, name, smiles, common_recipe, threads, progress) for name, each in (("a", a), ("b", b))]
    words = comparable_words(sets[0], sets[1])
    compile_join(progress)
    first, second = (ComparedSet(records, each) for records, each in zip(sets, words, strict=True))
    return ComparisonRun(first, second, threshold, threads, progress)


def _common_recipe(a: Any, b: Any, options: dict[str, Any]) -> MoleculeRecipe:
    """Return the recipe of the molecules of both sets: that of a collection among them, or that of the options."""
    options = {name: value for name, value in options.items() if value is not None and value not in ((), [])}
    recipes = [
        MoleculeRecipe.model_validate(each.manifest.recipe)
        for each in (a, b)
        if isinstance(each, Collection) and each.kind == "molecule"
    ]
    if recipes and options:
        raise InvalidInput(
            "a collection already decides the fingerprint and the standardization of both sets",
            given=", ".join(sorted(options)),
            expected="no such option",
            hint="leave the option out, or compare files",
        )
    texts = [f"{each.fingerprint.type}, standardization: {', '.join(each.standardise) or 'none'}" for each in recipes]
    if len({*texts}) > 1:
        raise Conflict(
            "the molecules of the two collections were read differently",
            given=" and ".join(texts),
            expected="one fingerprint and one standardization",
            hint="compare one of the collections with the file of the other",
        )
    return recipes[0] if recipes else resolve_flat(**options)
