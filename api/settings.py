"""Settings of a serving process. They come from the command line or, at this edge alone, from the environment."""

from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import DirectoryPath, Field, FilePath, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from graphkin.protocol.errors import InvalidInput
from graphkin.store.sampling.base import Engine

Origin = Annotated[str, Field(pattern=r"^(\*|https?://[a-z0-9.\-\[\]:]+)$")]
"""As browsers write it in the header of this name: scheme, host, and the port unless it is the scheme's own."""


class Settings(BaseSettings):
    """What `graphkin serve` needs to know. Each has an environment variable: GRAPHKIN_ and its name in capitals.

    store          folder of the store, or neo4j:// or bolt:// URL of a Neo4j server.
    host, port     where to listen; port 0 takes any free one.
    allowed_hosts  values of the Host header that are answered, without port, separated by commas; `*` is any.
    cors_origins   origins whose pages may ask from a browser, separated by commas; none by default, `*` is any.
    sampler        which engine draws positives: `snapshot`, in this process, or `gds`, on the Neo4j server.
    cache_dir      folder of the positive-set cache and of exports; it may be deleted at any time the server is down.
    cache_bytes    how large the positive-set cache may grow.
    export_bytes   how much room exports may take there that parts are asked of: half of it one of them.
    access_log     file of one line of JSON for each request, `-` is standard output; none by default.
    telemetry      whether spans are sent by OpenTelemetry, where its own variables (OTEL_…) say.
    scrub_hours    after how long the files of a generation in use are checked again.
    tls_cert       file of a certificate and its chain (PEM), for HTTPS; plain HTTP by default.
    tls_key        file of its private key; by default it is in `tls_cert` too.
    head_seconds, body_seconds
                   how long a request's head, and then its body, may take to come.
    idle_seconds   how long a connection is kept between a reply and the next request.
    stalled_seconds
                   how long a client may take nothing of a reply.
    connections    how many may be open in each process; the longest idle one goes first.
    connections_per_address
                   how many from one client address; any number by default, because clients of a proxy share one.
    reports        folder of reports to show, as `python -m studies.report` wrote them; none by default.

    Raises `InvalidInput` naming what is wrong.
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

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
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
    def _split(cls, given: Any) -> Any:
        parts = given.split(",") if isinstance(given, str) else given
        return tuple(part.strip().lower() for part in parts if part.strip())
