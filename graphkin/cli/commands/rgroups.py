"""`graphkin rgroups`: find the R groups of a series of molecules."""

from functools import partial
from pathlib import Path

import click

from graphkin.cli import options
from graphkin.cli.help import command, option
from graphkin.protocol.values import ClusterMethod


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
@option("--cluster", type=click.IntRange(1), metavar="N", panel="Conditions", help="Number of a cluster, from 1.")
@option("--id", "ids", type=click.IntRange(0), metavar="ID", multiple=True, panel="Conditions", help="Item; repeat it.")
@options.scaffold
@options.conditions
@options.substructure
@options.clustering(required=False)
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
    cluster: int | None,
    ids: tuple[int, ...],
    scaffold: str | None,
    conditions: tuple[str, ...],
    substructure: tuple[str, str] | None,
    method: ClusterMethod | None,
    threshold: float | None,
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

    from graphkin.cli.conditions import parse_filter, parse_substructure
    from graphkin.cli.output import atomic_file, progress, report_file, require_json_apart
    from graphkin.collection.open_collection import OpenCollection
    from graphkin.collection.ports import local_ports
    from graphkin.collection.sar.rgroups import rgroups_table
    from graphkin.depiction.rgroups import align_row
    from graphkin.export.results import export_result, result_format
    from graphkin.protocol.errors import require
    from graphkin.protocol.filters import Sort
    from graphkin.protocol.requests import ClusterSource
    from graphkin.protocol.rgroups import RGroupsBody
    from graphkin.protocol.validation import translate_validation_errors
    from graphkin.store import open_generation

    require_json_apart(output, as_json)
    format = "csv" if str(output) == "-" else result_format(output)
    require(
        cluster is not None or (method is None and threshold is None),
        "clustering without a cluster",
        f"--{'method' if threshold is None else 'threshold'}",
        "--cluster with --method and --threshold",
        hint="add `--cluster N`, a number of `graphkin cluster`",
    )
    require(not descending or sort is not None, "order", "--descending", "--sort COLUMN", hint="add `--sort COLUMN`")
    with open_generation(store_location, collection, generation) as reader:
        clustering = {"id": cluster, "method": method or "butina", "threshold": threshold}
        with translate_validation_errors():
            request = RGroupsBody(
                filters=[parse_filter(reader.manifest, condition) for condition in conditions],
                substructure=parse_substructure(substructure),
                scaffold=scaffold,
                cluster=None if cluster is None else ClusterSource.model_validate(clustering),
                ids=[*ids] or None,
                sort=None if sort is None else Sort(by=sort, descending=descending),
                core=core,
                property=property,
            )
        opened = OpenCollection(reader, partial(local_ports, threads=workers, stage=progress().stage))
        series = opened.rgroups(request)
        items = opened.items_of(np.concatenate([series.ids, series.unmatched]))
        table = rgroups_table(series.cores, series.groups, items, property)
        structures, lay_out = ("smiles", "core", *series.groups), partial(align_row, [*series.groups])
        blocks = export_result(table, format, structures, heat=property, lay_out=lay_out)
        with atomic_file(output) as file:
            file.writelines(blocks)
    matched, total = len(series.ids), len(series.ids) + len(series.unmatched)
    positions = ", ".join(series.groups) or "no position"
    text = f"{matched:,} of {total:,} molecules contain the core {series.common_core}: {positions}"
    report_file(
        output,
        as_json,
        text,
        generation=reader.id,
        core=series.common_core,
        **series.core._asdict(),
        positions=[*series.groups],
        molecules=matched,
        unmatched=series.unmatched.tolist(),
    )
