"""Models of requests that change a store: uploads of files, removals, and the jobs that run them."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from graphkin.protocol.frozen import Frozen
from graphkin.protocol.requests import Body
from graphkin.protocol.units import UNIT_PATTERN
from graphkin.protocol.values import MAX_COLUMNS, MAX_REMOVED, Duplicates, JobCommand, JobState

PUBLISH = "publish"
"""Stage in which a job cannot be canceled, because the store publishes the new generation."""

_MAX_TITLE = 1000  # characters of a column title

Title = Annotated[str, Field(min_length=1, max_length=_MAX_TITLE)]
UploadedFile = Annotated[
    Any,
    WithJsonSchema({"type": "string", "format": "binary"}),
    Field(
        description="File, with its name. The extension of the name decides the format.",
        examples=["smiles,name\nCCO,ethanol\n"],
    ),
]


class FileFields(Frozen):
    """An uploaded file, and how it is read."""

    file: UploadedFile
    format: Annotated[
        str | None,
        Field(max_length=20, description="Format of the file. The default is that of its name.", examples=["csv"]),
    ] = None
    smiles_column: Annotated[
        Title | None,
        Field(description="Column of a table with the SMILES. The default is `smiles`.", examples=["structure"]),
    ] = None
    name_column: Annotated[
        Title | None,
        Field(
            description="Column, or data item of an SD file, with the names. By default, a usual title is found.",
            examples=["Compound ID"],
        ),
    ] = None
    delimiter: Annotated[
        Literal["comma", "tab", "semicolon", "pipe", "space"] | None,
        Field(description="Delimiter of a text table. The default is found in the header.", examples=["comma"]),
    ] = None
    encoding: Annotated[
        str | None,
        Field(max_length=50, description="Encoding of a text file. The default is UTF-8.", examples=["cp1252"]),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        Field(
            description="Decimal separator of numbers in the texts of a table. The default is a point.",
            examples=["."],
        ),
    ] = None
    unit: Annotated[
        tuple[Annotated[str, Field(pattern=UNIT_PATTERN, max_length=_MAX_TITLE)], ...] | None,
        Field(
            max_length=MAX_COLUMNS,
            description="Unit of a column whose title lacks it or has a wrong one, as COLUMN=UNIT, a field for each. "
            "The unit becomes part of the title, such as `IC50 (nM)`.",
            examples=[["IC50=nM"]],
        ),
    ] = None


class PreviewForm(FileFields):
    """A file to preview."""

    partial: Annotated[
        bool,
        Field(
            description="Whether the file is the beginning of a larger text file. Its last record is then ignored.",
            examples=[False],
        ),
    ] = False


class AppendForm(FileFields):
    """A file whose items are appended to a collection."""

    properties: Annotated[
        tuple[Title, ...] | None,
        Field(
            max_length=MAX_COLUMNS,
            description="Columns or data items to keep, a field for each. One empty field keeps none. "
            "The default is all.",
            examples=[["IC50 (nM)"]],
        ),
    ] = None
    max_rejected: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Largest share of rejected records. Above it, nothing is published.",
            examples=[0.1],
        ),
    ] = 0.1

    @field_validator("properties", mode="before")
    @classmethod
    def _no_properties(cls, value: Any) -> Any:
        return () if value in ([""], ("",)) else value


class CollectionForm(AppendForm):
    """A file of molecules that becomes a new collection, and its recipe."""

    name: Annotated[str, Field(max_length=63, description="Name of the new collection.", examples=["mine"])]
    preset: Annotated[
        Literal["default", "paper", "rc"], Field(description="Recipe to start from.", examples=["default"])
    ] = "default"
    fingerprint: Annotated[
        Literal["morgan", "rdkit", "maccs", "atompair", "torsion"] | None,
        Field(description="Fingerprint. The default is that of the preset.", examples=["morgan"]),
    ] = None
    radius: Annotated[int | None, Field(ge=0, le=10, description="Radius of Morgan fingerprints.", examples=[2])] = None
    bits: Annotated[int | None, Field(ge=64, le=65_536, description="Length of the fingerprints.", examples=[2048])] = (
        None
    )
    chirality: Annotated[
        bool | None, Field(description="Whether fingerprints include chirality.", examples=[False])
    ] = None
    candidates: Annotated[
        Literal["exact", "window"] | None, Field(description="Candidate rule.", examples=["exact"])
    ] = None
    threshold: Annotated[
        float | None, Field(gt=0, le=1, description="Smallest similarity of an edge.", examples=[0.4])
    ] = None
    top_k: Annotated[
        int | None,
        Field(ge=0, le=1_000_000, description="Neighbors that each item keeps; 0 for all.", examples=[70]),
    ] = None
    standardize: Annotated[
        tuple[Literal["largest_fragment", "uncharge", "tautomer"], ...] | None,
        Field(
            max_length=3,
            description="Steps of the standardization, a field for each. The default is none.",
            examples=[["largest_fragment", "uncharge"]],
        ),
    ] = None
    inchikey: Annotated[bool | None, Field(description="Whether to compute InChIKeys.", examples=[False])] = None
    duplicates: Annotated[
        Duplicates,
        Field(description="Rule for the value of a column in which the records of an item differ.", examples=["first"]),
    ] = "first"


class RemoveBody(Body):
    """Items to remove from a collection.

    Exactly one field must be set.
    """

    names: Annotated[
        list[str] | None,
        Field(min_length=1, max_length=MAX_REMOVED, description="Names of items.", examples=[["aspirin"]]),
    ] = None
    smiles: Annotated[
        list[str] | None,
        Field(min_length=1, max_length=MAX_REMOVED, description="SMILES of molecules.", examples=[None]),
    ] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.names is None) == (self.smiles is None):
            raise ValueError("exactly one of names, smiles")
        return self


class JobReference(Frozen):
    """A job that has started."""

    job: str


class JobError(Frozen):
    """The reason why a job failed, as the fields of a problem."""

    detail: str
    given: Any
    expected: str | None
    hint: str | None


def too_much_memory(limit: int) -> JobError:
    """Return the error of a job one of whose processes would need more memory than `limit` bytes."""
    return JobError(
        detail="the job needs more memory than this server permits; nothing was published",
        given=None,
        expected=f"at most {limit / 2**20:,.0f} MiB for each process",
        hint="split the file, ingest it on the server with `graphkin ingest`, or ask the administrator for a larger "
        "GRAPHKIN_JOB_BYTES",
    )


class Job(Frozen):
    """A job, which changes a collection.

    `state` is `running`, `done`, `failed` or `canceled`. A canceled job has published nothing. A failed job has
    published nothing either, unless its process was killed in the stage `publish`. `done` of `of` `unit` of the stage
    are complete; `of` is null if the number is unknown.
    """

    id: str
    command: JobCommand
    collection: str
    source: str
    started_at: str
    state: JobState
    stage: str
    done: int
    of: int | None
    unit: str | None
    note: str | None
    items: int | None
    rejected: int | None
    generation: str | None
    error: JobError | None


class Jobs(Frozen):
    """The latest jobs of the store, newest first."""

    jobs: list[Job]


class PreviewColumn(Frozen):
    """A column of the file.

    `role` is `structure`, `name` or `property`. `type` is `number` if all values of the previewed records but missing
    markers are numbers. `numbers`, `missing`, `censored` and `texts` count these values. `unit` is a unit in the title,
    such as nM, and `activity` the title of the activity on a logarithmic scale that follows from it.
    """

    name: str
    role: Literal["structure", "name", "property"]
    type: Literal["number", "text"]
    unit: str | None
    activity: str | None
    numbers: int
    missing: int
    censored: int
    texts: int
    examples: list[str]


class PreviewRow(Frozen):
    """A previewed record.

    `text` is the structure as the file has it, at most 4,096 characters. `smiles` is the SMILES as it would be stored,
    null if the record would be rejected for `reason`.
    """

    line: int
    text: str
    name: str | None
    smiles: str | None
    reason: str | None
    properties: dict[str, str]


class Preview(Frozen):
    """How the server would read a file.

    The fields `format`, `delimiter`, `encoding`, `decimal`, `smiles_column` and `name_column` can be sent with the
    upload as they are. `read` records were read, `accepted` of them would become items, and `rejected` would not.
    `complete` says whether these are all records of the file. `rows` shows the first records. `note` is advice on a
    file that is probably not meant as it would be read.
    """

    format: str
    delimiter: str | None
    encoding: str | None
    decimal: Literal[".", ","]
    smiles_column: str | None
    name_column: str | None
    columns: list[PreviewColumn]
    rows: list[PreviewRow]
    read: int
    accepted: int
    rejected: int
    complete: bool
    note: str | None
