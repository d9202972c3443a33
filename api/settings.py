"""Settings of a server process, from the command line or from environment variables."""

from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import DirectoryPath, Field, FilePath, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from graphkin.protocol.errors import InvalidInput
from graphkin.store.sampling.base import Engine

Origin = Annotated[str, Field(pattern=r"^(\*|https?://[a-z0-9.\-\[\]:]+)$")]
"""Value of an Origin header: scheme, host, and the port unless it is the scheme's default."""


class Settings(BaseSettings):
    """Settings of `graphkin serve`. Each can be set by the environment variable GRAPHKIN_NAME.

    Attributes:
        store: Folder of the store, or neo4j:// or bolt:// URL of a Neo4j server.
        host: Address to listen on.
        port: Port to listen on; 0 takes any free one.
        allowed_hosts: Accepted values of the Host header without port, separated by commas; `*` accepts any.
        cors_origins: Origins whose pages may send requests from a browser, separated by commas; none by default, `*`
            allows any.
        sampler: Engine that samples positives: `snapshot` in this process, `gds` on the Neo4j server.
        cache_dir: Folder of the positive-set cache, quotas and exports. It may be deleted while no server runs.
        cache_bytes: Maximum size of the positive-set cache.
        export_bytes: Maximum size of export files for Range requests. One file may take half of it.
        access_log: File with one line of JSON per request, `-` for standard output; none by default.
        telemetry: Whether to export OpenTelemetry spans. The OTEL_… variables say where to.
        scrub_hours: Interval in hours at which the files of open generations are checked.
        tls_cert: PEM file with a certificate and its chain, for HTTPS; plain HTTP by default.
        tls_key: PEM file with the private key; by default `tls_cert` contains it too.
        head_seconds: Time limit for the head of a request.
        body_seconds: Time limit for the body of a request.
        idle_seconds: Time that a connection stays open between a response and the next request.
        stalled_seconds: Time that a client may read nothing of a response.
        connections: Maximum number of open connections per process. The longest idle one is closed first.
        connections_per_address: Maximum number of open connections per client address; unlimited by default, because
            the clients of a proxy share one address.
        reports: Folder with reports of `python -m studies.report` to show; none by default.

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

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            missing = first["type"] == "missing"
            raise InvalidInput(
                f"setting {name}: {first['msg']}",
                given=None if missing else str(first["input"]),
                hint=f"GRAPHKIN_{name.upper()} in the environment sets it",
            ) from error

    @field_validator("allowed_hosts", "cors_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(part.strip().lower() for part in parts if part.strip())
