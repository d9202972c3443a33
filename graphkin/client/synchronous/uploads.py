# Made from graphkin/client/asynchronous/uploads.py by `make docs`: edit that.

"""Uploads to a server: new collections, changes of collections, and the jobs that carry them out."""

from collections.abc import Sequence
from typing import BinaryIO, Literal
from urllib.parse import quote

from graphkin.client.responses import read_reply
from graphkin.client.synchronous.connection import Connection
from graphkin.client.synchronous.generation_reader import collection_path
from graphkin.protocol.uploads import Job, JobReference, Jobs, Preview
from graphkin.protocol.values import Duplicates

Delimiter = Literal["comma", "tab", "semicolon", "pipe", "space"]
Decimal = Literal[".", ","]


class Uploads:
    """The methods of a server that change its collections.

    A change is a job of the server. These methods return as soon as the job has started, and `job` tells whether it is
    done. They send a request once: if the connection breaks, `jobs` tells whether the job has started.
    """

    _connection: Connection

    def create_collection(
        self,
        file: BinaryIO,
        name: str,
        *,
        filename: str | None = None,
        preset: Literal["default", "paper", "rc"] = "default",
        fingerprint: Literal["morgan", "rdkit", "maccs", "atompair", "torsion"] | None = None,
        radius: int | None = None,
        bits: int | None = None,
        chirality: bool | None = None,
        candidates: Literal["exact", "window"] | None = None,
        threshold: float | None = None,
        top_k: int | None = None,
        standardize: Sequence[Literal["largest_fragment", "uncharge", "tautomer"]] | None = None,
        inchikey: bool | None = None,
        duplicates: Duplicates = "first",
        max_rejected: float = 0.1,
        format: str | None = None,
        smiles_column: str | None = None,
        name_column: str | None = None,
        properties: Sequence[str] | None = None,
        delimiter: Delimiter | None = None,
        encoding: str | None = None,
        decimal: Decimal | None = None,
        unit: Sequence[str] | None = None,
    ) -> str:
        """Create a collection of molecules from a file. The server does what `graphkin ingest molecules` does.

        Args:
            file: The file, open in binary mode.
            name: Name of the new collection.
            filename: Name of the file, whose extension decides the format; default: that of `file`.
            preset: Recipe to start from.
            fingerprint: Fingerprint; default: that of the preset.
            radius: Radius of Morgan fingerprints.
            bits: Length of the fingerprints.
            chirality: Whether fingerprints include chirality.
            candidates: Candidate rule.
            threshold: Smallest similarity of an edge.
            top_k: Number of neighbors that each item keeps; 0 for all.
            standardize: Steps of the standardization; default: none.
            inchikey: Whether to compute InChIKeys.
            duplicates: Rule for the value of a column in which the records of an item differ.
            max_rejected: Largest share of rejected records. Above it, nothing is published.
            format: Format of the file.
            smiles_column: Column of a table with the SMILES; default: smiles.
            name_column: Column with the names; default: one with a usual title.
            properties: Columns to keep; default: all.
            delimiter: Delimiter of a text table.
            encoding: Encoding of a text file; default: UTF-8.
            decimal: Decimal separator of numbers in texts; default: a point.
            unit: Units of columns whose titles lack them or have wrong ones, such as ["IC50=nM"].

        Returns:
            The id of the job.

        Raises:
            Forbidden: The server does not permit changes, or the key lacks the scope `write`.
            Conflict: There is a collection of this name.
            TooLarge: The file is larger than the server accepts.
            StoreBusy: The server runs as many jobs as it may.
        """
        fields = {
            "name": name,
            "preset": preset,
            "fingerprint": fingerprint,
            "radius": radius,
            "bits": bits,
            "chirality": chirality,
            "candidates": candidates,
            "threshold": threshold,
            "top_k": top_k,
            "standardize": standardize,
            "inchikey": inchikey,
            "duplicates": duplicates,
            "max_rejected": max_rejected,
            "format": format,
            "smiles_column": smiles_column,
            "name_column": name_column,
            "properties": _list(properties),
            "delimiter": delimiter,
            "encoding": encoding,
            "decimal": decimal,
            "unit": unit,
        }
        reply = self._connection.send_form("/v1/collections", fields, file, filename)
        return read_reply(JobReference, reply).job

    def append(
        self,
        collection: str,
        file: BinaryIO,
        *,
        filename: str | None = None,
        max_rejected: float = 0.1,
        format: str | None = None,
        smiles_column: str | None = None,
        name_column: str | None = None,
        properties: Sequence[str] | None = None,
        delimiter: Delimiter | None = None,
        encoding: str | None = None,
        decimal: Decimal | None = None,
        unit: Sequence[str] | None = None,
    ) -> str:
        """Append a file to a collection. The server does what `graphkin append` does.

        Args:
            collection: Name of the collection.
            file: The file, open in binary mode.
            filename: Name of the file, whose extension decides the format; default: that of `file`.
            max_rejected: Largest share of rejected records. Above it, nothing is published.
            format: Format of the file.
            smiles_column: Column of a table with the SMILES; default: smiles.
            name_column: Column with the names; default: one with a usual title.
            properties: Columns to keep; default: all.
            delimiter: Delimiter of a text table.
            encoding: Encoding of a text file; default: UTF-8.
            decimal: Decimal separator of numbers in texts; default: a point.
            unit: Units of columns whose titles lack them or have wrong ones, such as ["IC50=nM"].

        Returns:
            The id of the job.

        Raises:
            NotFound: There is no such collection.
            Forbidden: The server does not permit changes, or the key lacks the scope `write`.
            TooLarge: The file is larger than the server accepts.
            StoreBusy: The server runs as many jobs as it may.
        """
        fields = {
            "max_rejected": max_rejected,
            "format": format,
            "smiles_column": smiles_column,
            "name_column": name_column,
            "properties": _list(properties),
            "delimiter": delimiter,
            "encoding": encoding,
            "decimal": decimal,
            "unit": unit,
        }
        path = f"{collection_path(collection)}/append"
        return read_reply(JobReference, self._connection.send_form(path, fields, file, filename)).job

    def remove(
        self, collection: str, *, names: Sequence[str] | None = None, smiles: Sequence[str] | None = None
    ) -> str:
        """Remove items from a collection. The server does what `graphkin remove` does.

        Args:
            collection: Name of the collection.
            names: Names of items, or
            smiles: SMILES of molecules.

        Returns:
            The id of the job, whose rejected records are the entries that match no item.

        Raises:
            NotFound: There is no such collection.
            Forbidden: The server does not permit changes, or the key lacks the scope `write`.
            StoreBusy: The server runs as many jobs as it may.
        """
        body = {field: [*value] for field, value in (("names", names), ("smiles", smiles)) if value is not None}
        return read_reply(JobReference, self._connection.send(f"{collection_path(collection)}/remove", body)).job

    def preview(
        self,
        file: BinaryIO,
        *,
        filename: str | None = None,
        partial: bool = False,
        format: str | None = None,
        smiles_column: str | None = None,
        name_column: str | None = None,
        delimiter: Delimiter | None = None,
        encoding: str | None = None,
        decimal: Decimal | None = None,
        unit: Sequence[str] | None = None,
    ) -> Preview:
        """Return how the server would read a file of molecules. Nothing changes.

        Args:
            file: The file, open in binary mode.
            filename: Name of the file, whose extension decides the format; default: that of `file`.
            partial: Whether the file is only the beginning of a larger one.
            format: Format of the file.
            smiles_column: Column of a table with the SMILES; default: found in the values.
            name_column: Column with the names; default: one with a usual title.
            delimiter: Delimiter of a text table.
            encoding: Encoding of a text file.
            decimal: Decimal separator of numbers in texts.
            unit: Units of columns whose titles lack them or have wrong ones, such as ["IC50=nM"].

        Returns:
            The format, the columns with their types and units, and the first records.

        Raises:
            InvalidInput: The file cannot be read.
            Forbidden: The server does not permit uploads, or the key lacks the scope `write`.
        """
        fields = {
            "partial": partial,
            "format": format,
            "smiles_column": smiles_column,
            "name_column": name_column,
            "delimiter": delimiter,
            "encoding": encoding,
            "decimal": decimal,
            "unit": unit,
        }
        return read_reply(Preview, self._connection.send_form("/v1/previews", fields, file, filename))

    def jobs(self) -> list[Job]:
        """Return the latest jobs of the store, newest first.

        Returns:
            At most 50 jobs.

        Raises:
            Forbidden: The server does not permit changes, or the key lacks the scope `write`.
        """
        return read_reply(Jobs, self._connection.fetch("/v1/jobs", {})).jobs

    def job(self, job: str) -> Job:
        """Return the progress of a job, and its result.

        Args:
            job: Id of the job.

        Returns:
            The job. `state` is "running", "done", "failed" or "canceled".

        Raises:
            NotFound: There is no such job.
        """
        return read_reply(Job, self._connection.fetch(_job_path(job), {}))

    def job_rejections(self, job: str) -> str:
        """Return the rejected records of a job.

        Args:
            job: Id of the job.

        Returns:
            A table in CSV with the columns source, line, input and reason.

        Raises:
            NotFound: There is no such job, or it rejected no records.
        """
        return (self._connection.fetch(f"{_job_path(job)}/rejections", {}, "text/csv")).text

    def cancel_job(self, job: str) -> Job:
        """Stop a job. Unless its generation is being published, nothing changes.

        Args:
            job: Id of the job.

        Returns:
            The job.

        Raises:
            NotFound: There is no such job.
            Conflict: The job has ended.
        """
        return read_reply(Job, self._connection.send(f"{_job_path(job)}/cancel", {}))


def _job_path(job: str) -> str:
    return f"/v1/jobs/{quote(job, safe='')}"


def _list(texts: Sequence[str] | None) -> Sequence[str] | None:
    """Return the values of a repeated field of a form. One empty text stands for an empty list."""
    return None if texts is None else [*texts] or [""]
