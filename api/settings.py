"""Settings of a serving process. They come from the command line or, at this edge alone, from the environment."""

from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Settings(BaseSettings):
    """What `graphkin serve` needs to know. Each has an environment variable: GRAPHKIN_ and its name in capitals.

    store          folder of the store.
    host, port     where to listen; port 0 takes any free one.
    allowed_hosts  values of the Host header that are answered, without port, separated by commas; `*` is any.
    cache_dir      folder of the positive-set cache; it may be deleted at any time the server is down.
    cache_bytes    how large that cache may grow.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHKIN_", frozen=True)

    store: Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ("localhost", "127.0.0.1", "[::1]")
    cache_dir: Path = platformdirs.user_cache_path("graphkin")
    cache_bytes: Annotated[int, Field(gt=0)] = 10 * 2**30

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, given: Any) -> Any:
        return tuple(host.strip().lower() for host in given.split(",")) if isinstance(given, str) else given
