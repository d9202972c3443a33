"""The stages that open files and parse their records, and the checks of their results."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import pyarrow as pa

from graphkin.ingest.agreement import Agreement
from graphkin.ingest.duplicates import with_places
from graphkin.ingest.items import ItemTable, OldItems, Properties
from graphkin.ingest.options import IngestOptions
from graphkin.ingest.parsing import Chunk, Parsed
from graphkin.ingest.pool import ParserPool
from graphkin.ingest.progress import Clock
from graphkin.ingest.readers import Input, Source, open_source
from graphkin.ingest.readers.columns import likely_names
from graphkin.ingest.readers.networks import open_network
from graphkin.ingest.readers.widths import require_type
from graphkin.ingest.rejections import save_rejections
from graphkin.ingest.workspace import Workspace
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import parameter
from graphkin.similarity.fingerprints.recipe import BitsRecipe
from graphkin.similarity.kind import Kind
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.recipe import Recipe
from graphkin.store.base import Draft

FileOrInput = TypeVar("FileOrInput", bound=Input)


def open_sources(
    files: Sequence[Input], kind: Kind[Recipe], recipe: Recipe, options: IngestOptions
) -> Iterator[Source]:
    """Open each file as a source, one after the other.

    Raises:
        InvalidInput: A file cannot be read, holds fingerprints of another type than the recipe, or lacks a column that
            the recipe needs.
    """
    if isinstance(recipe, NodeRecipe):
        label_files = pair_files(require_files(files, kind), options.labels, "labels")
        return (open_network(file, recipe, options.read, labels) for file, labels in label_files)
    if isinstance(recipe, BitsRecipe):
        require_type(files, recipe.type, kind.file_formats, options.read)
    if isinstance(recipe, MoleculeRecipe):
        require_fingerprint_column(options.read.fingerprint_column, is_precomputed=recipe.fingerprint.is_precomputed)
    name_files = pair_files(files, options.names, "names")
    return (open_source(file, kind.file_formats, options.read, names=names) for file, names in name_files)


def require_fingerprint_column(column: str | None, *, is_precomputed: bool) -> None:
    """Check that a fingerprint column is named if, and only if, the fingerprints come with the records.

    Raises:
        InvalidInput: Only one of the two holds.
    """
    if is_precomputed != (column is not None):
        fingerprint, option = parameter("--fingerprint", "given"), "--fingerprint-column"
        raise InvalidInput(
            f"precomputed fingerprints need a column, and a column of fingerprints needs {fingerprint}",
            given=f"{fingerprint} without a column" if column is None else f"{parameter(option, column)} alone",
            expected=f"{fingerprint} and {parameter(option, 'COLUMN')}, or neither",
            hint=f"add {parameter(option) if column is None else fingerprint}, or leave the other one out",
        )


def require_files(inputs: Sequence[Input], kind: Kind[Recipe]) -> Sequence[str]:
    """Return the paths of files.

    Raises:
        InvalidInput: One of the inputs is data in memory.
    """
    files = [each for each in inputs if isinstance(each, str)]
    if len(files) < len(inputs):
        raise InvalidInput(
            f"{kind.plural} are read only from files",
            given=", ".join(each.name for each in inputs if not isinstance(each, str)),
            expected=f"files in the formats {', '.join(kind.file_formats)}",
            hint="write the data to a file, and pass its path",
        )
    return files


def pair_files(
    files: Sequence[FileOrInput], companions: Sequence[str], option: str
) -> Iterator[tuple[FileOrInput, str | None]]:
    """Pair each file with its companion file, or with None if there are no companion files.

    Raises:
        InvalidInput: The numbers of files differ.
    """
    paired_files: Sequence[str | None] = companions or [None] * len(files)
    if len(paired_files) != len(files):
        raise InvalidInput(
            f"the number of {option} differs from the number of files",
            given=f"{len(files)} files, {len(paired_files)} of {option}",
            expected=f"one of {parameter(f'--{option}')} for each file, in the same order",
            hint="give one for each file, in the same order, or none",
        )
    return zip(files, paired_files, strict=True)


def parser_pool(kind: Kind[Recipe], recipe: Recipe, options: IngestOptions, workspace: Workspace) -> ParserPool:
    """Return a pool of worker processes for parsing."""
    return ParserPool(kind.describer, recipe, options.max_size or kind.max_size, options.workers, workspace)


def chunks(sources: Sequence[Source]) -> Iterator[Chunk]:
    """Yield the records of all sources in chunks."""
    for source in sources:
        for records in source:
            yield Chunk(source.name, source.notation, records)


def parse_sources(
    kind: Kind[Recipe],
    sources: Sequence[Source],
    recipe: Recipe,
    options: IngestOptions,
    draft: Draft,
    pool: ParserPool,
    clock: Clock,
    older: OldItems,
) -> ItemTable:
    """Collect the items of all sources in an item table, and write rejected records to the draft.

    Args:
        kind: Kind of the items.
        sources: The sources.
        recipe: Recipe of the items.
        options: Options of the run.
        draft: The draft of the generation.
        pool: A pool that has been started with the chunks of the sources.
        clock: Measures and reports the progress.
        older: The old items of the collection.

    Raises:
        InvalidInput: No record was kept, or too many were rejected.
    """
    table = ItemTable(older, options.duplicates)
    column = kind.consistent_column(recipe)
    reviews = [] if column is None else [Agreement(column, older.fingerprints_by_digest()).review]
    if options.duplicates == "reject":
        reviews.append(with_places)
    results = pool.results(partial(_review, reviews)) if reviews else pool.results()
    total = sum(source.bytes_total or 0 for source in sources) or None
    with clock.stage("parse", total, "B") as advance:
        reported = 0
        for chunk in results:
            table.add(chunk)
            if chunk.rejections.num_rows:
                draft.append_rejections(chunk.rejections)
            reached = sum(source.bytes_read for source in sources)
            advance(reached - reported)
            reported = reached
    if options.duplicates == "reject":
        draft.append_rejections(table.reject_conflicts())
    in_memory = {source.name for source in sources if source.is_in_memory}
    require_items(table.read, table.rejected, lambda: table.rejections, options, in_memory)
    return table


def _review(reviews: Sequence[Callable[[Chunk, Parsed], Parsed]], chunk: Chunk, parsed: Parsed) -> Parsed:
    """Return the parsed chunk after all reviews, each of which may reject records or add columns."""
    for review in reviews:
        parsed = review(chunk, parsed)
    return parsed


def require_items(
    read: int,
    rejected: int,
    rejections: Callable[[], Iterable[pa.RecordBatch]],
    options: IngestOptions,
    in_memory: Container[str] = (),
) -> None:
    """Check the numbers of kept and of rejected records.

    Args:
        read: Number of records.
        rejected: Number of rejected records.
        rejections: Returns the rejected records.
        options: Options of the run.
        in_memory: Names of the sources that are data in memory.

    Raises:
        InvalidInput: No record was kept, or the share of rejected records exceeds `max_rejected`.
    """
    share = rejected / read if read else 0.0
    if read > rejected and share <= options.max_rejected:
        return
    if not read:
        raise InvalidInput(
            "the input holds no records",
            expected="at least one",
            hint=f"check the data, or the format of the file with {parameter('--format')}",
        )
    allow_more = f"allow more with {parameter('--max-rejected')}"
    hint = f"see what is wrong with them, or {allow_more}"
    if options.rejections_file is not None:
        hint = f"{save_rejections(rejections(), options.rejections_file)}; mend them, or {allow_more}"
    first = next(row for batch in rejections() for row in batch.slice(0, 1).to_pylist())
    place = f"{first['source']}:{first['line']}"
    if first["source"] in in_memory:
        place = f"row {first['line']} of the {first['source']}, counted from 0"
    raise InvalidInput(
        f"{rejected} of {read} records ({share:.1%}) were rejected; nothing was published",
        given=f"first: {place}: {first['reason'][:300]}",
        expected=f"at least one accepted record, and at most {options.max_rejected:.1%} rejected",
        hint=hint,
    )


def missing_names_note(properties: Properties) -> str:
    """Return the note which says that no item has a name, and which columns may hold names."""
    columns = likely_names(sorted(properties.source))
    examples = f", such as {', '.join(map(repr, columns[:5]))}" if columns else ""
    option = parameter("--name-column")
    return f"no item has a name: tables have a column of names ({option}{examples}), .smi a name after each SMILES"
