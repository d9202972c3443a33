"""`graphkin rgroups`: find the R groups of a series of molecules."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from graphkin.cli import options
from graphkin.cli.help import command, option


@command(
    examples=[
        (
            "Write the R groups of the largest cluster, colored by a property",
            "graphkin rgroups --store s --collection m --cluster 1 --property molwt --output rgroups.xlsx",
        ),
        (
            "Write the R groups of all molecules with a benzene ring at that ring",
            "graphkin rgroups --store s --collection m --substructure c1ccccc1 --core c1ccccc1 --output rgroups.csv",
        ),
        (
            "Draw an R-group table, and write the contributions of the R groups to a property",
            "graphkin rgroups --store s --collection m --core c1ccccc1 --property p --output r.svg --free-wilson f.csv",
        ),
    ]
)
@options.source_generation
@options.series
@option(
    "--core",
    metavar="CORE",
    panel="Query",
    help="Core as SMILES, or as SMARTS if it is no SMILES. [default: --scaffold, or the MCS of the series]",
)
@option("--property", metavar="NAME", panel="Output", help="Numeric property whose column comes before the core.")
@option("--sort", metavar="COLUMN", panel="Output", help="Column to sort by: id or a property. [default: id]")
@option("--descending", is_flag=True, panel="Output", help="Sort the largest values first.")
@options.output_file("File to write: .csv, .parquet, .sdf, .xlsx, .svg or .png, or - for CSV on standard output.")
@option(
    "--free-wilson",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Output",
    help="CSV file to write: contributions of the R groups to --property.",
)
@option(
    "--matrix",
    type=click.Path(path_type=Path),
    metavar="FILE",
    panel="Output",
    help="CSV file to write: combinations of R groups at two positions, with the mean of --property.",
)
@option(
    "--positions",
    nargs=2,
    metavar="R1 R2",
    panel="Output",
    help="Positions of --matrix. [default: R1 R2]",
)
@options.as_json
def rgroups(
    store_location: str,
    collection: str,
    generation: str | None,
    series: dict[str, Any],
    workers: int | None,
    core: str | None,
    property: str | None,
    sort: str | None,
    descending: bool,
    output: Path,
    free_wilson: Path | None,
    matrix: Path | None,
    positions: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Write the R groups of a series of molecules at a common core.

    The series is a cluster, the molecules with a scaffold, or items by id. --filter and --substructure select among
    them, or among all molecules. A series has at most 2,000 molecules.

    The columns are id, core, R1, R2, ... and those of `graphkin export items`. RDKit's R-group decomposition finds the
    groups, SMILES with the label of their position. Molecules without the core come last, without R groups.

    In an SD file, molecules are aligned with their core. An Excel workbook and a picture (.svg, .png) color the
    property by value. A picture shows the first 100 molecules with the core, and at most 600 structures.

    --free-wilson models the property as a baseline plus one contribution for the R group at each position, by least
    squares. The reference group of a position is its most frequent one. A contribution is empty if the data do not
    determine it.
    """
    import numpy as np
    import pyarrow as pa

    from graphkin.cli.conditions import parse_series
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.collection.sar.free_wilson import contributions_table
    from graphkin.collection.sar.group_matrix import matrix_table
    from graphkin.collection.sar.rgroups import rgroups_table, series_items
    from graphkin.depiction.rgroup_files import export_rgroups, rgroup_format
    from graphkin.export.cells import csv_lines
    from graphkin.protocol.errors import require
    from graphkin.protocol.filters import Sort
    from graphkin.protocol.rgroups import RGroupsBody
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    format = "csv" if str(output) == "-" else rgroup_format(output)
    require(
        free_wilson is None or property is not None,
        "Free-Wilson contributions",
        "--free-wilson",
        "--free-wilson with --property",
        hint="add `--property NAME`, a numeric property",
    )
    require(
        positions is None or matrix is not None,
        "positions without a matrix",
        "--positions",
        "--positions with --matrix",
        hint="add `--matrix FILE`",
    )
    paths = [path.resolve() for path in (output, free_wilson, matrix) if path is not None]
    require(
        len({*paths}) == len(paths),
        "files to write",
        "the same file twice",
        "different files in --output, --free-wilson and --matrix",
        hint="name another file",
    )
    require(not descending or sort is not None, "order", "--descending", "--sort COLUMN", hint="add `--sort COLUMN`")
    with open_generation(store_location, collection, generation) as reader:
        order = None if sort is None else Sort(by=sort, descending=descending)
        with translate_validation_errors():
            request = RGroupsBody.model_validate(
                {**dict(parse_series(reader.manifest, **series)), "sort": order, "core": core, "property": property}
            )
        opened = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        result = opened.rgroups(request)
        items = series_items(partial(opened.items_of, np.concatenate([result.ids, result.unmatched])), property)
        table = rgroups_table(result.cores, result.groups, items, property)
        fit = None if free_wilson is None else result.free_wilson()
        files = [(output, export_rgroups(table, [*result.groups], property, format))]
        if free_wilson is not None and fit is not None:
            files.append((free_wilson, csv_lines([contributions_table(fit)], plain=("group",))))
        if matrix is not None:
            cells = matrix_table(result.matrix(*(positions or ("R1", "R2"))))
            cells = cells.set_column(cells.num_columns - 1, "ids", cells["ids"].cast(pa.list_(pa.string())))
            files.append((matrix, csv_lines([cells], plain=cells.column_names[:2])))
        for path, blocks in files:
            with atomic_file(path) as file:
                file.writelines(blocks)
    matched, total = len(result.ids), len(result.ids) + len(result.unmatched)
    text = f"{matched:,} of {total:,} molecules contain the core {result.common_core}: "
    text += ", ".join(result.groups) or "no position"
    if fit is not None:
        text += f"\nFree-Wilson: {fit.summary}"
    report_file(
        output,
        as_json,
        text,
        generation=reader.id,
        core=result.common_core,
        **result.core._asdict(),
        positions=[*result.groups],
        molecules=matched,
        unmatched=result.unmatched.tolist(),
        **({} if fit is None else {"free_wilson": {k: v for k, v in vars(fit).items() if k != "contributions"}}),
    )
