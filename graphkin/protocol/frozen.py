"""The base class of models that are immutable values."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value without extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
