"""What values have in common."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: immutable, every field named, nothing extra."""

    model_config = ConfigDict(frozen=True, extra="forbid")
