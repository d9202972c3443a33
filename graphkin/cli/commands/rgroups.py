"""`graphkin rgroups`: find the R groups of a series of molecules."""

from functools import partial
from pathlib import Path
from typing import Any

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
@options.output_file("File to write: .csv, .parquet, .sdf or .xlsx, or - for CSV on standard output.")
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
    as_json: bool,
) -> None:
    """Write the R groups of a series of molecules at a common core.

    The series is a cluster, the molecules with a scaffold, or items by id. --filter and --substructure select among
    them, or among all molecules. A series has at most 2,000 molecules.

    The columns are id, core, R1, R2, ... and those of `graphkin export items`. RDKit's R-group decomposition finds the
    groups, SMILES with the label of their position. Molecules without the core come last, without R groups.

    In an SD file, molecules are aligned with their core. An Excel workbook colors the property by value.
    """
    import numpy as np

    from graphkin.cli.conditions import parse_series
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.collection.sar.rgroups import rgroups_table
    from graphkin.depiction.rgroups import align_row
    from graphkin.export.results import export_result, result_format
    from graphkin.protocol.errors import require
    from graphkin.protocol.filters import Sort
    from graphkin.protocol.rgroups import RGroupsBody
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    format = "csv" if str(output) == "-" else result_format(output)
    require(not descending or sort is not None, "order", "--descending", "--sort COLUMN", hint="add `--sort COLUMN`")
    with open_generation(store_location, collection, generation) as reader:
        order = None if sort is None else Sort(by=sort, descending=descending)
        with translate_validation_errors():
            request = RGroupsBody.model_validate(
                {**dict(parse_series(reader.manifest, **series)), "sort": order, "core": core, "property": property}
            )
        opened = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        result = opened.rgroups(request)
        items = opened.items_of(np.concatenate([result.ids, result.unmatched]))
        table = rgroups_table(result.cores, result.groups, items, property)
        structures, lay_out = ("smiles", "core", *result.groups), partial(align_row, [*result.groups])
        heat = None if property is None else table.column_names[1]
        blocks = export_result(table, format, structures, heat=heat, lay_out=lay_out)
        with atomic_file(output) as file:
            file.writelines(blocks)
    matched, total = len(result.ids), len(result.ids) + len(result.unmatched)
    positions = ", ".join(result.groups) or "no position"
    text = f"{matched:,} of {total:,} molecules contain the core {result.common_core}: {positions}"
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
    )
