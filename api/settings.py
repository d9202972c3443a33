"""Settings of a server process, from the command line or from environment variables."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import DirectoryPath, Field, FilePath, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.validation import describe, expectation, quote
from graphkin.store.sampling.base import Engine

Origin = Annotated[str, Field(pattern=r"^(\*|https?://[a-z0-9.\-\[\]:]+)$")]
"""Value of an Origin header, such as `https://example.org`, or `*` for any origin."""


class Settings(BaseSettings):
    """Settings of `graphkin serve`. Each can be set by the environment variable GRAPHKIN_NAME.

    Attributes:
        store: Folder of the store, or neo4j:// or bolt:// URL of a Neo4j server.
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        allowed_hosts: Accepted values of the Host header without port, separated by commas; `*` accepts any.
        cors_origins: Origins whose pages may send requests from a browser, separated by commas; `*` allows any, and
            none is allowed by default.
        sampler: Engine that samples positives: `snapshot` or `cypher` in this process, or `gds` on the Neo4j server.
        cache_dir: Folder of the positive-set cache, quotas and exports. It may be deleted while no server runs.
        cache_bytes: Maximum size of the positive-set cache in bytes.
        export_bytes: Maximum size of export files for Range requests in bytes. One file may take half of it.
        access_log: File for the access log, which has one line of JSON per request; `-` for standard output. There is
            no log by default.
        telemetry: Whether to export OpenTelemetry spans, as configured by the environment variables OTEL_….
        scrub_hours: Hours between two checks of the files of an open generation.
        tls_cert: PEM file with a certificate and its chain, for HTTPS. The default is plain HTTP.
        tls_key: PEM file with the private key. By default, `tls_cert` contains it too.
        head_seconds: Maximum time for the head of a request, in seconds.
        body_seconds: Maximum time for the body of a request, in seconds.
        idle_seconds: Maximum time between a response and the next request on a connection, in seconds.
        stalled_seconds: Maximum time during which a client reads nothing of a response, in seconds.
        connections: Maximum number of open connections per process. If there are more, the longest idle one is closed.
        connections_per_address: Maximum number of open connections per client address. There is no limit by default,
            because the clients of a proxy share one address.
        reports: Folder with reports of `python -m studies.report`. There are none by default.
        writes: Whether clients may create and change collections. By default, they may if only this machine reaches the
            server: if `host` and all of `allowed_hosts` are loopback addresses.
        upload_bytes: Maximum size of the body of an upload, in bytes.
        upload_seconds: Maximum time for the body of an upload, in seconds.
        jobs: Maximum number of jobs that change the store at once.
        job_bytes: Maximum memory of each process of a job, in bytes.

    Raises:
        InvalidInput: A setting is invalid. The error names it.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHKIN_", frozen=True)

    store: str | Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ("localhost", "127.0.0.1", "[::1]")
    cors_origins: Annotated[tuple[Origin, ...], NoDecode] = ()
    sampler: Engine = "snapshot"
    cache_dir: Path = platformdirs.user_cache_path("graphkin")
    cache_bytes: Annotated[int, Field(gt=0)] = 10 * 2**30
    export_bytes: Annotated[int, Field(gt=0)] = 4 * 2**30
    access_log: Path | None = None
    telemetry: bool = False
    scrub_hours: Annotated[float, Field(gt=0)] = 24.0
    tls_cert: FilePath | None = None
    tls_key: FilePath | None = None
    head_seconds: Annotated[float, Field(gt=0)] = 10.0
    body_seconds: Annotated[float, Field(gt=0)] = 30.0
    idle_seconds: Annotated[float, Field(gt=0)] = 5.0
    stalled_seconds: Annotated[float, Field(gt=0)] = 60.0
    connections: Annotated[int, Field(ge=1)] = 1000
    connections_per_address: Annotated[int, Field(ge=1)] | None = None
    reports: DirectoryPath | None = None
    writes: bool | None = None
    upload_bytes: Annotated[int, Field(gt=0)] = 200 * 2**20
    upload_seconds: Annotated[float, Field(gt=0)] = 600.0
    jobs: Annotated[int, Field(ge=1, le=64)] = 2
    job_bytes: Annotated[int, Field(gt=0)] = 16 * 2**30

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0])
            raise InvalidInput(
                describe(first, f"setting {name}"),
                given=quote(first),
                expected=expectation(first),
                hint=f"set GRAPHKIN_{name.upper()} in the environment",
            ) from error

    @field_validator("allowed_hosts", "cors_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Return the parts of a comma-separated text, stripped and in lower case."""
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(part.strip().lower() for part in parts if part.strip())

    @property
    def accepts_writes(self) -> bool:
        """Whether clients may create and change collections."""
        if self.writes is not None:
            return self.writes
        return all(map(_is_loopback, (self.host, *self.allowed_hosts)))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
